"""The state of a staged evaluator: columns of what is alive (see `automata.state`); indexes are made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from automata import layouts
from automata.chains.store import ChainStore
from automata.matches.negation import NegationIndex
from automata.matches.pending import PendingMatches
from automata.matches.reporting import Reporter
from automata.matches.selection import Candidate, after_state, candidate_of, restore_after
from automata.slices.step_table import PLAIN_COLUMNS, Part, StepTable
from automata.slices.substreams import Substream
from automata.slices.symbol_tables import SymbolTables
from automata.state import Values, columns_of, rows_of
from automata.values import Ids, Match


def stage_state(
    core: ChainStore, negations: NegationIndex, symbol_tables: SymbolTables, reporter: Reporter
) -> dict[str, Any]:
    """Runs, remembered solutions of negated steps, places of events, and matches not reported yet."""
    return {
        "core": _core_state(core),
        "negations": layouts.NEGATIONS.written(
            tables=[_table_state(table) for table in negations.kept()],
            substreams=[[number, s.before, s.known()] for number, s in negations.substreams.of.items()],
        ),
        "intake": symbol_tables.snapshot(),
        "reporter": _reporter_state(reporter),
    }


def restore_stage(
    core: ChainStore,
    negations: NegationIndex,
    symbol_tables: SymbolTables,
    reporter: Reporter,
    state: Mapping[str, Any],
) -> None:
    """Put them back."""
    _restore_core(core, state["core"])
    known = layouts.NEGATIONS.read(state["negations"])
    negations.add({table.parts[0].symbol: table for table in map(_restored_table, known["tables"])})
    for partition, before, columns in known["substreams"]:
        negations.substreams.of[partition] = Substream(columns, before)
    symbol_tables.restore(state["intake"])
    _restore_reporter(reporter, state["reporter"])


def _core_state(core: ChainStore) -> dict[str, Any]:
    runs, registers = core.runs, core.layout.registers
    table = runs.table[: runs.size]
    return layouts.RUN_TABLE.written(
        rows=columns_of(np.delete(table, registers, axis=1)),
        registers=Values(np.ascontiguousarray(table[:, registers])),
        made=runs.made,
        active=[active.rows for active in core.active],
        finished=[list(all_join.finished) for all_join in core.all_joins],
    )


def _restore_core(core: ChainStore, state: Mapping[str, Any]) -> None:
    state = layouts.RUN_TABLE.read(state)
    runs, layout = core.runs, core.layout
    registers = state["registers"].ids
    table = np.empty((len(registers), layout.width), dtype=np.int64)
    outside = np.ones(layout.width, dtype=np.bool_)
    outside[layout.registers] = False
    table[:, outside] = _with_told(rows_of(state["rows"], len(registers)), core)
    table[:, layout.registers] = registers
    runs.restore(table, state["made"])
    for active, alive in zip(core.active, state["active"], strict=True):
        active.replace(alive)
    for all_join, finished in zip(core.all_joins, state["finished"], strict=True):
        all_join.finished = list(finished)


def _with_told(rows: Ids, core: ChainStore) -> Ids:
    """The columns of a state but for registers; of one from before variables of `Plan.walked` were told, with theirs.

    There a step that may have bound such a variable is taken to have bound it, as it was then.
    """
    layout, walked = core.layout, [variable for variable in core.plan.told if variable in core.plan.walked]
    missing = layout.width - layout.variables - rows.shape[1]
    if not 0 < missing <= len(walked):
        return rows
    place = rows.shape[1] - (len(layout.closed) - 1)
    return np.insert(rows, [place] * missing, 1, axis=1)


def _table_state(table: StepTable) -> dict[str, Any]:
    parts = [[part.symbol, part.positions, part.numbers] for part in table.parts]
    columns = {name: getattr(table, name) for name in PLAIN_COLUMNS}
    variables = sorted(table.values)
    return {**columns, "variables": variables, "values": Values(table.matrix(variables)), "parts": parts}


def _restored_table(state: Mapping[str, Any]) -> StepTable:
    columns = {name: state[name] for name in PLAIN_COLUMNS}
    values = dict(zip(state["variables"], state["values"].ids.T, strict=True))
    return StepTable(**columns, values=values, parts=tuple(Part(*part) for part in state["parts"]))


def _reporter_state(reporter: Reporter) -> dict[str, Any]:
    pending = reporter.pending
    return layouts.REPORTER.written(
        pending=[pending.rows, pending.accepts, pending.deadlines, pending.limits],
        held=_candidates_state(reporter.held),
        ready=_candidates_state(reporter.ready),
        seen=[[_matrix(entries), last] for entries, last in reporter.seen.items()],
        after=after_state(reporter.after),
    )


def _restore_reporter(reporter: Reporter, state: Mapping[str, Any]) -> None:
    state = layouts.REPORTER.read(state)
    reporter.pending = PendingMatches(*state["pending"])
    reporter.held, reporter.ready = _candidates(state["held"]), _candidates(state["ready"])
    reporter.seen = {tuple(map(tuple, entries.tolist())): last for entries, last in state["seen"]}
    restore_after(reporter.after, state["after"])


def _candidates_state(candidates: Sequence[Candidate]) -> list[Any]:
    """The values of variables stand apart, for they are ids."""
    matches = [candidate.match for candidate in candidates]
    facts = [
        [_matrix(match.entries), list(match[3:-1]), candidate.gapless, candidate.decided]
        for match, candidate in zip(matches, candidates, strict=True)
    ]
    values = [Values(_matrix([match.registers for match in matches])), Values(_matrix([m.outputs for m in matches]))]
    return [facts, *values]


def _candidates(state: Sequence[Any]) -> list[Candidate]:
    facts, registers, outputs = state
    candidates = []
    values = zip(facts, registers.ids.tolist(), outputs.ids.tolist(), strict=True)
    for (table, numbers, gapless, decided), own, more in values:
        entries = tuple((symbol, position, number) for symbol, position, number in table.tolist())
        match = Match(entries, tuple(own), tuple(more), *numbers)
        candidates.append(candidate_of(match, decided=decided)._replace(gapless=bool(gapless)))
    return candidates


def _matrix(rows: Any) -> Ids:
    """Rows of one length as int64[n, length]; no row: int64[0, 0]."""
    return np.array(rows, dtype=np.int64).reshape(len(rows), -1) if len(rows) else np.zeros((0, 0), dtype=np.int64)
