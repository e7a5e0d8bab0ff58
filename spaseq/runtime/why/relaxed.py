"""The solutions that events would have if a part of a step's pattern were left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np

from sparql_gpm.algebra.parts import OPENED, Part, parts_of, triple_text, with_open_predicate, with_parts
from sparql_gpm.algebra.scope import expression_variables
from sparql_gpm.bounds import inseparable
from sparql_gpm.columns import UNBOUND, EventBatch, Ids, Mask, Solutions
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.pattern import Expression, Pattern, Triple
from sparql_gpm.terms import IRI, Term
from spaseq.algebra.partitions import partition_variable
from spaseq.algebra.written import filter_written
from spaseq.explain.zero_rows import similarity
from spaseq.outputs.attempts import Fault
from spaseq.runtime.why.evidence import Evidence
from spaseq.runtime.why.runs import Values
from spaseq.runtime.why.world import Candidate

_SIMILARITY_MIN = 0.7
"""The least likeness of a predicate that may have been meant."""


class Relaxed:
    """A step's pattern without some of its parts, over all events.

    partition, bound    what can be left out as if it were a part: the partition of USING, and the bounds of matching
    """

    def __init__(self, evidence: Evidence, symbol: int) -> None:
        self._evidence = evidence
        self._symbol = symbol
        self._pattern = evidence.compiled.query.patterns[symbol]
        self.parts = parts_of(self._pattern.pattern)
        self.partition = len(self.parts)
        self.bound = self.partition + 1
        self._over = evidence.over_bounds.get(symbol, {})
        self._found: dict[int, Sequence[Candidate]] = {}
        self._written: dict[int, str] = {}

    @cached_property
    def _matched(self) -> frozenset[int]:
        return frozenset(event for event, _ in self._evidence.found[self._symbol])

    def on_streams(self, event: int) -> bool:
        """True if the step reads the stream of an event."""
        return self._evidence.merged.streams[event] in self._pattern.streams

    def nearest(self, event: int) -> int:
        """The event on the streams of the step that is nearest in the merged order; `event` if there is none."""
        streams = self._evidence.merged.streams
        found = (other for other, stream in enumerate(streams) if stream in self._pattern.streams)
        return min(found, key=lambda other: abs(other - event), default=event)

    def without(self, part: int) -> Sequence[Candidate]:
        """The solutions without one part, in events that have none with it, by event.

        Without the partition they are those of events in none. An event over a bound is not matched at all.
        """
        if part == self.bound:
            return [(event, {}) for event in sorted(self._over)]
        if part not in self._found:
            kept = frozenset(range(len(self.parts))) - {part}
            every = self._evidence.every
            wanted = np.isin(every.streams, self._pattern.streams)
            wanted[[*self._matched, *self._over]] = False
            places = np.arange(len(every), dtype=np.int64)
            self._found[part] = []
            opened = with_open_predicate(self._pattern.pattern, part) if part < len(self.parts) else None
            if opened is not None and not self._is_seen(part):
                self._found[part] = self._similar(part, self._solved(opened, every, wanted), places)
            if not self._found[part]:
                found = self._solved(with_parts(self._pattern.pattern, kept), every, wanted)
                self._found[part] = self._candidates(found, places)
        return self._found[part]

    def _is_seen(self, part: int) -> bool:
        """True if some event has the predicate of a triple pattern."""
        triple = self.parts[part].triple
        assert isinstance(triple, Triple) and isinstance(triple.predicate, IRI)
        return bool((self._evidence.every.predicates == self._evidence.dictionary.find(triple.predicate)).any())

    def _similar(self, part: int, found: Solutions, positions: Ids) -> list[Candidate]:
        """The solutions with another predicate that is written almost as the one of a triple pattern."""
        triple, column = self.parts[part].triple, found.columns[OPENED]
        assert isinstance(triple, Triple) and isinstance(triple.predicate, IRI)
        names = {i: term.value for i in np.unique(column).tolist() if isinstance(term := self._evidence.term(i), IRI)}
        likeness = {i: similarity(triple.predicate.value, name) for i, name in names.items()}
        nearest = max(likeness, key=lambda i: (likeness[i], names[i]), default=None)
        if nearest is None or likeness[nearest] < _SIMILARITY_MIN:
            return []
        self._written[part] = names[nearest]
        rows = np.flatnonzero(column == nearest)
        columns = {name: ids[rows] for name, ids in found.columns.items()}
        return self._candidates(Solutions(found.events[rows], columns), positions)

    @property
    def choices(self) -> Sequence[int]:
        """Everything that `without` can leave out; the partition first: events that only lack it have all parts."""
        bound = [self.bound] if self._over else []
        partition = [] if self._evidence.compiled.query.using is None else [self.partition]
        return (*bound, *partition, *range(len(self.parts)))

    def least(self, event: int) -> tuple[list[int], Values]:
        """The parts that an event lacks, so few that none of them can be put back, and a solution without them."""
        if event in self._over:
            return [self.bound], {}
        single, kept = self._evidence.single(event), set[int]()
        values: Values = {}
        for part in range(len(self.parts)):
            found = self._solved(with_parts(self._pattern.pattern, {*kept, part}), single, None)
            if made := self._candidates(found, np.array([event])):
                kept.add(part)
                values = made[0][1]
        return [part for part in range(len(self.parts)) if part not in kept], values

    def fault(self, part: int, event: int, values: Values) -> Fault:
        """The fault of a part that has no solution in an event; `values` of the pattern without it."""
        if part == self.bound:
            reason, name = self._over[event], self._evidence.name(event)
            repair = f"raise the bound, or leave out a triple pattern of {self._pattern.name}"
            return Fault("bound", {"event": name, "reason": reason}, repair)
        query, lacking, name = self._evidence.compiled.query, self.parts[part], self._pattern.name
        if lacking.home is not None and self._is_skipped(lacking.home, event):
            return Fault("service", {"kb": lacking.home}, f"wait until <{lacking.home}> answers: --kb-failure wait")
        if lacking.home is not None:
            repair = f"let knowledge base <{lacking.home}> have what {name} asks it for"
            return Fault("pattern", {"kb": lacking.home}, repair)
        detail: dict[str, object] = {}
        if lacking.condition is not None:
            text = filter_written(query, lacking.condition)
            detail = {"filter": text, "values": self._read(lacking.condition, values)}
        else:
            text = triple_text(lacking.triple, lacking.terms) if lacking.triple is not None else _group_text(lacking)
            detail = {"pattern": text}
            if part in self._written:
                seen = self._written[part]
                return Fault(
                    "pattern", {**detail, "seen": seen}, f"write <{seen}>, which events have, in {text} of {name}"
                )
        return Fault("pattern", detail, f"leave out {text} in {name}")

    def _is_skipped(self, endpoint: str, event: int) -> bool:
        """True if an endpoint did not answer what an event asks: now it does, or it is skipped again."""
        before = self._evidence.skipped().get(endpoint, 0)
        if not before:
            return False
        answered = len(self._solved(self._pattern.pattern, self._evidence.single(event), None).events) > 0
        return answered or self._evidence.skipped().get(endpoint, 0) > before

    def _read(self, condition: Expression, values: Values) -> dict[str, Term]:
        """The terms that a condition reads, by variable."""
        numbers = {name: number for number, name in enumerate(self._evidence.compiled.query.variables)}
        read = sorted(name for name in expression_variables(condition) if numbers.get(name) in values)
        return {name: self._evidence.term(values[numbers[name]]) for name in read}

    def _solved(self, pattern: Pattern, batch: EventBatch, wanted: Mask | None) -> Solutions:
        evidence = self._evidence
        matcher = compile_pattern(pattern, evidence.dictionary, evidence.evaluator, evidence.background)
        with inseparable():
            return matcher.match(batch, wanted)

    def _candidates(self, found: Solutions, positions: Ids) -> list[Candidate]:
        numbers = {name: number for number, name in enumerate(self._evidence.compiled.query.variables)}
        columns = [(numbers[n], found.columns[n].tolist()) for n in found.columns if n in numbers]
        events = positions[found.events].tolist()
        made: list[Candidate] = [
            (event, {number: column[row] for number, column in columns if column[row] != UNBOUND})
            for row, event in enumerate(events)
        ]
        using = self._evidence.compiled.query.using
        if using is None:
            return made
        shared = (name for name in using.variables if name in found.columns)
        agreeing = {numbers[partition_variable(name)]: found.columns[name].tolist() for name in shared}
        return [each for row, candidate in enumerate(made) for each in self._in_partitions(row, candidate, agreeing)]

    def _in_partitions(
        self, row: int, candidate: Candidate, agreeing: Mapping[int, Sequence[int]]
    ) -> Iterator[Candidate]:
        """A solution in the partitions of its event that agree with it; in all of them where none does.

        agreeing    of the partition's variables, what solutions bind
        """
        event, own = candidate
        of_steps = self._evidence.of_steps
        own = {**own, **{of_steps[v]: column[row] for v, column in agreeing.items() if column[row] != UNBOUND}}
        every = self._partitions.get(event, ())
        agreed = [
            given
            for given in every
            if all(column[row] in (UNBOUND, given[variable]) for variable, column in agreeing.items())
        ]
        yield from ((event, {**own, **given}) for given in agreed or every or ({},))

    @cached_property
    def _partitions(self) -> Mapping[int, Sequence[Values]]:
        """Under USING, the partitions of each event."""
        found: dict[int, list[Values]] = {}
        for event, values in self._evidence.found[self._evidence.compiled.program.using]:
            found.setdefault(event, []).append(values)
        return found


def _group_text(part: Part) -> str:
    return f"the group {type(part.group).__name__.upper()}"
