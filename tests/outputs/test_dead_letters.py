from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

from sparql_gpm.columns import EventBatch, as_ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.terms import IRI, Literal
from spaseq.errors import InputError, RunError
from spaseq.outputs.dead_letters import LATE, DeadLetter, DeadLetters, event_as_nquads
from tests.sparql_gpm.rdf_events import read


def late(line: int, raw: str) -> DeadLetter:
    return DeadLetter(LATE, "S", "in.nq", line, 1, LATE, raw, sort=LATE, iri="urn:S")


LETTER = Malformed(3, 7, "it is é\n", 'raw "text"', "syntax")


def test_letters_are_written_one_a_line_with_their_keys_in_order(tmp_path: Path) -> None:
    path = tmp_path / "dead.ndjson"
    with closing(DeadLetters(path)) as letters:
        letters.malformed("S", "in.nq", LETTER, iri="urn:S")
        letters.add(late(9, "<urn:a> …\n"))
        first, second = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(first) == {
        "stream": "S", "source": "in.nq", "line": 3, "column": 7, "reason": "it is é\n", "raw": 'raw "text"',
        "sort": "malformed", "iri": "urn:S",
    }  # fmt: skip
    assert list(json.loads(second).items()) == [
        ("stream", "S"), ("source", "in.nq"), ("line", 9), ("column", 1), ("reason", "late"), ("raw", "<urn:a> …\n"),
        ("sort", "late"), ("iri", "urn:S"),
    ]  # fmt: skip


def test_letters_are_counted_by_sort_with_or_without_a_file() -> None:
    letters = DeadLetters()
    letters.malformed("S", "in.nq", LETTER)
    letters.malformed("S", "in.nq", LETTER)
    letters.add(late(1, ""))
    assert letters.counts == {"syntax": 2, "late": 1}


def test_a_line_that_says_that_the_input_breaks_off_does_not_make_it_so() -> None:
    letters = DeadLetters()
    letters.malformed("S", "in.nq", Malformed(1, 1, "no triple", "the input breaks off: really\n", "syntax"))
    letters.check_whole()
    letters.malformed("S", "in.nq", Malformed(2, 1, "the input breaks off: no gzip data", "", "truncated"))
    with pytest.raises(RunError, match=r"in\.nq: the input breaks off"):
        letters.check_whole()


def test_a_text_that_says_so_on_spark_does_not_make_it_so_either() -> None:
    letters = DeadLetters()
    letters.add(DeadLetter("malformed", "S", "in.nq", 1, 1, "no triple", "the input breaks off: really\n"))
    letters.check_whole()


def test_strict_writes_the_letter_and_then_stops(tmp_path: Path) -> None:
    letters = DeadLetters(tmp_path / "dead.ndjson", strict=True)
    with pytest.raises(RunError, match=r"in\.nq:9:1: an event came too late"):
        letters.add(late(9, "raw"))
    assert letters.counts.total() == 1
    letters.close()
    assert len((tmp_path / "dead.ndjson").read_text().splitlines()) == 1


def test_a_dead_letter_file_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot write to .*dead\.ndjson: no such file") as raised:
        DeadLetters(tmp_path / "no" / "dead.ndjson")
    assert raised.value.hint


def test_a_late_event_can_be_read_again() -> None:
    dictionary = Dictionary()
    column = as_ids([dictionary.intern(IRI("urn:x")), dictionary.intern(IRI("urn:y"))])
    objects = as_ids([dictionary.intern(Literal('a "b"\n')), dictionary.intern(Literal("01", "urn:t"))])
    events = EventBatch(as_ids([5, -1]), as_ids([0, 0]), ["urn:a", "urn:b"], as_ids([0, 1, 2]), column, column, objects)
    (event,), reports = read(event_as_nquads(events, 1, dictionary))
    assert reports == []
    assert (event.name, event.time, event.triples) == ("urn:b", -1, ('<urn:y> <urn:y> "01"^^<urn:t>',))
