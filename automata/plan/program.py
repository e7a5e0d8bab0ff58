"""The program of an evaluator: one temporal pattern with its conditions, window and selection.

Variables, symbols, streams and conditions are numbers. Values of variables are ids that are only
ever compared for equality; 0 is "unbound". Whatever needs to look behind an id asks the `ConditionEvaluator`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from arrays.times import ENDLESS_NS
from arrays.wanted import check_wanted
from automata.plan.expression import Expression
from automata.values import NONE, Ids, Mask, Match

RUNS_MAX = 10_000_000
"""The default bound of a program's partial matches."""


class TooManyRuns(Exception):
    """An evaluator would hold more partial matches than its program allows; it cannot go on."""

    hint = (
        "shorten WITHIN, write ';' for ':', add conditions or PARTITION BY; or allow more with --max-runs "
        "(max_runs in Python)"
    )


class Selector(Enum):
    """The selection among the complex events of one triggering event (B Section 4)."""

    ALL = "ALL"
    STRICT = "STRICT"
    NEXT = "NEXT"
    LAST = "LAST"
    MAX = "MAX"


class Skip(Enum):
    """AFTER MATCH (specification 3.4)."""

    NO_SKIP = "NO SKIP"
    TO_NEXT = "SKIP TO NEXT EVENT"
    TO_FIRST = "SKIP TO FIRST"
    TO_LAST = "SKIP TO LAST"
    PAST_LAST = "SKIP PAST LAST EVENT"
    CONSUME_ALL = "CONSUME ALL"


class Demand(Enum):
    """The matches of one triggering event and partition that are needed: LIMIT 1, NEXT (specification 3.4).

    FIRST       the first in output order, and those that only their values put before or behind it
    HAPPENED    the first, whatever its values: they are not shown
    An evaluator may give more than is wanted.
    """

    EVERY = "EVERY"
    FIRST = "FIRST"
    HAPPENED = "HAPPENED"


@dataclass(frozen=True, slots=True)
class Window:
    """Specification 3.3.

    size        nanoseconds, or events when `in_events`
    start       of the window with number 0: a time or a position
    anchored    STARTING AT was written: nothing before `start` matches
    hop         EVERY: from the start of a window to that of the next, in the unit of `size`; None: it tumbles or
                slides. Evaluators are given windows that do not overlap: what is between two of them is in none
    """

    size: int
    in_events: bool
    sliding: bool
    start: int = 0
    anchored: bool = False
    hop: int | None = None

    @property
    def period(self) -> int:
        """From the start of a window to that of the next."""
        return self.hop or self.size

    @property
    def overlaps(self) -> bool:
        """True if an event may be in several windows that hop."""
        return self.hop is not None and self.hop < self.size


ENDLESS = Window(size=ENDLESS_NS, in_events=False, sliding=True)
"""One window for all events; kernels do not take it."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """One kind of event.

    scope       the variables its solutions may bind
    certain     those that every solution binds
    streams     the streams it is looked for on
    """

    name: str
    scope: frozenset[int]
    certain: frozenset[int]
    streams: frozenset[int]


@dataclass(frozen=True, slots=True)
class IterationValue:
    """`PREV`, `FIRST` or `LAST` of a variable (specification 3.2)."""

    kind: str
    variable: int


@dataclass(frozen=True, slots=True)
class FoldValue:
    """An aggregate over a variable's values, one an iteration; `fold` is the host's number for it."""

    fold: int
    variable: int


Reference = int | IterationValue | FoldValue
"""What a condition reads: the value of a variable, or something made of its iterations."""

MATCH = -1
"""The symbol of a condition of the match, which belongs to no step."""
ELSEWHERE = -2
"""The symbol of a condition of the match in the program of a negated group, where it is not looked at."""
EVENT = -1
"""The reference under which a condition that looks into its own event finds that event's position."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition of a step or of the match, over the bindings of the match.

    symbol          the step it belongs to, or MATCH
    references      what it reads
    needs_event     it also reads the graph of its own event
    at_end          it is decided when the match is complete, not before
    """

    symbol: int
    references: tuple[Reference, ...]
    needs_event: bool = False
    at_end: bool = False

    def variables(self) -> frozenset[int]:
        """Every variable it depends on."""
        return frozenset(r if isinstance(r, int) else r.variable for r in self.references)


class ConditionEvaluator(Protocol):
    """Whoever knows what the ids stand for."""

    def holds(self, condition: int, columns: Mapping[Reference, Ids], rows: int) -> Mask:
        """A mask of the rows that satisfy the condition; a reference's column has one id a row."""

    def fold(self, value: FoldValue, offsets: Ids, ids: Ids) -> Ids:
        """The aggregate of each row's ids[offsets[i]:offsets[i + 1]], all of them bound."""

    def texts(self, matches: Sequence[Match]) -> Sequence[tuple[str, ...]]:
        """The projected values of each match, as texts that order matches of the same events (specification 3.5)."""


@dataclass(frozen=True, slots=True)
class Program:
    """One temporal pattern, ready for an evaluator.

    variables   how many there are
    partition   the variables of PARTITION BY
    skip_to     the symbol of SKIP TO FIRST and SKIP TO LAST; NONE for other strategies
    outputs     iteration values that the matches must carry
    streams     how many streams the query declares
    demand      the matches of each triggering event that are needed
    first       of the matches with one first event, triggering event and partition the first so many sets of positions
                in output order suffice; None: all are needed
    first_of_values   they suffice of those that bind the same values
    using       the symbol that no step takes, but whose events make up the substreams; NONE: those of all used symbols
    given       with `using`: of each variable of the partition, that of the steps with its name; NONE: none binds it
    runs_max    the most partial matches, and matches of one slice, that an evaluator may hold
    """

    expression: Expression
    symbols: tuple[Symbol, ...]
    variables: int
    conditions: tuple[Condition, ...]
    window: Window
    partition: tuple[int, ...]
    selector: Selector
    skip: Skip
    outputs: tuple[IterationValue | FoldValue, ...]
    streams: int
    demand: Demand = Demand.EVERY
    first: int | None = None
    first_of_values: bool = False
    runs_max: int = RUNS_MAX
    skip_to: int = NONE
    using: int = NONE
    given: tuple[tuple[int, int], ...] = ()

    def check_runs(self, count: int) -> None:
        """Raises TooManyRuns if the program does not allow so many partial matches, NotWanted if nobody waits."""
        check_wanted()
        if count > self.runs_max:
            raise TooManyRuns(f"more than {self.runs_max:,} partial matches")
