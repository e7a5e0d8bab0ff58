"""Sequence expressions: the content of SEQ( ), from the parsed text to the automaton.

The parser makes them over the names of steps. `spaseq.algebra.sequence` makes the *normal form* that automata read:
symbols are numbers, each repetition has its contiguity, the members of a conjunction are steps, no sequence is an item
of a sequence, and no choice a branch of a choice. The events of a symbol are not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Generic, TypeVar

S = TypeVar("S")


class Contiguity(Enum):
    """The events allowed between two that follow each other (G Definitions 10-12)."""

    STRICT = ","
    NEXT = ";"
    ANY = ":"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of code points in the query text."""

    start: int
    end: int


_UNWRITTEN = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Limit:
    """`WITHIN 5 MINUTES` after an operator or a step.

    size    nanoseconds; UNREADABLE in a query with errors
    span    of the whole, `number` of the number
    """

    size: int
    span: Span = field(default=_UNWRITTEN, compare=False, repr=False, kw_only=True)
    number: Span = field(default=_UNWRITTEN, compare=False, repr=False, kw_only=True)


UNREADABLE = -1
"""The size of a limit whose number is not a whole one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written(Generic[S]):
    """`span` is the place in the text, for messages; it is no part of the value."""

    span: Span = field(default=_UNWRITTEN, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Step(_Written[S]):
    """One event of this symbol."""

    symbol: S


@dataclass(frozen=True, slots=True)
class Sequence(_Written[S]):
    """`items[0] operators[0] limits[0] items[1] …`.

    limits          of the operators, None for one without; () if none has one
    operator_spans  () in a tree that was not read from text
    """

    items: tuple[Node[S], ...]
    operators: tuple[Contiguity, ...]
    limits: tuple[Limit | None, ...] = field(default=(), kw_only=True)
    operator_spans: tuple[Span, ...] = field(default=(), compare=False, repr=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Choice(_Written[S]):
    """`A | B`: one of the branches; for skip-till-next their first steps are one step (G Definition 9)."""

    branches: tuple[Node[S], ...]


@dataclass(frozen=True, slots=True)
class Conjunction(_Written[S]):
    """`A & B`: all members at one time, each a Step, or a Choice or Conjunction of such (G Definition 8)."""

    members: tuple[Node[S], ...]


@dataclass(frozen=True, slots=True)
class AnyOrder(_Written[S]):
    """`ALL(A, B)`: every member, in any order, on distinct events (K Sections 4.2-4.3)."""

    members: tuple[Node[S], ...]


@dataclass(frozen=True, slots=True)
class Repetition(_Written[S]):
    """`A+`, `A{2,3}`: `inner` repeated; `A*` and `A{0,m}` are an Optional around it (G Definitions 13-14).

    at_most     None: unbounded
    contiguity  between iterations; None where it is not written, outside of the normal form
    possessive  `A++`: a match that one more iteration extends is none
    span        of the quantifier
    """

    inner: Node[S]
    at_least: int
    at_most: int | None
    contiguity: Contiguity | None
    possessive: bool = False


@dataclass(frozen=True, slots=True)
class Optional(_Written[S]):
    """`A?`: the union of two patterns, with `inner` and with `Negation(inner)` in its place (G Appendix B)."""

    inner: Node[S]


@dataclass(frozen=True, slots=True)
class Negation(_Written[S]):
    """`A!`: no match of `inner` between the neighbouring steps (G Appendix B, K Section 4.4).

    limit   of `A! WITHIN d`: so long after the last event before it; of a leading one, so long before the first event
    """

    inner: Node[S]
    limit: Limit | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Limited(_Written[S]):
    """`B+ WITHIN d`, `(A ; B) WITHIN d`: of the events taken inside, the last is at most so long after the first.

    span    of the limit
    """

    inner: Node[S]
    limit: Limit


Node = (
    Step[S] | Sequence[S] | Choice[S] | Conjunction[S] | AnyOrder[S] | Repetition[S] | Optional[S] | Negation[S]
    | Limited[S]
)  # fmt: skip
Expression = Node[int]
"""An expression in the normal form."""


def children(node: Node[S]) -> tuple[Node[S], ...]:
    """The expressions directly inside a node, in order."""
    match node:
        case Step():
            return ()
        case Sequence(nodes) | Choice(nodes) | Conjunction(nodes) | AnyOrder(nodes):
            return nodes
        case Repetition(inner) | Optional(inner) | Negation(inner) | Limited(inner):
            return (inner,)


def map_children(node: Node[S], change: Callable[[Node[S]], Node[S]]) -> Node[S]:
    """The node with `change` applied to the expressions directly inside it."""
    changed = tuple(map(change, children(node)))
    match node:
        case Step():
            return node
        case Sequence():
            return replace(node, items=changed)
        case Choice():
            return replace(node, branches=changed)
        case Conjunction() | AnyOrder():
            return replace(node, members=changed)
        case Repetition() | Optional() | Negation() | Limited():
            return replace(node, inner=changed[0])


def walk(node: Node[S]) -> Iterator[Node[S]]:
    """The node and everything inside it, in the order of the text."""
    waiting = [node]
    while waiting:
        yield (found := waiting.pop())
        waiting += reversed(children(found))


def steps(node: Node[S], around: tuple[Node[S], ...] = ()) -> Iterator[tuple[Step[S], tuple[Node[S], ...]]]:
    """Every step in the order of the text, with the nodes around it, outermost first."""
    waiting = [(node, around)]
    while waiting:
        found, outside = waiting.pop()
        if isinstance(found, Step):
            yield found, outside
        waiting += [(child, (*outside, found)) for child in reversed(children(found))]


def symbols(node: Node[S], negated: bool = True) -> tuple[S, ...]:
    """The symbols of an expression, each once, in the order of the text; those only inside `!` if `negated`."""
    found = (step.symbol for step, around in steps(node) if negated or not any(isinstance(n, Negation) for n in around))
    return tuple(dict.fromkeys(found))


def flattened(sequence: Sequence[S]) -> Sequence[S]:
    """((A ; B) : C) -> (A ; B : C): a group without a quantifier and limit stands for its items."""
    items: list[Node[S]] = []
    operators: list[Contiguity] = []
    limits: list[Limit | None] = []
    spans: list[Span] = []
    for index, item in enumerate(sequence.items):
        inner = flattened(item) if isinstance(item, Sequence) else Sequence((item,), ())
        joint = slice(max(index - 1, 0), index)
        items += inner.items
        operators += sequence.operators[joint] + inner.operators
        limits += limits_of(sequence)[joint] + limits_of(inner)
        spans += sequence.operator_spans[joint] + inner.operator_spans
    written = tuple(limits) if any(limits) else ()
    return Sequence(tuple(items), tuple(operators), limits=written, span=sequence.span, operator_spans=tuple(spans))


def limits_of(sequence: Sequence[S]) -> tuple[Limit | None, ...]:
    """The limit of each operator."""
    return sequence.limits or (None,) * len(sequence.operators)


def without_possession(node: Node[S]) -> Node[S]:
    """The expression with no possessive repetition in it: the `A!` that `A?` stands for ignores a second `+`."""
    changed = map_children(node, without_possession)
    return replace(changed, possessive=False) if isinstance(changed, Repetition) else changed


def extent(node: Node[S]) -> Span:
    """The text of a node; for a quantified one that is more than the span of its quantifier."""
    match node:
        case Repetition(inner) | Optional(inner) | Negation(inner) | Limited(inner):
            end = node.limit.span.end if isinstance(node, Negation) and node.limit else node.span.end
            within = extent(inner)
            return Span(within.start, max(within.end, end))
    return node.span
