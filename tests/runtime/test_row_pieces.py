"""Rows come in pieces of a bounded number, and a match that waits for its piece is held as a few numbers."""

from __future__ import annotations

import tracemalloc
from contextlib import closing
from pathlib import Path
from unittest.mock import patch

import pytest

import spaseq
from automata.cea import ordered
from sparql_gpm.times import format_time
from spaseq.outputs import row_table

QUERY = """PREFIX : <http://ex.org/>
    SELECT ?s ?p ?q WITHIN 1 HOURS FROM STREAM S <urn:s>
    { SEQ(A : B : C) DEFINE GPM A ON S { ?s :a ?p } DEFINE GPM B ON S { ?s :b ?q } DEFINE GPM C ON S { ?s :c ?r } }"""
BYTES_MAX = 250
"""Per match of one triggering event; a row and its line of NDJSON took 2,500."""


def job_over(path: Path, pairs: int, evaluator: str) -> spaseq.Job:
    """A job over so many events of A and of B in turn, and one of C at the end."""
    lines = []
    for number in range(2 * pairs + 1):
        predicate, graph = "c" if number == 2 * pairs else "ab"[number % 2], f"<urn:event:{number}>"
        time = format_time(number * 1_000_000_000)
        stamp = f'{graph} <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^'
        lines.append(f"{stamp}<http://www.w3.org/2001/XMLSchema#dateTime> .\n")
        lines.append(f'<urn:s> <http://ex.org/{predicate}> "{number}" {graph} .\n')
    path.write_text("".join(lines), encoding="utf-8")
    return spaseq.Job([spaseq.parse(QUERY, "q")], {"S": path}, options=spaseq.RunOptions(evaluator=evaluator))


@pytest.mark.parametrize("evaluator", ["nfa", "lazy", "cea", "tree"])
def test_pieces_are_bounded_and_together_the_rows(tmp_path: Path, evaluator: str) -> None:
    with closing(job_over(tmp_path / "whole.nq", 12, evaluator)) as job:
        whole = [row for rows in job.rows() for row in rows]
    assert len(whole) == 78
    for size in (1, 2, 7):
        with patch.object(row_table, "ROWS_MAX", size), closing(job_over(tmp_path / "e.nq", 12, evaluator)) as job:
            pieces = [list(rows) for rows in job.rows()]
        assert [row for rows in pieces for row in rows] == whole
        assert max(map(len, pieces)) == size


def test_a_match_that_waits_takes_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = []
    monkeypatch.setattr(row_table, "ROWS_MAX", 256)
    monkeypatch.setattr(ordered, "ROWS_MAX", 256)
    for pairs in (100, 100, 250):  # the first one imports and compiles
        with closing(job_over(tmp_path / "e.nq", pairs, "cea")) as job:
            tracemalloc.start()
            found = sum(map(len, job.rows()))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        assert found == pairs * (pairs + 1) // 2
    assert (peaks[2] - peaks[1]) / (250 * 251 // 2 - 100 * 101 // 2) < BYTES_MAX
