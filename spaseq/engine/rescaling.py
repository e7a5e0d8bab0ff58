"""The states of a job's shards divided among more shards: the part of rescaling a checkpoint that needs no Spark.

Shard s of the new number takes over the state of shard `s modulo the old number`, from which its keys come, and of the
rows that it finds reports those of its own keys (`Shard`): what it holds for others expires with their windows. A
state cannot be put together from several, so the new number is a multiple of the old one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count

from sparql_gpm.dictionary import Dictionary
from spaseq.engine.staged import PlannedQuery, planned
from spaseq.errors import InputError
from spaseq.lang.parse import parse
from spaseq.runtime.embedded.producers import producers_first
from spaseq.runtime.spark.job_record import JobRecord
from spaseq.runtime.spark.placement import key_of
from spaseq.runtime.spark.shard import SavedShard
from spaseq.runtime.state.saved_states import NetworkState


@dataclass(frozen=True, slots=True)
class Rescaled:
    """States by the keys under which Spark groups shards; `before`: the number of shards that there were."""

    states: Mapping[int, bytes]
    before: int


def rescaled(states: Mapping[int, bytes], shards: int) -> Rescaled:
    """The states of so many shards from those of a job, both by key; raises InputError where they cannot be divided."""
    dictionary = Dictionary()
    number, blob = next((number, states[key_of(number)]) for number in count() if key_of(number) in states)
    record = SavedShard.of(blob, dictionary, partial(_written, number)).record
    _check(record, shards)
    after = _plans(record, shards)
    found = {}
    for number in range(shards):
        origin = number % record.shards
        if key_of(origin) not in states:
            continue
        saved = SavedShard.of(states[key_of(origin)], dictionary, partial(_written, origin))
        kept = [state for state in saved.network.queries if state.name in _running(after, number)]
        network = NetworkState(saved.network.inputs, kept)
        divided = replace(saved, record=replace(record, shards=shards), inherited=True, network=network)
        found[key_of(number)] = divided.blob(dictionary)
        dictionary.retain([])
    return Rescaled(found, record.shards)


def _check(record: JobRecord, shards: int) -> None:
    if shards <= record.shards or shards % record.shards:
        examples = ", ".join(str(record.shards * factor) for factor in (2, 3, 4))
        reason = f"the state of {record.shards} shards cannot be divided among {shards}"
        raise InputError(reason, hint=f"a multiple: {examples} …; a task may take several shards")
    plans = _plans(record, shards)
    if not any(plan.distribution.key for plan in plans):
        reasons = "; ".join(f"query '{plan.query.name}' has one shard: {plan.distribution.reason}" for plan in plans)
        raise InputError(f"there is nothing to divide: {reasons}", hint="add PARTITION BY, as a new job")
    if merged := [plan.query.name for plan in plans if plan.distribution.merged]:
        reason = f"groups of query '{merged[0]}' hold matches of several keys, which cannot be told apart any more"
        raise InputError(reason, hint="begin a new job with so many shards and a new checkpoint")


def _plans(record: JobRecord, shards: int) -> tuple[PlannedQuery, ...]:
    """The queries of a job with so many shards; their evaluators do not matter here."""
    return planned([parse(query.text, query.name) for query in record.queries], shards)


def _written(number: int, record: JobRecord) -> list[str]:
    """The queries that a shard of a job runs."""
    return _running(_plans(record, record.shards), number)


def _running(plans: Sequence[PlannedQuery], number: int) -> list[str]:
    """The queries that a shard runs, in the order of its network."""
    order: list[PlannedQuery] = []
    for plan in plans:
        if plan.distribution.key or plan.home == number:
            order = producers_first([*order, plan])
    return [plan.query.name for plan in order]
