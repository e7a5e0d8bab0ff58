"""The settings of a query, and the changes that a PUT names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType, field, to_builtins

from automata.plan.program import RUNS_MAX
from spaseq.service.settings.quantities import Count, Duration
from spaseq.service.settings.quantities import duration_ns as nanoseconds
from spaseq.service.settings.sinks import SinkSettings, check_sinks

Since = Literal["now", "window"]


class RowRetention(Struct, frozen=True, forbid_unknown_fields=True):
    """The rows that are kept; None: no bound."""

    rows: Count | None = None
    age: Duration | None = None

    def __post_init__(self) -> None:
        if self.age is not None:
            nanoseconds("retention.age", self.age)


def _row_retention() -> RowRetention:
    return RowRetention(10_000_000, "7d")


class QuerySettings(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A query as the user declares it.

    max_runs    partial matches, of which one more stops the query
    since       "now": it sees events accepted from now on; "window": its state is rebuilt from the log
    """

    text: str
    max_runs: Count = RUNS_MAX
    retention: RowRetention = field(default_factory=_row_retention)
    sinks: tuple[SinkSettings, ...] = ()
    since: Since = "now"

    def __post_init__(self) -> None:
        check_sinks(self.sinks)

    @cached_property
    def retention_age_ns(self) -> int | None:
        """The age beyond which rows are dropped; None: none."""
        return None if self.retention.age is None else nanoseconds("retention.age", self.retention.age)

    @property
    def retention_rows(self) -> int | None:
        """The number of rows beyond which the oldest are dropped; None: none."""
        return self.retention.rows

    def changed(self, changes: QueryChanges) -> QuerySettings:
        """The settings with what the changes name."""
        named = {key: value for key in _CHANGEABLE if (value := getattr(changes, key)) is not UNSET}
        kept = {key: getattr(self, key) for key in _CHANGEABLE}
        return QuerySettings(**(kept | named), since=changes.since)

    def shown(self) -> Mapping[str, Any]:
        """The settings as GET gives them."""
        shown: dict[str, Any] = to_builtins(self)
        return {key: value for key, value in shown.items() if value is not None and key != "since"}


class QueryChanges(Struct, frozen=True, forbid_unknown_fields=True):
    """The settings that a PUT names; those that are UNSET stay as they are, or have their defaults in a new query."""

    text: str | UnsetType = UNSET
    max_runs: Count | UnsetType = UNSET
    retention: RowRetention | UnsetType = UNSET
    sinks: tuple[SinkSettings, ...] | UnsetType = UNSET
    since: Since = "now"

    def __post_init__(self) -> None:
        if self.sinks is not UNSET:
            check_sinks(self.sinks)


_CHANGEABLE = ("text", "max_runs", "retention", "sinks")
