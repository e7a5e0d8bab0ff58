"""Sentences about the parts of SEQ( ): a step, an operator, a quantifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from automata.plan import expression as nodes
from automata.plan.expression import UNREADABLE, Contiguity, Limit, extent, limits_of, steps, symbols, walk
from spaseq.algebra.sequence import normal_form
from spaseq.algebra.words import BETWEEN, duration_in_words
from spaseq.lang.ast import Expr
from spaseq.lang.codes import Code
from spaseq.lang.report import Report
from spaseq.lang.signs import CONTIGUITIES
from spaseq.lang.structure import check_structure

OPERATORS = {
    Contiguity.STRICT: "the very next event",
    Contiguity.NEXT: "the next event that goes on with the match",
    Contiguity.ANY: "any later event that goes on with the match",
}
"""The event that may follow, for each contiguity."""
_CONTIGUITIES = {
    Contiguity.STRICT: "strict contiguity: the very next event, of any stream that the query reads",
    Contiguity.NEXT: "skip-till-next: the next event that goes on with this match; others between are skipped",
    Contiguity.ANY: "skip-till-any: any later event that goes on with this match; each gives a match of its own",
}


@dataclass(frozen=True, slots=True)
class StepPlace:
    """A step and the nodes around it, outermost first."""

    step: nodes.Step[str]
    around: tuple[Expr, ...]

    @property
    def negated(self) -> bool:
        """True inside `!`."""
        return any(isinstance(node, nodes.Negation) for node in self.around)

    @property
    def repetitions(self) -> list[nodes.Repetition[str]]:
        """The repetitions around it that may have several iterations, outermost first."""
        return [node for node in self.around if isinstance(node, nodes.Repetition) and node.at_most != 1]


def step_at(sequence: Expr, offset: int) -> StepPlace | None:
    """The step that an offset is in or touches."""
    for step, around in steps(sequence):
        if step.span.start <= offset <= step.span.end:
            return StepPlace(step, around)
    return None


def contiguities(sequence: Expr, text: str) -> dict[int, Contiguity]:
    """The contiguity in force between the iterations of each repetition, by the beginning of its quantifier.

    None where a member of `&` has an order: such a sequence has no normal form.
    """
    report = Report(text)
    check_structure(sequence, text, report)
    if any(problem.code == Code.CONJUNCTION_MEMBER.code for problem in report.problems()):
        return {}
    numbers = {name: number for number, name in enumerate(symbols(sequence))}
    normal = walk(normal_form(sequence, numbers))
    found = (node for node in normal if isinstance(node, nodes.Repetition))
    return {node.span.start: node.contiguity for node in found if node.contiguity}


def defaults(sequence: Expr, text: str) -> Iterator[tuple[int, Contiguity]]:
    """The places of quantifiers whose contiguity is not written, and the one that is in force."""
    for start, contiguity in contiguities(sequence, text).items():
        if text[start] not in CONTIGUITIES:
            yield start, contiguity


def step_sentence(place: StepPlace, streams: Sequence[str], text: str) -> str:
    """One sentence about a step: the event it takes, how often, and where."""
    name, on = place.step.symbol, " or ".join(streams) or "a stream"
    where = _where(place, text)
    if place.negated:
        return f"No event of {on} that {name} matches {where}."
    times = "".join(f", {times_in_words(node)}" for node in reversed(place.repetitions))
    optional = ", if there is one" if any(isinstance(node, nodes.Optional) for node in place.around) else ""
    return f"{name} is an event of {on}{optional}{times}: {where}."


def _where(place: StepPlace, text: str) -> str:
    """The place of a step: relative to the item before it in the innermost sequence in which one is before it."""
    child: Expr = place.step
    for parent in reversed(place.around):
        match parent:
            case nodes.Conjunction(members):
                others = " and ".join(_shown(member, text) for member in members if member is not child)
                return f"at the same time as {others}" if not place.negated else f"comes together with {others}"
            case nodes.AnyOrder(members):
                others = ", ".join(_shown(member, text) for member in members if member is not child)
                return f"in any order with {others}"
            case nodes.Sequence(items):
                index = next(i for i, item in enumerate(items) if item is child)
                if place.negated and isinstance(child, nodes.Negation):
                    return _absence(parent, index, text)
                if index > 0:
                    return _after(parent, index, text)
        child = parent
    return "lies before the first event of the match" if place.negated else "the match begins with it"


def _after(sequence: nodes.Sequence[str], index: int, text: str) -> str:
    before = [item for item in sequence.items[:index] if not isinstance(item, nodes.Negation)]
    anchor = f" after {_shown(before[-1], text)}" if before else ""
    limit = limits_of(sequence)[index - 1]
    return f"{OPERATORS[sequence.operators[index - 1]]}{anchor}{_within(limit)}"


def _absence(sequence: nodes.Sequence[str], index: int, text: str) -> str:
    negation = sequence.items[index]
    limit = _within(negation.limit) if isinstance(negation, nodes.Negation) else ""
    before = [item for item in sequence.items[:index] if not isinstance(item, nodes.Negation)]
    after = [item for item in sequence.items[index + 1 :] if not isinstance(item, nodes.Negation)]
    if before and after:
        return f"lies between {_shown(before[-1], text)} and {_shown(after[0], text)}{limit}"
    if before:
        return f"comes after {_shown(before[-1], text)}{limit or ' in the rest of the window'}"
    first = _shown(after[0], text) if after else "the match"
    return f"lies before {first}{limit or ' in the window'}"


def _shown(node: Expr, text: str) -> str:
    """A part of SEQ( ) as it is written, on one line, in Markdown."""
    span = extent(node)
    return f"`{' '.join(text[span.start : span.end].split())}`"


def _within(limit: Limit | None) -> str:
    return f", at most {duration_in_words(limit.size)} later" if limit and limit.size != UNREADABLE else ""


def times_in_words(repetition: nodes.Repetition[str]) -> str:
    """Such as "2 to 3 times"."""
    at_least, at_most = repetition.at_least, repetition.at_most
    if at_most is None:
        return "one or more times" if at_least == 1 else f"{at_least} or more times"
    return f"{at_least} times" if at_least == at_most else f"{at_least} to {at_most} times"


def operator_sentence(sequence: Expr, start: int, operator: Contiguity) -> str:
    """The contiguity that an operator at an offset asks for; a comma may stand between members of ALL( ) as well."""
    spans = [span.start for node in walk(sequence) if isinstance(node, nodes.Sequence) for span in node.operator_spans]
    if start not in spans:
        return "between the members of ALL( ), which come in any order"
    return f"`{operator.value}` {_CONTIGUITIES[operator]}"


def quantifier_sentence(sequence: Expr, start: int, end: int, text: str) -> str:
    """A quantifier: how often, the contiguity between iterations that is in force, and whence it comes."""
    for node in walk(sequence):
        if node.span.start != start or node.span.end != end:
            continue
        match node:
            case nodes.Repetition(_, _, _, written, possessive):
                contiguity = contiguities(sequence, text).get(start)
                if contiguity is None:
                    continue
                default = (
                    ""
                    if written
                    else "; the default "
                    + ("where no step comes before" if contiguity is Contiguity.NEXT else "after another step")
                )
                most = "; as many iterations as there are" if possessive else ""
                between = f"Between iterations `{contiguity.value}` {BETWEEN[contiguity]}{default}."
                return f"{times_in_words(node)}{most}. {between}"
            case nodes.Optional(inner) if not isinstance(inner, nodes.Repetition):
                return "optional: matches with an event here, and matches without any event that fits"
            case nodes.Negation():
                return "absence: no event that fits may lie here"
    return ""
