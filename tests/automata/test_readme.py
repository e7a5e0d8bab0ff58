"""The example in the package's README runs, and the files it names exist."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import automata.protocol

README = Path(automata.protocol.__file__).with_name("README.md")


def test_the_example_of_the_readme_gives_what_it_prints() -> None:
    results = doctest.testfile(str(README), module_relative=False)
    assert results.attempted > 5
    assert results.failed == 0


def test_every_file_that_the_readme_names_exists() -> None:
    named = set(re.findall(r"`([\w/]+\.py)`", README.read_text(encoding="utf-8")))
    assert len(named) > 20
    assert [name for name in sorted(named) if not (README.parent / name).is_file()] == []
