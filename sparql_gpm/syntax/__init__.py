"""SPARQL 1.1 text to the algebra by rdflib's parse tree, with every position in the text."""
