"""Aggregates over all matches, propagated along the automaton: no match is built (GRETA, COGRA, Hamlet)."""
