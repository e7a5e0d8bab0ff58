"""`spaseq doctor` and `spaseq demo`, and what the project says of its own version."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import spaseq
from spaseq.cli import doctor, main
from spaseq.engine import installation
from spaseq.engine.installation import Requirement

ROOT = Path(__file__).parents[2]
REQUIRES = ["click<9,>=8.1", "numpy>=99", "no-such>=1; extra == 'spark'", "click>=8; extra == 'dev'", "spaseq[spark]"]


def doctored() -> Result:
    return CliRunner().invoke(main, ["doctor"])


def test_a_whole_installation_is_told_with_its_caches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SPASEQ_QUERY_CACHE", str(tmp_path))
    (tmp_path / "one").write_bytes(b"x" * 2500)
    done = doctored()
    assert done.exit_code == 0, done.output
    lines = done.output.splitlines()
    assert lines[0] == f"SPAseq {spaseq.__version__} in {ROOT / 'spaseq'}"
    assert f"parsed queries  1 kept in {tmp_path}, 2 kB" in lines
    assert any(line.startswith("kernels  kept in ") for line in lines)
    assert {part for part in installation._KERNELS if part in done.output} == set(installation._KERNELS)


def test_what_is_missing_is_told_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation.metadata, "requires", lambda _: REQUIRES)
    done = doctored()
    assert done.exit_code == 1
    assert 'is not >=99\n  hint: pip install "spaseq"\n' in done.output
    assert '  missing: no-such >=1\n  hint: pip install "spaseq[spark]"\n' in done.output
    assert "dev" not in done.output


@pytest.mark.parametrize(("program", "line"), [("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2", "Java  11 at ")])
def test_an_old_java_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, line: str) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text(f"{program}\n", encoding="utf-8")
    os.chmod(tmp_path / "bin" / "java", 0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert f"{line}{tmp_path / 'bin' / 'java'}, and Spark needs 17 or newer" in list(doctor._spark())
    (tmp_path / "bin" / "java").unlink()
    assert f"JAVA_HOME is {tmp_path}" in "".join(doctor._spark())


@pytest.mark.parametrize(
    ("bounds", "found", "met"),
    [
        ("<9,>=8.1", "8.1", True),
        (">=8.1,<9", "8.0.9", False),
        (">=8.1,<9", "9.0", False),
        (">=2.0", "2", True),
        (">=0.0.73", "0.0.73rc1", True),
        ("", None, False),
    ],
)
def test_versions_are_compared_by_their_numbers(bounds: str, found: str | None, met: bool) -> None:
    assert Requirement("x", None, bounds, found).is_met == met


def test_the_demo_leaves_nothing_behind_unless_it_is_told_where(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "gone"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "gone").mkdir()
    shown = CliRunner().invoke(main, ["demo", "--events", "2000"])
    assert shown.exit_code == 0 and "urn:storage:1702" in shown.stdout and list((tmp_path / "gone").iterdir()) == []
    kept = CliRunner().invoke(main, ["demo", "--events", "2000", "--output", str(tmp_path / "grid")])
    assert kept.stdout == shown.stdout
    (command,) = [line for line in kept.stderr.splitlines() if line.startswith("spaseq run ")]
    assert CliRunner().invoke(main, command.split()[1:]).stdout == shown.stdout
    (tmp_path / "file").write_text("", encoding="utf-8")
    refused = CliRunner().invoke(main, ["demo", "--output", str(tmp_path / "file")])
    assert refused.exit_code != 0 and "Traceback" not in refused.output


def test_the_version_is_the_same_wherever_it_stands() -> None:
    assert f'\nversion = "{spaseq.__version__}"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [spaseq.__version__]
