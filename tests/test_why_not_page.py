"""The examples of docs/how-to/why-not.md: one for each cause, with the answer that is printed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from spaseq.cli import main

PAGE = (Path(__file__).parents[1] / "docs/how-to/why-not.md").read_text(encoding="utf-8")
SECTION = re.compile(
    r"^## (?P<cause>\S+)\n\n[^`]*(?:`[^`]+`[^`]*)*```sparql\n(?P<query>.*?)```\n\n```trig\n(?P<events>.*?)```\n\n"
    r"```console\n\$ spaseq (?P<command>[^\n]*)\n(?P<answer>.*?)```",
    re.DOTALL | re.MULTILINE,
)
IN_A_SERVICE = "waiting"
"""The cause that only a service has: tests/service/http/test_explaining.py."""
EXAMPLES = [match.groupdict() for match in SECTION.finditer(PAGE)]


def test_every_cause_of_the_table_has_an_example() -> None:
    rows = re.findall(r"^\| (`.*?) \|", PAGE, re.MULTILINE)
    named = [cause for row in rows for cause in re.findall(r"`([\w-]+)`", row)]
    assert sorted(named) == sorted([*(example["cause"] for example in EXAMPLES), IN_A_SERVICE])
    assert f"## {IN_A_SERVICE}\n" in PAGE


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["cause"] for example in EXAMPLES])
def test_an_example_gives_the_answer_that_is_printed(
    example: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "query.rq").write_text(example["query"])
    (tmp_path / "events.trig").write_text(example["events"])
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, shlex.split(example["command"]))
    assert (done.exit_code, done.stdout) == (0, example["answer"])
    assert f"   - {example['cause']}: " in done.stdout
