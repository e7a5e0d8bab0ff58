"""The patterns of the cookbook give their rows with several evaluators, have no warning, and all stand on a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.site.cookbook_pages import FOLDER, VOCABULARIES, index_page, vocabulary_page
from spaseq.errors import SPAseqError
from spaseq.lang.query_files import read_query
from spaseq.testing import report, run_test

QUERIES = sorted(FOLDER.glob("*.rq"))
EVALUATORS = ("auto", "nfa", "lazy")


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_pattern_gives_the_rows_of_its_test(path: Path) -> None:
    assert read_query(path).warnings == ()
    for evaluator in EVALUATORS:
        try:
            outcome = run_test(path.with_suffix(".trig"), evaluator)
        except SPAseqError:
            assert evaluator not in ("auto", "nfa")
            continue
        assert outcome.passed, f"{evaluator}: {report(outcome)}"
        assert sum(map(len, outcome.rows.values())) > 0


def test_every_pattern_is_on_the_page_of_its_vocabulary() -> None:
    assert len(QUERIES) == 20
    assert {path.stem.split("-")[0] for path in QUERIES} == set(VOCABULARIES)
    for path in QUERIES:
        vocabulary = path.stem.split("-")[0]
        assert f"({vocabulary}.md#{path.stem})" in index_page()
        assert f"{{ #{path.stem} }}" in vocabulary_page(vocabulary)
