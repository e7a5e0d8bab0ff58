"""SPARQL 1.1 text to the algebra, by way of rdflib's parse tree, with every position in the text kept."""
