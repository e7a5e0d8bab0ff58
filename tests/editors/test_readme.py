from __future__ import annotations

import doctest

from tests.editors.queries import ROOT


def test_the_example_of_the_package_is_true() -> None:
    outcome = doctest.testfile(str(ROOT / "spaseq/editors/README.md"), module_relative=False)
    assert outcome.attempted and not outcome.failed
