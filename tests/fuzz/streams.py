"""Streams of RDF in each format, by parsers and by kernels, plain and compressed."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from random import Random
from unittest import mock

import numpy as np
import zstandard

from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.rdf_io import EventReader, Malformed, ReadOptions, read_events
from sparql_gpm.reading import lines as line_reading
from sparql_gpm.reading.json_contexts import MissingContext
from sparql_gpm.terms import to_ntriples
from spaseq.errors import SPAseqError
from spaseq.inputs.opening import opened
from spaseq.inputs.paths import InputFile
from spaseq.inputs.reading import StreamFormat, StreamReader
from tests.fuzz import corpora
from tests.fuzz.messages import messages_mutated
from tests.fuzz.mutate import mutated
from tests.fuzz.target import Finding, Target, folder

_LABEL = re.compile(r"_:\S+")
"""Labels of blank nodes, which are chosen freely."""
_LINE_MAX = 4_000
"""`max_line` of the readers that are kept."""
_KERNELS = ("nquads", "trig", "jelly")
"""The formats that kernels read."""
_CONTEXTS = {corpora.CONTEXT_URL: corpora.CONTEXT}
_FRAME_HEADERS = {"gzip": 12, "zstd": 8}

Read = tuple[list[tuple[str, int, list[str]]], list[tuple[str, int]]]


def targets() -> tuple[Target, ...]:
    """Each format by its parser, some by kernels too, and some of them compressed."""
    parsed = (Target(name, partial(_make, name), partial(_take, name.replace("-", " "))) for name in corpora.EVENTS)
    compiled = (
        Target(f"{name}-kernels", partial(_make, name), partial(_take_compiled, name), partial(_compile, name))
        for name in _KERNELS
    )
    packed = (Target(name, partial(_make_packed, name), partial(_take_packed, name)) for name in _FRAME_HEADERS)
    return (*parsed, *compiled, *packed)


def _make(rdf_format: str, random: Random) -> bytes:
    seeds = corpora.EVENTS[rdf_format]
    seed = random.choice(seeds)
    if rdf_format == "jelly":
        return messages_mutated(random, seed, seeds) if random.random() < 0.6 else mutated(random, seed, seeds, True)
    return mutated(random, seed, corpora.EVENT_TEXTS)


def _take(rdf_format: str, data: bytes) -> None:
    """Batches of one event give the same; every other input is read by a reader that goes on for ever."""
    if zlib.crc32(data) % 2:
        _kept(rdf_format).read(data)
    elif read(data, rdf_format) != read(data, rdf_format, batch_events=1):
        raise Finding("batches of one event give other events or reports")


def _take_compiled(rdf_format: str, data: bytes) -> None:
    """The compiled kernels read what the reader in Python reads; half of the inputs go to a reader that is kept."""
    with mock.patch.object(line_reading, "BLOCK_BYTES_MIN", 0):  # shorter blocks are read without kernels
        if zlib.crc32(data) % 2:
            _kept(rdf_format, compiled=True).read(data)
        elif read(data, rdf_format, compiled=True) != read(data, rdf_format, compiled=False):
            raise Finding("the compiled reader differs")


def _compile(rdf_format: str) -> None:
    with mock.patch.object(line_reading, "BLOCK_BYTES_MIN", 0):
        for seed in corpora.EVENTS[rdf_format]:
            _kept(rdf_format, compiled=True).read(seed)
            read(seed, rdf_format, compiled=True)


def read(data: bytes, rdf_format: str, **options: object) -> Read:
    """The events as text, and the reports."""
    dictionary, reports = Dictionary(), list[Malformed]()
    events = []
    settings = ReadOptions(contexts=_CONTEXTS, **options)  # type: ignore[arg-type]
    try:
        for batch in read_events(io.BytesIO(data), rdf_format, dictionary, settings, reports.append):
            events += _events(batch, dictionary)
    except MissingContext:  # it ends the run
        return [], [("context", 0)]
    return events, [(report.kind, report.line) for report in reports]


def _events(batch: EventBatch, dictionary: Dictionary) -> list[tuple[str, int, list[str]]]:
    found = []
    for number, (name, time) in enumerate(zip(batch.names, batch.times.tolist(), strict=True)):
        rows = slice(batch.offsets[number], batch.offsets[number + 1])
        columns = (batch.subjects[rows], batch.predicates[rows], batch.objects[rows])
        ids = np.stack(columns, axis=1)
        triples = [" ".join(to_ntriples(dictionary.term(i)) for i in row) for row in ids.tolist()]
        found.append((name, time, [_LABEL.sub("_:b", triple) for triple in triples]))
    return found


class _Kept:
    """A reader of one stream that reads all inputs in turn, and forgets their terms: what it keeps would grow."""

    def __init__(self, rdf_format: str, compiled: bool) -> None:
        self._format, self._dictionary = rdf_format, Dictionary()
        options = ReadOptions(line_bytes_max=_LINE_MAX, compiled=compiled, reopens=True, contexts=_CONTEXTS)
        self._reader = EventReader(self._dictionary, options, lambda report: None)

    def read(self, data: bytes) -> None:
        """Read a document."""
        with suppress(MissingContext):
            for batch in self._reader.read(io.BytesIO(data), self._format):
                assert len(batch.events.times) == len(batch.lines)
        self._dictionary.retain(())


@cache
def _kept(rdf_format: str, compiled: bool = False) -> _Kept:
    return _Kept(rdf_format, compiled)


# --- compressed --------------------------------------------------------------------------------------


def _make_packed(packing: str, random: Random) -> bytes:
    """An input, whole or with a fault, compressed in one or more frames, which have a fault more often than not."""
    rdf_format = random.choice(tuple(corpora.SUFFIXES))
    data = _make(rdf_format, random) if random.random() < 0.3 else random.choice(corpora.EVENTS[rdf_format])
    cut = random.choice((0, 0, random.randint(0, len(data))))
    found = b"".join(_packed(random, packing, part) for part in (data[:cut], data[cut:]) if part)
    if random.random() < 0.3:
        head = _FRAME_HEADERS[packing]
        found = mutated(random, found[:head], (found,), binary=True) + found[head:]
    elif random.random() < 0.8:
        found = mutated(random, found, (found,), binary=True)
    return rdf_format.encode() + b"\n" + found


def _packed(random: Random, packing: str, data: bytes) -> bytes:
    if packing == "gzip":
        return gzip.compress(data, random.choice((0, 1, 9)), mtime=0)
    checked, sized = random.random() < 0.5, random.random() < 0.5
    return zstandard.ZstdCompressor(write_checksum=checked, write_content_size=sized).compress(data)


def _take_packed(packing: str, data: bytes) -> None:
    """It is read as far as it goes, as a file is; the first line of the input says its format."""
    name, _, packed = data.partition(b"\n")
    rdf_format = name.decode()
    suffix = corpora.SUFFIXES[rdf_format] + {"gzip": ".gz", "zstd": ".zst"}[packing]
    with _file(suffix, packed) as path, suppress(SPAseqError), opened(InputFile(path, rdf_format)) as source:
        reader = StreamReader(Dictionary(), ReadOptions(), StreamFormat(rdf_format), lambda report: None)
        for batch in reader.read(source, path):
            assert len(batch.events.times) == len(batch.lines)


@contextmanager
def _file(suffix: str, data: bytes) -> Iterator[str]:
    path = folder() / f"events{suffix}"
    path.write_bytes(data)
    yield str(path)
