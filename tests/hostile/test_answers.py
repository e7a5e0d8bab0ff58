"""An endpoint's answer is to the request, or it is a failed answer."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

import spaseq
from kb.results import ResultReader
from kb.source import Source
from tests.kb.servers import Impostor
from tests.kb.test_endpoint import DB, events, query

SENSOR = {"type": "uri", "value": "http://x/s0"}
ROOM = {"type": "uri", "value": "http://x/room0"}


def document(variables: list[str], *solutions: dict[str, object]) -> object:
    return {"head": {"vars": variables}, "results": {"bindings": list(solutions)}}


def rows(folder: Path, body: str, answer: object, **options: object) -> tuple[list[spaseq.Row], int]:
    """The rows over 20 events, and how many were skipped."""
    (folder / "events.nq").write_text(events(20))
    with Impostor(answer) as endpoint:  # type: ignore[arg-type]
        source = Source(endpoint.url, "skip", **options)  # type: ignore[arg-type]
        with contextlib.closing(spaseq.Job([query(body)], {"S": str(folder / "events.nq")}, {DB: source})) as job:
            return [row for part in job.rows() for row in part], sum(job.statistics.skipped_rows.values())


def honest(names: list[str]) -> object:
    return document(names, dict(zip(names, (SENSOR, ROOM), strict=True)))


DISHONEST = {
    "other variables": lambda names: document(["x", "y"], {"x": SENSOR, "y": ROOM}),
    "no variables": lambda names: document([], {}),
    "one variable too many": lambda names: document([*names, "z"], dict(zip(names, (SENSOR, ROOM), strict=True))),
    "one variable too few": lambda names: document(names[:1], {names[0]: SENSOR}),
    "one variable twice": lambda names: document([names[0], names[0]], {names[0]: SENSOR}),
    "no head": lambda names: {"results": {"bindings": [dict(zip(names, (SENSOR, ROOM), strict=True))]}},
    "a variable not in the head": lambda names: document(names, {names[0]: SENSOR, names[1]: ROOM, "z": ROOM}),
    "a key unbound": lambda names: document(names, {names[1]: ROOM}),
    "what the pattern binds unbound": lambda names: document(names, {names[0]: SENSOR}),
    "nothing bound": lambda names: document(names, {}),
}


@pytest.mark.parametrize("whole", [0, 5_000], ids=["keys", "whole"])
def test_an_honest_answer_is_joined(whole: int, tmp_path: Path) -> None:
    body = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"
    found, skipped = rows(tmp_path, body, honest, whole_rows_max=whole, batch_keys=5)
    assert (len(found), skipped) == (1, 0)


@pytest.mark.parametrize("whole", [0, 5_000], ids=["keys", "whole"])
@pytest.mark.parametrize("kind", DISHONEST)
def test_an_answer_that_is_not_to_the_request_joins_with_nothing(kind: str, whole: int, tmp_path: Path) -> None:
    body = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"
    found, skipped = rows(tmp_path, body, DISHONEST[kind], whole_rows_max=whole, batch_keys=5)
    assert found == []
    assert skipped == 20


@pytest.mark.parametrize("said", ['{"head": {"vars": 5}, "results": {"bindings": []}}', '{"head": {"vars": ["a"]}}'])
def test_a_head_that_is_none_is_refused(said: str) -> None:
    with pytest.raises(ValueError, match="not SPARQL JSON results"):
        ResultReader(["a"]).decode(said.encode(), "s")


def test_an_optional_variable_that_is_missing_is_unbound() -> None:
    text = json.dumps(document(["a", "b"], {"a": SENSOR}))
    (row,) = ResultReader(["a", "b"], ["a"]).decode(text.encode(), "s", keys=["a"])
    assert row[1] is None
    with pytest.raises(ValueError, match=r"leaves \?b unbound"):
        ResultReader(["a", "b"], ["a"]).decode(text.encode(), "s", keys=["b"])
