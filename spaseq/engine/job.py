"""Queries over files, to the end of the files."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from arrays.times import BEFORE_ALL
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import ReadOptions
from sparql_gpm.reading.event_builder import Malformed
from sparql_gpm.reading.predicate_filter import PredicateFilter
from spaseq.algebra.nodes import AnyQuery, TemporalQuery
from spaseq.engine.arguments import check_knowledge, meanings_of
from spaseq.engine.intake import StreamIntake
from spaseq.engine.options import RunOptions, Statistics
from spaseq.engine.predicate_filters import predicate_filter
from spaseq.engine.setup import BatchOver, Knowledge, Setup, named_knowledge, skipped_rows
from spaseq.engine.stream_formats import check_names, contexts_of, stream_format
from spaseq.engine.streams import prefixes_of, resolve_streams
from spaseq.errors import InputError, check_all
from spaseq.inputs.paths import input_bytes
from spaseq.inputs.streams import SourceBatch, is_read_ahead, open_sorted, open_stream, open_table
from spaseq.outputs.dead_letters import DeadLetters, late_letter
from spaseq.outputs.row_table import Rows
from spaseq.runtime.embedded.network import Network
from spaseq.runtime.embedded.operator import QueryOperator
from spaseq.runtime.embedded.pieces import InPieces, Result

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from spaseq.explain.funnel import Funnel
    from spaseq.inputs.batches_ahead import BatchesAhead

_COMPILED_BYTES_MIN = 256 << 20
"""Input from this size on is worth compiling kernels for."""


class Job:
    """Queries over files, to their end; its streams and knowledge bases are those of `run`."""

    operators = QueryOperator
    """What its queries become."""

    def __init__(
        self,
        queries: Sequence[AnyQuery],
        streams: Mapping[str, Any],
        kb: Knowledge | None = None,
        options: RunOptions | None = None,
    ) -> None:
        meanings = meanings_of(queries)
        check_knowledge(kb)
        if not isinstance(options, RunOptions | None):
            raise InputError(f"options are RunOptions, not {type(options).__name__}")
        self._options = options or RunOptions()
        self._dictionary = Dictionary()
        self._ready: list[Rows] = []
        self._ended = False
        paths = resolve_streams(meanings, streams)
        self._bytes_expected = input_bytes(path for _, path in paths.values() if isinstance(path, str))
        self._batch_events = self._options.batch_events_for(len(meanings))
        if self._options.compiled is None:
            self._options = replace(self._options, compiled=self._bytes_expected >= _COMPILED_BYTES_MIN or None)
        named = named_knowledge(meanings, kb or {})
        setup = Setup(named, self._options, self._dictionary, meanings, operators=self.operators)
        self._bases = setup.bases
        self._setup = setup
        self._network = Network(self._dictionary, self._options.max_delay_ns)
        self._operators = [setup.operator(meaning) for meaning in meanings]
        for operator in self._operators:
            self._network.add(operator, self._collect)
        self._dead_letters = DeadLetters(self._options.dead_letter, self._options.strict)
        self.statistics = Statistics(dead_letters=self._dead_letters.counts)
        self._names = {iri: name for iri, (name, _) in paths.items()}
        self._contexts = contexts_of(self._options)
        check_names(self._options, (*self._names, *self._names.values()))
        self._intake = {iri: StreamIntake(name) for iri, name in self._names.items()}
        self._time = self._options.time_reading(prefixes_of(meanings))
        self._filters = self._predicate_filters(meanings)
        self._thread: Executor | None = None
        self._ahead: dict[str, BatchesAhead] = {}
        self._sources = {iri: self._open(iri, name, path) for iri, (name, path) in paths.items()}
        self._newest = dict.fromkeys(paths, BEFORE_ALL)

    def rows(self) -> Iterator[Rows]:
        """Rows in output order, in pieces; some pieces are empty, so that progress can be shown.

        A piece that is a table must be read before the next one is asked for, as its ids hold until then.

        Raises RunError after the last piece if an input broke off or a query had too many partial matches, or both.
        """
        while self._sources and self._network.goes_on:
            iri = min(self._sources, key=self._network.watermark)
            batch = next(self._sources[iri], None)
            with BatchOver(self._bases):
                if batch is None:
                    del self._sources[iri]
                    yield from self._found(self._closing(iri))
                else:
                    self._read_on(iri)
                    yield from self._take(iri, batch)
            yield self._batch_over()
            self._dead_letters.check_written()
            self._network.release_terms(beside=tuple(self._ahead.values()))
        with BatchOver(self._bases):
            yield from self._found(self._finishing())
        yield self._batch_over()
        check_all(self._network.raise_stopped, self._dead_letters.check_whole, self._check_taken)
        self._ended = True

    def zero_rows(self) -> list[str]:
        """Once the input has ended without a row: the reasons, at most five lines."""
        if not self._ended or self.statistics.matches:
            return []
        left_out = {iri: tuple(filter_.left_out) for iri, filter_ in self._filters.items()}
        return self._setup.zero_rows(self._network, self._dead_letters.counts, left_out)

    def funnels(self) -> list[Funnel]:
        """The funnel of each query so far, with the option `analyze`; else none."""
        from spaseq.engine.funnels import funnel_of
        from spaseq.runtime.embedded.counted_operator import CountedOperator

        counted = [each for each in self._operators if isinstance(each, CountedOperator)]
        return [funnel_of(each.query, each.automaton, each.tally) for each in counted]

    def close(self) -> None:
        """Finish the dead-letter output, close what knowledge bases have open."""
        if self._thread is not None:
            self._thread.shutdown()
        self._dead_letters.close()
        self._bases.close()

    def _closing(self, iri: str) -> InPieces[None]:
        """The rows that the end of a stream's input brings."""
        return self._network.closing(iri)

    def _finishing(self) -> InPieces[None]:
        """The rows that the end of all input brings."""
        return self._network.finishing()

    def _predicate_filters(self, queries: Sequence[TemporalQuery]) -> dict[str, PredicateFilter]:
        """The triples that some query can use, by the IRI of the stream, where others need not be read.

        Dead letters have whole events, and schemas derive triples from any predicate.
        """
        if not self._options.optimise or self._options.dead_letter is not None or self._setup.entailed is not None:
            return {}
        found = {iri: predicate_filter(queries, iri) for iri in self._names}
        return {iri: filter_ for iri, filter_ in found.items() if filter_ is not None}

    def _open(self, iri: str, name: str, source: Any) -> Iterator[SourceBatch]:
        clock = time.time_ns if self._options.arrival_time else None
        options = ReadOptions(
            self._time.predicates,
            clock,
            self._batch_events,
            line_bytes_max=self._options.max_line,
            bytes_expected=self._bytes_expected,
            time_rule=self._time.rule,
            contexts=self._contexts,
            threads=self._options.reader_threads,
            predicates=self._filters.get(iri),
            quiet_s=self._options.quiet_end_s or None,
        )
        report = partial(self._malformed, name, iri)
        how = stream_format(self._options, (name, iri), self._time)
        if not isinstance(source, str):
            return open_table(source, name, self._dictionary, report, options, how)
        if self._options.unordered:
            return open_sorted(source, name, self._dictionary, report, options, how)
        if options.threads == 1 or clock is not None or not is_read_ahead(source, how):
            return open_stream(source, name, self._dictionary, report, options, how)
        from spaseq.inputs.batches_ahead import BatchesAhead, ReadFaults

        faults = ReadFaults(report)
        ahead = BatchesAhead(open_stream(source, name, self._dictionary, faults.note, options, how), faults)
        self._ahead[iri] = ahead
        return ahead

    def _read_on(self, iri: str) -> None:
        """Let another thread read the next batch of a stream, if that is worth it, and terms are in arrays already."""
        if iri not in self._ahead or not self._dictionary.has_table:
            return
        if self._thread is None:
            from spaseq.inputs.batches_ahead import reader_thread

            self._thread = reader_thread()
        self._ahead[iri].read_on(self._thread)

    def _malformed(self, name: str, iri: str, source: str, fault: Malformed) -> None:
        self._intake[iri].lose(fault)
        self._dead_letters.malformed(name, source, fault, iri)

    def _check_taken(self) -> None:
        """Raises RunError for streams that were read to their end and gave nothing after their first event."""
        if not self._sources:
            check_all(*(intake.check for intake in self._intake.values()))

    def _take(self, iri: str, batch: SourceBatch) -> Iterator[Rows]:
        late = (yield from self._found(self._network.pushing(iri, batch.events))).tolist()
        self._intake[iri].take(batch.events, len(late), batch.emptied)
        self._late(iri, batch, late)
        self.statistics.events += len(batch)
        if len(batch):
            self._newest[iri] = max(self._newest[iri], int(batch.events.times.max()))
        known = [newest for newest in self._newest.values() if newest > BEFORE_ALL]
        self.statistics.lag_ns = max(known) - min(known) if known else 0

    def _late(self, iri: str, batch: SourceBatch, late: Sequence[int]) -> None:
        """Writes the letters of late events of a batch."""
        for index in late:
            letter = late_letter(self._names[iri], iri, *batch.place(index), batch.events, index, self._dictionary)
            self._dead_letters.add(letter)

    def _collect(self, rows: Rows) -> None:
        self._ready.append(rows)
        self.statistics.matches += len(rows)

    def _found(self, pieces: InPieces[Result]) -> Generator[Rows, None, Result]:
        """The rows as they are found."""
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                result: Result = end.value
                return result
            ready, self._ready = self._ready, []
            yield from ready

    def _batch_over(self) -> Rows:
        """No rows: an occasion to show progress."""
        for letter in self._setup.letters():
            self._dead_letters.add(letter)
        self.statistics.skipped_rows = skipped_rows(self._bases)
        self.statistics.replanned = {each.query.name: each.replanned for each in self._operators if each.replanned}
        return []
