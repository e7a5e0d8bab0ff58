"""Descriptions made by hand, for the golden renderings."""

from __future__ import annotations

from spaseq.explain.description import (
    Alternative,
    Condition,
    Description,
    Edge,
    Evaluator,
    KnowledgeBase,
    KnowledgeUse,
    PatternPlan,
    Repetition,
    State,
    Stream,
)

SMART_GRID = Description(
    query="smart_grid",
    sentences=(
        "Report every match of: A, then until the next match B one or more times, then at once C.",
        "SELECT projects ?house ?fare1 ?fare2; the time of a row is that of its last event, and its start that of "
        "the first.",
    ),
    streams=(
        Stream("S1", "http://www.energy.example/power"),
        Stream("Weather", "http://www.energy.example/weather"),
        Stream("S3", "http://www.energy.example/storage", "derived by query 'storage'"),
    ),
    window="30 minutes, tumbling from the epoch: [k·30 min, (k+1)·30 min), in event time",
    partition=("l",),
    sharding="sharded by ?l: PARTITION BY",
    knowledge=(
        KnowledgeBase(
            "http://www.energy.example/db",
            "is a file: solved once and looked up",
            (
                KnowledgeUse("A", ("house",), "each event", "an event without a solution in it is no match"),
                KnowledgeUse("A", ("label", "place"), "each match", "it is optional"),
                KnowledgeUse("N", (), "never", "a negated step only needs the existence of an event"),
            ),
        ),
    ),
    patterns=(
        PatternPlan(
            "A",
            ("S1",),
            ("house", "l", "fare1"),
            (
                "join on ?house",
                "  scan ?house :power ?p",
                '  kb <http://www.energy.example/db>: ?house :owner "Ann"',
            ),
        ),
        PatternPlan(
            "B",
            ("S1", "Weather"),
            ("w", "l"),
            ("scan ?w :wind ?speed", "filter ?speed > 25"),
            (
                Condition("?fare2 > PREV(?fare2)", "at each iteration of B"),
                Condition(
                    "?fare2 >\n AVG(?fare2) * 2", "once ?fare2 is bound, at the latest when the match is complete"
                ),
            ),
        ),
        PatternPlan("C", ("S3",), (), ("scan _:s :state :full",)),
    ),
    states=(
        State(0, "start", "start"),
        State(1, "A", "step"),
        State(2, "B+", "step"),
        State(3, "C", "step"),
        State(4, "match", "accept"),
    ),
    edges=(
        Edge(0, 1, "A"),
        Edge(1, 2, "B", ";", ("first iteration", "no N may lie between")),
        Edge(
            2,
            2,
            "B",
            ",",
            ("next iteration: ?w is bound afresh", "the condition ?fare2 > PREV(?fare2) is decided here"),
        ),
        Edge(2, 3, "C", ","),
        Edge(3, 4, "", "", ("reported when the window has passed",)),
    ),
    evaluator=Evaluator(
        "nfa",
        "conditions compare bindings of different steps (?fare2 > PREV(?fare2)): one run per solution mapping",
        (
            Alternative("cea", "the steps are related by more than equality on a key"),
            Alternative("lazy", "';' and ',' need every event in order"),
        ),
        form="compiled kernels",
        form_reason="a register automaton",
        on_short_input="run-based NFA^scep, in columns",
    ),
    repetitions=(
        Repetition("B+", "strict: nothing on any stream between two iterations", False),
        Repetition("(A ; B){2,3}", "skip-till-any: any later one may be the next iteration", True),
    ),
)
"""Every section filled."""

AWKWARD = Description(
    query='it\'s "quoted" \\ <b>',
    sentences=(),
    streams=(Stream("S", "urn:s"),),
    window="5 events, sliding",
    patterns=(PatternPlan("Ä", ("S",), ("straße",), ()),),
    states=(
        State(0, "start", "start"),
        State(10, 'ALL(Ä, `x` | {y} # "z" ; w)', "any-order"),
        State(11, "end\nof line \\n", "accept"),
    ),
    edges=(
        Edge(0, 10, "Ä & B", ":"),
        Edge(10, 11, "end", ";", ('FILTER(?a < "5" && ?b > 3)', "100 % ]--> done")),
    ),
    evaluator=Evaluator("tree", "rates are skewed"),
)
"""Characters that mean something to DOT and Mermaid, and sections that are empty."""

ALL = {"smart_grid": SMART_GRID, "awkward": AWKWARD}
