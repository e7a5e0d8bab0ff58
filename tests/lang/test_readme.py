from __future__ import annotations

import doctest
from pathlib import Path

import spaseq.lang.parse

README = Path(spaseq.lang.parse.__file__).with_name("README.md")


def test_the_example_of_the_package_is_true() -> None:
    outcome = doctest.testfile(str(README), module_relative=False)
    assert outcome.attempted and not outcome.failed
