"""From matches to rows: values of columns, the constructed graph, the names of events, DISTINCT and LIMIT."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automata.match_table import MatchTable
from automata.program import UNBOUND, Ids, Mask, Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.evaluator import Evaluator, column_name
from sparql_gpm.pattern import Expression, Node, Variable
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, to_ntriples
from spaseq.algebra.nodes import TemporalQuery
from spaseq.lang.ast import TemplateTriple
from spaseq.physical.program import Compiled
from spaseq.runtime.enrichment import Enricher
from spaseq.runtime.names import Names
from spaseq.runtime.row_table import RowTable, graphs_of
from spaseq.runtime.rows import Row, RowTriple

_FEW_MATCHES = 16
"""Up to here values are put together match by match, not in columns."""


class Projector:
    """Rows of one query, in report order."""

    def __init__(
        self,
        query: TemporalQuery,
        compiled: Compiled,
        dictionary: Dictionary,
        evaluator: Evaluator,
        enricher: Enricher,
    ) -> None:
        self._query = query
        self._compiled = compiled
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._enricher = enricher
        self._plain = self._plain_columns()
        self._steps = [pattern.name for pattern in query.patterns]
        self._graphs = 0
        self._reported: dict[tuple[int, int], int] = {}
        self._projected: dict[tuple[int, int], set[tuple[str, ...]]] = {}

    def rows(self, matches: Sequence[Match], names: Names) -> list[Row]:
        """The rows of matches that come in report order; `names` are the graph names of events by position."""
        if not matches:
            return []
        if isinstance(matches, MatchTable):
            if (found := self.table(matches, names)) is not None:
                return found.rows()
            matches = list(matches)
        columns, table = self._table(matches)
        ordered = self._tie_break(matches, table) if len(matches) > 1 else [0]
        if self._query.distinct or self._query.limit is not None:
            texts = _Texts(self, table)
            ordered = [number for number in ordered if self._admit(matches[number], number, texts)]
        return [self._row(matches[number], columns, table[number], names) for number in ordered]

    def table(self, matches: MatchTable, names: Names) -> RowTable | None:
        """The rows as columns; None where they must be looked at one by one, or are too few to be worth it."""
        query = self._query
        alone = query.template is not None or query.distinct or query.limit is not None
        if alone or len(matches) <= _FEW_MATCHES:
            return None
        values, steps = self._values(matches), [pattern.name for pattern in query.patterns]
        tied = matches.like_previous()
        if tied.any():
            order = self._untied(values, tied)
            values, matches = {name: ids[order] for name, ids in values.items()}, matches.take(order)
        return RowTable(query.name, steps, values, matches, graphs_of(matches, names), self._dictionary)

    def texts(self, matches: Sequence[Match]) -> list[tuple[str, ...]]:
        """What each match projects, as N-Triples texts, unbound first."""
        _, table = self._table(matches)
        return [self.text(row) for row in table]

    def text(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The N-Triples texts of some ids, "" for unbound."""
        return tuple("" if i == UNBOUND else to_ntriples(self._dictionary.term(i)) for i in ids)

    def forget(self, before: int) -> None:
        """No match to come has its last event before this position."""
        for memory in (self._reported, self._projected):
            for key in [key for key in memory if key[1] < before]:
                del memory[key]

    def snapshot(self) -> dict[str, Any]:
        """What DISTINCT, LIMIT and the names of graphs depend on; see spaseq.runtime.snapshot."""
        return {
            "graphs": self._graphs,
            "reported": [[*trigger, count] for trigger, count in self._reported.items()],
            "projected": [[*trigger, list(seen)] for trigger, seen in self._projected.items()],
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._graphs = state["graphs"]
        self._reported = {(partition, last): count for partition, last, count in state["reported"]}
        self._projected = {(partition, last): set(map(tuple, seen)) for partition, last, seen in state["projected"]}

    def _table(self, matches: Sequence[Match]) -> tuple[Sequence[str], Sequence[Sequence[int]]]:
        """The names of the columns, or of the values that the template needs, and their ids in each match."""
        if self._plain is not None and len(matches) <= _FEW_MATCHES:
            rows = [self._plain_row(match, self._plain.values()) for match in matches]
            known = [row for row in rows if row is not None]
            if len(known) == len(rows):
                return list(self._plain), known
        values = self._values(matches)
        return list(values), _rows_of(values, len(matches))

    def _plain_columns(self) -> dict[str, int] | None:
        """Which of the values of `_plain_row` each column is, if all are values of variables and iterations."""
        known = [*map(Variable, self._enricher.variables), *self._compiled.outputs]
        numbers: dict[Expression, int] = {node: number for number, node in enumerate(known)}
        columns = self._expressions()
        if any(expression not in numbers for _, expression in columns):
            return None
        return {name: numbers[expression] for name, expression in columns}

    def _plain_row(self, match: Match, places: Iterable[int]) -> list[int] | None:
        """Some values of variables, enrichments and iterations in one match, if they can be told without columns."""
        values = list(match.registers)
        if not self._enricher.enrich_one(values, match):
            return None
        values += match.outputs
        return [values[place] for place in places]

    def _values(self, matches: Sequence[Match]) -> dict[str, Ids]:
        """The id of each column, or of each value that the template needs, in each match."""
        if isinstance(matches, MatchTable):
            registers, outputs = matches.registers, matches.outputs
        else:
            registers, outputs = _as_rows([m.registers for m in matches]), _as_rows([m.outputs for m in matches])
        columns: dict[str, Ids] = {
            name: np.ascontiguousarray(registers[:, number]) for number, name in enumerate(self._query.variables)
        }
        for number, node in enumerate(self._compiled.outputs):
            columns[column_name(node)] = np.ascontiguousarray(outputs[:, number])
        columns = self._enricher.enriched(columns, matches)
        return {
            name: self._evaluator.evaluate(expression, columns, len(matches))
            for name, expression in self._expressions()
        }

    def _expressions(self) -> list[tuple[str, Expression]]:
        if self._query.template is None:
            return [(column.name, column.expression) for column in self._query.columns]
        found: dict[str, Expression] = {}
        for triple in self._query.template:
            nodes = (triple.pattern.subject, triple.pattern.predicate, triple.pattern.object)
            found |= {n.name: n for n in nodes if isinstance(n, Variable) and not n.name.startswith("_:")}
            if triple.object is not None:
                found[_object_key(triple)] = triple.object
        return list(found.items())

    def _untied(self, values: Mapping[str, Ids], tied: Mask) -> Ids:
        """The order of matches in columns where those tied with the one before are told apart by their values."""
        ranks = [self._ranks(ids) for ids in values.values() if (tied[1:] & (ids[1:] != ids[:-1])).any()]
        return np.lexsort((*ranks[::-1], np.cumsum(~tied)))

    def _ranks(self, ids: Ids) -> Ids:
        """Numbers that are in the order of the N-Triples texts of the ids."""
        distinct, inverse = np.unique(ids, return_inverse=True)
        texts = self.text(distinct.tolist())
        ranks = np.empty(len(distinct), dtype=np.int64)
        ranks[sorted(range(len(distinct)), key=texts.__getitem__)] = np.arange(len(distinct))
        return ranks[inverse]

    def _tie_break(self, matches: Sequence[Match], table: Sequence[Sequence[int]]) -> list[int]:
        """The order of the matches, with those of the same events put in the order of their projected values."""
        ordered = list(range(len(matches)))
        begin = 0
        while begin < len(ordered):
            end = begin + 1
            while end < len(ordered) and _same_events(matches[begin], matches[end]):
                end += 1
            if end - begin > 1:
                ordered[begin:end] = self._by_text(ordered[begin:end], table)
            begin = end
        return ordered

    def _by_text(self, numbers: Sequence[int], table: Sequence[Sequence[int]]) -> list[int]:
        """Some rows of the table in the order of their texts; columns in which they are all the same decide nothing."""
        tied = [table[number] for number in numbers]
        differing = [place for place in range(len(tied[0])) if len({ids[place] for ids in tied}) > 1]
        return sorted(numbers, key=lambda number: self.text([table[number][place] for place in differing]))

    def _admit(self, match: Match, number: int, texts: _Texts) -> bool:
        """DISTINCT and LIMIT, per triggering event and partition (LANGUAGE 3.4)."""
        trigger = match.partition, match.last
        if self._query.distinct:
            seen = self._projected.setdefault(trigger, set())
            if texts[number] in seen:
                return False
            seen.add(texts[number])
        if self._query.limit is not None:
            count = self._reported.get(trigger, 0)
            self._reported[trigger] = count + 1
            return count < self._query.limit
        return True

    def _row(self, match: Match, columns: Sequence[str], ids: Sequence[int], names: Mapping[int, str]) -> Row:
        events, term = self._events(match, names), self._dictionary.term
        if self._query.template is None:
            bound = tuple([(name, term(i)) for name, i in zip(columns, ids, strict=True) if i != UNBOUND])
            return Row(self._query.name, match.time, match.start, bound, events)
        graph = f"urn:derived:{self._query.name}:{self._graphs}"
        self._graphs += 1
        triples = self._triples(self._query.template, dict(zip(columns, ids, strict=True)), graph)
        return Row(self._query.name, match.time, match.start, (), events, graph, triples)

    def _events(self, match: Match, names: Mapping[int, str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
        by_step: dict[int, list[str]] = {}
        for symbol, position, _ in match.entries:
            by_step.setdefault(symbol, []).append(names[position])
        return tuple([(self._steps[symbol], tuple(by_step[symbol])) for symbol in sorted(by_step)])

    def _triples(
        self, template: tuple[TemplateTriple, ...], values: Mapping[str, int], graph: str
    ) -> tuple[RowTriple, ...]:
        """The template's triples that are RDF once the values are in; blank nodes are fresh in every graph."""
        found: dict[RowTriple, None] = {}
        for triple in template:
            subject = self._node(triple.pattern.subject, values, graph)
            predicate = self._node(triple.pattern.predicate, values, graph)
            computed = None if triple.object is None else Variable(_object_key(triple))
            target = self._node(computed or triple.pattern.object, values, graph)
            if isinstance(subject, IRI | BlankNode) and isinstance(predicate, IRI) and target is not None:
                found[(subject, predicate, target)] = None
        return tuple(found)

    def _node(self, node: Node, values: Mapping[str, int], graph: str) -> Term | None:
        match node:
            case Variable(name) if name.startswith("_:"):
                return BlankNode(f"{graph.replace(':', '-')}-{name[2:]}")
            case Variable(name):
                return self._dictionary.term(values[name]) if values[name] != UNBOUND else None
            case IRI() | BlankNode() | Literal():
                return node


class _Texts:
    """The projected values of each match as texts, made when they are asked for."""

    def __init__(self, projector: Projector, table: Sequence[Sequence[int]]) -> None:
        self._projector = projector
        self._table = table
        self._known: dict[int, tuple[str, ...]] = {}

    def __getitem__(self, number: int) -> tuple[str, ...]:
        if number not in self._known:
            self._known[number] = self._projector.text(self._table[number])
        return self._known[number]


def _as_rows(values: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    """int64[matches, values]."""
    return np.array(values, dtype=np.int64).reshape(len(values), -1)


def _rows_of(values: Mapping[str, Ids], count: int) -> list[list[int]]:
    """The columns as rows."""
    if not values:
        return [[] for _ in range(count)]
    rows: list[list[int]] = np.column_stack(list(values.values())).tolist()
    return rows


def _object_key(triple: TemplateTriple) -> str:
    """A name for a computed object that no variable has."""
    return f" {triple.object}"


def _same_events(one: Match, other: Match) -> bool:
    if one.last != other.last or len(one.entries) != len(other.entries):
        return False
    for (step, event, _), (other_step, other_event, _) in zip(one.entries, other.entries, strict=True):
        if event != other_event or step != other_step:
            return False
    return True
