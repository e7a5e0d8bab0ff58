"""The record of a job in the state of each shard, so that no other job goes on from that state.

The version of the format of states is in their blobs (`spaseq.runtime.state.snapshot`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

from spaseq.errors import RunError

_TOKENS_SHOWN = 4
_ANEW = "or begin with a new checkpoint and output folder: the input is then read from where the new job starts"


@dataclass(frozen=True, slots=True)
class RecordedQuery:
    """A query by its canonical text; the evaluator that runs it stands in its state.

    merged    the groups of its shards are merged
    """

    name: str
    text: str
    merged: bool = False

    def differences(self, saved: RecordedQuery) -> Iterator[tuple[str, str]]:
        """Each difference to the saved query of this name, with the way out."""
        if self.text != saved.text:
            before, now = _where_they_part(saved.text.split(" "), self.text.split(" "))
            yield f"query '{self.name}' has `{before}` there and `{now}` in this job", f"restore query '{self.name}'"
        elif self.merged != saved.merged:
            ways = "in one shard", "in several shards"
            there, here = ways[saved.merged], ways[self.merged]
            way = "go on with the SPAseq that wrote it"
            yield f"query '{self.name}' groups matches {there} there and {here} in this job", way


@dataclass(frozen=True, slots=True)
class JobRecord:
    """A job, as far as its states depend on it; `streams` are the IRIs of its input, sorted."""

    queries: tuple[RecordedQuery, ...]
    streams: tuple[str, ...]
    shards: int

    def tree(self) -> dict[str, Any]:
        """The record as plain values, for a state."""
        return asdict(self)

    @staticmethod
    def of(tree: dict[str, Any]) -> JobRecord:
        """The record in a state."""
        queries = tuple(RecordedQuery(*(query[name] for name in RecordedQuery.__slots__)) for query in tree["queries"])
        return JobRecord(queries, tuple(tree["streams"]), tree["shards"])

    def check(self, saved: JobRecord) -> None:
        """Raises RunError unless this job can go on from the state of the saved one: what differs, and what to do."""
        found = list(self._differences(saved))
        if found:
            reasons, ways = ("; ".join(dict.fromkeys(texts)) for texts in zip(*found, strict=True))
            raise RunError(f"the checkpoint belongs to another job: {reasons}", hint=f"{ways}; {_ANEW}")

    def _differences(self, saved: JobRecord) -> Iterator[tuple[str, str]]:
        own, others = ([query.name for query in record.queries] for record in (self, saved))
        if own != others:
            were, ways = _listed(others), "give the same queries in the same order"
            yield f"its queries are {were}, those of this job {_listed(own)}", ways
        else:
            for query, before in zip(self.queries, saved.queries, strict=True):
                yield from query.differences(before)
        if self.streams != saved.streams:
            were = _listed(saved.streams)
            yield f"it reads the streams {were}, this job {_listed(self.streams)}", "give the same streams"
        if self.shards != saved.shards:
            more = self.shards if self.shards > saved.shards and not self.shards % saved.shards else 2 * saved.shards
            way = f"give --shards {saved.shards} (shards={saved.shards} in Python), or divide the state of the stopped "
            way += f"job among more shards, a multiple: spaseq spark rescale CHECKPOINT --shards {more}"
            yield f"its state is in {_counted(saved.shards)}, that of this job would be in {self.shards}", way


def _where_they_part(one: Sequence[str], other: Sequence[str]) -> tuple[str, str]:
    """The first tokens that differ, each with one before it and some after it."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    begin = max(0, same - 1)
    first, second = (" ".join(tokens[begin : begin + _TOKENS_SHOWN]) for tokens in (one, other))
    return first, second


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _counted(shards: int) -> str:
    return "1 shard" if shards == 1 else f"{shards} shards"
