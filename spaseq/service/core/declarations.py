"""Declarations, changes and deletions: checked against all that was declared before, then a record of the log."""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import Future
from dataclasses import replace as relocated
from pathlib import Path
from typing import Any, NoReturn

from msgspec import UNSET
from msgspec.structs import replace

from kb.base import KnowledgeBases
from kb.errors import KnowledgeBaseError
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.expressions.expression_evaluator import ExpressionEvaluator
from spaseq.algebra.nodes import TemporalQuery
from spaseq.errors import InputError
from spaseq.lang.parse import check
from spaseq.service.core.admission import Admission
from spaseq.service.core.clock import Clock
from spaseq.service.core.copies import KnowledgeSources
from spaseq.service.core.decisions import body_reading
from spaseq.service.core.dependencies import Dependencies
from spaseq.service.core.meanings import Read, meaning_of, problems_of, users_of
from spaseq.service.core.records import Deleted, KnowledgePut, Paused, QueryPut, StreamPut
from spaseq.service.core.state import State
from spaseq.service.errors import Refused
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.queries import QueryChanges, QuerySettings
from spaseq.service.settings.regular_files import UnusableFile, text_of
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.store.faults import is_of_the_disk, refusal


class Declarations:
    """Changes of what is declared.

    sources     keeps the copies of knowledge bases
    has_failed  whether a query, by its name, has failed: one that is put again runs again
    """

    def __init__(
        self, admission: Admission, sources: KnowledgeSources, clock: Clock, has_failed: Callable[[str], bool]
    ) -> None:
        self._admission, self._sources, self._clock, self._has_failed = admission, sources, clock, has_failed
        self._dependencies = Dependencies()

    # --- streams ----------------------------------------------------------------------------------

    def put_stream(self, name: str, settings: StreamSettings) -> tuple[bool, Future[int] | None]:
        """Make or change a stream; True if it is new."""
        files = {path: _text(key, path) for key, path in settings.files()}
        try:
            body_reading(settings, files)
        except (InputError, ValueError, RecursionError) as error:
            raise Refused(422, "Unusable value", str(error)) from error
        with self._admission.deciding:
            state = self._admission.decided
            known = state.streams.get(name)
            if known is not None and (known.settings, known.files) == (settings, files):
                return False, None
            if name in (made := self._dependencies.of(state).made):
                raise Refused(409, "Conflict", f"query '{name}' makes a stream of this name")
            others = {other: each.settings.iri for other, each in state.streams.items() if other != name}
            if settings.iri in others.values() or settings.iri in made.values():
                raise Refused(409, "Conflict", f"another stream has the IRI <{settings.iri}>")
            if known is not None and known.settings.iri != settings.iri:
                self._check_unread(state, known.settings.iri, "the IRI of a stream that queries read cannot change")
            record = StreamPut(name, self._clock.wall(), settings, files)
            return known is None, self._admission.change(record)

    def delete_stream(self, name: str) -> Future[int]:
        """Delete a stream that nobody reads."""
        with self._admission.deciding:
            state = self._admission.decided
            if name not in state.streams:
                _missing("stream", name)
            self._check_unread(state, state.streams[name].settings.iri, "queries read the stream")
            return self._admission.change(Deleted("stream", name, self._clock.wall()))

    # --- knowledge bases --------------------------------------------------------------------------

    def put_kb(self, name: str, settings: KnowledgeSettings) -> tuple[bool, Future[int] | None]:
        """Make or change a knowledge base; its file is read once now, and copied."""
        copied = self._copied(settings)
        with self._admission.deciding:
            state = self._admission.decided
            known = state.knowledge.get(name)
            if known is not None and (known.settings, known.copy) == (settings, copied):
                return False, None
            taken = (each.settings.iri for other, each in state.knowledge.items() if other != name)
            if settings.iri in taken:
                raise Refused(409, "Conflict", f"another knowledge base has the IRI <{settings.iri}>")
            if known is not None and known.settings.iri != settings.iri:
                _check_unused(state, known.settings.iri)
            record = KnowledgePut(name, self._clock.wall(), settings, copied)
            return known is None, self._admission.change(record)

    def delete_kb(self, name: str) -> Future[int]:
        """Delete a knowledge base that no query uses."""
        with self._admission.deciding:
            state = self._admission.decided
            if name not in state.knowledge:
                _missing("knowledge base", name)
            _check_unused(state, state.knowledge[name].settings.iri)
            return self._admission.change(Deleted("kb", name, self._clock.wall()))

    def _copied(self, settings: KnowledgeSettings) -> str:
        """The name of the copy of the file; Refused if it is no knowledge base."""
        if settings.path is None:
            return ""
        path = Path(settings.path)
        try:
            name = self._sources.kept(path)
            self._check_readable(settings, name)
        except OSError as error:
            if is_of_the_disk(error):
                raise refusal(error) from error
            raise Refused(422, "Unusable value", f"path: cannot read {path}: {error.strerror}") from error
        except UnusableFile as error:
            raise Refused(422, "Unusable value", f"path: {error}") from error
        except KnowledgeBaseError as error:
            raise Refused(422, "Unusable value", f"path: {error.located}") from error
        return name

    def _check_readable(self, settings: KnowledgeSettings, name: str) -> None:
        dictionary = Dictionary()
        source = relocated(settings.source, location=str(self._sources.folder / name))
        KnowledgeBases.load({settings.iri: source}, dictionary, ExpressionEvaluator(dictionary)).close()

    # --- queries ----------------------------------------------------------------------------------

    def put_query(self, name: str, changes: QueryChanges) -> tuple[bool, Future[int] | None]:
        """Make a query, replace it, or change its settings; what the changes do not name stays."""
        read = _read(name, changes)
        with self._admission.deciding:
            is_new, record = self._query_put(name, changes, read)
            return is_new, None if record is None else self._admission.change(record)

    def query_put(self, name: str, changes: QueryChanges) -> tuple[bool, QueryPut | None]:
        """True if a query is new, and the record that makes or changes it, None if nothing changes; Refused."""
        return self._query_put(name, changes, _read(name, changes))

    def _query_put(self, name: str, changes: QueryChanges, read: Read | None) -> tuple[bool, QueryPut | None]:
        with self._admission.deciding:
            state = self._admission.decided
            known = state.queries.get(name)
            if known is None and changes.text is UNSET:
                raise Refused(422, "Unusable value", "text: it is missing")
            settings = known.settings.changed(changes) if known is not None else _made(changes)
            failed = known is not None and self._has_failed(name)
            if known is not None and not failed and known.settings == replace(settings, since=known.settings.since):
                return False, None
            meaning = self._checked(state, name, settings.text, read)
            self._check_streams(state, name, meaning)
            same = known is not None and known.settings.text == settings.text
            same = same and known is not None and known.settings.max_runs == settings.max_runs and not failed
            since = "kept" if same else changes.since
            return known is None, QueryPut(name, self._clock.wall(), settings, since)

    def delete_query(self, name: str, recovering: bool = False) -> Future[int]:
        """Delete a query whose stream nobody reads; `recovering`: while the service reads its log again."""
        with self._admission.deciding:
            state = self._admission.decided
            meaning = self._known(state, name)
            if meaning.register is not None:
                self._check_unread(state, meaning.register, "queries read the stream that it makes", but=name)
            return self._admission.change(Deleted("query", name, self._clock.wall(), recovering))

    def pause(self, name: str, paused: bool, recovering: bool) -> Future[int] | None:
        """Pause a query, or let it go on; `recovering` as of `delete_query`."""
        with self._admission.deciding:
            self._known(self._admission.decided, name)
            if self._admission.decided.queries[name].paused == paused:
                return None
            return self._admission.change(Paused(name, self._clock.wall(), paused, recovering))

    def validated(self, text: str) -> dict[str, Any]:
        """The problems and the warnings of a text; whatever it takes to read it, nobody waits for that."""
        read = check(text, "query")
        with self._admission.deciding:
            _, problems = problems_of(self._admission.decided, self._made(), text, "query", read)
        by_severity: dict[str, list[dict[str, Any]]] = {"error": [], "warning": []}
        for each in problems:
            shown = {"code": each.code, "line": each.line, "column": each.column, "message": each.message}
            by_severity[each.severity].append(shown | {"hint": each.hint})
        return {"problems": by_severity["error"], "warnings": by_severity["warning"]}

    def _checked(self, state: State, name: str, text: str, read: Read | None) -> TemporalQuery:
        meaning, problems = problems_of(state, self._made(), text, name, read)
        if meaning is None:
            shown = tuple(each for each in problems if each.severity == "error")
            raise Refused(422, "The query is wrong", shown[0].message, problems=shown)
        return meaning

    def read_streams(self) -> list[str]:
        """The names of the streams that queries read; the caller holds `deciding`."""
        state = self._admission.decided
        read = self._dependencies.of(state).read
        return [name for name, each in state.streams.items() if each.settings.iri in read]

    def _made(self) -> Collection[str]:
        """The IRIs of the streams that queries make."""
        return self._dependencies.of(self._admission.decided).made.values()

    def _check_unread(self, state: State, iri: str, reason: str, but: str = "") -> None:
        if readers := [name for name in self._dependencies.of(state).readers(iri) if name != but]:
            raise Refused(409, "Conflict", f"{reason}: {', '.join(readers)}", members={"queries": readers})

    def _known(self, state: State, name: str) -> TemporalQuery:
        if name not in state.queries:
            _missing("query", name)
        return meaning_of(name, state.queries[name].settings.text)

    def _check_streams(self, state: State, name: str, meaning: TemporalQuery) -> None:
        """Refused if another makes its stream already, or if it no longer makes one that is read."""
        known = state.queries.get(name)
        before = None if known is None else meaning_of(name, known.settings.text).register
        if before is not None and before != meaning.register:
            self._check_unread(state, before, "queries read the stream that it made", but=name)
        if meaning.register is None:
            return
        others = {iri for other, iri in self._dependencies.of(state).made.items() if other != name}
        if meaning.register in others | {each.settings.iri for each in state.streams.values()} or name in state.streams:
            raise Refused(409, "Conflict", f"the stream <{meaning.register}> exists, or its name does")


def _check_unused(state: State, iri: str) -> None:
    if users := users_of(state, iri):
        raise Refused(409, "Conflict", f"queries use it: {', '.join(users)}", members={"queries": users})


def _made(changes: QueryChanges) -> QuerySettings:
    assert changes.text is not UNSET
    return QuerySettings(changes.text).changed(changes)


def _read(name: str, changes: QueryChanges) -> Read | None:
    """The text of a query that is put, as it is read before anybody has to wait; None: it stays."""
    return None if changes.text is UNSET else check(changes.text, name)


def _missing(kind: str, name: str) -> NoReturn:
    raise Refused(404, f"No such {kind}", f"there is no {kind} '{name}'")


def _text(key: str, path: str) -> str:
    try:
        return text_of(path)
    except (OSError, ValueError) as error:
        raise Refused(422, "Unusable value", f"{key}: cannot read {path}: {error}") from error
