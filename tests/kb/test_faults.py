"""A proxy between the engine and a real endpoint does what networks do.

Pauses are a tenth as long as they are for users; `make thorough` runs these tests with those of users.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from urllib.parse import quote_plus

import pytest
import tenacity
from hypothesis import settings

import spaseq
from kb import breaker, protocol
from kb.source import Failure, Source
from spaseq.errors import RunError
from spaseq.outputs.row_table import Rows
from spaseq.outputs.rows import Row
from tests.kb.servers import (
    Misdeed,
    Proxy,
    broken_off,
    failing,
    mistyped,
    oxigraph,
    reset,
    slow,
    truncated,
)
from tests.kb.test_endpoint import DB, data, events, query
from tests.waiting import PATIENCE_S

BODY = f"?s :reads ?v . GRAPH <{DB}> {{ ?s :in ?room }}"
MISDEEDS: dict[str, Misdeed] = {
    "slow": slow,
    "status 500": failing,
    "reset": reset,
    "truncated JSON": truncated,
    "broken off": broken_off,
    "wrong content type": mistyped,
}


PACE = 1.0 if settings.get_current_profile_name() == "thorough" else 0.1
"""Seconds for each second of a user."""
OUTAGE_S = 20 * PACE


@pytest.fixture(autouse=True)
def _shorter_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    least, most = PACE * protocol.BACKOFF_S_MIN, PACE * protocol.BACKOFF_S_MAX
    monkeypatch.setattr(protocol, "_backoff", tenacity.wait_random_exponential(multiplier=least, max=most))
    monkeypatch.setattr(breaker, "OPEN_S_MIN", PACE * breaker.OPEN_S_MIN)
    monkeypatch.setattr(breaker, "OPEN_S_MAX", PACE * breaker.OPEN_S_MAX)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    with oxigraph(data()) as url:
        yield url


@pytest.fixture
def stream(tmp_path: Path) -> Path:
    path = tmp_path / "events.nq"
    path.write_text(events(120))
    return path


def job_over(stream: Path, url: str, failure: Failure, timeout_s: float = PATIENCE_S) -> spaseq.Job:
    """Batches of 40 events, so that something can happen between them."""
    source = Source(url, failure, whole_rows_max=0, batch_keys=5, batch_keys_max=5, timeout_s=timeout_s)
    return spaseq.Job([query(BODY)], {"S": str(stream)}, {DB: source}, spaseq.RunOptions(batch_events=40))


def run(stream: Path, url: str, failure: Failure = "wait", timeout_s: float = PATIENCE_S) -> tuple[list[str], int]:
    """The rows, and how many were joined with nothing."""
    job = job_over(stream, url, failure, timeout_s)
    try:
        rows = sorted(repr(row) for rows in job.rows() for row in rows)
        return rows, sum(job.statistics.skipped_rows.values())
    finally:
        job.close()


def rows_of_batch(pieces: Iterator[Rows]) -> list[Row]:
    """The rows up to the next empty piece, which ends a batch."""
    return [row for piece in takewhile(len, pieces) for row in piece]


@pytest.mark.parametrize("kind", MISDEEDS)
def test_waiting_gives_the_rows_of_an_undisturbed_run(endpoint: str, stream: Path, kind: str) -> None:
    undisturbed, _ = run(stream, endpoint)
    every = 12 if kind == "slow" else 3
    with Proxy(endpoint, lambda n: MISDEEDS[kind] if n % every == 1 else None) as proxy:
        rows, skipped = run(stream, proxy.url, timeout_s=0.5 if kind == "slow" else PATIENCE_S)
    assert len(undisturbed) == 120
    assert (rows, skipped) == (undisturbed, 0)
    assert len(proxy.seen) > 24, "requests were repeated"


def test_an_endpoint_that_goes_and_comes_back_costs_nothing_but_time(endpoint: str, stream: Path) -> None:
    undisturbed, _ = run(stream, endpoint)
    with Proxy(endpoint) as proxy, contextlib.closing(job_over(stream, proxy.url, "wait")) as job:
        pieces = job.rows()
        rows = rows_of_batch(pieces)
        assert len(rows) == 40
        proxy.down()
        back = threading.Timer(OUTAGE_S, proxy.up)
        begin = time.monotonic()
        back.start()
        rows += [row for piece in pieces for row in piece]
        back.join()
        assert time.monotonic() - begin > 0.95 * OUTAGE_S
    assert sorted(map(repr, rows)) == undisturbed
    assert not job.statistics.skipped_rows


def test_an_endpoint_that_goes_and_comes_back_costs_exactly_the_rows_of_that_time(
    endpoint: str, stream: Path, caplog: pytest.LogCaptureFixture
) -> None:
    undisturbed, _ = run(stream, endpoint)
    with Proxy(endpoint) as proxy, contextlib.closing(job_over(stream, proxy.url, "skip")) as job:
        pieces = job.rows()
        rows = rows_of_batch(pieces)
        proxy.down()
        assert rows_of_batch(pieces) == []
        assert job.statistics.skipped_rows == {DB: 40}
        proxy.up()
        time.sleep(breaker.OPEN_S_MAX)
        rows += [row for piece in pieces for row in piece]
    assert len(rows) == 80
    told = [record.getMessage() for record in caplog.records if record.name.startswith("kb.")]
    assert len(told) == 2
    assert told[0].endswith("requests are skipped until it is back")
    assert told[1] == f"{proxy.url} answers again"
    assert set(map(repr, rows)) < set(undisturbed)
    assert job.statistics.skipped_rows == {DB: 40}


@pytest.mark.parametrize("kind", MISDEEDS)
def test_skipping_loses_and_counts_exactly_the_rows_concerned(endpoint: str, stream: Path, kind: str) -> None:
    undisturbed, _ = run(stream, endpoint)
    proxy = Proxy(endpoint)
    struck = quote_plus("<http://x/s100>").encode()

    def misdeed(number: int) -> Misdeed | None:
        return MISDEEDS[kind] if struck in proxy.seen[number][2] else None

    proxy.misdeeds = misdeed
    with proxy:
        rows, skipped = run(stream, proxy.url, "skip", timeout_s=0.5 if kind == "slow" else PATIENCE_S)
    assert 0 < skipped == len(undisturbed) - len(rows)
    assert set(rows) < set(undisturbed)
    assert any("http://x/s100'" in row for row in set(undisturbed) - set(rows))


def test_failing_ends_the_run_and_says_where(endpoint: str, stream: Path) -> None:
    with Proxy(endpoint, lambda n: failing) as proxy, pytest.raises(RunError, match="HTTP status 500") as caught:
        run(stream, proxy.url, "fail")
    assert proxy.url in str(caught.value)


def test_what_can_never_go_well_is_not_waited_for(endpoint: str, stream: Path) -> None:
    wrong = endpoint.replace("/query", "/nothing-here")
    with pytest.raises(RunError, match="HTTP status 4"):
        run(stream, wrong, "wait")


@pytest.mark.parametrize("kind", ["truncated JSON", "wrong content type"])
def test_a_number_of_invalid_answers_to_one_request_ends_the_waiting(endpoint: str, stream: Path, kind: str) -> None:
    """A status 500 is no answer, and does not count."""
    misdeeds = [MISDEEDS[kind], failing, failing, MISDEEDS[kind], MISDEEDS[kind]]
    with Proxy(endpoint, lambda n: misdeeds[n]) as proxy:
        source = Source(proxy.url, "wait", whole_rows_max=0, batch_keys=500, invalid_answers_max=3)
        job = spaseq.Job([query(BODY)], {"S": str(stream)}, {DB: source})
        with contextlib.closing(job), pytest.raises(RunError, match="3 invalid answers to one request, the last: "):
            list(job.rows())
    assert len(proxy.seen) == 5


def test_an_endpoint_that_keeps_failing_is_left_alone(endpoint: str, stream: Path) -> None:
    with Proxy(endpoint, lambda n: failing) as proxy:
        rows, skipped = run(stream, proxy.url, "skip")
    assert (rows, skipped) == ([], 120)
    assert len(proxy.seen) < 24, "24 batches of keys, and none was tried four times"


def test_keys_are_asked_for_once_even_when_nothing_is_known_about_them(endpoint: str, tmp_path: Path) -> None:
    path = tmp_path / "events.nq"
    path.write_text(events(30).replace("/s", "/unknown"))
    twice = tmp_path / "twice.nq"
    twice.write_text(path.read_text() + path.read_text().replace("urn:e", "urn:f").replace("T00:", "T01:"))
    with Proxy(endpoint) as proxy:
        assert run(path, proxy.url) == ([], 0)
        once = len(proxy.seen)
        assert run(twice, proxy.url) == ([], 0)
    assert once == 6
    assert len(proxy.seen) == 2 * once
