"""The example in the package's README runs."""

from __future__ import annotations

import doctest
from pathlib import Path

import kb.base


def test_the_example_of_the_readme_gives_what_it_prints() -> None:
    readme = Path(kb.base.__file__).with_name("README.md")
    results = doctest.testfile(str(readme), module_relative=False)
    assert results.attempted > 5
    assert results.failed == 0
