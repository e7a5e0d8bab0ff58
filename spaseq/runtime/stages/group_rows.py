"""The rows of the groups of OVER MATCHES: HAVING, projection, order, DISTINCT, LIMIT, names (specification 3.4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256

import numpy as np

from automata.values import Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator, column_name
from spaseq.algebra.nodes import OverMatches, TemporalQuery
from spaseq.outputs.rows import Row
from spaseq.runtime.stages.construct import GraphTemplate
from spaseq.runtime.stages.groups import Group, Key, Unit
from spaseq.runtime.stages.match_values import TermTexts
from spaseq.runtime.stages.reporting_units import ReportingUnits

PREFIX = "urn:spaseq:group:"
_BYTES = 16


class GroupRows:
    """Makes the rows of one query."""

    def __init__(
        self,
        query: TemporalQuery,
        over: OverMatches,
        units: ReportingUnits,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
    ) -> None:
        self._query = query
        self._over = over
        self._units = units
        self._dictionary = dictionary
        self._evaluator = evaluator
        self._text = TermTexts(dictionary).of
        self._template = None if query.template is None else GraphTemplate(query.template, dictionary)
        if self._template is None:
            self._expressions = {column.name: column.expression for column in query.columns}
        else:
            self._expressions = self._template.expressions()

    def of(self, units: Sequence[tuple[int, Unit]]) -> list[Row]:
        """The rows of complete units, in order."""
        groups = [(key, group) for _, unit in units for key, group in unit.groups.items()]
        if not groups:
            return []
        kept, columns = self._columns(groups)
        values = list(zip(*(ids.tolist() for ids in columns), strict=True)) if columns else [()] * len(groups)
        rows: list[Row] = []
        begin = 0
        for number, unit in units:
            every = zip(unit.groups.items(), values[begin:], kept[begin:].tolist(), strict=False)
            rows += self._rows(number, unit, [(key, group, own) for (key, group), own, holds in every if holds])
            begin += len(unit.groups)
        return rows

    def _columns(self, groups: Sequence[tuple[Key, Group]]) -> tuple[Mask, list[Ids]]:
        """A mask of the groups that HAVING keeps, and the projected values of all."""
        named: dict[str, Ids] = {}
        for place, name in enumerate(self._over.keys):
            named[name] = np.array([key[place] for key, _ in groups], dtype=np.int64)
        for place, aggregate in enumerate(self._over.aggregates):
            results = [group.values[place].result() for _, group in groups]
            named[column_name(aggregate)] = np.array(results, dtype=np.int64)
        rows = len(groups)
        shown = {name: self._evaluator.evaluate(e, named, rows) for name, e in self._expressions.items()}
        if self._over.having is None:
            return np.ones(rows, dtype=np.bool_), list(shown.values())
        return self._evaluator.holds(self._over.having, {**shown, **named}, rows), list(shown.values())

    def _rows(self, number: int, unit: Unit, groups: Sequence[tuple[Key, Group, tuple[int, ...]]]) -> Iterator[Row]:
        """The rows of one unit: ordered by their values, those of CONSTRUCT by their values of GROUP BY."""
        texts = [(self._text(own), self._text(key)) for key, _, own in groups]
        if self._template is not None:
            texts = [(key, own) for own, key in texts]
        order: Iterable[int] = sorted(range(len(groups)), key=texts.__getitem__)
        if self._query.distinct:
            order = {texts[place][0]: place for place in reversed(list(order))}.values()
            order = sorted(order, key=texts.__getitem__)
        for place in list(order)[: self._query.limit]:
            key, group, own = groups[place]
            yield self._row(number, unit, key, group, own)

    def _row(self, number: int, unit: Unit, key: Key, group: Group, own: tuple[int, ...]) -> Row:
        time, start = unit.last, group.first
        if self._units.of_time:
            time, start = self._units.end(number), self._units.begin(number)
        if self._template is None:
            bound = zip(self._expressions, self._dictionary.terms(own), strict=True)
            pairs = tuple([(name, term) for name, term in bound if term is not None])
            return Row(self._query.name, time, start, pairs)
        graph = self._graph_name(number, unit, key)
        triples = self._template.triples(dict(zip(self._expressions, own, strict=True)), graph)
        return Row(self._query.name, time, start, (), (), graph, triples, number)

    def _graph_name(self, number: int, unit: Unit, key: Key) -> str:
        """`PREFIX` and a hash of the query's text, the unit and the values of GROUP BY.

        A window is its number, a triggering event the name of its graph and its time.
        """
        whole = sha256(self._query.digest)
        named = [str(number)] if self._units.of_windows else [unit.name, str(unit.last)]
        for text in (*named, *self._text(key)):
            encoded = text.encode(errors="surrogatepass")
            whole.update(b"%d:%s" % (len(encoded), encoded))
        return PREFIX + whole.digest()[:_BYTES].hex()
