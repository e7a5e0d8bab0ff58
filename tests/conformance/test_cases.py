"""Every case folder, through the command line, for every evaluator and runtime."""

from __future__ import annotations

import pytest

from spaseq.algebra.build import build
from spaseq.lang.query_files import read_query
from spaseq.physical.planner import plan_query
from spaseq.physical.program import compile_program
from tests.conformance.cases import Case, agrees, as_lines, every_case, shared_roots
from tests.conformance.command_line import CONFIGURATIONS, run

CASES = every_case()
BATCHES = (1, 3)


def test_the_folders_of_further_cases_are_run_when_variables_name_them() -> None:
    if not shared_roots():
        print("neither SPASEQ_CASES nor SPASEQ_CASES2 is set: only the project's own cases are run")
    for root in shared_roots():
        assert any(case.folder.parent == root for case in CASES), f"no case below {root}"


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids="-".join)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_the_command_line_gives_the_expected_rows(case: Case, configuration: tuple[str, str]) -> None:
    found = run(case.queries, case.streams, case.kbs, configuration)
    assert agrees(case, found), as_lines(found)


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_every_evaluator_that_applies_gives_the_expected_rows(case: Case, batch: int) -> None:
    plans = [plan_query(compile_program(build(read_query(path)))) for path in case.queries]
    for evaluator in sorted(set.intersection(*(set(plan.able) for plan in plans))):
        found = run(case.queries, case.streams, case.kbs, (evaluator, "embedded"), batch)
        assert agrees(case, found), (evaluator, as_lines(found))
