"""Analysis of patterns without data: traversal, scopes, equivalences, canonical names, text."""
