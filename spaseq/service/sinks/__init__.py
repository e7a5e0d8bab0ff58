"""Sinks: where the rows of a query go, beside those who follow them over HTTP."""
