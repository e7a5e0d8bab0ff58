"""Events from RDF bytes: N-Quads, TriG, Turtle, N-Triples, JSON-LD, messages.

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

import pyoxigraph as ox

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.reading.blocks import ByteStream
from sparql_gpm.reading.document import DocumentReader
from sparql_gpm.reading.document_terms import TermIds
from sparql_gpm.reading.event_builder import EventBuilder, LocatedBatch, Malformed
from sparql_gpm.reading.jelly import JellyReader
from sparql_gpm.reading.lines import NQuadsReader
from sparql_gpm.reading.options import BATCH_EVENTS, PROV_TIME, ReadOptions
from sparql_gpm.reading.trig import TriGReader
from sparql_gpm.reading.units import JsonLdReader, MessageReader

FORMATS = ("nquads", "trig", "turtle", "ntriples", "jsonld", "ndjsonld", "jelly", "messages")
_Reader = NQuadsReader | TriGReader | DocumentReader | JsonLdReader | MessageReader | JellyReader

__all__ = [
    "BATCH_EVENTS", "FORMATS", "PROV_TIME", "EventReader", "LocatedBatch", "Malformed", "ReadOptions", "read_events",
]  # fmt: skip


class EventReader:
    """Reads the documents of one stream in turn; an event does not extend over the end of a document.

    builder     one that others use as well
    """

    def __init__(
        self,
        dictionary: Dictionary,
        options: ReadOptions,
        on_malformed: Callable[[Malformed], None],
        builder: EventBuilder | None = None,
    ) -> None:
        builder = builder or EventBuilder(dictionary, options, on_malformed)
        self._terms = terms = TermIds(dictionary, builder, options)
        self._readers: dict[str, _Reader] = {}
        self._makers: dict[str, Callable[[], _Reader]] = {
            "nquads": lambda: NQuadsReader(dictionary, terms, builder, options),
            "trig": lambda: TriGReader(dictionary, terms, builder, options),
            "turtle": lambda: DocumentReader(terms, builder, options, ox.RdfFormat.TURTLE),
            "ntriples": lambda: DocumentReader(terms, builder, options, ox.RdfFormat.N_TRIPLES),
            "jsonld": lambda: JsonLdReader(terms, builder, options, lines=False),
            "ndjsonld": lambda: JsonLdReader(terms, builder, options, lines=True),
            "jelly": lambda: JellyReader(dictionary, terms, builder, options),
            "messages": lambda: MessageReader(terms, builder, options),
            "nquads messages": lambda: MessageReader(terms, builder, options, ox.RdfFormat.N_QUADS),
        }

    def read(self, stream: ByteStream, rdf_format: str, live: bool = False) -> Iterator[LocatedBatch]:
        """The events of one document; `rdf_format` is one of FORMATS.

        A live stream's `read` returns what there is without waiting; complete events are then yielded at once, not only
        in full batches. The ids of a batch are valid until the next batch: then the dictionary may have released them.
        """
        if rdf_format not in self._makers:
            raise ValueError(f"unknown RDF format {rdf_format!r}: expected one of {', '.join(FORMATS)}")
        if rdf_format not in self._readers:
            self._readers[rdf_format] = self._makers[rdf_format]()
        return self._read(self._readers[rdf_format], stream, live)

    def _read(self, reader: _Reader, stream: ByteStream, live: bool) -> Iterator[LocatedBatch]:
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
