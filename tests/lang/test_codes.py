"""Every code occurs in a golden report, has a meaning of its own, and stands in docs/reference/errors.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from spaseq.errors import QueryError
from spaseq.lang.codes import Code
from spaseq.lang.parse import parse
from tests.lang.texts import query_of, text_of

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "golden" / "errors"
ENTRY = re.compile(r"^### (SQ\d{3})\n\n\*\*(.+?)\.\*\* (.+?)\n\*Cure:\* (.+?)(?=\n\n|\n?\Z)", re.MULTILINE | re.DOTALL)


def test_a_code_has_one_title_and_a_title_one_code() -> None:
    assert len({code.code for code in Code}) == len({code.title for code in Code}) == len(Code.__members__)
    assert all(re.fullmatch(r"SQ\d{3}", code.code) for code in Code)
    assert [code.code for code in Code] == sorted(code.code for code in Code)


def test_every_code_occurs_in_a_golden_report_with_its_severity() -> None:
    reports = "".join(path.read_text(encoding="utf-8") for path in GOLDEN.glob("*.txt"))
    found = set(re.findall(r"^[^:\n]+:\d+:\d+: (error|warning)\[(\w+)\]: ", reports, re.MULTILINE))
    assert found == {(code.severity, code.code) for code in Code}


def test_the_reference_page_has_cause_and_cure_of_every_code() -> None:
    entries = ENTRY.findall((ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8"))
    titles = [(code, " ".join(title.split())) for code, title, _, _ in entries]
    assert titles == [(code.code, code.title[0].upper() + code.title[1:]) for code in Code]
    assert all(cause.strip() and cure.strip() for _, _, cause, cure in entries)


def test_problems_have_their_code_in_python() -> None:
    with pytest.raises(QueryError) as caught:
        parse(text_of("A ; Wnd").replace("GPM Wnd", "GPM Wind"))
    assert [problem.code for problem in caught.value.problems] == ["SQ018"]
    assert [problem.code for problem in query_of("A", form="SELECT ?a ?nothing").warnings] == ["SQ102"]
