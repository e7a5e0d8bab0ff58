"""docs/how-to/testing.md: its test, with the answers that are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from spaseq.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "testing.md").read_text(encoding="utf-8")


def block(language: str, place: int = 0) -> str:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)[place]


def test_the_test_of_the_page_fails_passes_and_runs_in_a_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cold.rq").write_text(block("sparql"))
    for text, code, place in ((block("trig"), 1, 0), (block("trig").replace("high 36", "high 35"), 0, 1)):
        Path("cold.trig").write_text(text)
        done = CliRunner().invoke(main, ["test", "cold.trig"])
        assert f"$ spaseq test cold.trig\n{done.stdout}" == block("console", place)
        assert done.exit_code == code
    exec(block("python"), {})


def test_a_graph_is_stated_as_the_page_says(tmp_path: Path) -> None:
    query = block("sparql").replace("SELECT ?sensor ?high", "CONSTRUCT { ?sensor :alarm ?high }")
    (tmp_path / "cold.rq").write_text(query)
    (tmp_path / "cold.trig").write_text(block("trig").split("s:rows")[0] + block("trig", 1))
    assert CliRunner().invoke(main, ["test", str(tmp_path)]).exit_code == 0
