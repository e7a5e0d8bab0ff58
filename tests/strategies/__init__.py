"""Hypothesis strategies for the whole engine, a module a kind.

query     query texts over S1 and, at times, S2; valid by construction
stream    arrivals in order of time, cuts into batches, disorder, and arrivals on the wire

The others draw queries of one kind: with keys, limits, OVER MATCHES and so on.
"""
