"""The end of the sequence stage under OVER MATCHES: matches are folded into groups, and those into rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from arrays.times import BEFORE_ALL, TIME_NS_MAX, nearest_time
from automata.values import Ids, Match
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from spaseq.outputs.rows import Row
from spaseq.physical.program import Compiled
from spaseq.runtime.stages.enrichment import Enricher
from spaseq.runtime.stages.group_rows import GroupRows
from spaseq.runtime.stages.grouping import Grouping, argument_columns
from spaseq.runtime.stages.groups import Partial
from spaseq.runtime.stages.match_order import MatchOrder
from spaseq.runtime.stages.match_values import MatchValues
from spaseq.runtime.stages.merged_units import UnitRows, WrittenUnits
from spaseq.runtime.stages.reporting_units import ReportingUnits
from spaseq.runtime.state.graph_names import GraphNames


class GroupStage:
    """The groups of one query; `written` takes complete units in place of their rows."""

    def __init__(
        self,
        compiled: Compiled,
        dictionary: Dictionary,
        evaluator: ExpressionEvaluator,
        enricher: Enricher,
        order: MatchOrder,
        names: GraphNames,
        written: WrittenUnits | None = None,
    ) -> None:
        query = compiled.query
        assert query.over is not None, query.name
        self._written = written is not None
        self._units = ReportingUnits(query.window, len(compiled.lanes))
        self._order = order if query.over.needs_order else None
        self._waits = compiled.plan.trails
        self._time, self._seen, self._settled = BEFORE_ALL, 0, 0
        named = query.template is not None and not self._units.of_windows
        values = MatchValues(argument_columns(query.over), compiled, evaluator, enricher)
        name: Callable[[int], str] = (lambda position: names.of([position])[0]) if named else lambda unit: ""
        self._groups = Grouping(query.over, self._units, values, dictionary, name, compiled.groups_max)
        self._rows: UnitRows = written or GroupRows(query, query.over, self._units, dictionary, evaluator)

    def __len__(self) -> int:
        """The number of units with open groups."""
        return len(self._groups)

    def __bool__(self) -> bool:
        """A stage without open groups is true, too."""
        return True

    def add(self, matches: Sequence[Match]) -> None:
        """Folds matches in report order."""
        self._groups.add(matches if self._order is None else self._order.ordered(matches))

    def add_partials(self, partials: Iterable[Partial]) -> None:
        """Merges aggregates of matches in report order."""
        self._groups.add_partials(partials)

    def on_events(self, position: int, time: int, earlier: int = 0) -> list[Row]:
        """The rows once all events before this position, and their matches, have been taken; `time` is the last one's.

        earlier     of the events since the last call, those before `time`

        Where matches wait for what ends their window, those that an event decides are there once a later time is.
        """
        self._see(position, time, earlier)
        decided = self._settled if self._waits else position
        if not len(self._groups) or self._units.of_time or (not self._units.of_windows and self._waits):
            return []
        if self._units.of_windows:
            return self._rows.of(self._groups.take(lambda number, unit: self._units.end(number) < decided))
        return self._rows.of(self._groups.take(lambda number, unit: True))

    def skip(self, position: int, time: int) -> None:
        """As `on_events`, for events without solutions, while no group is open."""
        self._see(position, time, 0)

    def on_watermark(self, time: int, oldest: Callable[[int], int]) -> list[Row]:
        """The rows once no event at or before `time` will come; `oldest` gives a lower bound of the ends of matches."""
        if not len(self._groups):
            return []
        if self._units.of_time:
            if all(self._units.end(number) > time + 1 for number in self._groups.units()):
                return []
            before = time + 1 if self._written else oldest(time + 1)
            return self._rows.of(self._groups.take(lambda number, unit: self._units.end(number) <= before))
        if self._units.of_windows:
            return []
        before = oldest(time + 1)
        return self._rows.of(self._groups.take(lambda number, unit: unit.last < before))

    def finish(self) -> list[Row]:
        """The last rows."""
        return self._rows.of(self._groups.take(lambda number, unit: True))

    def oldest_output_time(self, oldest: int) -> int:
        """A lower bound of the times of rows to come, if no match to come ends before `oldest`."""
        if not self._units.of_time:
            return min([oldest, *[unit.last for unit in self._groups.units().values()]])
        if oldest > TIME_NS_MAX and not self._groups.units():
            return oldest
        ends = [self._units.end(number) for number in self._groups.units()]
        return nearest_time(min([self._units.first_end_after(oldest), *ends]))

    def live_ids(self) -> Ids:
        """Every id that the groups hold."""
        return self._groups.live_ids()

    def _see(self, position: int, time: int, earlier: int) -> None:
        if time > self._time:
            self._time, self._settled = time, self._seen + earlier
        self._seen = position

    @property
    def progress(self) -> list[int]:
        """The last time, the events seen, and those up to which matches are decided, for `go_on`."""
        return [self._time, self._seen, self._settled]

    def go_on(self, progress: Sequence[int]) -> None:
        """Continues where another stage was; one that does not know would wait for an event more."""
        self._time, self._seen, self._settled = progress

    def snapshot(self) -> list[Any]:
        """The open groups, for `spaseq.runtime.state.snapshot`."""
        return self._groups.snapshot()

    def restore(self, state: Sequence[Any]) -> None:
        """Continues from a snapshot."""
        self._groups.restore(state)
