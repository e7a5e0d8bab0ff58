"""Knowledge bases that change while a run goes on: the state as of the event, and one state in a batch."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import spaseq
from kb.base import KnowledgeBases
from kb.cache import AnswerCache
from kb.errors import KnowledgeBaseError
from kb.local import load_graph
from kb.prepared_build import build
from kb.source import Source
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from sparql_gpm.matcher import compile_pattern
from sparql_gpm.pattern import BGP, Graph, Join, Triple, Variable
from sparql_gpm.terms import IRI, Literal
from spaseq.algebra.build import build as meaning_of
from spaseq.engine import staged
from spaseq.engine.options import RunOptions
from spaseq.engine.setup import BatchOver, Setup
from spaseq.inputs.texts import InputText
from spaseq.outputs.rows import Row
from spaseq.runtime.embedded.network import Network
from tests.driving import as_batch
from tests.kb.servers import Proxy, oxigraph
from tests.kb.test_endpoint import DB, query
from tests.spark.pipeline import blocks_of, job_of

BODY = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"


def state(number: int) -> str:
    return f"<http://x/s> <http://x/in> <http://x/room{number}> .\n"


def room(row: spaseq.TermTuple) -> str:
    term = dict(row.bindings)["room"]
    assert isinstance(term, IRI)
    return term.value.rsplit("/", 1)[1]


class Changing:
    """A knowledge base in a file, in one of its forms."""

    def __init__(self, folder: Path, prepared: bool) -> None:
        self._text = folder / "kb.nt"
        self._prepared = folder / "kb.kb" if prepared else None
        self._versions = itertools.count(1)
        self.path = self._prepared or self._text

    def write(self, text: str) -> None:
        next_file = self._text.with_name(f"next{next(self._versions)}.nt")
        next_file.write_text(text)
        next_file.replace(self._text)
        if self._prepared is not None:
            build([str(self._text)], self._prepared)


@pytest.fixture(params=[False, True], ids=["RDF file", "prepared file"])
def changing(request: pytest.FixtureRequest, tmp_path: Path) -> Changing:
    made = Changing(tmp_path, request.param)
    made.write(state(1))
    return made


def push(engine: spaseq.Engine, second: int) -> None:
    engine.push("http://x/stream", "<http://x/s> <http://x/reads> 1 .", second)


def test_an_event_meets_the_state_that_the_file_has_when_it_comes(changing: Changing) -> None:
    rows: list[spaseq.TermTuple] = []
    with spaseq.Engine({DB: Source(str(changing.path), refresh_s=0)}) as engine:
        engine.register(query(BODY), rows.append)
        push(engine, 1)
        changing.write(state(2))
        push(engine, 2)
        changing.write(state(3) + state(4))
        push(engine, 3)
        changing.write("")
        push(engine, 4)
    assert [room(row) for row in rows] == ["room1", "room2", "room3", "room4"]


def test_a_file_that_is_not_to_be_refreshed_is_read_once(changing: Changing) -> None:
    rows: list[spaseq.TermTuple] = []
    with spaseq.Engine({DB: str(changing.path)}) as engine:
        engine.register(query(BODY), rows.append)
        changing.write(state(2))
        push(engine, 1)
    assert [room(row) for row in rows] == ["room1"]


def test_a_file_that_cannot_be_read_just_now_leaves_the_last_state(changing: Changing) -> None:
    rows: list[spaseq.TermTuple] = []
    with spaseq.Engine({DB: Source(str(changing.path), refresh_s=0)}) as engine:
        engine.register(query(BODY), rows.append)
        changing.path.unlink()
        changing.path.write_text("half a tri")
        push(engine, 1)
        changing.write(state(2))
        push(engine, 2)
    assert [room(row) for row in rows] == ["room1", "room2"]


def test_what_was_joined_stays_in_a_match_that_ends_later(changing: Changing) -> None:
    rows: list[spaseq.TermTuple] = []
    text = query(BODY).text.replace("SEQ(A)", "SEQ(A, B)").replace("WHERE {", "{")
    end = text.rindex("}")
    two = spaseq.parse(text[:end] + " DEFINE GPM B ON S { ?t :ends ?w } }")
    with spaseq.Engine({DB: Source(str(changing.path), refresh_s=0)}) as engine:
        engine.register(two, rows.append)
        push(engine, 1)
        changing.write(state(2))
        engine.push("http://x/stream", "<http://x/s> <http://x/ends> 1 .", 2)
    assert [room(row) for row in rows] == ["room1"]


def test_queries_that_are_planned_later_see_the_knowledge_base_that_was_supplied_since(tmp_path: Path) -> None:
    dictionary, found = Dictionary(), (list[Row](), list[Row]())
    setup, network = Setup({}, RunOptions(compiled=False), dictionary), Network(dictionary, 0)
    for number in (1, 2):
        path = tmp_path / f"kb{number}.nt"
        path.write_text(state(number))
        replaced = setup.supply(DB, Source(str(path)))
        assert (replaced is None) == (number == 1)
        network.add(setup.operator(meaning_of(query(BODY))), found[number - 1].extend)
    triple = IRI("http://x/s"), IRI("http://x/reads"), Literal("1")
    network.push("http://x/stream", as_batch([("S", 1, "urn:e1", frozenset({triple}))], dictionary))
    network.finish()
    assert [list(map(room, rows)) for rows in found] == [["room1"], ["room2"]]


def test_a_refresh_between_two_questions_of_one_batch_does_not_happen(changing: Changing) -> None:
    dictionary = Dictionary()
    evaluator = ExpressionEvaluator(dictionary)
    kbs = KnowledgeBases.load({DB: Source(str(changing.path), refresh_s=0)}, dictionary, evaluator)
    s, in_, reads = Variable("s"), IRI("http://x/in"), IRI("http://x/reads")
    pattern = Join(BGP((Triple(s, reads, Variable("v")),)), Graph(IRI(DB), BGP((Triple(s, in_, Variable("room")),))))
    matcher = compile_pattern(pattern, dictionary, evaluator, kbs)
    ids = [np.array([dictionary.pin(IRI(f"http://x/{name}"))]) for name in ("s", "reads", "v")]
    zero = np.zeros(1, dtype=np.int64)
    batch = EventBatch(zero, zero, ["urn:e"], np.array([0, 1]), *ids)

    def found() -> set[str]:
        return {str(dictionary.term(i)) for i in matcher.match(batch).columns["room"].tolist()}

    before = found()
    changing.write(state(2))
    assert found() == before
    kbs.refresh()
    assert found() != before


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with oxigraph(state(1)) as url:
        yield url


def test_answers_of_an_endpoint_are_believed_as_long_as_the_source_says(endpoint: str) -> None:
    rows: list[spaseq.TermTuple] = []
    for refresh_s, asked in ((0.0, 3), (3600.0, 1)):
        with (
            Proxy(endpoint) as proxy,
            spaseq.Engine({DB: Source(proxy.url, refresh_s=refresh_s, whole_rows_max=0)}) as engine,
        ):
            engine.register(query(BODY), rows.append)
            for second in range(3):
                push(engine, second)
        assert len(proxy.seen) == asked
    assert len(rows) == 6


def test_a_cache_forgets_what_is_old_and_what_was_not_used_lately() -> None:
    now = [0.0]
    cache: AnswerCache = AnswerCache(3, 10.0, lambda: now[0])
    cache.put_all({"a": []})
    cache.put_all({"b": [(IRI("http://x/1"),)]})
    now[0] = 5.0
    assert cache.get("a") == []
    cache.put_all({"c": [(IRI("http://x/1"),), (IRI("http://x/2"),)]})
    assert (cache.get("a"), cache.get("b"), len(cache)) == ([], None, 2)
    now[0] = 10.0
    assert cache.get("a") is None
    assert cache.get("c") is not None
    cache.put_all({"d": [(None,)] * 4})
    assert len(cache) == 0


def test_a_prepared_file_that_goes_away_is_missed_when_it_is_opened(tmp_path: Path) -> None:
    dictionary = Dictionary()
    with pytest.raises(KnowledgeBaseError, match="No such file"):
        KnowledgeBases.load({DB: str(tmp_path / "none.kb")}, dictionary, ExpressionEvaluator(dictionary))


def test_terms_of_a_state_that_is_gone_are_released_when_no_match_needs_them(changing: Changing) -> None:
    """Each state brings a term of its own; one match waits for its end during all of them."""
    labels = "OPTIONAL { GRAPH <%s> { ?s :in ?r BIND(STR(?r) AS ?label) } }" % DB  # noqa: UP031 -- braces all over
    text = query(f"{BODY} {labels}").text.replace("SEQ(A)", "SEQ(A : B)").replace("1 MINUTE", "1 DAY")
    two = spaseq.parse(text[: text.rindex("}")] + " DEFINE GPM B ON S { ?t :ends ?w } }")
    dictionary = Dictionary()
    setup = Setup({DB: Source(str(changing.path), refresh_s=0)}, RunOptions(), dictionary)
    network = Network(dictionary, 0)
    rows: list[spaseq.TermTuple] = []
    network.add(setup.operator(meaning_of(two)), rows.extend)
    sizes = []
    for number in range(1, 30):
        changing.write(state(number) if number != 5 else "")
        with BatchOver(setup.bases):
            network.push("http://x/stream", event(dictionary, "reads" if number in (1, 5) else "waits", number))
        network.release_terms(always=True)
        sizes.append(len(dictionary))
    with BatchOver(setup.bases):
        network.push("http://x/stream", event(dictionary, "ends", 30))
    network.finish()
    assert [room(row) for row in rows] == ["room1"]
    assert max(sizes[1:]) <= min(sizes[1:]) + 4


def event(dictionary: Dictionary, predicate: str, second: int) -> EventBatch:
    """One event of one triple."""
    ids = [dictionary.intern(IRI(f"http://x/{name}")) for name in ("s", predicate, "v")]
    columns = [np.array([identifier], dtype=np.int64) for identifier in ids]
    time, zero = np.array([second * 1_000_000_000]), np.zeros(1, dtype=np.int64)
    return EventBatch(time, zero, [f"urn:e{second}"], np.array([0, 1]), *columns)


CONDITION = f"""PREFIX : <http://x/> SELECT ?s ?room WITHIN 1 HOURS SLIDING
FROM STREAM S <http://x/stream> FROM NAMED <{DB}>
WHERE {{ SEQ(A ; B) DEFINE GPM A ON S {{ ?s :asks ?room }}
  DEFINE GPM B ON S {{ ?t :reads ?v FILTER EXISTS {{ GRAPH <{DB}> {{ ?t :in ?room }} }} }} }}"""


def test_stage_two_of_a_distributed_job_meets_the_state_of_its_micro_batch(changing: Changing) -> None:
    meaning = spaseq.parse(CONDITION, "q")
    job = job_of([meaning], ["S"], 1, 0, False, {DB: Source(str(changing.path), refresh_s=0)})
    shards, found = staged.Shards(job), []
    shard = shards.shard(0)
    for number in (1, 2, 3):
        changing.write(state(number))
        asked = f"<http://x/s{number}> <http://x/asks> <http://x/room{number}>"
        rows = [
            InputText(_event(2 * number, asked)),
            InputText(_event(2 * number + 1, "<http://x/s> <http://x/reads> 1")),
        ]
        output = shard.process(blocks_of(job, number, {"S": [rows]}))
        found += [room(row) for _, some in output.found for row in some]
    shards.close()
    assert found == ["room1", "room2", "room3"]


def test_stage_two_loads_a_knowledge_base_once_while_its_files_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changing, loads = Changing(tmp_path, False), 0
    changing.write(state(1))

    def counted(*arguments: Any, **more: Any) -> EventBatch:
        nonlocal loads
        loads += 1
        return load_graph(*arguments, **more)

    job = job_of([spaseq.parse(CONDITION, "q")], ["S"], 1, 0, False, {DB: Source(str(changing.path), refresh_s=0)})
    shards, blob, found = staged.Shards(job), b"", []
    for number in (1, 2, 3, 4):
        if number == 4:
            changing.write(state(2))
        asked = f"<http://x/s{number}> <http://x/asks> <http://x/room{number}>"
        read = "<http://x/s> <http://x/reads> 1"
        rows = [InputText(_event(2 * number, asked)), InputText(_event(2 * number + 1, read))]
        blocks = blocks_of(job, number, {"S": [rows]})
        with monkeypatch.context() as watched:
            watched.setattr("kb.loaded.load_graph", counted)
            shard = shards.shard(0)
            if blob:
                shard.restore(blob)
            found += [room(row) for _, some in shard.process(blocks).found for row in some]
            blob = shard.snapshot()
        assert loads == (2 if number == 4 else 1), number
    shards.close()
    assert found == ["room1", "room2"]


def _event(second: int, triple: str) -> bytes:
    time = f'"2026-01-01T00:00:{second:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    stamp = f"<http://x/g{second}> <http://www.w3.org/ns/prov#generatedAtTime> {time} ."
    return f"{stamp}\n{triple.replace(' 1', ' <http://x/one>')} <http://x/g{second}> .\n".encode()
