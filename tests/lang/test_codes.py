"""Every code occurs in a golden report, has a meaning, a cause and a cure, and stands on the page of errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from docs.site.errors_page import errors_page
from spaseq.cli import main
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


def test_every_code_has_a_cause_and_a_cure_in_sentences() -> None:
    texts = [text for code in Code for text in (code.cause, code.cure)]
    assert len(set(texts)) == len(texts)
    assert [text for text in texts if not re.search(r"[.?)`:]$", text) or "\n" in text or "](" in text] == []


def test_the_reference_page_has_all_of_the_table_and_nothing_else() -> None:
    entries = ENTRY.findall(page := errors_page())
    assert re.search(r"^([-+] |\d+[.)] |> )", page, re.MULTILINE) is None, "a line of prose that begins a list"
    found = [(code, *(" ".join(text.split()) for text in texts)) for code, *texts in entries]
    assert found == [(each.code, each.title[0].upper() + each.title[1:], each.cause, each.cure) for each in Code]


def test_the_command_line_tells_the_cause_and_the_cure_of_a_code() -> None:
    told = CliRunner().invoke(main, ["problem", "sq018", "SQ101"])
    assert told.exit_code == 0
    first, second = told.stdout.split("\n\n")
    assert first.startswith("error[SQ018]: a Name in SEQ( ) without DEFINE\n") and "\nCure: Add `DEFINE" in first
    assert second.startswith("warning[SQ101]: ")
    assert CliRunner().invoke(main, ["problem"]).stdout.count("\nCure: ") == len(Code)
    wrong = CliRunner().invoke(main, ["problem", "SQ999"])
    assert wrong.exit_code == 2 and "there is no code SQ999; codes are like SQ" in wrong.stderr


def test_problems_have_their_code_in_python() -> None:
    with pytest.raises(QueryError) as caught:
        parse(text_of("A ; Wnd").replace("GPM Wnd", "GPM Wind"))
    assert [problem.code for problem in caught.value.problems] == ["SQ018"]
    assert [problem.code for problem in query_of("A", form="SELECT ?a ?nothing").warnings] == ["SQ102"]
