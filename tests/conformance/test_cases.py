"""Every case folder, through the command line, for every evaluator and runtime."""

from __future__ import annotations

import pytest

from tests.conformance.cases import OWN, Case, agrees, as_lines, case_folders, shared_root
from tests.conformance.command_line import CONFIGURATIONS, run

CASES = case_folders(OWN, shared_root())


def test_the_folder_of_further_cases_is_run_when_SPASEQ_CASES_names_it() -> None:
    root = shared_root()
    if root is None:
        print("SPASEQ_CASES is not set: only the project's own cases are run")
    else:
        assert any(case.folder.parent == root for case in CASES), f"no case below {root}"


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids="-".join)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.folder.name)
def test_the_command_line_gives_the_expected_rows(case: Case, configuration: tuple[str, str]) -> None:
    found = run(case.queries, case.streams, case.kbs, configuration)
    assert agrees(case, found), as_lines(found)
