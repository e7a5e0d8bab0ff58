"""Expressions over columns of term ids, one row and single terms (SPARQL 1.1, Section 17)."""
