"""Slices of the merged order: timeline, step tables and their indexes, shared work, substreams."""
