"""The project's own source files, each parsed once for all tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("spaseq", "sparql_gpm", "automata", "kb", "arrays")


def source_files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def trees(*folders: str) -> Iterator[tuple[Path, ast.Module]]:
    """Every module below some folders: its path from the root, and its tree."""
    return ((path.relative_to(ROOT), tree_of(path)) for path in source_files(*folders))
