"""Queries are visited where an event touches them or a row is due: each gives its rows when it gives them alone."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence

import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import spaseq
from benchmarks.growth import measured
from benchmarks.growth_queries import STREAM, counted, event, push_all, two_steps
from sparql_gpm.columns import EventBatch, RowEvent
from sparql_gpm.dictionary import Dictionary
from spaseq.algebra.build import build
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import Setup
from spaseq.lang.ast import Query
from spaseq.lang.parse import parse
from spaseq.physical.planner import EVALUATORS
from spaseq.runtime.embedded.audience import Reader
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from tests.drawn import drawn
from tests.driving import Comparable, as_batch, comparable
from tests.states.networks import put_back, taken
from tests.strategies.query import queries
from tests.strategies.stream import Arrived, batches, cuts, interleaved, late, streams

SECOND = 1_000_000_000
SETS = drawn(24)
NEVER = 1_000
_TEXT = """PREFIX : <http://ex.org/>
{form} {window} FROM STREAM S1 <http://ex.org/s1> {more}
WHERE {{ SEQ({sequence})
  DEFINE GPM A ON S1 {{ {a} }} DEFINE GPM B ON {on} {{ {b} }} DEFINE GPM C ON S1 {{ {c} }}
}}"""
_WINDOWS = ("4 SECONDS SLIDING", "3 SECONDS", "5 EVENTS SLIDING", "4 EVENTS", "4 SECONDS EVERY 2 SECONDS")
_SEQUENCES = ("A ; B", "A , B", "A : B", "A ; B , C", "A+ ; B", "A ; C+", "(A | C) ; B", "ALL(A, B)", "A & B ; C")
_ABSENT = ("A ; B!", "A ; B! WITHIN 2 SECONDS", "A! ; B", "A ; C! ; B", "A++", "A ; WITHIN 2 SECONDS B", "A ; B ; A")
_PATTERNS = ("?x a :A", "?x a :B ; :k ?k", "?x a :C ; :v ?v", "?x :k 1 ; :v ?v", "?x a :A ; :k 2", "?x :v 3 ; :k ?k")
_FORMS = ("SELECT * WITHIN", "SELECT LAST * WITHIN", "SELECT OVER MATCHES (COUNT(*) AS ?n) WITHIN")
Emitted = list[tuple[int, Comparable]]


@st.composite
def texts(draw: st.DrawFn) -> str:
    """A query of which few events touch a pattern."""
    if draw(st.integers(0, 3)) == 0:
        return draw(queries())
    a, b, c = (draw(st.sampled_from(_PATTERNS)) for _ in range(3))
    both = draw(st.booleans())
    more = "FROM STREAM S2 <http://ex.org/s2>" if both else ""
    window, form = draw(st.sampled_from(_WINDOWS)), draw(st.sampled_from(_FORMS))
    sequence = draw(st.sampled_from(_SEQUENCES + _ABSENT))
    return _TEXT.format(
        form=form, window=window, more=more, sequence=sequence, a=a, b=b, c=c, on="S2" if both else "S1"
    )


def made_by(query: Query) -> set[str]:
    return set() if query.register is None else {query.register}


def read_by(query: Query) -> set[str]:
    return {stream.iri for stream in query.streams}


def runs(query: Query, evaluator: str) -> bool:
    try:
        Setup({}, RunOptions(evaluator=evaluator), Dictionary()).operator(build(query))
    except spaseq.SPAseqError:
        return False
    return True


def valid(text: str, name: str) -> Query | None:
    try:
        query = parse(text, name)
    except spaseq.SPAseqError:
        return None
    return query if runs(query, "auto") else None


class Driven:
    """A network whose rows are noted with the number of the piece with which they came.

    dormant     queries are made when an event touches them, as in an engine
    """

    def __init__(self, delay_ns: int, dormant: bool) -> None:
        self.dictionary = Dictionary()
        self.network = Network(self.dictionary, delay_ns)
        self.rows: dict[int, Emitted] = {}
        self.piece = 0
        self.dormant = dormant
        self.delay_ns = delay_ns
        self.registered: dict[int, tuple[Query, str]] = {}
        self._readers: dict[int, Reader] = {}
        self.iris: dict[str, str] = {}
        self._setups: dict[str, Setup] = {}

    def register(self, number: int, query: Query, evaluator: str = "auto") -> None:
        self.registered[number] = query, evaluator
        self.rows[number] = []
        if evaluator not in self._setups:
            self._setups[evaluator] = Setup({}, RunOptions(evaluator=evaluator), self.dictionary)
        setup = self._setups[evaluator]
        make = setup.live_operator if self.dormant else setup.operator
        self._readers[number] = self.network.add(make(build(query)), lambda rows: self._note(number, rows))
        self.iris |= {stream.name: stream.iri for stream in query.streams}

    def unregister(self, number: int) -> None:
        self.network.remove(self._readers.pop(number))
        del self.registered[number]

    def _note(self, number: int, rows: Sequence[object]) -> None:
        self.rows[number] += [(self.piece, comparable(row)) for row in rows]  # type: ignore[arg-type]

    def push(self, piece: Sequence[Arrived]) -> None:
        self.piece += 1
        for name in dict.fromkeys(each[0] for each in piece):
            if name in self.iris:
                batch: EventBatch = as_batch([e for e in piece if e[0] == name], self.dictionary)
                if len(batch) == 1:
                    self.network.push_event(self.iris[name], *RowEvent.each_of(batch))
                else:
                    self.network.push(self.iris[name], batch)

    def finish(self) -> None:
        self.piece += 1
        self.network.finish()


@given(st.data())
@settings(max_examples=SETS)
def test_each_query_gives_its_rows_with_the_event_with_which_it_gives_them_alone(data: st.DataObject) -> None:
    written = data.draw(st.lists(texts(), min_size=2, max_size=5))
    parsed = [query for n, text in enumerate(written) if (query := valid(text, f"q{n}")) is not None]
    for query in parsed:
        note(query.text)
    delay = data.draw(st.sampled_from((0, 0, 2))) * SECOND
    arrivals = {name: data.draw(late(events, delay)) for name, events in data.draw(streams(8, 20)).items()}
    every = [(name, *event) for name, events in arrivals.items() for event in events]
    arrived = every if delay else interleaved(arrivals)
    sizes = [1] * len(arrived) if data.draw(st.booleans()) else data.draw(cuts(len(arrived)))
    pieces = batches(arrived, sizes)
    together = Driven(delay, dormant=True)
    alone = [Driven(delay, dormant=False) for query in parsed]
    begins = sorted(data.draw(st.lists(st.sampled_from((0, 0, 1, 3)), min_size=len(parsed), max_size=len(parsed))))
    forced = data.draw(st.sampled_from(("auto", "auto", *EVALUATORS)))
    evaluators = [forced if runs(query, forced) else "auto" for query in parsed]
    ends = [data.draw(st.sampled_from((NEVER, NEVER, begin + 1, begin + 2))) for begin in begins]
    saved = data.draw(st.integers(0, 2 * len(pieces)))
    for number, piece in enumerate(pieces):
        for which, (begin, end) in enumerate(zip(begins, ends, strict=True)):
            if begin == number:
                together.register(which, parsed[which], evaluators[which])
                alone[which].register(which, parsed[which])
            if end == number and not any(made_by(parsed[which]) & read_by(other) for other in parsed):
                together.unregister(which)
                alone[which].unregister(which)
        if number == saved:
            together = restored(together)
        for each in (together, *alone):
            each.push(piece)
    for each in (together, *alone):
        each.finish()
    assert together.rows == {number: rows for each in alone for number, rows in each.rows.items()}


@pytest.mark.parametrize("evaluator", ["nfa", "adaptive", "lazy", "tree"])
def test_no_evaluator_is_called_for_events_that_do_not_touch_it(evaluator: str) -> None:
    """The third query is touched last, and told how many events were before."""
    text = """PREFIX : <http://ex.org/>
    SELECT * WITHIN 90 SECONDS FROM STREAM S <http://ex.org/s>
    WHERE {{ SEQ(ALL(A, B)) DEFINE GPM A ON S {{ :h{} :low ?v }} DEFINE GPM B ON S {{ :h{} :high ?w }} }}"""
    driven = Driven(0, dormant=True)
    for house in range(3):
        driven.register(house, parse(text.format(house, house), f"q{house}"), evaluator)
    pushed = [event(house, kind, 1) for house in (0, 1, 0, 1, 2) for kind in ("low", "high")]
    with counted(QueryOperator, "on_batch") as visits:
        for second, triples in enumerate(pushed):
            ((subject, predicate, target),) = [map(driven.dictionary.intern, triple) for triple in triples]
            driven.network.push_event(STREAM, RowEvent(second * SECOND, 0, "urn:e", [(subject, predicate, target)]))
    driven.finish()
    assert all(driven.rows.values())
    assert len(visits) == len(pushed)


def test_an_event_visits_the_queries_that_it_touches_however_many_there_are() -> None:
    assert [row.row for row in measured(["one event beside queries"], quick=True) if not row.holds] == []


def restored(driven: Driven) -> Driven:
    """Another network that goes on from a snapshot."""
    other = Driven(driven.delay_ns, driven.dormant)
    for number, (query, evaluator) in driven.registered.items():
        other.register(number, query, evaluator)
    put_back(other.network, taken(driven.network))
    other.rows, other.piece = driven.rows, driven.piece
    return other


def test_a_query_without_rows_says_why_beside_others_as_it_says_alone() -> None:
    """Events that do not touch it are counted, stand between others for `,`, and have properties to be named."""
    text = """PREFIX : <http://ex.org/>
    SELECT * WITHIN 1 HOURS SLIDING FROM STREAM S <http://ex.org/s>
    WHERE {{ SEQ({}) DEFINE GPM A ON S {{ {} }} DEFINE GPM B ON S {{ {} }} }}"""
    texts = [
        text.format("A , B", ":h2 :low ?v", ":h2 :high ?w FILTER(?w > ?v)"),
        text.format("A ; B", ":h3 :lw ?v", ":h3 :high ?w"),
        text.format("A ; B", "?h :low ?v", "?h :high ?w FILTER(?w > 1000)"),
    ]
    pushed = [event(1 + n % 3, "low" if n % 4 < 2 else "high", n % 7) for n in range(60)]

    def reasons(*numbers: int) -> list[str]:
        engine = spaseq.Engine()
        for number in numbers:
            engine.register(parse(texts[number], f"q{number}"))
        push_all(engine, pushed, 0)
        return [line for line in engine.zero_rows() if line.startswith("no row")]

    alone = [reasons(number) for number in range(3)]
    assert "is as near as ','" in alone[0][0]
    assert reasons(0, 1, 2) == [line for lines in alone for line in lines]


def test_a_query_that_no_event_has_touched_holds_little_more_than_its_patterns() -> None:
    texts = [two_steps(house) for house in range(60)]
    engine = spaseq.Engine()
    for text in texts[:20]:
        engine.register(parse(text, "q"))
    tracemalloc.start()
    try:
        for text in texts[20:]:
            engine.register(parse(text, "q"))
        assert tracemalloc.get_traced_memory()[0] / 40 < 16_000
    finally:
        tracemalloc.stop()


def test_a_query_registered_among_others_says_why_it_has_no_row_as_if_it_were_alone() -> None:
    """It has its own input until that is in the state of theirs, and sleeps in both."""

    def reasons(others: int) -> list[str]:
        engine = spaseq.Engine()
        for house in range(1, others + 1):
            engine.register(parse(two_steps(house), f"q{house}"))
        push_all(engine, [event(9, "rain", 1)] * others, 0)
        engine.register(parse(two_steps(0).replace(":low", ":rains"), "mine"))
        push_all(engine, [event(0, "snow", 1), event(1, "high", 2), event(2, "low", 3)], others)
        return [line.split("; seen")[0] for line in engine.zero_rows() if "'mine'" in line]

    assert reasons(0) == reasons(1) == reasons(3)
    assert "no event has the property <http://ex.org/rains>" in reasons(3)[0]
