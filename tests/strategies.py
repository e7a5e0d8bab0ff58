"""Hypothesis strategies for the whole engine: queries, streams, cuts into batches, disorder.

queries()               query texts over S1 and, at times, S2; valid by construction
streams()               {"S1": arrivals, "S2": arrivals}, each in order of time
cuts(n)                 sizes of consecutive batches of n events
late(arrivals, delay)   the same events, disordered but never late
too_late(arrivals)      the same events in any order
to_nquads, to_trig      arrivals on the wire
"""

from __future__ import annotations

from tests.strategies_query import queries
from tests.strategies_stream import batches, cuts, interleaved, late, streams, to_nquads, to_trig, too_late

__all__ = ["batches", "cuts", "interleaved", "late", "queries", "streams", "to_nquads", "to_trig", "too_late"]
