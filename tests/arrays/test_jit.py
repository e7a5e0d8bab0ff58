"""Compiled code on disk: kept, replaced after any edit that matters, bounded, and never required."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from arrays.jit import COMPILED

ROOT = Path(__file__).parents[2]
CALLEE = "from arrays.jit import part\nFACTOR = {factor}\n@part\ndef scaled(n: int) -> int:\n    return FACTOR * n\n"
CALLER = """from arrays.jit import is_kept, kernel
from sample import callee, other
from sample.callee import (
    scaled,
)
@kernel
def twice(n: int) -> int:
    return scaled(n) + scaled(n)
"""
PROGRAM = "from sample.caller import *\nbefore = is_kept(twice)\nprint(twice(5), before, is_kept(twice))"
HITS = "from sample.caller import *\nprint(twice(5), sum(twice.stats.cache_hits.values()))"
READ_ONLY = """import tempfile
def refused(dir): raise PermissionError(f"{dir} is read-only")
tempfile.TemporaryFile = refused
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the package `arrays`, and a package with a kernel beside it."""
    shutil.copytree(ROOT / "arrays", tmp_path / "arrays", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "sample").mkdir()
    for name, text in (("__init__", ""), ("other", ""), ("unrelated", ""), ("caller", CALLER)):
        (tmp_path / "sample" / f"{name}.py").write_text(text)
    edit(tmp_path, 1)
    return tmp_path


def edit(folder: Path, factor: int) -> None:
    (folder / "sample" / "callee.py").write_text(CALLEE.format(factor=factor))


def run(folder: Path, program: str = PROGRAM, **settings: object) -> str:
    own = {"PYTHONPATH": folder, "HOME": folder / "home", "NUMBA_CACHE_DIR": "", **settings}
    environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
    command = [sys.executable, "-B", "-P", "-c", program]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def zipped(folder: Path, name: str) -> Path:
    """The packages in an archive."""
    with ZipFile(folder / name, "w") as archive:
        for path in sorted(folder.glob("*/*.py")):
            archive.write(path, path.relative_to(folder))
    return folder / name


if COMPILED:

    def test_compiled_code_is_kept(folder: Path) -> None:
        assert [run(folder) for _ in range(2)] == ["10 False True\n", "10 True True\n"]
        (folder / "sample" / "unrelated.py").write_text("FACTOR = 2")
        assert run(folder) == "10 True True\n"

    def test_an_edited_callee_changes_the_result_and_old_code_is_removed(folder: Path) -> None:
        for factor in range(1, 6):
            edit(folder, factor)
            assert run(folder) == f"{10 * factor} False True\n"
        assert len(list((folder / "arrays" / "__pycache__").glob("sample.caller-*"))) == 3

    def test_kernels_compile_where_nothing_can_be_written(folder: Path) -> None:
        (folder / "arrays" / "__pycache__").write_text("a file, not a folder")
        (folder / "home").write_text("a file, not a folder")
        assert run(folder) == "10 False False\n"
        (folder / "home").unlink()
        assert [run(folder) for _ in range(2)] == ["10 False True\n", "10 True True\n"]

    def test_compiled_code_is_found_where_it_is_shipped_to(
        folder: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        assert run(folder, HITS) == "10 0\n"
        there = tmp_path_factory.mktemp("there") / "env"
        shutil.move(folder, there)
        assert run(there, HITS) == "10 1\n"
        assert run(there, HITS, NUMBA_CACHE_DIR=there / "other") == "10 1\n"

    def test_shipped_code_is_used_where_nothing_can_be_written(folder: Path) -> None:
        assert run(folder, HITS) == "10 0\n"
        before = {path for path in folder.rglob("*") if path.is_file()}
        assert run(folder, READ_ONLY + HITS) == "10 1\n"
        assert {path for path in folder.rglob("*") if path.is_file()} == before

    def test_code_for_any_processor_is_used_where_there_is_none_for_this_one(folder: Path) -> None:
        assert run(folder, HITS, NUMBA_CPU_NAME="generic") == "10 0\n"
        assert run(folder, HITS) == "10 1\n"

    @pytest.mark.parametrize("name", ["packages.zip", "packages.whl"])
    def test_kernels_of_an_archive_are_kept_in_a_folder_of_the_user_or_the_one_that_is_named(
        folder: Path, name: str
    ) -> None:
        archive = zipped(folder, name)
        assert [run(folder, HITS, PYTHONPATH=archive) for _ in range(2)] == ["10 0\n", "10 1\n"]
        assert list((folder / "home" / ".cache" / "spaseq").glob("sample.caller-*"))
        shutil.move(folder / "home" / ".cache" / "spaseq", folder / "kernels")
        named = {"PYTHONPATH": archive, "NUMBA_CACHE_DIR": "kernels"}
        assert run(folder, READ_ONLY + HITS, **named) == "10 1\n"
