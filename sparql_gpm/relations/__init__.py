"""Relations: multisets of solution mappings for a batch of graphs, as columns of term ids, and their joins."""
