"""Queries in one process."""
