"""Units of OVER MATCHES whose matches are found in several shards: written by each shard, merged into rows.

Every shard is told the same time, and decides a window of time by that alone. So all of them write a window in the same
micro-batch, and what merges them keeps no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from spaseq.outputs.rows import Row
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.group_rows import GroupRows
from spaseq.runtime.stages.groups import Groups, Unit, units_state
from spaseq.runtime.stages.reporting_units import ReportingUnits
from spaseq.runtime.state.snapshot import dumps, loads


class UnitRows(Protocol):
    """The place that complete units are handed over to."""

    def of(self, units: Sequence[tuple[int, Unit]]) -> list[Row]:
        """The rows of complete units, in order."""


class WrittenUnits(UnitRows):
    """The complete units of one query in one shard, as blobs, until they are taken; they give no row here."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._written: list[tuple[int, bytes]] = []

    def of(self, units: Sequence[tuple[int, Unit]]) -> list[Row]:
        """Writes units; no row."""
        self._written += [(each[0], dumps(units_state([each]), self._dictionary)) for each in units]
        return []

    def take(self) -> list[tuple[int, bytes]]:
        """Takes out the numbers and the blobs of the units written since the last call."""
        written, self._written = self._written, []
        return written


class UnitMerger:
    """Makes the rows of one query from units that shards have written."""

    def __init__(self, compiled: Compiled, dictionary: Dictionary, evaluator: ExpressionEvaluator) -> None:
        query = compiled.query
        assert query.over is not None, query.name
        self._dictionary = dictionary
        self._groups = Groups(query.over, dictionary, lambda number: "", compiled.groups_max)
        units = ReportingUnits(query.window, len(compiled.lanes))
        self._rows = GroupRows(query, query.over, units, dictionary, evaluator)

    def rows(self, blobs: Iterable[bytes]) -> list[Row]:
        """The rows of one unit from the blobs of all shards that have found matches of it. Raises TooManyGroups."""
        for blob in blobs:
            self._groups.merge(loads(blob, self._dictionary))
        return self._rows.of(self._groups.take(lambda number, unit: True))
