"""The pattern algebra over batches of graphs, and what a batch offers to which pattern (G Sections 6.4 and 7)."""
