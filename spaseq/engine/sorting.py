"""Inputs sorted by the times of their events, or written in another format: `spaseq sort` and `spaseq convert`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import BATCH_EVENTS, ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.event_lines import event_lines
from spaseq.engine.options import RunOptions
from spaseq.engine.stream_formats import contexts_of, stream_format
from spaseq.errors import InputError
from spaseq.inputs.paths import InputFile, input_files
from spaseq.inputs.reading import StreamFormat
from spaseq.inputs.sorting import MEMORY, Sorting, SortOptions
from spaseq.inputs.streams import open_stream
from spaseq.outputs.dead_letters import DeadLetters
from spaseq.outputs.event_files import EventFile, as_trig

STREAM = "S"
"""The name of the stream in names of events that have no graph IRI."""


@dataclass(frozen=True, slots=True)
class Written:
    """Events written, triples of the default graph that were dropped, and dead letters by kind."""

    events: int
    dropped: int = 0
    dead_letters: Mapping[str, int] = field(default_factory=dict)


def sort_inputs(inputs: Sequence[str], output: Path, options: RunOptions, memory: int = MEMORY) -> Written:
    """Write the events of some inputs in the order of time; raises InputError or RunError."""
    files = _files(inputs, options)
    check_output(output, files)
    with closing(DeadLetters(options.dead_letter, options.strict)) as letters:
        report = partial(letters.malformed, STREAM)
        sorting = Sorting(files, SortOptions(_read_options(options), report, _how(options), memory))
        with closing(EventFile(output)) as written:
            written.write(sorting.texts())
        letters.check_whole()
        return Written(sorting.events, sorting.dropped, letters.counts)


def convert_inputs(inputs: Sequence[str], output: Path, options: RunOptions) -> Written:
    """Write the events of some inputs in their order; raises InputError or RunError."""
    check_output(output, _files(inputs, options))
    with closing(DeadLetters(options.dead_letter, options.strict)) as letters:
        converting = _Converting(options, letters)
        with closing(EventFile(output)) as written:
            for path in inputs:
                written.write(converting.texts(path))
        letters.check_whole()
        return Written(converting.events, 0, letters.counts)


@dataclass(frozen=True, slots=True)
class Peeked:
    """The first event of an input as TriG; None, and the reason, if there is none."""

    event: str | None
    reason: str = ""


def first_event(path: str, options: RunOptions) -> Peeked:
    """The first event of an input that can be used."""
    reasons: list[str] = []
    with closing(DeadLetters(options.dead_letter)) as letters:
        converting = _Converting(replace(options, batch_events=1), letters)
        event = next(converting.texts(path, lambda fault: reasons.append(fault.reason)), None)
    if event is not None:
        return Peeked(as_trig(event).decode())
    return Peeked(None, reasons[0] if reasons else "there is no event")


def check_output(output: Path, files: Sequence[InputFile]) -> None:
    """Raises InputError for an output that is an input."""
    if output.exists() and any(Path(file.path).exists() and output.samefile(file.path) for file in files):
        raise InputError(f"the output {output} is an input", hint="write to another file")


class _Converting:
    """Events as N-Quads, as they are read."""

    def __init__(self, options: RunOptions, letters: DeadLetters) -> None:
        self._read = _read_options(options)
        self._how = _how(options)
        self._letters = letters
        self.events = 0

    def texts(self, path: str, on_fault: Callable[[Malformed], object] = lambda _: None) -> Iterator[bytes]:
        """The events of an input; faults are dead letters, too."""
        dictionary = Dictionary()

        def report(source: str, fault: Malformed) -> None:
            on_fault(fault)
            self._letters.malformed(STREAM, source, fault)

        for batch in open_stream(path, STREAM, dictionary, report, self._read, self._how):
            events = batch.events
            for index in range(len(events)):
                times, quads = event_lines(events, index, dictionary, self._read)
                self.events += 1
                yield "".join(f"{line}\n" for line in times + quads).encode()
            dictionary.retain([])


def _files(inputs: Sequence[str], options: RunOptions) -> list[InputFile]:
    how = _how(options)
    return [file for path in inputs for file in input_files(path, how.name, how.template is not None)]


def _how(options: RunOptions) -> StreamFormat:
    return stream_format(options, (STREAM,), options.time_reading({}))


def _read_options(options: RunOptions) -> ReadOptions:
    reading = options.time_reading({})
    return ReadOptions(
        reading.predicates,
        batch_events=options.batch_events or BATCH_EVENTS,
        stream=STREAM,
        line_bytes_max=options.max_line,
        time_rule=reading.rule,
        contexts=contexts_of(options),
    )
