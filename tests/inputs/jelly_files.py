"""Jelly written by pyjelly."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import chain

import pyoxigraph as ox
from pyjelly import jelly
from pyjelly.integrations.generic import generic_sink as generic
from pyjelly.integrations.generic.serialize import GenericSinkTermEncoder, stream_frames
from pyjelly.options import LookupPreset, StreamParameters
from pyjelly.serialize.ioutils import write_delimited
from pyjelly.serialize.streams import GraphStream, QuadStream, SerializerOptions, TripleStream

STREAMS = {"quads": QuadStream, "graphs": GraphStream, "triples": TripleStream}
LOGICAL = {
    "flat quads": jelly.LOGICAL_STREAM_TYPE_FLAT_QUADS, "flat triples": jelly.LOGICAL_STREAM_TYPE_FLAT_TRIPLES,
    "datasets": jelly.LOGICAL_STREAM_TYPE_DATASETS, "graphs": jelly.LOGICAL_STREAM_TYPE_GRAPHS,
}  # fmt: skip


def written(
    units: Sequence[Iterable[ox.Quad]],
    physical: str,
    logical: str,
    tables: int = 8,
    frame_size: int = 3,
    namespaces: bool = False,
) -> bytes:
    """The quads of units as Jelly; with the logical types datasets and graphs a frame for each unit.

    frame_size  the rows of a frame, if frames mean nothing
    namespaces  a namespace is declared before each unit
    """
    preset = LookupPreset(max_names=tables, max_prefixes=tables, max_datatypes=tables)
    options = SerializerOptions(
        frame_size=frame_size,
        logical_type=LOGICAL[logical],
        lookup_preset=preset,
        params=StreamParameters(namespace_declarations=namespaces),
    )
    stream = STREAMS[physical](encoder=GenericSinkTermEncoder(lookup_preset=preset), options=options)
    output = io.BytesIO()
    for unit in [list(chain.from_iterable(units))] if "flat" in logical else units:
        sink = generic.GenericStatementSink()
        if namespaces:
            sink.bind("ex", generic.IRI("http://ex.org/ns#"))
        for quad in unit:
            sink.add(statement(quad, physical == "triples"))
        for frame in stream_frames(stream, sink):
            write_delimited(frame, output)
    return output.getvalue()


def statement(quad: ox.Quad, triples: bool) -> generic.Triple | generic.Quad:
    """A statement of pyoxigraph as one of pyjelly."""
    terms = [term(each) for each in (quad.subject, quad.predicate, quad.object)]
    return generic.Triple(*terms) if triples else generic.Quad(*terms, term(quad.graph_name))


def term(each: object) -> object:
    """A term of pyoxigraph as one of pyjelly."""
    match each:
        case ox.NamedNode():
            return generic.IRI(each.value)
        case ox.BlankNode():
            return generic.BlankNode(each.value)
        case ox.Literal():
            plain = each.datatype.value == "http://www.w3.org/2001/XMLSchema#string" or each.language
            return generic.Literal(each.value, each.language, None if plain else each.datatype.value)
    return generic.DefaultGraph
