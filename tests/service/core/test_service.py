"""What SERVICE promises, asked of the core: lateness, duplicates, silence, retention, replacements, the past."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread

import pytest

from kb.endpoint import Endpoint
from sparql_gpm.times import SECOND_NS, format_time
from spaseq.outputs.rows import Row
from spaseq.service.core import matcher, recovery
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges, RowRetention
from spaseq.service.settings.streams import LogRetention, StreamSettings
from tests.simulation.faults import SteppedClock

PROV = "http://www.w3.org/ns/prov#generatedAtTime"
PAIR = """SELECT ?s ?b WITHIN 1 HOUR FROM STREAM S <urn:s>
WHERE { SEQ(A ; B) DEFINE GPM A ON S { ?s <urn:a> ?a } DEFINE GPM B ON S { ?s <urn:b> ?b } }"""
EACH = "SELECT ?v WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) DEFINE GPM A ON S { ?s ?p ?v } }"
ABSENT = """SELECT ?s WITHIN 1 HOUR FROM STREAM S <urn:s>
WHERE { SEQ(A ; B! WITHIN 10 SECONDS) DEFINE GPM A ON S { ?s <urn:a> ?a } DEFINE GPM B ON S { ?s <urn:b> ?b } }"""
MADE = EACH.replace("SELECT ?v", "REGISTER STREAM <urn:made> AS CONSTRUCT { <urn:x> <urn:a> ?v }")
READER = EACH.replace("<urn:s>", "<urn:made>")


def event(name: str, second: int, predicate: str = "a", value: str = "1") -> str:
    """An event of one triple, so many seconds after the start of the simulated clock."""
    time = format_time((1_700_000_000 + second) * SECOND_NS)
    stamp = f'<urn:{name}> <{PROV}> "{time}"^^<http://www.w3.org/2001/XMLSchema#dateTime> .\n'
    return f'{stamp}<urn:x> <urn:{predicate}> "{value}" <urn:{name}> .\n'


class Running:
    """A service that can be started again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.clock = folder, SteppedClock(1_700_000_000 * SECOND_NS)
        self.service = Service.open(folder, Limits(queue=1000), self.clock)

    def again(self) -> None:
        self.service.close()
        self.open()

    def kill(self) -> None:
        """End without a snapshot."""
        self.service._matcher.save = lambda: None  # type: ignore[method-assign]
        self.service.close()

    def open(self) -> None:
        self.service = Service.open(self.folder, Limits(queue=1000), self.clock)

    def saved(self) -> int:
        """The number of the last record that the newest snapshot has, after all that was pushed."""
        self.service.settled()
        return self.service._matcher.call(lambda: self.service._matcher._saved).result()

    def push(self, *events: str, **how: str) -> dict[str, object]:
        return self.service.accept("s", "".join(events).encode(), "nquads", **how)

    def put(self, name: str, text: str, **how: object) -> None:
        self.service.put_query(name, QueryChanges(text, **how))  # type: ignore[arg-type]

    def values(self, name: str, variable: str) -> list[str]:
        self.service.settled()
        rows = [json.loads(line) for _, line in self.service.rows(name, 0, 1000)]
        assert [row["n"] for row in rows] == list(range(1, len(rows) + 1))
        return [row["bindings"][variable]["value"] for row in rows]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    made.service.put_stream("s", StreamSettings("urn:s", max_delay="2s", idle_timeout="5s", max_ahead="1h"))
    yield made
    made.service.close()


def test_late_events_are_accepted_counted_and_dead_letters_and_take_no_part(running: Running) -> None:
    running.put("each", EACH)
    running.push(event("e1", 0, value="1"), event("e2", 10, value="2"))
    said = running.push(event("e3", 7, value="late"), event("e4", 8, value="3"))
    assert (said["accepted"], said["late"], said["position"]) == (2, 1, 4)
    running.push(event("e5", 20))
    assert running.values("each", "v") == ["1", "3", "2"]
    letters = [json.loads(line) for line in running.service.dead_letters(0, 10)]
    assert [(letter["n"], letter["reason"]) for letter in letters] == [(1, "late")]
    assert running.service.stream("s")["late"] == 1
    running.again()
    assert len(running.service.dead_letters(0, 10)) == 1


def test_an_event_that_is_known_has_no_effect_whether_late_or_not(running: Running) -> None:
    running.put("each", EACH)
    running.push(event("e1", 0), event("e2", 30))
    running.again()
    said = running.push(event("e1", 0), event("e3", 31))
    assert (said["accepted"], said["duplicates"], said["late"]) == (1, 1, 0)
    first = running.push(event("e4", 32), idempotency_key="k")
    assert running.push(event("e4", 32), idempotency_key="k") == first
    with pytest.raises(Refused) as refused:
        running.push(event("e5", 33), idempotency_key="k")
    assert refused.value.status == 422


def test_what_is_too_far_ahead_is_rejected_and_not_remembered(running: Running) -> None:
    said = running.push(event("e1", 0), event("far", 3700))
    assert said["accepted"] == 1
    assert "max_ahead" in said["rejected"][0]["reason"]  # type: ignore[index]
    running.clock.now += 200 * SECOND_NS
    assert running.push(event("far", 3700))["accepted"] == 1


def test_silence_moves_the_watermark_so_that_absence_is_reported(running: Running) -> None:
    running.put("absent", ABSENT)
    running.push(event("e1", 0))
    for _ in range(20):
        running.clock.now += SECOND_NS
        running.service._ticker.tick()
    assert running.values("absent", "s") == ["urn:x"]
    assert running.service.stream("s")["idle"] is True
    assert running.service.stream("s")["watermark"] == "2023-11-14T22:13:38Z"


def test_a_replaced_query_sees_what_comes_later_or_what_its_window_holds(running: Running) -> None:
    running.put("now", PAIR)
    running.put("window", PAIR)
    running.push(event("e1", 0), event("e2", 10))
    running.put("now", PAIR + "# again")
    running.put("window", PAIR + "# again", since="window")
    running.push(event("e3", 20, "b"), event("e4", 30, "c"))
    assert running.values("now", "b") == []
    assert running.values("window", "b") == ["1", "1"]


def test_a_paused_query_reads_afterwards_what_came_meanwhile(running: Running) -> None:
    running.put("pair", PAIR)
    running.push(event("e1", 0))
    running.service.pause("pair")
    running.push(event("e2", 10, "b", "meanwhile"), event("e3", 20, "c"))
    assert running.values("pair", "b") == []
    assert running.service.query("pair")["state"] == "paused"
    running.again()
    assert running.values("pair", "b") == []
    running.service.resume("pair")
    assert running.values("pair", "b") == ["meanwhile"]
    assert running.service.query("pair")["rows"] == 1


def test_a_query_that_waits_for_its_paused_producer_is_paused_itself_and_resumed(running: Running) -> None:
    """It has read nothing yet: it runs nowhere until the producer goes on."""
    running.put("made", MADE)
    running.service.pause("made")
    running.put("reader", READER)
    running.service.pause("reader")
    running.push(event("e1", 0, value="first"), event("e2", 9))
    running.service.resume("made")
    assert running.values("reader", "v") == []
    running.again()
    running.service.resume("reader")
    assert running.values("reader", "v") == ["first"]


def test_a_query_with_too_many_partial_matches_stops_and_the_others_go_on(running: Running) -> None:
    running.put("greedy", PAIR.replace("SEQ(A ; B)", "SEQ(A:+ : B)"), max_runs=20)
    running.put("each", EACH)
    running.push(*(event(f"e{number}", number) for number in range(12)))
    running.push(event("last", 30))
    assert len(running.values("each", "v")) == 12
    found = running.service.query("greedy")
    assert found["state"] == "failed" and "20" in found["error"]["detail"]
    running.again()
    assert running.service.query("greedy")["state"] == "failed"


def test_rows_beyond_retention_are_gone_after_the_next_snapshot(running: Running) -> None:
    running.put("each", EACH, retention=RowRetention(rows=3))
    running.push(*(event(f"e{number}", number, value=str(number)) for number in range(10)))
    running.push(event("last", 30))
    running.service.snapshot()
    assert [n for n, _ in running.service.rows("each", None, 100)] == [8, 9, 10]
    with pytest.raises(Refused) as refused:
        running.service.rows("each", 0, 100)
    assert (refused.value.status, refused.value.members) == (410, {"oldest": 8})


def test_the_log_is_trimmed_but_for_what_windows_and_retention_need(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.service._log._segment_bytes = 2_000
    running.service.put_stream("s", StreamSettings("urn:s", max_delay="0s", retention=LogRetention("1s", "1MB")))
    running.put("pair", PAIR.replace("1 HOUR", "10 SECONDS"))
    for number in range(600):
        running.clock.now += SECOND_NS
        running.push(event(f"e{number}", number, "ab"[number % 2]))
    running.service.settled()
    running.service.snapshot()
    assert running.service._log.first > 1
    _check_past_is_gone(running)
    expected = running.values("pair", "b")
    running.again()
    running.push(event("last", 700))
    assert running.values("pair", "b")[: len(expected)] == expected
    running.service.close()


def _check_past_is_gone(running: Running) -> None:
    """The newest row is explained; one whose events are not there any more, and an early period, are not."""
    service, early = running.service, "2023-11-14T22:14:00Z"
    assert service.explaining.why("pair", service.newest_row("pair")).steps[1].event == "urn:e599"
    assert json.loads(service.explaining.funnel("pair", None, None))["rows"] > 0
    questions: list[Callable[[], object]] = [
        lambda: service.explaining.why("pair", 1),
        lambda: service.explaining.why_not("pair", {}, {}, early, None),
        lambda: service.explaining.funnel("pair", early, None),
    ]
    for asked in questions:
        with pytest.raises(Refused) as refused:
            asked()
        assert refused.value.status == 410, refused.value


def test_a_replay_finds_what_is_retained_as_if_it_were_a_file(running: Running) -> None:
    running.put("pair", PAIR)
    running.push(event("e1", 0), event("e2", 10, "b", "x"), event("e3", 20), event("e4", 30, "b", "y"))
    running.push(event("late", 5, "b", "late"))
    lines = list(running.service.retained.replay("pair", "2023-11-14T22:13:20Z", "2023-11-14T22:13:50Z"))
    rows = [json.loads(line) for line in lines]
    assert [row["bindings"]["b"]["value"] for row in rows] == ["x"]
    assert all("n" not in row for row in rows)


def test_a_knowledge_base_may_change_while_it_is_used(running: Running, tmp_path: Path) -> None:
    path = tmp_path / "kb.nt"
    path.write_text('<urn:x> <urn:in> "here" .\n')
    running.service.put_kb("k", KnowledgeSettings("urn:kb", path=str(path)))
    text = """SELECT ?p WITHIN 1 HOUR FROM STREAM S <urn:s> FROM NAMED KB <urn:kb>
    WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:a> ?a . GRAPH <urn:kb> { ?s <urn:in> ?p } } }"""
    running.put("where", text)
    running.push(event("e1", 0), event("e2", 10))
    path.write_text('<urn:x> <urn:in> "there" .\n')
    assert running.service.put_kb("k", KnowledgeSettings("urn:kb", path=str(path))) is False
    running.push(event("e3", 20), event("e4", 30))
    assert running.values("where", "p") == ["here", "there", "there"]
    with pytest.raises(Refused) as refused:
        running.service.delete_kb("k")
    assert (refused.value.status, refused.value.members) == (409, {"queries": ["where"]})


def test_a_stream_that_a_query_makes_is_read_and_not_pushed_to(running: Running) -> None:
    running.put("made", "REGISTER STREAM <urn:t> AS CONSTRUCT { ?s <urn:c> ?b } " + PAIR[PAIR.index("WITHIN") :])
    reads = "SELECT ?v WITHIN 1 HOUR FROM STREAM T <urn:t> WHERE { SEQ(A) DEFINE GPM A ON T { ?s <urn:c> ?v } }"
    running.put("reads", reads)
    running.push(event("e1", 0), event("e2", 10, "b", "x"), event("e3", 20, "c"))
    assert running.values("reads", "v") == ["x"]
    again = running.service.retained.replay("reads", "2023-11-14T22:13:20Z", "2023-11-14T22:20:00Z")
    assert [json.loads(line)["bindings"]["v"]["value"] for line in again] == ["x"]
    with pytest.raises(Refused) as refused:
        running.service.delete_query("made")
    assert refused.value.members == {"queries": ["reads"]}
    assert [each["name"] for each in running.service.streams()] == ["s", "made"]
    running.service.delete_query("reads")
    running.service.delete_query("made")


def test_the_queue_refuses_what_has_not_been_read_and_says_when_to_ask_again(running: Running) -> None:
    running.service._matcher.close()  # nothing is read
    running.push(event("first", 0))
    with pytest.raises(Refused) as refused:
        running.push(*(event(f"e{number}", number) for number in range(1000)))
    assert (refused.value.status, refused.value.headers) == (429, {"Retry-After": "1"})
    read_again(running.service)


def test_a_body_with_more_events_than_the_queue_is_taken_when_nothing_waits(running: Running) -> None:
    running.put("each", EACH)
    running.push(*(event(f"e{number}", number) for number in range(1500)), event("last", 1600))
    assert len(running.values("each", "v")) == 1000  # of 1500, the first thousand
    assert running.service.query("each")["rows"] == 1500


def test_matching_that_ends_by_a_defect_is_said(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.put("each", EACH)
    monkeypatch.setattr(running.service._queries, "read", broken)
    running.push(event("e1", 0))
    with pytest.raises(Refused, match="no such luck"):
        running.service.settled()
    with pytest.raises(Refused, match="no such luck") as refused:
        running.service.check_matching()
    assert refused.value.status == 503
    with pytest.raises(Refused, match="no such luck"):
        running.service.snapshot()
    running.again()
    running.push(event("e2", 10))
    assert running.values("each", "v") == ["1"]


def broken(*_: object) -> None:
    raise RuntimeError("no such luck")


def read_again(service: Service) -> None:
    """Let the matcher read, which was closed."""
    service._matcher._closed = False
    service._matcher._thread = Thread(target=service._matcher._run)
    service._matcher.start()


def test_rows_that_were_found_just_before_a_pause_are_on_disk_before_the_next_snapshot(running: Running) -> None:
    running.put("pair", PAIR)
    service = running.service
    service._matcher.close()  # what follows is read at once
    running.push(event("e1", 0), event("e2", 10, "b"), event("e3", 20))
    service.pause("pair")
    service._matcher._read(service._matcher._taken())
    service._matcher.save()
    assert [n for n, _ in service.rows("pair", 0, 10)] == [1]
    read_again(service)


def test_the_past_has_events_before_a_mark_that_are_later_than_its_watermark(running: Running) -> None:
    """Of a stream with a delay, what came before a place in the log may be later than what came after it."""
    running.service.put_stream("s", StreamSettings("urn:s", max_delay="1h"))
    running.put("pair", PAIR)
    running.push(event("e1", 1000))
    running.service.settled()
    running.push(event("e2", 1001, "b", "x"))
    running.service.settled()
    lines = list(running.service.retained.replay("pair", "2023-11-14T22:30:00Z", "2023-11-14T23:30:00Z"))
    assert [json.loads(line)["bindings"]["b"]["value"] for line in lines] == ["x"]


def test_a_replaced_knowledge_base_is_closed_when_no_query_may_ask_it(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[str] = []
    monkeypatch.setattr(Endpoint, "close", lambda endpoint: closed.append(endpoint.source.location))
    text = """SELECT ?p WITHIN 1 HOUR FROM STREAM S <urn:s> FROM NAMED KB <urn:kb>
    WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:a> ?a . GRAPH <urn:kb> { ?s <urn:in> ?p } } }"""
    first, second = "http://127.0.0.1:9/first", "http://127.0.0.1:9/second"
    running.service.put_kb("k", KnowledgeSettings("urn:kb", url=first))
    running.put("where", text)
    running.service.pause("where")
    running.service.put_kb("k", KnowledgeSettings("urn:kb", url=second))
    running.service.settled()
    assert closed == []
    running.service.resume("where")
    running.service.settled()
    assert closed == [first]


def test_a_row_of_over_matches_is_explained_by_its_matches(running: Running) -> None:
    running.put("count", PAIR.replace("SELECT ?s ?b", "SELECT OVER MATCHES (COUNT(*) AS ?n)"))
    running.push(event("e1", 0), event("e2", 1, "b"), event("e3", 3000))
    running.service.settled()
    assert len(running.service.explaining.why("count", 1).to_dict()["matches"]) == 1


def test_ndjson_is_json_ld_where_no_template_makes_events_of_it(running: Running) -> None:
    time = {"@id": PROV, "@type": "http://www.w3.org/2001/XMLSchema#dateTime"}
    context = {"a": "urn:a", "at": time}
    document = {
        "@context": context,
        "@id": "urn:e1",
        "at": "2023-11-14T22:13:20Z",
        "@graph": [{"@id": "urn:x", "a": 1}],
    }
    assert running.service.accept("s", json.dumps(document).encode(), "ndjson")["accepted"] == 1
    assert running.service.accept("s", json.dumps(document).encode(), "ndjsonld")["duplicates"] == 1


def test_reasons_are_found_while_events_come(running: Running) -> None:
    """Questions about a row and pushes do not wait for each other."""
    running.put("pair", PAIR)
    running.push(event("e0", 0), event("e1", 1, "b"), event("e2", 9, "c"))
    running.service.settled()
    asking = Thread(target=lambda: [running.service.explaining.why("pair", 1) for _ in range(5)])
    asking.start()
    for number in range(10, 40):
        running.push(event(f"e{number}", number, "ab"[number % 2]))
    asking.join()
    assert len(running.values("pair", "b")) == 15


class Expiring(list[Row]):
    """Rows whose terms are released with the events."""

    expired = False

    def __iter__(self) -> Iterator[Row]:
        assert not self.expired
        return super().__iter__()


def test_rows_are_texts_before_their_terms_are_released(running: Running) -> None:
    running.put("each", EACH)
    running.service.settled()
    found, rows = running.service._queries.main.members["each"], Expiring([Row("each", 0, 0)])
    found.take(rows)
    rows.expired = True
    running.push(event("e1", 0), event("e2", 10))
    running.service.settled()
    texts = [json.loads(line) for _, line in running.service.rows("each", 0, 10)]
    assert [(text["n"], text["bindings"].keys()) for text in texts] == [(1, set()), (2, {"v"})]


def test_events_make_a_snapshot_due_so_that_few_are_read_again(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matcher, "SNAPSHOT_EVENTS", 10)
    monkeypatch.setattr(matcher, "SNAPSHOT_PART", 0)
    running.put("each", EACH)
    saved = []
    for number in range(12):
        running.push(*(event(f"e{number}.{each}", number) for each in range(4)))
        saved.append(running.saved())
    assert len(set(saved)) == 1 + 12 * 4 // 12  # after each third body
    monkeypatch.setattr(matcher, "SNAPSHOT_PART", 1e9)
    later = []
    for number in range(12, 21):
        running.push(*(event(f"e{number}.{each}", number) for each in range(4)))
        later.append(running.saved())
    assert len(set(later) - set(saved)) == 1  # one more, and then none for long


def test_what_is_read_again_in_parts_gives_the_same_rows(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    running.put("each", EACH)
    for number in range(20):
        running.push(event(f"e{number}", number, value=str(number)))
        running.service.advance("s", format_time((1_700_000_000 + number) * SECOND_NS))
    values = running.values("each", "v")
    running.kill()
    monkeypatch.setattr(recovery, "KERNEL_REPLAY_EVENTS_MIN", 3)
    running.open()
    assert running.values("each", "v") == values == [str(number) for number in range(20)]
    assert running.service.stream("s")["events"] == 20
