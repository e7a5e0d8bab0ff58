"""RDF bytes to events in columns: N-Quads line by line or by kernels, TriG, Turtle and N-Triples by pyoxigraph."""
