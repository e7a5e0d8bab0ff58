"""Every case folder, through the command line and by every evaluator that applies."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import spaseq
from spaseq.algebra.build import build
from spaseq.cli import main
from spaseq.lang.query_files import read_query
from spaseq.outputs.rows import to_json
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from tests.conformance.cases import (
    FURTHER,
    Case,
    agrees,
    as_lines,
    command_line_cases,
    every_case,
    judged_queries,
    shared_roots,
)
from tests.conformance.command_line import in_columns, run

CASES = every_case()
BATCHES = (1, 3)


def test_the_folders_of_further_cases_are_run_when_variables_name_them() -> None:
    if not shared_roots():
        print(f"none of {', '.join(FURTHER)} is set: only the project's own cases are run")
    for root in shared_roots():
        assert any(case.folder.parent == root for case in command_line_cases()), f"no case below {root}"


@pytest.mark.parametrize("case", command_line_cases(), ids=lambda case: case.folder.name)
def test_the_command_line_gives_the_expected_rows(case: Case) -> None:
    found = run(case.queries, case.streams, case.kbs, further=case.arguments)
    assert agrees(case, found), as_lines(found)


@pytest.mark.parametrize("query", judged_queries("errors") or [None], ids=lambda path: path and path.stem)
def test_a_rejected_query_has_its_error_at_its_place(query: Path | None) -> None:
    if query is None:
        return
    places, words = query.with_suffix(".expect").read_text(encoding="utf-8").rstrip("\n").split("\t")
    result = _validated(query)
    assert result.exit_code == 2, result.output
    found = re.findall(rf"^\S*{query.name}:(\d+):(\d+): error.*", result.stderr, re.MULTILINE)
    allowed = {*places.split("|")}
    assert any({f"{line}:{column}", f"{line}:*"} & allowed for line, column in found), result.stderr
    assert any(word in result.stderr for word in words.split("|")), result.stderr


@pytest.mark.parametrize("query", judged_queries("warnings") or [None], ids=lambda path: path and path.stem)
def test_a_query_has_its_warning(query: Path | None) -> None:
    if query is None:
        return
    words = query.with_suffix(".expect").read_text(encoding="utf-8").strip()
    result = _validated(query)
    assert result.exit_code == 0, result.output
    if words == "-":
        assert "warning" not in result.stderr
    else:
        assert any(word in result.stderr for word in words.split("|")), result.stderr


def _validated(query: Path) -> Result:
    return CliRunner().invoke(main, ["validate", str(query)], catch_exceptions=False)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_every_evaluator_that_applies_gives_the_expected_rows(case: Case) -> None:
    """Runs meet the events of a batch in columns, the others one by one where they are few."""
    queries = [read_query(path) for path in case.queries]
    plans = [plan_query(compile_program(build(query))) for query in queries]
    for evaluator in sorted(set.intersection(*(set(plan.able) for plan in plans))):
        for batch in BATCHES:
            with in_columns(evaluator == "nfa"):
                rows = spaseq.run(queries, case.streams, case.kbs, evaluator=evaluator, batch_events=batch)
                found = [json.loads(to_json(row)) for row in rows if row.query == queries[0].name]
            assert agrees(case, found), (evaluator, batch, as_lines(found))
