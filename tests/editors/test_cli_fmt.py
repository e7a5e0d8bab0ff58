from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from tests.editors.test_formatting import TIDY, UNTIDY


def fmt(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(main, ["fmt", *map(str, arguments)], input=text)


@pytest.fixture
def untidy(tmp_path: Path) -> Path:
    path = tmp_path / "untidy.rq"
    path.write_text(UNTIDY, encoding="utf-8")
    return path


def test_files_are_written_in_the_format(untidy: Path) -> None:
    assert (fmt(untidy).exit_code, untidy.read_text(encoding="utf-8")) == (0, TIDY)
    before = untidy.stat().st_mtime_ns
    assert (fmt(untidy).exit_code, untidy.stat().st_mtime_ns) == (0, before)


def test_check_names_the_files_that_are_not_in_the_format_and_writes_nothing(untidy: Path, tmp_path: Path) -> None:
    tidy = tmp_path / "tidy.rq"
    tidy.write_text(TIDY, encoding="utf-8")
    result = fmt("--check", untidy, tidy)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"{untidy} is not in the format: spaseq fmt {untidy}\n"
    assert untidy.read_text(encoding="utf-8") == UNTIDY
    assert fmt("--check", tidy).exit_code == 0


def test_standard_input_goes_to_standard_output() -> None:
    result = fmt("-", text=UNTIDY)
    assert (result.exit_code, result.stdout) == (0, TIDY)


def test_a_text_that_cannot_be_read_is_reported_and_the_others_are_written(untidy: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.rq"
    wrong.write_text("SELECT * WITHIN 5 MINUTES FROM STREAM S <urn:s> { SEQ(A ; ) }", encoding="utf-8")
    result = fmt(wrong, tmp_path / "none.rq", untidy)
    assert (result.exit_code, untidy.read_text(encoding="utf-8")) == (2, TIDY)
    assert "wrong.rq:1:59: error[SQ002]" in result.stderr
    assert "cannot read query" in result.stderr
    assert wrong.read_text(encoding="utf-8").startswith("SELECT * WITHIN 5")
