"""The example in the package's README runs, and its table names every module and room of the package."""

import doctest
import re
from pathlib import Path

import sparql_gpm.terms

PACKAGE = Path(sparql_gpm.terms.__file__).parent
README = PACKAGE / "README.md"


def test_the_example_runs() -> None:
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted and not results.failed


def test_the_table_names_every_module_and_every_room() -> None:
    named = set(re.findall(r"`(\w+)`", README.read_text(encoding="utf-8")))
    modules = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__"}
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert modules | rooms <= named
