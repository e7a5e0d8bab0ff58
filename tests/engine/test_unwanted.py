"""A run asks whether it is wanted after a bounded part of its work, whatever the query has it do."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import spaseq
from arrays.wanted import NotWanted, while_wanted
from spaseq.engine.job import Job

EVENTS = 25
CALLS_MAX = 30_000
"""Calls of functions between two questions; setting up a query takes some 10,000."""
DEFINES = " ".join(f"DEFINE GPM {name} ON S {{ ?s <urn:v> ?{name.lower()} }}" for name in "ABC")
NEVER = "DEFINE GPM Z ON S { ?s <urn:never> ?z }"
SHAPES = {
    "all triples": ("*", "A : B : C", ""),
    "no gap": ("*", "A ; B+ ; C", ""),
    "repetition": ("*", "A : B:{1,2} : C", ""),
    "ALL": ("*", "ALL(A, B, C)", ""),
    "absence": ("*", "A : Z! : B : C", ""),
    "optional": ("*", "A : B? : C", ""),
    "maximal": ("MAX *", "A : B : C", ""),
    "after match": ("*", "A : B : C", "AFTER MATCH SKIP PAST LAST EVENT"),
    "consumed": ("*", "A : B : C", "AFTER MATCH CONSUME ALL"),
    "distinct": ("DISTINCT ?s", "A : B : C", ""),
    "counted": ("?s (COUNT(?b) AS ?n)", "A : B:{1,2} : C", ""),
    "over matches": ("OVER MATCHES ?s (COUNT(*) AS ?n)", "A : B : C", ""),
    "no match": ("*", "A : B : Z", ""),
}


def query(shape: str) -> spaseq.Query:
    columns, sequence, end = SHAPES[shape]
    body = f"{{ SEQ({sequence}) {DEFINES} {NEVER if 'Z' in sequence else ''} }}"
    group = "GROUP BY ?s" if "OVER" in columns else ""
    return spaseq.parse(f"SELECT {columns} WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE {body} {group} {end}")


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("events") / "events.nq"
    path.write_text("".join(_events()))
    return path


def _events() -> Iterator[str]:
    for n in range(EVENTS):
        time = f'"2026-01-01T00:00:{n:02}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
        yield f'<urn:e{n}> <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n<urn:x> <urn:v> "{n}" <urn:e{n}> .\n'


def rows_of(asked: spaseq.Query, stream: Path) -> int:
    """The number of rows."""
    job = Job([asked], {"S": str(stream)})
    try:
        return sum(len(rows) for rows in job.rows())
    finally:
        job.close()


class Calls:
    """Counts the calls between two questions."""

    def __init__(self) -> None:
        self.asked = self.most = self.now = 0

    def ask(self) -> None:
        """See `while_wanted`."""
        self.asked, self.most, self.now = self.asked + 1, max(self.most, self.now), 0

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """See `sys.setprofile`."""
        self.now += event in ("call", "c_call")


@pytest.mark.parametrize("shape", SHAPES)
def test_work_between_two_questions_is_bounded(stream: Path, shape: str) -> None:
    asked, calls = query(shape), Calls()
    expected = rows_of(asked, stream)  # what is imported on first use is there then
    before = sys.getprofile()
    sys.setprofile(calls.profile)
    try:
        with while_wanted(calls.ask):
            assert rows_of(asked, stream) == expected
    finally:
        sys.setprofile(before)
    assert calls.most < CALLS_MAX, (calls.most, calls.asked)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_that_is_ended_leaves_the_next_one_as_it_was(stream: Path, shape: str) -> None:
    asked = query(shape)
    rows = [repr(row) for row in spaseq.run(asked, {"S": stream})]
    for most in (1, 5, 17):
        left = [most]

        def ask(left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise NotWanted

        try:
            with while_wanted(ask):
                list(spaseq.run(asked, {"S": stream}))
        except NotWanted:
            assert left[0] == -1
    assert [repr(row) for row in spaseq.run(asked, {"S": stream})] == rows
