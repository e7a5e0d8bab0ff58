"""Readers of RDF bytes: N-Quads by lines or kernels, TriG, Turtle and N-Triples by pyoxigraph."""
