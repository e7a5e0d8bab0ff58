"""Compiled code on disk: kept, replaced after any edit that matters, bounded, and never required."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

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


def run(folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(folder), "HOME": str(folder / "home"), "NUMBA_CACHE_DIR": ""}
    command = [sys.executable, "-B", "-c", PROGRAM]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


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
