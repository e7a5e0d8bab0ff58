"""Rows of tables as events: a template in TriG says what a row means."""
