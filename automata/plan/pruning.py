"""Runs of which selectors, AFTER MATCH, DISTINCT and LIMIT discard every match (specification 3.4; B Appendix C.3).

Under `:` every subset of the events that a repetition can take is a run. Two runs that stand at one position after one
event, with one first event, partition and window, the same counts of iterations, the same deadlines of limited steps
and the same values of whatever a later step reads, have the same futures: what extends one extends the other, to
matches of one triggering event, and the events added are the same in both. They lie behind all events of the runs, so
the first and the last position in which two such matches differ, and which contains which, are those of the runs. A run
is hence *worse* than the other

- NEXT, LAST: if it lacks the smallest, largest position in which they differ: so do all its matches;
- MAX: if its events are contained in those of the other: so are those of all its matches;
- otherwise, if it comes later in output order: so do all its matches.

The matches of a worse run never count. A selector drops them; all selectors work before AFTER MATCH, DISTINCT and
LIMIT. LIMIT n drops them if n runs with other positions are better, as each future gives n matches before theirs, of
the same triggering event and partition; CONSUME ALL admits all of these or none, as they begin and end with the same
events. SKIP TO NEXT EVENT and SKIP PAST LAST EVENT drop them if one is better: a match of it with the same first and
last event is either reported, or something forbids both. DISTINCT drops them if one is better that binds the same
values: so do its matches. "Better" is transitive, so those dropped are never missed as rivals. Runs with the same
positions are not compared: their order may depend on the steps to come.

That a match counts must not depend on more than the runs' futures: no negation, which looks between the steps; no
possessive repetition, which asks for the runs that go on; no condition that looks back at earlier events or waits for
later steps; no ALL( ), whose members come in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from automata.plan.expression import Contiguity
from automata.plan.plan import Plan
from automata.plan.program import MATCH, Selector, Skip
from automata.values import NONE


class Better(Enum):
    """The order of runs: by the smallest or the largest position in which they differ, or by containment."""

    EARLIER = "earlier"
    LATER = "later"
    LARGER = "larger"


_SELECTED = {Selector.NEXT: Better.EARLIER, Selector.LAST: Better.LATER, Selector.MAX: Better.LARGER}


@dataclass(frozen=True, slots=True)
class Pruning:
    """The runs that are kept of those with the same futures: no worse one, or the `most` best sets of positions.

    values      runs that bind different values are not compared
    """

    better: Better
    most: int = 1
    values: bool = False


def pruning_of(plan: Plan) -> Pruning | None:
    """The pruning of a plan; None where it is not sound, or where no repetition takes subsets of events."""
    program = plan.program
    iterated = any(not isinstance(reference, int) for each in program.conditions for reference in each.references)
    of_match = any(each.symbol == MATCH for each in program.conditions)
    looks = bool(plan.unordered or plan.negations or plan.possessive or plan.markers)
    if not takes_subsets(plan) or looks or iterated or of_match:
        return None
    if program.selector in _SELECTED:
        return Pruning(_SELECTED[program.selector])
    if program.selector is Selector.STRICT or program.first is None:
        return None
    return Pruning(Better.EARLIER, program.first, program.first_of_values)


def takes_subsets(plan: Plan) -> bool:
    """True if `:` stands in a repetition: any subset of the events that it can take may be a run."""
    return any(
        edge.operator is Contiguity.ANY
        and set(plan.positions[edge.source].repetitions) & set(plan.positions[edge.target].repetitions)
        for edge in plan.edges
    )


def is_gapless(plan: Plan) -> bool:
    """True if a run that has left an event out is in no match that counts: later steps do not fill the gap.

    STRICT keeps the matches whose positions are an interval of the substream. Only members of ALL( ) fill gaps. What
    extends a possessive repetition may have gaps.
    """
    return plan.program.selector is Selector.STRICT and not plan.unordered and not plan.possessive


def skips_later_starts(plan: Plan) -> bool:
    """True if of the runs of an episode the first one decides, so that those that begin later are dropped.

    That is so for `B;{n,}+` alone under SKIP PAST LAST EVENT in a window of time. Of two runs with one last event and
    partition what extends one extends the other, as far as their windows reach, and the one that begins earlier is
    complete no later: once it has n iterations it gives a match, after which the other's are skipped. See
    `automata.runs.columns.run_evaluator`, which knows the matches that may skip the first one itself.
    """
    program = plan.program
    if program.skip is not Skip.PAST_LAST or program.selector is not Selector.ALL or program.streams > 1:
        return False
    if program.window.in_events or program.window.hop is not None or plan.limits or plan.given or plan.whole_slots:
        return False
    waits = any(position.final for position in plan.positions) or plan.markers or plan.negations
    alone = len(plan.positions) == 2 and plan.possessive == (0,) and len(plan.repetitions) == 1
    loops = [edge.operator for edge in plan.edges if edge.loop != NONE]
    read = {r for condition in program.conditions for r in condition.references if not isinstance(r, int)}
    unbounded = alone and plan.repetitions[0].at_most is None
    return unbounded and not waits and not read and loops == [Contiguity.NEXT]
