"""Every case folder, through the command line and by every evaluator that applies."""

from __future__ import annotations

import json

import pytest

import spaseq
from spaseq.algebra.build import build
from spaseq.lang.query_files import read_query
from spaseq.outputs.rows import to_json
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from tests.conformance.cases import Case, agrees, as_lines, every_case, shared_roots
from tests.conformance.command_line import in_columns, run

CASES = every_case()
BATCHES = (1, 3)


def test_the_folders_of_further_cases_are_run_when_variables_name_them() -> None:
    if not shared_roots():
        print("neither SPASEQ_CASES nor SPASEQ_CASES2 is set: only the project's own cases are run")
    for root in shared_roots():
        assert any(case.folder.parent == root for case in CASES), f"no case below {root}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_the_command_line_gives_the_expected_rows(case: Case) -> None:
    found = run(case.queries, case.streams, case.kbs)
    assert agrees(case, found), as_lines(found)


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
