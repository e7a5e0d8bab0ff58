"""From matches to rows: values of columns, the constructed graph, the names of events, DISTINCT and LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from automata.matches.match_table import MatchTable
from automata.values import UNBOUND, Ids, Mask, Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name
from sparql_gpm.pattern import Expression, Node, Variable
from sparql_gpm.terms import IRI, BlankNode, Literal, Term, to_ntriples
from spaseq.algebra.nodes import TemporalQuery
from spaseq.lang.ast import TemplateTriple
from spaseq.outputs.row_table import RowTable
from spaseq.outputs.rows import Row, RowTriple, StepEvents
from spaseq.physical.program import Compiled
from spaseq.runtime.enrichment import Enricher
from spaseq.runtime.few_values import FewValues
from spaseq.runtime.names import Names, graphs_of

_FEW_MATCHES = 16
"""Up to here values are put together match by match, not in columns."""
_TEXTS_MAX = 10_000
"""Terms whose texts are remembered; when there are more, all are forgotten."""


class Projector:
    """Rows of one query, in report order."""

    def __init__(
        self,
        query: TemporalQuery,
        compiled: Compiled,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        enricher: Enricher,
    ) -> None:
        self._query = query
        self._compiled = compiled
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._enricher = enricher
        self._expressions = self._asked()
        self._columns = tuple(self._expressions)
        self._few = FewValues([*self._expressions.values()], compiled, evaluator, enricher)
        self._known_texts: dict[int, str] = {}
        self._generation = dictionary.generation
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
        texts = _Texts(self, table) if self._query.distinct or self._query.limit is not None else None
        rows = []
        for alike in _by_events(matches):
            events = self._events(matches[alike[0]], names)
            for number in self._by_text(alike, table) if len(alike) > 1 else alike:
                if texts is None or self._admit(matches[number], number, texts):
                    rows.append(self._row(matches[number], columns, table[number], events))
        return rows

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
        known = self._known_texts
        if self._generation != self._dictionary.generation or len(known) > _TEXTS_MAX:
            known.clear()
            self._generation = self._dictionary.generation
        for i in ids:
            if i not in known:
                known[i] = "" if i == UNBOUND else to_ntriples(self._dictionary.term(i))
        return tuple([known[i] for i in ids])

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
        if len(matches) <= _FEW_MATCHES:
            few = self._few.of(matches)
            if few is not None:
                return self._columns, few
        values = self._values(matches)
        return list(values), _rows_of(values, len(matches))

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
            for name, expression in self._expressions.items()
        }

    def _asked(self) -> dict[str, Expression]:
        """Of each column, or of each value that the template needs."""
        if self._query.template is None:
            return {column.name: column.expression for column in self._query.columns}
        found: dict[str, Expression] = {}
        for triple in self._query.template:
            nodes = (triple.pattern.subject, triple.pattern.predicate, triple.pattern.object)
            found |= {n.name: n for n in nodes if isinstance(n, Variable) and not n.name.startswith("_:")}
            if triple.object is not None:
                found[_object_key(triple)] = triple.object
        return found

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

    def _by_text(self, numbers: list[int], table: Sequence[Sequence[int]]) -> list[int]:
        """Some rows of the table in the order of their texts; columns in which they are all the same decide nothing."""
        tied = [table[number] for number in numbers]
        differing = [column for column in zip(*tied, strict=True) if column.count(column[0]) < len(column)]
        if not differing:
            return numbers
        texts = [self.text(column) for column in differing]
        order = sorted(range(len(tied)), key=list(zip(*texts, strict=True)).__getitem__)
        return [numbers[place] for place in order]

    def _admit(self, match: Match, number: int, texts: _Texts) -> bool:
        """DISTINCT and LIMIT, per triggering event and partition (specification 3.4)."""
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

    def _row(self, match: Match, columns: Sequence[str], ids: Sequence[int], events: StepEvents) -> Row:
        if self._query.template is None:
            bound = zip(columns, self._dictionary.terms(ids), strict=True)
            pairs = tuple([(name, term) for name, term in bound if term is not None])
            return Row(self._query.name, match.time, match.start, pairs, events)
        graph = f"urn:derived:{self._query.name}:{self._graphs}"
        self._graphs += 1
        triples = self._triples(self._query.template, dict(zip(columns, ids, strict=True)), graph)
        return Row(self._query.name, match.time, match.start, (), events, graph, triples, match.last)

    def _events(self, match: Match, names: Names) -> StepEvents:
        by_step: dict[int, list[str]] = {}
        found = names.of([position for _, position, _ in match.entries])
        for (symbol, _, _), name in zip(match.entries, found, strict=True):
            if symbol in by_step:
                by_step[symbol].append(name)
            else:
                by_step[symbol] = [name]
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


def _by_events(matches: Sequence[Match]) -> list[list[int]]:
    """The numbers of matches in report order, those of the same events together."""
    found = [[0]]
    for number in range(1, len(matches)):
        if _same_events(matches[number - 1], matches[number]):
            found[-1].append(number)
        else:
            found.append([number])
    return found


def _same_events(one: Match, other: Match) -> bool:
    if one.last != other.last or len(one.entries) != len(other.entries):
        return False
    for (step, event, _), (other_step, other_event, _) in zip(one.entries, other.entries, strict=True):
        if event != other_event or step != other_step:
            return False
    return True
