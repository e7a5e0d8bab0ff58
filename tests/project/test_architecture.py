"""The rules of the house that a machine can check: layers, cycles, sizes, docstrings, nothing of one machine."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from tests.project.sources import PACKAGES, ROOT, source_files, text_of, trees

OTHER_FOLDERS = ("tests", "examples", "benchmarks", ".ci", "docs")
BINARY = (".gz", ".png", ".pyc")
FUNCTION_LINES_MAX = 70
FILE_LINES_MAX = 400
MACHINE_PATH = re.compile(r"(?<![\w.$~{<:/-])/(?:work|home|root|Users|farm|tmp|mnt)/\w")
GENERIC_NAMES = re.compile(r"(^|_)(utils?|helpers?|managers?|handlers?|misc|common)(_|$)")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def text_files() -> Iterator[Path]:
    """What the project consists of: its folders without caches, and the files at its top."""
    candidates = [path for folder in (*PACKAGES, *OTHER_FOLDERS) for path in (ROOT / folder).rglob("*")]
    for path in [*candidates, *ROOT.glob("*")]:
        if path.is_file() and path.name != ".git" and "__pycache__" not in path.parts and path.suffix not in BINARY:
            yield path


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All below a node, but not what stands in expressions: a fifth of the time of `ast.walk`."""
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for child in getattr(node, name, ()):
            if isinstance(child, ast.stmt):
                yield child
            yield from statements(child)


def public_definitions(tree: ast.Module) -> Iterator[tuple[str, Function | ast.ClassDef]]:
    """Functions, classes and their methods whose names have no underscore before them, by their qualified names."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node.name, node
            methods = (item for item in node.body if isinstance(item, Function) and _is_documented_alone(item))
            yield from ((f"{node.name}.{item.name}", item) for item in methods)
        elif isinstance(node, Function) and _is_documented_alone(node):
            yield node.name, node


def is_documented(path: Path, name: str) -> bool:
    """True if `help` shows a docstring for a qualified name: its own, or that of the method that it overrides."""
    module = importlib.import_module(".".join(path.with_suffix("").parts).removesuffix(".__init__"))
    return inspect.getdoc(attrgetter(name)(module)) is not None


def _is_documented_alone(node: Function) -> bool:
    """Overloads, overrides and property setters are documented elsewhere."""
    decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
    elsewhere = ("overload", "override")
    return not node.name.startswith("_") and not any(name.endswith((*elsewhere, ".setter")) for name in decorators)


def test_imports_keep_every_contract_of_pyproject() -> None:
    """In a process of its own: import-linter disables the loggers that there are, which other tests read."""
    program = (
        "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(sys.argv[1], no_cache=True))"
    )
    arguments = [sys.executable, "-c", program, str(ROOT / "pyproject.toml")]
    checked = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_no_function_is_longer_than_it_may_be() -> None:
    lengths = {
        f"{path}:{node.lineno} {node.name}": 1 + (node.end_lineno or node.lineno) - node.lineno
        for path, tree in trees(*PACKAGES, *OTHER_FOLDERS)
        for node in statements(tree)
        if isinstance(node, Function)
    }
    assert {function: lines for function, lines in lengths.items() if lines > FUNCTION_LINES_MAX} == {}


def test_no_source_file_is_longer_than_it_may_be() -> None:
    sizes = {path: text_of(path).count("\n") for path in source_files(*PACKAGES)}
    assert {str(path.relative_to(ROOT)): size for path, size in sizes.items() if size > FILE_LINES_MAX} == {}


def test_every_public_name_has_a_docstring() -> None:
    missing = [
        f"{path}:{node.lineno} {name}"
        for path, tree in trees(*PACKAGES)
        for name, node in public_definitions(tree)
        if ast.get_docstring(node) is None and not ("." in name and is_documented(path, name))
    ]
    assert missing == []


def test_every_module_says_what_it_is() -> None:
    every = trees(*PACKAGES, "examples", "benchmarks")
    assert [str(path) for path, tree in every if tree.body and ast.get_docstring(tree) is None] == []


def test_modules_are_named_after_the_thing_they_hold() -> None:
    assert [str(path) for path in source_files(*PACKAGES) if GENERIC_NAMES.search(path.stem)] == []


def test_no_file_contains_the_path_of_a_machine() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in text_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if MACHINE_PATH.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("word", ["TODO", "FIXME", "NotImplementedError", "pytest.mark.skip", "pytest.skip", "xfail"])
def test_nothing_is_left_for_later(word: str) -> None:
    files = [path for path in source_files(*PACKAGES, *OTHER_FOLDERS) if path != Path(__file__)]
    assert [str(path) for path in files if word in text_of(path)] == []


def test_every_package_tells_type_checkers_that_it_is_typed() -> None:
    assert [name for name in PACKAGES if not (ROOT / name / "py.typed").exists()] == []
