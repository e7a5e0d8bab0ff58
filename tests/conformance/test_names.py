"""The names of CONSTRUCT's graphs depend on the match alone, whatever the evaluator, the batches and the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from sparql_gpm import canonical_labels
from sparql_gpm.terms import IRI, BlankNode, Literal, Term
from spaseq.algebra.build import build
from spaseq.lang.parse import parse
from spaseq.physical.program import compile_program
from tests.drawn import drawn
from tests.driving import comparable, run_engine
from tests.pairs import EVALUATORS
from tests.reference.api import evaluate
from tests.reference.stream import Triples
from tests.restarting import Restarting
from tests.strategies.named import named_queries
from tests.strategies.stream import EX, Arrived, batches, cuts, interleaved, streams, to_trig

PAIRS = drawn(30)


@given(st.data())
@settings(max_examples=PAIRS)
def test_a_match_has_the_name_of_the_language_in_every_evaluator_and_batch_and_no_other_has_it(
    data: st.DataObject,
) -> None:
    text = data.draw(named_queries())
    query, arrivals = parse(text, "q"), data.draw(streams())
    arrivals = {stream.name: arrivals[stream.name] for stream in query.streams}
    note("\n".join([text, *(f"# {name}\n{to_trig(events)}" for name, events in arrivals.items())]))
    expected = evaluate(query, arrivals)
    names = Counter(row.graph for row in expected)
    assert len(names) == len(expected), "two matches have one name"
    arrived = interleaved(arrivals)
    compiled = compile_program(build(query))
    for tried in [e for e in EVALUATORS.values() if e.why_not(compiled) is None]:
        pieces = batches(arrived, data.draw(cuts(len(arrived))))
        found = run_engine(query, pieces, evaluator=tried.option, compiled=tried.compiled)
        assert [comparable(row) for row in found] == [comparable(row) for row in expected], tried
    again = Restarting(query, 0)
    for piece in batches(arrived, data.draw(cuts(len(arrived)))):
        again.push(piece)
        again.restart()
    again.network.finish()
    assert Counter(row.graph for row in again.rows) == names


@given(st.data())
@settings(max_examples=PAIRS)
def test_labels_and_the_order_of_triples_change_no_name(data: st.DataObject) -> None:
    query = parse(data.draw(named_queries()), "q")
    arrived = [event for event in interleaved(data.draw(streams())) if event[0] in {s.name for s in query.streams}]
    labels = data.draw(st.permutations([f"n{number}" for number in range(100)]))
    other = [(name, time, graph, _renamed(triples, labels)) for name, time, graph, triples in arrived]
    names = Counter(row.graph for row in run_engine(query, [arrived]))
    assert Counter(row.graph for row in run_engine(query, [other])) == names


def _renamed(triples: Triples, labels: Sequence[str]) -> Triples:
    known: dict[Term, Term] = {}

    def renamed(term: Term) -> Term:
        return known.setdefault(term, BlankNode(labels[len(known)])) if isinstance(term, BlankNode) else term

    return frozenset((renamed(s), p, renamed(o)) for s, p, o in triples)


QUERY = f"""PREFIX : <{EX}> CONSTRUCT {{ ?a :to :b }} WITHIN 10 SECONDS SLIDING FROM STREAM S <{EX}s>
WHERE {{ SEQ(A ; B+ ; C) DEFINE GPM A ON S {{ ?a :in ?room . ?room :v 1 }} DEFINE GPM B ON S {{ ?b :v 2 ; :w ?w }}
  DEFINE GPM C ON S {{ ?c :v 3 }} }}"""


def _names(text: str, events: Sequence[Arrived], name: str = "q") -> list[str | None]:
    return [row.graph for row in run_engine(parse(text, name), [events])]


def _event(second: int, *triples: tuple[str, str, str | int], name: str = "") -> Arrived:
    def term(word: str | int) -> Term:
        if isinstance(word, int):
            return Literal(str(word), "http://www.w3.org/2001/XMLSchema#integer")
        return BlankNode(word[2:]) if word.startswith("_:") else IRI(EX + word)

    graph = frozenset((term(s), term(p), term(o)) for s, p, o in triples)
    return "S", second * 1_000_000_000, name or f"urn:e{second}", graph


EVENTS = (
    _event(1, ("_:a", "in", "_:r"), ("_:r", "v", 1), ("_:c", "in", "_:s"), ("_:s", "v", 1)),
    _event(2, ("_:x", "v", 2), ("_:x", "w", 1), ("_:x", "w", 2)),
    _event(3, ("c", "v", 3)),
)


def test_matches_that_differ_in_what_the_graph_does_not_show_are_different_and_have_different_names() -> None:
    names = _names(QUERY, EVENTS)
    assert len(names) == len(set(names)) == 4  # two rooms, two values of ?w
    assert all(name is not None and name.startswith("urn:spaseq:match:") and len(name) == 49 for name in names)


def test_the_name_of_a_graph_is_made_as_the_specification_says() -> None:
    text = "CONSTRUCT { <urn:m> <urn:p> ?x } WITHIN 1 DAY FROM STREAM S <http://ex.org/s> WHERE { SEQ ( A ) "
    text += "DEFINE GPM A ON S { ?x <http://ex.org/v> 3 } }"
    taking = sha256(b"1:A6:urn:e31:x17:<http://ex.org/c>").digest()
    name = f"urn:spaseq:match:{sha256(sha256(text.encode()).digest() + taking).hexdigest()[:32]}"
    assert _names(text, EVENTS[2:]) == [name]


@pytest.mark.parametrize(
    "other",
    [
        QUERY.replace(f"PREFIX : <{EX}>", f"BASE <{EX}> prefix ex: <{EX}>")
        .replace(" :", " ex:")
        .replace("ex:b", "<b>"),
        "# a comment\n" + QUERY.replace(" ", " \n ").replace("?", "$").replace("DEFINE \n GPM", "define gpm"),
    ],
)
def test_prefixes_white_space_comments_case_and_the_file_are_no_part_of_a_name(other: str) -> None:
    assert _names(other, EVENTS, "elsewhere") == _names(QUERY, EVENTS)


@pytest.mark.parametrize(
    ("text", "events"),
    [
        (QUERY.replace("10 SECONDS", "11 SECONDS"), EVENTS),
        (QUERY.replace("?w", "?ww"), EVENTS),
        (QUERY, (EVENTS[0], EVENTS[1], _event(3, ("c", "v", 3), name="urn:other"))),
        (QUERY, (EVENTS[0], EVENTS[1], _event(3, ("d", "v", 3)))),
    ],
    ids=["window", "variable", "graph name", "binding"],
)
def test_another_query_event_or_mapping_gives_other_names(text: str, events: Sequence[Arrived]) -> None:
    assert not set(_names(text, events)) & set(_names(QUERY, EVENTS))


def test_only_graphs_whose_blank_nodes_a_match_binds_are_canonicalised(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    monkeypatch.setattr(
        "spaseq.runtime.stages.naming.canonical_labels",
        lambda triples: seen.append(len(triples)) or canonical_labels.canonical_labels(triples),
    )
    lonely = _event(4, ("_:a", "in", "_:r"), ("_:r", "v", 1))
    _names(QUERY.replace("?b :v 2", "[] :v 2"), (*EVENTS, lonely))
    assert seen == [4]
