"""SPARQL 1.2 text to the algebra by one grammar, with every position in the text."""
