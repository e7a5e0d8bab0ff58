"""Runs that consume one event at a time, as lists of Python's integers."""
