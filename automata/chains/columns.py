"""The fixed columns of runs; the modules that use them call this one `col`."""

(
    PARENT, SOURCE, INSTANCE, EDGE, STATE, SYMBOL, SOLUTION, POSITION,
    LOW_TIME, LOW_STREAM, LOW, HIGH_TIME, HIGH_STREAM, HIGH, SLOT, SEQ, TAIL, RANK,
    FIRST_TIME, FIRST, FIRST_RANK, WINDOW, PARTITION, CLOSED,
) = range(24)  # fmt: skip
"""PARENT      the row before in the chain
SOURCE      the row that this step extended (PARENT but for conjunctions, which chain one row a member)
INSTANCE    inside an ALL: the row that opened it
EDGE        the edge taken; NONE on the inner rows of a conjunction and on START
STATE       position of the automaton
SYMBOL, SOLUTION, POSITION   what was taken; SYMBOL NONE on rows that took no event
LOW_* HIGH_*   first and last (time, stream, position) of the step's set of events
SLOT SEQ TAIL RANK   of its last event (automata.slices.timeline)
FIRST_* WINDOW PARTITION   of the whole run; FIRST is NONE before the first event
CLOSED      bit i: the i-th outgoing edge has been taken under skip-till-next; `Layout.closed`: where there are more"""
FIXED = 24

STEP_COLUMNS = {
    LOW_TIME: "times", HIGH_TIME: "times", LOW_STREAM: "streams", HIGH_STREAM: "streams", LOW: "low", HIGH: "high",
    SLOT: "slots", SEQ: "seq_high", TAIL: "tails", RANK: "rank_high",
}  # fmt: skip
"""Columns of runs that a step sets, and where its table has them."""
FIRST_COLUMNS = {
    FIRST_TIME: "times", FIRST: "low", FIRST_RANK: "rank_low", WINDOW: "windows", PARTITION: "partitions",
}  # fmt: skip
"""Those that the first step of a run sets."""
