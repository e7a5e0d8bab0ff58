"""SPARQL expressions over columns of term ids, their values and functions (SPARQL 1.1, Section 17)."""
