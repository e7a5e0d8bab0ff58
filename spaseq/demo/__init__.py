"""A smart grid to try SPAseq on: the generator of its streams, its knowledge base and its query."""
