"""Completion as shells ask for it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

from spaseq.cli import main
from tests.editors.queries import ROOT

QUERY = str(ROOT / "examples/smart_grid/query.rq")


def completed(*words: str, begun: str = "") -> list[tuple[str, str]]:
    """The type and text of each completion after some words."""
    found = ShellComplete(main, {}, "spaseq", "_SPASEQ_COMPLETE").get_completions(list(words), begun)
    return [(item.type, item.value) for item in found]


def test_commands_options_and_choices_are_completed() -> None:
    assert ("plain", "run") in completed(begun="r")
    assert completed("run", begun="--form") == [("plain", "--format")]
    assert ("plain", "ndjson") in completed("run", "--format", begun="nd")
    assert completed("run", begun="exam") == [("file", "exam")]


def test_the_streams_of_the_query_are_completed() -> None:
    assert completed("run", QUERY, "--stream") == [("plain", "S1="), ("plain", "S2="), ("plain", "S3=")]
    assert completed("why", QUERY, "--stream", begun="S2") == [("plain", "S2=")]
    assert completed("run", QUERY, "--stream", begun="S1=ev") == [("file", "S1=ev")]
    assert completed("run", "none.rq", "--stream") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(shell: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["completion", shell])
    assert (result.exit_code, f"_SPASEQ_COMPLETE={shell}_complete" in result.stdout) == (0, True)
    if found := shutil.which(shell):
        script = tmp_path / "script"
        script.write_text(result.stdout, encoding="utf-8")
        assert subprocess.run([found, "-n", str(script)], check=False).returncode == 0


def test_a_shell_asks_the_program_itself() -> None:
    asked = {"_SPASEQ_COMPLETE": "bash_complete", "COMP_WORDS": "spaseq val", "COMP_CWORD": "1"}
    program = "import sys; sys.argv = ['spaseq']; from spaseq.cli import main; main(prog_name='spaseq')"
    found = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=asked, capture_output=True, text=True, check=False
    )
    assert (found.stdout, found.stderr) == ("plain,validate\n", "")
