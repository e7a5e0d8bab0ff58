"""Multisets of solution mappings for a whole batch of graphs, as columns of term ids, and their joins."""
