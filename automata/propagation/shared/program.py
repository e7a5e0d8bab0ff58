"""The equations of a group as the runs of the kernel: quantities in an order in which equal terms stand in rows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from automata.propagation.layout import Extreme, Layout, Linear
from automata.propagation.machine import ACCEPTED, STATES_MAX
from automata.propagation.shared.arrays import Programs
from automata.propagation.shared.equations import (
    Equation,
    Kind,
    Op,
    Quantity,
    Term,
    equations_of,
    merged,
    outputs_of,
    shapes_of,
)
from automata.propagation.shared.members import Frame, Member
from automata.propagation.shared.run_order import Run, in_order
from automata.values import Ids


@dataclass(frozen=True, slots=True)
class Place:
    """A quantity's number among those of its kind in a section of its bundle."""

    bundle: int
    kind: Kind
    number: int


@dataclass(frozen=True, slots=True, eq=False)
class GroupProgram:
    """The program of some queries.

    frames      the distinct windows, those of one bundle beside each other
    bundles     frames with the same quantities → how many there are: their sections are advanced together
    widths      bundle → how many counts, sums and best ones there are; `told`: those that are told of stand first
    places      quantity of a member → its place
    layout      what the reader of solutions makes of them, by the group's variables
    programs    for the kernel
    growth      the most terms that one symbol adds to one quantity
    """

    members: Mapping[int, Member]
    frames: tuple[Frame, ...]
    bundles: tuple[int, ...]
    widths: tuple[tuple[int, int, int], ...]
    told: tuple[tuple[int, int, int], ...]
    places: Mapping[Quantity, Place]
    layout: Layout
    programs: Programs
    growth: int

    @property
    def symbols(self) -> frozenset[int]:
        """The symbols that make a difference to some member."""
        return _symbols_of(self.members)

    def frame_of(self, member: int) -> int:
        """The frame of a member."""
        return self.frames.index(self.members[member].frame)


def program_of(members: Mapping[int, Member], symbols: int) -> GroupProgram:
    """The program of a group with so many symbols."""
    equations = equations_of(members, _symbols_of(members))
    classes = merged(equations)
    bundles = _bundles_of(members, classes)
    of_member = {number: _bundle_of(bundles, member.frame) for number, member in members.items()}
    shapes = shapes_of(equations, classes)
    outputs = {classes[quantity] for number, member in members.items() for quantity in outputs_of(number, member)}
    chosen: dict[tuple[int, int], Quantity] = {}
    for quantity in sorted(
        equations, key=lambda q: (classes[q] not in outputs, shapes[classes[q]], _order(q, members))
    ):
        chosen.setdefault((of_member[quantity.member], classes[quantity]), quantity)
    widths, told = [[0, 0, 0] for _ in bundles], [[0, 0, 0] for _ in bundles]
    numbered: dict[tuple[int, int], Place] = {}
    for (bundle, class_), quantity in chosen.items():
        numbered[bundle, class_] = Place(bundle, quantity.kind, widths[bundle][quantity.kind])
        widths[bundle][quantity.kind] += 1
        told[bundle][quantity.kind] += class_ in outputs
    places = {quantity: numbered[of_member[quantity.member], class_] for quantity, class_ in classes.items()}
    own = {quantity: equations[quantity] for quantity in chosen.values()}
    layout = _layout(own.values())
    openers = [[False] * symbols for _ in bundles]
    for number, member in members.items():
        for symbol in member.machine.openers:
            openers[of_member[number]][member.symbols[symbol]] = True
    terms = Counter((quantity, term.symbol) for quantity, equation in own.items() for term in equation.terms)
    growth = max(terms.values(), default=0)
    copies = [sum(frame.open_max for frame in bundle) for bundle in bundles]
    programs = _Writer(own, places, layout, openers, copies).programs()
    frames = tuple(frame for bundle in bundles for frame in bundle)
    kept, read = (tuple((a, b, c) for a, b, c in some) for some in (widths, told))
    return GroupProgram(members, frames, tuple(map(len, bundles)), kept, read, places, layout, programs, growth)


def _bundles_of(members: Mapping[int, Member], classes: Mapping[Quantity, int]) -> list[list[Frame]]:
    """The frames, those with the same quantities together."""
    found: dict[Frame, set[int]] = {member.frame: set() for member in members.values()}
    for quantity, class_ in classes.items():
        found[members[quantity.member].frame].add(class_)
    bundles: dict[frozenset[int], list[Frame]] = {}
    for frame, own in found.items():
        bundles.setdefault(frozenset(own), []).append(frame)
    return list(bundles.values())


def _bundle_of(bundles: Sequence[Sequence[Frame]], frame: Frame) -> int:
    return next(number for number, frames in enumerate(bundles) if frame in frames)


def _symbols_of(members: Mapping[int, Member]) -> frozenset[int]:
    return frozenset(member.symbols[symbol] for member in members.values() for symbol in member.machine.symbols)


def _order(quantity: Quantity, members: Mapping[int, Member]) -> tuple[tuple[int, ...], int, int]:
    """Quantities of like steps of the queries stand beside each other."""
    state = members[quantity.member].machine.lanes[quantity.lane].state
    match quantity.measure:
        case None:
            measure: tuple[int, ...] = ()
        case Linear(variable, counts, every):
            measure = 0, variable, counts, every
        case Extreme(variable, greatest, every):
            measure = 1, variable, greatest, every
    return (state if state != ACCEPTED else STATES_MAX, *measure), quantity.member, quantity.lane


def _layout(equations: Iterable[Equation]) -> Layout:
    """The columns that terms read."""
    columns = dict.fromkeys(term.column for equation in equations for term in equation.terms if term.column is not None)
    extreme = tuple(column for column in columns if isinstance(column, Extreme))
    return Layout((), extreme, tuple(column for column in columns if not isinstance(column, Extreme)))


class _Writer:
    """Writes equations, those of chosen quantities, as arrays.

    In a bundle of n sections a quantity has n places beside each other, one for each section.
    """

    def __init__(
        self,
        equations: Mapping[Quantity, Equation],
        places: Mapping[Quantity, Place],
        layout: Layout,
        openers: Sequence[Sequence[bool]],
        copies: Sequence[int],
    ) -> None:
        self._copies = copies
        self._places, self._layout, self._openers = places, layout, openers
        self._terms: dict[tuple[int, int], list[tuple[Place, Term]]] = defaultdict(list)
        self._clears: dict[tuple[int, int], list[Place]] = defaultdict(list)
        self._gaps: dict[int, list[Place]] = defaultdict(list)
        self._opened: dict[int, list[int]] = defaultdict(list)
        self._greatest = {
            (places[q].bundle, places[q].number): q.measure.greatest
            for q in equations
            if isinstance(q.measure, Extreme)
        }
        for quantity, equation in equations.items():
            self._add(places[quantity], quantity, equation)

    def programs(self) -> Programs:
        """The arrays."""
        symbols, bundles = len(self._openers[0]), range(len(self._openers))
        at = [(bundle, symbol) for bundle in bundles for symbol in range(symbols)]
        clears = [self._ranges(place[0], self._clears[place]) for place in at]
        given = [self._runs(place[0], self._terms[place]) for place in at]
        ordered = [in_order(some, cleared) for some, cleared in zip(given, clears, strict=True)]
        runs = [some if known is None else known for some, known in zip(given, ordered, strict=True)]
        gaps = [self._ranges(bundle, self._gaps[bundle]) for bundle in bundles]
        before = sum(map(len, clears))
        opened = [sorted(self._opened[bundle]) for bundle in bundles]
        return Programs(
            symbols,
            _offsets(runs),
            _matrix([run for some in runs for run in some], 7),
            _offsets(clears),
            before + _offsets(gaps),
            _matrix([one for some in (*clears, *gaps) for one in some], 3),
            _offsets(opened),
            _column([count for some in opened for count in some]),
            _column([known is not None for known in ordered]),
            _column([self._openers[bundle][symbol] for bundle, symbol in at]),
            _column([bool(self._terms[place] or self._clears[place]) for place in at]),
        )

    def _add(self, place: Place, quantity: Quantity, equation: Equation) -> None:
        for term in equation.terms:
            self._terms[place.bundle, term.symbol].append((place, term))
        for symbol in equation.clears:
            self._clears[place.bundle, symbol].append(place)
        if equation.strict:
            self._gaps[place.bundle].append(place)
        if equation.opening:
            self._opened[place.bundle].append(place.number)

    def _runs(self, bundle: int, terms: Sequence[tuple[Place, Term]]) -> list[Run]:
        """Terms of one kind whose targets, and whose sources too or not at all, stand beside each other."""
        alike: dict[tuple[Op, int, bool], list[tuple[int, int]]] = defaultdict(list)
        for target, term in terms:
            greatest = term.op >= Op.BEST and self._greatest[target.bundle, target.number]
            alike[term.op, self._number(term), greatest].append((target.number, self._places[term.source].number))
        copies = self._copies[bundle]
        return [
            Run(op, source * copies, step, target * copies, count * copies, column, greatest)
            for (op, column, greatest), pairs in sorted(alike.items())
            for target, source, step, count in _rows(pairs, (1, 0) if copies == 1 else (1,))
        ]

    def _ranges(self, bundle: int, places: Iterable[Place]) -> list[tuple[int, int, int]]:
        """Quantities as ranges: kind, first, how many."""
        copies = self._copies[bundle]
        return [(kind, first * copies, many * copies) for kind, first, many in _ranges(places)]

    def _number(self, term: Term) -> int:
        """The number of a term's column for the reader of solutions."""
        if term.column is None:
            return 0
        if isinstance(term.column, Extreme):
            return self._layout.extreme.index(term.column)
        return self._layout.addends.index(term.column)


def _rows(pairs: Sequence[tuple[int, int]], steps: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """Pairs (target, source) as rows: first target, first source, step of the sources, how many."""
    left, found = Counter(pairs), []
    for pair in sorted(pairs):
        if left[pair]:
            step = max(steps, key=lambda step: _length(left, pair, step))
            count = _length(left, pair, step)
            left.subtract((pair[0] + n, pair[1] + n * step) for n in range(count))
            found.append((*pair, step, count))
    return found


def _length(left: Counter[tuple[int, int]], pair: tuple[int, int], step: int) -> int:
    count = 1
    while left[pair[0] + count, pair[1] + count * step] > 0:
        count += 1
    return count


def _ranges(places: Iterable[Place]) -> list[tuple[int, int, int]]:
    """Quantities as ranges: kind, first, how many."""
    found: list[tuple[int, int, int]] = []
    for kind, number in sorted({(int(place.kind), place.number) for place in places}):
        if found and found[-1][0] == kind and sum(found[-1][1:]) == number:
            found[-1] = kind, found[-1][1], found[-1][2] + 1
        else:
            found.append((kind, number, 1))
    return found


def _column(values: Sequence[int]) -> Ids:
    return np.array(values, dtype=np.int64)


def _matrix(rows: Sequence[tuple[int, ...]], width: int) -> Ids:
    return np.array(rows, dtype=np.int64).reshape(len(rows), width)


def _offsets(ranges: Iterable[Sequence[object]]) -> Ids:
    return np.concatenate(([0], np.cumsum([len(some) for some in ranges]))).astype(np.int64)
