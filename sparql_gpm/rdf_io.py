"""Events from RDF bytes: N-Quads, TriG, Turtle, N-Triples.

One named graph is one event; its timestamp is a triple about the graph name, in the default graph right
before or after the event's quads (and then no part of it) or inside the graph. In Turtle and N-Triples
each document is one event. Nothing is lost silently: whatever is left out is reported as Malformed, and
the stream goes on.

- A malformed line of N-Quads or N-Triples costs that line; its event keeps the others.
- A malformed statement or graph block of TriG costs that statement, or the event of the block.
- A malformed Turtle document, or timestamp, costs the event.
- A graph that is reopened after others costs the later part: the earlier one may have been used already.
- A triple stated twice in one event is one triple, and that is no fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyoxigraph as ox

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.blocks import LINE_BYTES_MAX, ByteStream
from sparql_gpm.reading.document import DocumentReader
from sparql_gpm.reading.document_terms import TermIds
from sparql_gpm.reading.event_builder import EventBuilder, EventNames, LocatedBatch, Malformed
from sparql_gpm.reading.lines import NQuadsReader
from sparql_gpm.reading.trig import TriGReader

PROV_TIME = "http://www.w3.org/ns/prov#generatedAtTime"
FORMATS = ("nquads", "trig", "turtle", "ntriples")
BATCH_EVENTS = 10_000

__all__ = [
    "BATCH_EVENTS", "FORMATS", "PROV_TIME", "EventReader", "LocatedBatch", "Malformed", "ReadOptions", "read_events",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options of a reader.

    time_predicates     IRIs of the predicates that state an event's time
    arrival_time        a clock in nanoseconds: events get its time, and timestamp triples are ignored
    batch_events        events in a batch, at most; fewer at the end, and when a live stream pauses
    stream              names events without a graph IRI: urn:spaseq:event:STREAM:N
    compiled            N-Quads are read by compiled kernels; None: where the input is long enough
    line_bytes_max      the longest line, statement or graph block, or document of one event that is read
    bytes_expected      a lower bound of the length of this process's input, as far as it is known
    """

    time_predicates: tuple[str, ...] = (PROV_TIME,)
    arrival_time: Callable[[], int] | None = None
    batch_events: int = BATCH_EVENTS
    stream: str = "S"
    compiled: bool | None = None
    line_bytes_max: int = LINE_BYTES_MAX
    bytes_expected: int = 0


class EventReader:
    """Reads the documents of one stream in turn; an event does not extend over the end of a document."""

    def __init__(self, dictionary: Dictionary, options: ReadOptions, on_malformed: Callable[[Malformed], None]) -> None:
        names, time_predicates = EventNames(options.stream), frozenset(options.time_predicates)
        longest = options.line_bytes_max
        builder = EventBuilder(dictionary, names, on_malformed, options.batch_events, options.arrival_time)
        terms = TermIds(dictionary, builder, time_predicates)
        self._terms = terms
        self._readers: dict[str, NQuadsReader | TriGReader | DocumentReader] = {
            "nquads": NQuadsReader(
                dictionary, terms, builder, time_predicates, options.compiled, options.bytes_expected, longest
            ),
            "trig": TriGReader(terms, builder, time_predicates, longest),
            "turtle": DocumentReader(terms, builder, time_predicates, ox.RdfFormat.TURTLE, longest),
            "ntriples": DocumentReader(terms, builder, time_predicates, ox.RdfFormat.N_TRIPLES, longest),
        }

    def read(self, stream: ByteStream, rdf_format: str, live: bool = False) -> Iterator[LocatedBatch]:
        """The events of one document; `rdf_format` is one of FORMATS.

        A live stream's `read` returns what there is without waiting; complete events are then yielded at once, not only
        in full batches. The ids of a batch are valid until the next batch: then the dictionary may have released them.
        """
        if rdf_format not in self._readers:
            raise ValueError(f"unknown RDF format {rdf_format!r}: expected one of {', '.join(FORMATS)}")
        return self._read(self._readers[rdf_format], stream, live)

    def _read(
        self, reader: NQuadsReader | TriGReader | DocumentReader, stream: ByteStream, live: bool
    ) -> Iterator[LocatedBatch]:
        self._terms.refresh()
        yield from reader.read(stream, live)


def read_events(
    stream: ByteStream,
    rdf_format: str,
    dictionary: Dictionary,
    options: ReadOptions,
    on_malformed: Callable[[Malformed], None],
    live: bool = False,
) -> Iterator[EventBatch]:
    """The events of one document, all on stream 0, without their places."""
    for batch in EventReader(dictionary, options, on_malformed).read(stream, rdf_format, live):
        yield batch.events
