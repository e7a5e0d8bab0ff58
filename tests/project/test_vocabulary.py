"""The words of the project: docstrings say what a thing is, and standard terms stand where private words once stood."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from tests.project.sources import PACKAGES, ROOT, text_of, trees

PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "docs/**/*.md",
    "*/README.md",
    "*/*/README.md",
    "*/*/*/README.md",
)

OLD_NAMES = (
    "Stretch", "Unwritten", "Standing", "Prospects", "Forbidden", "Absences", "Memo", "Pushable", "Restricting", "Feed",
    "Turn", "Host", "ConditionHost", "Letters", "Ways", "Gather", "Gathering", "Obligations", "Wanted", "Settled",
    "Alone",
)  # fmt: skip
"""Identifiers of ours that a standard term has replaced."""

OLD_WORDS = (
    r"\bstretch(es)?\b",
    r"\bface (of|that|behind|which)\b|\b(one|same|the evaluators'|evaluator's) face\b",
    r"\b(what|who|whoever) (has been|was) handed\b|\bhanded out\b",
    r"\bleft alone\b",
    r"\basked for again\b",
    r"\btime alone\b",
    r"\bprospects\b",
    r"\bpushables?\b",
    r"\bgatherings?\b",
    r"\bone door\b",
    r"\bin this house\b|\bthe house's\b|\bthe rules of the house\b|\brooms of\b",
)
"""Phrases of ours that a standard term has replaced (`ARCHITECTURE.md`, Glossary)."""

RIDDLES = re.compile(r"(What|Which|Whether|How|Where|Who|When|Why)\b")


def modules() -> Iterator[tuple[str, ast.Module, str]]:
    """Path, tree and text of every module."""
    return ((str(path), tree, text_of(ROOT / path)) for path, tree in trees(*PACKAGES))


def pages() -> Iterator[tuple[str, str]]:
    for pattern in PAGES:
        for path in sorted(ROOT.glob(pattern)):
            if not path.relative_to(ROOT).parts[0].startswith((".", "out", "build")):
                yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")


def docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text is not None:
                yield getattr(node, "lineno", 1), text


def test_a_docstring_says_what_a_thing_is_and_asks_nothing() -> None:
    riddles = [
        f"{path}:{line} {text.splitlines()[0]}"
        for path, tree, _ in modules()
        for line, text in docstrings(tree)
        if RIDDLES.match(text)
    ]
    assert riddles == []


@pytest.mark.parametrize("name", OLD_NAMES)
def test_a_name_that_a_standard_term_has_replaced_stays_away(name: str) -> None:
    used = re.compile(rf"(?<![\w.])_?{name}(?!\w)")
    assert [path for path, _, text in modules() if used.search(_code(text))] == []


def _code(text: str) -> str:
    """The text without strings and comments, as far as a look at lines tells."""
    return re.sub(r'""".*?"""|"[^"\n]*"|#.*', "", text, flags=re.DOTALL)


@pytest.mark.parametrize("word", OLD_WORDS)
def test_a_phrase_that_a_standard_term_has_replaced_stays_away(word: str) -> None:
    used = re.compile(word, re.IGNORECASE)
    found = [f"{path}: {match.group()}" for path, _, text in modules() for match in used.finditer(text)]
    found += [f"{path}: {match.group()}" for path, text in pages() for match in used.finditer(text)]
    assert found == []


def test_evaluators_of_several_kinds_have_files_of_telling_names() -> None:
    assert [path for path, _, _ in modules() if path.endswith("/evaluator.py")] == []
