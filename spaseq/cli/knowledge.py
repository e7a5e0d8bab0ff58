"""Knowledge bases on the command line: their options, their loading, `spaseq kb build`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, TypeVar

from kb.source import FAILURES, Failure, Source
from sparql_gpm.times import parse_duration
from spaseq.cli.reporting import say, terminal
from spaseq.errors import InputError

Value = TypeVar("Value")
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class KnowledgeArguments:
    """The options of knowledge bases as written: VALUE for all knowledge bases, or IRI=VALUE for one."""

    failure: tuple[str, ...] = ()
    refresh: tuple[str, ...] = ()
    timeout: tuple[str, ...] = ()
    entail: tuple[str, ...] = ()

    @staticmethod
    def taken_from(options: dict[str, Any]) -> KnowledgeArguments:
        """The arguments removed from the options of a command."""
        return KnowledgeArguments(*(options.pop(f"kb_{each.name}") for each in fields(KnowledgeArguments)))


def sources_of(locations: Mapping[str, str], arguments: KnowledgeArguments) -> dict[str, Source]:
    """Each knowledge base with its options; raises InputError for an option that is malformed or applies to none."""
    given: dict[str, dict[str, Any]] = {
        "failure": _assigned("--kb-failure", arguments.failure, locations, _failure),
        "refresh_s": _assigned("--kb-refresh", arguments.refresh, locations, _seconds),
        "timeout_s": _assigned("--kb-timeout", arguments.timeout, locations, _positive_seconds),
    }
    entail = _assigned("--entail", arguments.entail, locations, _rdfs)
    found = {}
    for iri, location in locations.items():
        source = Source(location, **{name: values[iri] for name, values in given.items() if iri in values})
        meant_for_all = not any(text.startswith((f"{iri}=", f"<{iri}>=")) for text in arguments.entail)
        found[iri] = replace(source, entail=iri in entail and not (source.remote and meant_for_all))
    return found


def build_prepared(files: Iterable[Path], output: Path, entail: bool) -> None:
    """Make a prepared file and print its size; raises InputError."""
    from kb.errors import KnowledgeBaseError
    from kb.prepared_build import build
    from kb.prepared_file import SUFFIX

    if output.suffix != SUFFIX:
        raise InputError(f"-o {output} does not end in {SUFFIX}", hint=f"-o {output.with_suffix(SUFFIX)}")
    try:
        with loading() as progress:
            triples, terms = build([str(path) for path in files], output, entail=entail, progress=progress)
    except KnowledgeBaseError as error:
        raise InputError(error.located, hint=error.hint) from error
    say(f"{output}: {triples:,} triples, {terms:,} terms, {output.stat().st_size:,} bytes")


@contextmanager
def loading() -> Iterator[Callable[[str, int, int], None] | None]:
    """A callback that draws progress bars of files on a terminal until the loading ends; None elsewhere."""
    console = terminal()
    if console is None or console.is_dumb_terminal:
        yield None
        return
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

    name = TextColumn("reading {task.description}", markup=False)
    bars = Progress(name, BarColumn(), DownloadColumn(), TimeRemainingColumn(), console=console, transient=True)
    tasks: dict[str, TaskID] = {}

    def read(name: str, done: int, size: int) -> None:
        if not tasks:
            bars.start()
        if name not in tasks:
            tasks[name] = bars.add_task(name, total=size)
        bars.update(tasks[name], completed=done, visible=done < size)

    try:
        yield read
    finally:
        if tasks:
            bars.stop()


def _assigned(
    option: str, texts: Iterable[str], iris: Iterable[str], read: Callable[[str, str], Value]
) -> dict[str, Value]:
    """The value for each knowledge base: its own, else the one for all, else none."""
    known = list(iris)
    for_all: dict[str, Value] = {}
    own: dict[str, Value] = {}
    for text in texts:
        iri, equals, value = text.rpartition("=")
        if not equals:
            for_all = dict.fromkeys(known, read(option, value))
            continue
        iri = iri.removeprefix("<").removesuffix(">")
        if iri not in known:
            hint = "knowledge bases: " + (", ".join(f"<{name}>" for name in known) or "none")
            raise InputError(f"{option} '{text}' is about none of the knowledge bases", hint=hint)
        own[iri] = read(option, value)
    return for_all | own


def _failure(option: str, text: str) -> Failure:
    for known in FAILURES:
        if text == known:
            return known
    raise InputError(f"{option} '{text}' is unknown", hint=f"one of {', '.join(FAILURES)}")


def _rdfs(option: str, text: str) -> bool:
    if text.lower() != "rdfs":
        raise InputError(f"{option} '{text}' is unknown", hint="rdfs")
    return True


def _seconds(option: str, text: str) -> float:
    try:
        return parse_duration(text) / _SECOND
    except ValueError as error:
        raise InputError(f"{option}: {error}", hint="for example 30s, 5m, 1h") from error


def _positive_seconds(option: str, text: str) -> float:
    seconds = _seconds(option, text)
    if seconds <= 0:
        raise InputError(f"{option} '{text}' is no time to wait", hint="for example 30s")
    return seconds
