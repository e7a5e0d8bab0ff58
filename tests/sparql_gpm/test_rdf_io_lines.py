"""The quick way through a line of N-Quads says what the strict parser says."""

from __future__ import annotations

import io
import re

import pyoxigraph as ox
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions, read_events
from sparql_gpm.reading import document_terms
from sparql_gpm.reading.document_terms import PLAIN_IRI, is_token, parse_token
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import TripleTerm
from tests.drawn import drawn
from tests.sparql_gpm.rdf_events import events_of, read, stamp

FIRST = "<urn:s> <urn:p> <urn:o> <urn:g> ."

tokens = st.sampled_from(
    [
        "<urn:s>", "<urn:g>", "<urn:g", "urn:g>", "<>", "<a>", "<urn:a b>", "<urn:\\u0041>", "<http://h:80/p?q#f>",
        "<http://[::1]/>", "<http://a:b/>", "<urn:%zz>", "<urn:#a#b>", "<http://>", "<urn:é>", "_:b", "_:b.", "_:",
        "_:é",
        '"x"', '"x', 'x"', '"', '"a', 'b"', '"\\u0041"', '"\\q"', '"é"', '"x"@en', '"x"@EN-Us', '"x"@', '"x"@en--ltr',
        '"1"^^<urn:t>', '"1"^^<t>', '"1"^^', '"1"^^<urn:t', '"x"^^<http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>',
        '"x"^^<http://www.w3.org/2001/XMLSchema#string>', ".", "#", "# <urn:g>", "<<", "<<(", ")>>", "5",
        "<<( <urn:s> <urn:p> <urn:o> )>>", '<<(_:b <urn:p> "x"@en--ltr)>>', "<<( _:b <urn:p> <<( _:c <urn:p> 5 )>> )>>",
        '<<( _:b <urn:p> <<( <urn:s> <urn:p> "<g> )>> \\"" )>> )>>',
        "a", "\t", "\r", "",
    ]
)  # fmt: skip
lines = st.one_of(
    st.lists(tokens, min_size=2, max_size=7).map(" ".join),
    st.tuples(tokens, tokens, tokens, tokens).map(lambda parts: " ".join(parts) + " ."),
    st.tuples(tokens, tokens).map(lambda parts: f"<urn:s> <urn:p> {' '.join(parts)} <urn:g> ."),
    tokens.map(lambda token: f"<urn:s> <urn:p> {token} <urn:g> ."),
)


def unscoped(triple: str) -> str:
    return re.sub(r"_:e\d+_", "_:", triple)


def strictly(line: str) -> list[tuple[str, str]] | None:
    """(graph, triple) of each quad of a line, or None if the line is malformed."""
    try:
        quads = list(ox.parse(line.encode(), ox.RdfFormat.N_QUADS))
    except SyntaxError:
        return None
    return [(str(quad.graph_name), str(quad.triple)) for quad in quads]


@settings(max_examples=drawn(1500), deadline=None)
@given(lines)
@example("<urn:s> <urn:p> <urn:x> . # <urn:g> .")
@example("<urn:s> <urn:p> <urn:x> <urn:h> <urn:g> .")
@example('<urn:s> <urn:p> "a <urn:g> .')
@example('<urn:s> <urn:p> "a" "b <urn:g> .')
@example('<urn:s> <urn:p> "a" . # "b" <urn:g> .')
@example('"s" <urn:p> <urn:o> <urn:g> .')
@example("<urn:s> _:p <urn:o> <urn:g> .")
@example("_:b. <urn:p> <urn:o> <urn:g> .")
@example("<urn:s> <urn:p> <<( <urn:s> <urn:p> <urn:o> )>> . # )>> <urn:g> .")
@example("<urn:s> <urn:p> <<( <urn:s> <urn:p> _:b )>> <urn:g> .")
@example("# \r <urn:s> <urn:p> <urn:x> <urn:g> .")
@example("# \r <urn:s> <urn:s> .")
def test_a_line_means_what_the_strict_parser_says(line: str) -> None:
    events, reports = read(FIRST + "\n" + line, options=ReadOptions(arrival_time=lambda: 0))
    expected = strictly(line)
    found = [(event.name, unscoped(triple)) for event in events for triple in event.triples][1:]
    if expected is None:
        assert found == []
        assert reports and all(report.raw == line for report in reports)
        return
    named = [(graph.strip("<>"), triple) for graph, triple in expected if graph != "DEFAULT"]
    of_blank_graph = any(graph.startswith("_:") for graph, _ in named)
    first = ("urn:g", FIRST.removesuffix(" <urn:g> ."))
    assert [triple for _, triple in found] == [
        triple for graph, triple in dict.fromkeys(named) if (graph, triple) != first
    ]
    assert of_blank_graph or {graph for graph, _ in found} <= {graph for graph, _ in named}
    assert [report.kind for report in reports] == ["default graph"] * (len(expected) - len(named))


@given(st.from_regex(re.compile(PLAIN_IRI.pattern.decode()), fullmatch=True))
@example("<http://a//b:c@d/~x#/:@>")
def test_what_is_taken_for_a_plain_iri_is_one_for_the_strict_parser(token: str) -> None:
    (quad,) = ox.parse(f"<urn:s> <urn:p> {token} .".encode(), ox.RdfFormat.N_TRIPLES)
    assert str(quad.object) == token


@given(tokens)
def test_a_token_is_one_exactly_when_it_gives_a_term(token: str) -> None:
    term = parse_token(token.encode())
    assert is_token(token.encode()) == (term is not None and not isinstance(term, TripleTerm))
    assert not isinstance(term, TripleTerm) or canonical_token(term) == token.encode()


def test_forgetting_terms_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_terms, "TERM_CACHE_MAX", 2)
    monkeypatch.setattr("sparql_gpm.reading.blocks.BLOCK_BYTES", 100)
    text = "".join(stamp(f"<urn:{i}>", i) + f'<urn:s> <urn:p> "{i}" <urn:{i}> .\n' for i in range(20))
    reports: list[Malformed] = []
    dictionary = Dictionary()
    found = events_of(
        read_events(io.BytesIO(text.encode()), "nquads", dictionary, ReadOptions(), reports.append), dictionary
    )
    assert [event.triples for event in found] == [(f'<urn:s> <urn:p> "{i}"',) for i in range(20)]
    assert reports == []
