"""The SPARQL 1.1 Protocol: one query to one endpoint, with limits, retries and a circuit breaker."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote_plus

import httpx2
import tenacity

from kb.access import Access, shown
from kb.breaker import Breaker
from kb.cache import TermTuple
from kb.source import Source

ATTEMPTS_MAX = 4
"""Attempts at a request, unless the source says `wait`."""
BACKOFF_S_MIN, BACKOFF_S_MAX = 0.05, 2.0
"""Jittered exponential backoff: before the n-th retry a random time up to MIN * 2**n, at most MAX."""
RETRY_AFTER_S_MAX = 30.0
"""The longest delay of a Retry-After header that is obeyed."""
_CONNECT_S_MAX = 5.0
_FORM = "application/x-www-form-urlencoded"
"""Queries go as a form: every server takes that, while Virtuoso never answers a query that is posted as it is."""
_JSON = ("application/sparql-results+json", "application/json")
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_MESSAGE_MAX = 200
_MEANWHILE = {"wait": "waiting until it is back", "skip": "requests are skipped until it is back"}
Decode = Callable[[bytes, str], list[TermTuple]]
"""Reads an answer, given a prefix for its labels of blank nodes; raises ValueError."""
_answers = itertools.count()
_log = logging.getLogger(__name__)


def _show_urls_only(record: logging.LogRecord) -> bool:
    """Removes the query of the URLs that the client logs, where keys are sometimes kept."""
    if isinstance(record.args, tuple):
        record.args = tuple(shown(str(value)) if isinstance(value, httpx2.URL) else value for value in record.args)
    return True


logging.getLogger("httpx2").addFilter(_show_urls_only)


class Fault(Exception):
    """A request failed; the text names neither the endpoint nor credentials.

    passing     a retry may succeed
    after_s     the delay that the endpoint demands
    invalid     there was an answer, and it is no answer to the request
    """

    def __init__(self, message: str, passing: bool = True, after_s: float = 0.0, invalid: bool = False) -> None:
        super().__init__(message)
        self.passing = passing
        self.after_s = after_s
        self.invalid = invalid


@dataclass(slots=True)
class Traffic:
    """Counts of requests, retries and rows."""

    requests: int = 0
    retries: int = 0
    rows: int = 0


class Client:
    """The client of one endpoint, on one event loop."""

    def __init__(self, source: Source, access: Access) -> None:
        self._url = access.admitted(source.location)
        self._source = source
        self._breaker = Breaker()
        self._last = ""
        self._probe: asyncio.Event | None = None
        self._places = asyncio.Semaphore(source.in_flight)
        authorization = access.authorization(self._url)
        credentials = {"Authorization": authorization} if authorization else {}
        self._http = httpx2.AsyncClient(
            headers={"Accept": _JSON[0], "Content-Type": _FORM, **credentials},
            timeout=httpx2.Timeout(source.timeout_s, connect=min(source.timeout_s, _CONNECT_S_MAX)),
            limits=httpx2.Limits(max_connections=source.in_flight),
            follow_redirects=False,
            trust_env=False,
        )
        self.traffic = Traffic()

    async def select(self, query: str, decode: Decode) -> list[TermTuple]:
        """The solutions of a SELECT; raises Fault. Under `wait` only for what cannot pass, or invalid answers."""
        waits, invalid_max = self._source.failure == "wait", self._source.invalid_answers_max
        attempts = tenacity.AsyncRetrying(
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, Fault) and error.passing),
            stop=_TooManyInvalid(invalid_max) if waits else tenacity.stop_after_attempt(ATTEMPTS_MAX),
            wait=_pause,
            reraise=True,
        )
        async with self._places:
            try:
                async for attempt in attempts:
                    with attempt:
                        self.traffic.retries += attempt.retry_state.attempt_number > 1
                        return await self._attempt(query, decode, waits)
            except Fault as fault:
                if waits and fault.invalid:
                    raise Fault(f"{invalid_max} invalid answers to one request, the last: {fault}", False) from fault
                raise
        raise AssertionError("tenacity gives an attempt or raises")

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _attempt(self, query: str, decode: Decode, waits: bool) -> list[TermTuple]:
        await self._admission(waits)
        if not self._breaker.is_open:
            return await self._answer(query, decode)
        self._probe = probe = asyncio.Event()
        try:
            return await self._answer(query, decode)
        finally:
            self._probe = None
            probe.set()

    async def _admission(self, waits: bool) -> None:
        """Wait until the circuit breaker admits the request; raises Fault unless the source says `wait`."""
        while delay := self._breaker.delay():
            if self._probe is not None:
                await self._probe.wait()
            elif waits:
                await asyncio.sleep(delay)
            else:
                raise Fault(f"the circuit breaker is open after repeated failures (last: {self._last})", passing=False)

    async def _answer(self, query: str, decode: Decode) -> list[TermTuple]:
        """One attempt, with its outcome entered in the circuit breaker."""
        try:
            rows = decode(await self._post(query), f"ep{next(_answers)}")
        except Fault as fault:
            if fault.passing:
                self._failed(fault)
            raise
        except (httpx2.HTTPError, TimeoutError, ValueError) as error:
            reason = Fault(str(error)[:_MESSAGE_MAX] or type(error).__name__, invalid=isinstance(error, ValueError))
            self._failed(reason)
            raise reason from error
        self._succeeded()
        if len(rows) > self._source.answer_rows_max:
            raise Fault(f"an answer of more than {self._source.answer_rows_max} rows", passing=False)
        self.traffic.rows += len(rows)
        return rows

    def _failed(self, fault: Fault) -> None:
        before = self._breaker.is_open
        self._breaker.failed()
        self._last = str(fault)
        if self._breaker.is_open and not before and self._source.failure in _MEANWHILE:
            _log.warning("%s keeps failing (%s): %s", shown(self._url), fault, _MEANWHILE[self._source.failure])

    def _succeeded(self) -> None:
        if self._breaker.is_open:
            _log.warning("%s answers again", shown(self._url))
        self._breaker.succeeded()

    async def _post(self, query: str) -> bytes:
        self.traffic.requests += 1
        async with (
            asyncio.timeout(self._source.timeout_s),
            self._http.stream("POST", self._url, content=form_of(query)) as response,
        ):
            self._check(response)
            body = bytearray()
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > self._source.answer_bytes_max:
                    raise Fault(f"an answer of more than {self._source.answer_bytes_max} bytes", passing=False)
            return bytes(body)

    def _check(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status != 200:
            passing = status in _PASSING
            reason = " (redirects are not followed)" if 300 <= status < 400 else ""
            raise Fault(f"HTTP status {status}{reason}", passing, _seconds(response.headers.get("Retry-After")))
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in _JSON:
            raise Fault(f"the answer is {kind or 'of no type'}, not SPARQL JSON results", invalid=True)


class _TooManyInvalid(tenacity.stop.stop_base):
    """Stops after a number of invalid answers to one request: other failures may pass, these are likely to stay."""

    def __init__(self, answers_max: int) -> None:
        self._left = answers_max

    def __call__(self, state: tenacity.RetryCallState) -> bool:
        error = state.outcome.exception() if state.outcome else None
        self._left -= isinstance(error, Fault) and error.invalid
        return self._left <= 0


_IN_ORDER = ("%", "+", *(char for char in map(chr, range(128)) if char not in "%+"))
_CODES = tuple((char, quote_plus(char)) for char in _IN_ORDER if quote_plus(char) != char)
"""The percent codes of a form for the characters of ASCII."""


def form_of(query: str) -> str:
    """The form of a query; replacing one character at a time takes a tenth of the time of `quote_plus`."""
    if not query.isascii():
        return f"query={quote_plus(query)}"
    for char, code in _CODES:
        if char in query:
            query = query.replace(char, code)
    return f"query={query}"


_backoff = tenacity.wait_random_exponential(multiplier=BACKOFF_S_MIN, max=BACKOFF_S_MAX)


def _pause(state: tenacity.RetryCallState) -> float:
    """Seconds before the next attempt: those that the endpoint demands, else exponential with jitter."""
    error = state.outcome.exception() if state.outcome else None
    asked = error.after_s if isinstance(error, Fault) else 0.0
    return max(asked, _backoff(state))


def _seconds(header: str | None) -> float:
    return min(RETRY_AFTER_S_MAX, float(header)) if header and header.isascii() and header.isdigit() else 0.0
