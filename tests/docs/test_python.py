"""What docs/how-to/python.md shows happens."""

import doctest
from pathlib import Path


def test_the_examples_run() -> None:
    page = Path(__file__).parents[2] / "docs" / "how-to" / "python.md"
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert results.attempted and not results.failed
