from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from spaseq.errors import QueryError
from spaseq.lang.parse import check, parse
from tests.lang.texts import text_of

FOLDER = Path(__file__).parent
TEXTS = [
    *(path.read_text(encoding="utf-8") for path in sorted((FOLDER / "paper").glob("*.rq"))),
    *(path.read_bytes().decode() for path in sorted((FOLDER.parent / "golden" / "errors").glob("*.rq"))),
    text_of("A ; (B , C?);+ : ALL(D, SEQ(E : F)) : N!", form="SELECT ?a (AVG(?b) AS ?m)", header="PARTITION BY ?s"),
]
PIECES = [
    *"{}()<>\"'#,;:|&?!+*@\\0é😀\t\r\x00\u2028",
    *('"""', "{2,1}", ";+", "^^", "?x", "_:b", "\\u0041", "9" * 30, "COUNT(*)", "PREV(", "EXISTS", "FILTER", "AS"),
    *("SEQ(", "ALL(", "DEFINE GPM", "ON", "SELECT", "WITHIN", "FROM STREAM", "STARTING AT", "LIMIT", "PREFIX : <x>"),
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A query with a few slices removed, doubled, moved or replaced."""
    text = draw(st.sampled_from(TEXTS))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        piece = draw(st.sampled_from(PIECES) | st.just(text[start:end] * 2) | st.text(max_size=3))
        text = text[:start] + piece + text[end:]
    return text


@given(mutated())
def test_a_mutated_query_is_read_or_refused_with_its_reasons(text: str) -> None:
    query, problems = check(text)
    errors = [problem for problem in problems if problem.severity == "error"]
    assert (query is None) == bool(errors)
    lines = text.splitlines() or [""]
    for problem in problems:
        assert problem.message and 1 <= problem.line <= len(lines) + 1 and problem.column >= 1 and problem.length >= 1
        if problem.line <= len(lines):
            assert problem.column <= len(lines[problem.line - 1]) + 1


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse(text)
    except QueryError as error:
        assert str(error)
