"""`spaseq workbench`: a service for a while, over files, and a browser in front of it."""

from __future__ import annotations

import re
import threading
import urllib.request
import webbrowser
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.error import URLError

from arrays.times import TIME_NS_MAX
from automata.plan.program import Window
from sparql_gpm.terms import XSD, Literal
from sparql_gpm.times import format_time, parse_time
from spaseq.algebra.build import build
from spaseq.algebra.nodes import TemporalQuery
from spaseq.cli.bindings import bind_knowledge, bind_streams
from spaseq.cli.queries import read_queries
from spaseq.cli.reporting import say
from spaseq.cli.serve import web_server
from spaseq.engine.streams import declared_by
from spaseq.errors import InputError
from spaseq.inputs.formats import texts_of
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import input_files
from spaseq.service.errors import Refused
from spaseq.service.settings.configuration import Configuration
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QuerySettings
from spaseq.service.settings.streams import StreamSettings

if TYPE_CHECKING:
    from spaseq.service.core.service import Service

LOCAL = "127.0.0.1"
TEXT_BYTES = 256 << 10
"""A file is pushed in texts of about this size, one of each stream in turn."""
_NO_NAME = re.compile(r"[^A-Za-z0-9._-]")
_NO_EVENT, _NO_ROOM = 400, 429
_AGAIN_S = 0.05
_MILLISECOND_NS = 1_000_000


@dataclass(frozen=True, slots=True)
class WorkbenchArguments:
    """The arguments of `spaseq workbench`, as written.

    templates   of tables: the file for all streams, or that of each by its name
    port        0: one that is free
    browser     open one
    """

    queries: tuple[Path, ...]
    streams: tuple[str, ...]
    knowledge: tuple[str, ...]
    max_delay_ns: int
    template: Mapping[str, str] | str | None
    port: int
    browser: bool


def workbench(arguments: WorkbenchArguments) -> None:
    """Serve until Ctrl-C over a folder that is gone then; raises InputError and RunError."""
    serving = web_server()
    given = _Given(arguments)
    beside: list[threading.Thread] = []
    ended = threading.Event()

    def begin(service: Service, address: str) -> None:
        beside.append(threading.Thread(target=given.accompany, args=(service, address, ended)))
        beside[0].start()

    def end() -> None:
        ended.set()
        for thread in beside:
            thread.join()

    with TemporaryDirectory(prefix="spaseq-workbench-") as folder:
        served = serving.Arguments(given.configuration(), Path(folder), LOCAL, arguments.port, False)
        serving.serve(served, begin, end)


class _Given:
    """The queries, streams and knowledge bases of a command line, and the events of its files."""

    def __init__(self, arguments: WorkbenchArguments) -> None:
        self._arguments = arguments
        queries = read_queries(arguments.queries)
        self._meanings: dict[str, TemporalQuery] = {}
        self._texts: dict[str, str] = {}
        for path, query in zip(arguments.queries, queries, strict=True):
            name = _free(path.stem, self._texts)
            self._meanings[name], self._texts[name] = build(query), query.text
        self._paths = bind_streams(queries, arguments.streams) if arguments.streams else {}
        locations, _ = bind_knowledge(queries, arguments.knowledge)
        self._locations = locations
        made = {meaning.register for meaning in self._meanings.values()}
        self._names: dict[str, str] = {}
        for written, iri, _ in declared_by(self._meanings.values()):
            if iri not in made and iri not in self._names.values():
                self._names[_free(written, self._names)] = iri

    def configuration(self) -> Configuration:
        """The streams, knowledge bases and queries."""
        streams = {name: self._stream(name, iri) for name, iri in self._names.items()}
        known: dict[str, KnowledgeSettings] = {}
        for iri, location in self._locations.items():
            name = _free(re.split(r"[/#:]", iri)[-1] or "kb", known)
            remote = location.lower().startswith(("http://", "https://"))
            path, url = (None, location) if remote else (str(Path(location).resolve()), None)
            known[name] = KnowledgeSettings(iri, path, url)
        queries = {name: QuerySettings(text) for name, text in self._texts.items()}
        return Configuration(streams, known, queries)

    def accompany(self, service: Service, address: str, ended: threading.Event) -> None:
        """Open a browser when the service is ready, and push the files, until it ends."""
        while not ended.is_set() and not _is_ready(address):
            ended.wait(_AGAIN_S)
        if self._arguments.browser and not ended.is_set():
            webbrowser.open(f"{address}/{self._first()}")
        say(f"the workbench is at {address}/{self._first()}; Ctrl-C ends it")
        try:
            self._push(service, ended)
        except (InputError, Refused) as error:
            say(f"warning: not all events were pushed: {error}")

    def _push(self, service: Service, ended: threading.Event) -> None:
        turns = {name: self._texts_of(name, iri) for name, iri in self._names.items() if iri in self._paths}
        while turns and not ended.is_set():
            for name, texts in list(turns.items()):
                if (found := next(texts, None)) is None:
                    del turns[name]
                else:
                    _accept(service, name, *found, ended)
        if self._paths and not ended.is_set():
            self._advance(service)

    def _advance(self, service: Service) -> None:
        """Let time pass until every window is over that the files have events of."""
        shown = service.streams()
        reached = [_time(each["watermark"]) for each in shown if each.get("watermark") is not None]
        if not reached:
            return
        windows = [_length(meaning.window) for meaning in self._meanings.values()]
        end = min(TIME_NS_MAX, max(reached) + self._arguments.max_delay_ns + max(windows, default=0) + 1)
        for name in self._names:
            service.advance(name, format_time(end))

    def _texts_of(self, name: str, iri: str) -> Iterator[tuple[str, bytes]]:
        """The format and the bytes of the texts of a stream's files."""
        for file in input_files(self._paths[iri], tables=self._template(name) is not None):
            with opened(file) as found:
                for text in texts_of(found.stream, found.format, TEXT_BYTES):
                    yield text.format or found.format, text.text

    def _stream(self, name: str, iri: str) -> StreamSettings:
        template = self._template(name)
        path = None if template is None else str(Path(template).resolve())
        return StreamSettings(iri, max_delay=f"{self._arguments.max_delay_ns // _MILLISECOND_NS}ms", template=path)

    def _template(self, name: str) -> str | None:
        given = self._arguments.template
        return given if given is None or isinstance(given, str) else given.get(name)

    def _first(self) -> str:
        """The part of the address that shows the first query."""
        return next((f"#/queries/{name}" for name in self._texts), "")


def _accept(service: Service, name: str, text_format: str, text: bytes, ended: threading.Event) -> None:
    """Push a text, as soon as there is room for it; one in which nothing is an event leaves dead letters."""
    while not ended.is_set():
        try:
            service.accept(name, text, text_format)
        except Refused as refused:
            if refused.status == _NO_ROOM:
                ended.wait(_AGAIN_S)
                continue
            if refused.status != _NO_EVENT:
                raise
        return


def _length(window: Window) -> int:
    return 0 if window.in_events else 2 * max(window.size, window.period)


def _time(text: str) -> int:
    return parse_time(Literal(text, XSD + "dateTime"))


def _free(wanted: str, taken: Mapping[str, object] | Sequence[str]) -> str:
    """A name of the service that is like this one and not taken."""
    name = _NO_NAME.sub("-", wanted).lstrip("._-")[:90] or "x"
    return name if name not in taken else next(each for number in count(2) if (each := f"{name}-{number}") not in taken)


def _is_ready(address: str) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{address}/readyz", timeout=1) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False
