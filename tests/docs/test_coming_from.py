"""The translations of docs/coming-from.md: the originals are known as what they are, the queries give the rows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import spaseq
from spaseq.errors import SPAseqError
from spaseq.lang.parse import check
from spaseq.outputs.rows import Row
from tests.lang.texts import text_of

PAGE = (Path(__file__).parents[2] / "docs" / "coming-from.md").read_text(encoding="utf-8")
EVALUATORS = ("auto", "nfa", "cea", "lazy", "tree")
BLOCK = re.compile(r"```(\S+)(?: (\w+))?\n(.*?)```\n", re.DOTALL)
LANGUAGES = {
    "rsp-ql": "RSP-QL", "c-sparql": "C-SPARQL", "cqels": "CQELS", "ep-sparql": "EP-SPARQL",
    "sql": "SQL MATCH_RECOGNIZE", "epl": "EPL (Esper)",
    "java": "FlinkCEP",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Translation:
    """One numbered section: the language and text of the original, our query, its streams by name, and its table."""

    title: str
    language: str
    original: str
    query: str
    streams: dict[str, str]
    table: list[list[str]]


def translations() -> list[Translation]:
    """The translations, in the order of the page."""
    found = []
    for section in PAGE.split("\n### ")[1:]:
        blocks = [match.groups() for match in BLOCK.finditer(section)]
        (language, _, original), (ours, _, query), *streams = blocks
        assert ours == "sparql" and all(kind == "trig" for kind, _, _ in streams), section
        lines = [line for line in section.splitlines() if line.startswith("|")]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        data = {name: text for _, name, text in streams}
        found.append(Translation(section.splitlines()[0], language, original, query, data, [rows[0], *rows[2:]]))
    return found


def shown(text: str) -> str:
    return text.replace("<http://x/", ":").replace(">", "")


def cells(row: Row, columns: list[str]) -> list[str]:
    """The cells of a row below these columns, as the page writes them."""
    if columns == ["graph"]:
        assert row.triples is not None
        return [" . ".join(" ".join(_text(term) for term in triple) for triple in row.triples)]
    bindings = {f"?{name}": _text(term) for name, term in row.bindings}
    return [bindings.get(column, "") for column in columns]


def _text(term: object) -> str:
    value = getattr(term, "lexical", None)
    return value if value is not None else shown(f"<{getattr(term, 'value', '')}>")


@pytest.mark.parametrize("each", translations(), ids=lambda each: each.title)
def test_a_translation_gives_its_rows_with_every_evaluator(each: Translation, tmp_path: Path) -> None:
    for name, text in each.streams.items():
        (tmp_path / f"{name}.trig").write_text(text, encoding="utf-8")
    streams = {name: str(tmp_path / f"{name}.trig") for name in each.streams}
    for evaluator in EVALUATORS:
        try:
            rows = list(spaseq.run(spaseq.parse(each.query), streams=streams, evaluator=evaluator))
        except SPAseqError:
            assert evaluator not in ("auto", "nfa")
            continue
        assert sorted(cells(row, each.table[0]) for row in rows) == sorted(each.table[1:])


@pytest.mark.parametrize("each", translations(), ids=lambda each: each.title)
def test_a_translation_has_no_warning(each: Translation) -> None:
    assert spaseq.parse(each.query).warnings == ()


@pytest.mark.parametrize("each", translations(), ids=lambda each: each.title)
def test_an_original_is_refused_with_one_error_that_names_its_language(each: Translation) -> None:
    query, problems = check(each.original)
    assert query is None
    (problem,) = problems
    assert problem.code == "SQ025"
    assert f"written in {LANGUAGES[each.language]}:" in problem.message
    assert "docs/coming-from.md" in problem.hint


def test_every_language_has_a_table_and_a_translation() -> None:
    found = translations()
    assert len(found) == 11
    assert {each.language for each in found} == set(LANGUAGES)
    for language in LANGUAGES.values():
        table = PAGE.split(f"\n## {language}\n")[1].split("\n## ")[0]
        assert table.count("\n| ") > 5, language


SEQUENCES = sorted({found.replace("\\|", "|") for found in re.findall(r"`(SEQ\((?! \))[^`]*\))`", PAGE)})


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_a_sequence_of_the_tables_is_one(sequence: str) -> None:
    query, problems = check(text_of(sequence.removeprefix("SEQ(").removesuffix(")")))
    assert query is not None, problems


QUANTIFIED = sorted({found for found in re.findall(r"`(B[;:,]?[+*{][^`]*)`", PAGE) if "MINUTES" not in found})


@pytest.mark.parametrize("step", QUANTIFIED)
def test_a_quantifier_of_the_tables_is_one(step: str) -> None:
    query, problems = check(text_of(f"A ; {step}"))
    assert query is not None, problems
