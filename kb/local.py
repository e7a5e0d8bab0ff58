"""Knowledge bases from RDF files on this machine, read into columns as an event's graph is.

Literals keep their lexical form, so that values join with those of events as the same terms. Nothing
here opens a connection: the parsers load no remote JSON-LD context and no external XML entity.
"""

from __future__ import annotations

import glob
import gzip
import os
import zlib
from array import array
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, cast

import numpy as np
import pyoxigraph
from pyoxigraph import RdfFormat

from arrays.wanted import check_wanted
from kb.blank_labels import BlankLabels
from kb.entail import materialised
from kb.errors import KnowledgeBaseError
from kb.triple_filter import TripleFilter
from kb.xml_safety import entity_fault
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.pattern import Pattern
from sparql_gpm.reading.document_terms import ParsedTerm, to_term
from sparql_gpm.reading.json_depth import is_deep, too_deep
from sparql_gpm.reading.nesting import may_be_deep
from sparql_gpm.reading.strict import BY_LINE, check_depths, check_star, without_versions
from sparql_gpm.relations.keys import first_rows
from sparql_gpm.terms import relabelled

FORMATS: Mapping[str, RdfFormat] = {
    ".ttl": RdfFormat.TURTLE, ".nt": RdfFormat.N_TRIPLES, ".nq": RdfFormat.N_QUADS, ".trig": RdfFormat.TRIG,
    ".rdf": RdfFormat.RDF_XML, ".xml": RdfFormat.RDF_XML, ".owl": RdfFormat.RDF_XML, ".jsonld": RdfFormat.JSON_LD,
}  # fmt: skip
"""The suffixes that are read, each also with `.gz`."""

_ALL_LABELS_GIVEN = (RdfFormat.N_TRIPLES, RdfFormat.N_QUADS)
"""The formats in which every blank node has a label."""
_SUFFIXES = " ".join(FORMATS) + ", each also with .gz"

_PIECE_BYTES = 1 << 16
_QUADS_AT_ONCE = 1_024
"""Quads that are taken before it is asked whether they are still wanted."""

Columns = tuple["array[int]", "array[int]", "array[int]"]


Progress = Callable[[str, int, int], None]
"""Called with the name of a file, the number of its bytes read so far, and its size."""

Take = Callable[[Iterator[pyoxigraph.Quad], BlankLabels], None]
"""Called with the quads of a file and what labels its blank nodes."""


def load_graph(
    source: str | os.PathLike[str],
    iri: str,
    dictionary: Dictionary,
    *,
    entail: bool = False,
    usable: Collection[Pattern] | None = None,
    progress: Progress | None = None,
) -> EventBatch:
    """The triples of a file, of the files of a directory, or of those a glob names, as a batch of one event.

    A knowledge base is one graph: the graph names of quads are ignored, and every triple is there once.
    The caller holds its terms in the dictionary. Relative IRIs are resolved against the knowledge base's own;
    blank nodes are local to their file. Raises KnowledgeBaseError.

    entail  add what follows by RDFS
    usable  keep only triples that these patterns can use; with `entail` everything is kept, as all may lead to such
    """
    wanted = None if usable is None or entail else TripleFilter(usable)
    columns: Columns = (array("q"), array("q"), array("q"))

    def take(quads: Iterator[pyoxigraph.Quad], labels: BlankLabels) -> None:
        seen = labels.seen(quads)
        append(filter(wanted, seen) if wanted else seen, labels, dictionary, columns)

    read_files(os.fspath(source), iri, take, progress)
    subjects, predicates, objects = (np.frombuffer(column, dtype=np.int64) for column in columns)
    triples = subjects, predicates, objects
    return graph_of(iri, *(materialised(triples, dictionary) if entail else triples))


def read_files(source: str, iri: str, take: Take, progress: Progress | None) -> None:
    """Read the files that a path, directory or glob stands for; raises KnowledgeBaseError."""
    for place, path in enumerate(files_of(source)):
        _read_file(path, iri, place, take, progress)


def graph_of(iri: str, subjects: Ids, predicates: Ids, objects: Ids) -> EventBatch:
    """A knowledge base's triples, each once, as a batch of one event."""
    rows = first_rows([subjects, predicates, objects])
    return EventBatch.of_graph(iri, subjects[rows], predicates[rows], objects[rows])


def files_of(source: str) -> tuple[Path, ...]:
    """The files that a path, directory or glob stands for, in name order; at least one, and none with a hidden name."""
    assert not source.lower().startswith(("http://", "https://")), source
    path = Path(source)
    if path.is_dir():
        shown = (child for child in path.iterdir() if not child.name.startswith("."))
        found = sorted(child for child in shown if child.is_file() and suffix_of(child) in FORMATS)
        if not found:
            raise KnowledgeBaseError("no RDF file in this directory", source, hint=f"suffixes read: {_SUFFIXES}")
        return tuple(found)
    if not path.exists() and glob.has_magic(source):
        found = sorted(Path(name) for name in glob.glob(source, recursive=True) if Path(name).is_file())
        if not found:
            raise KnowledgeBaseError("no file matches this pattern", source, hint="check the path and the wildcards")
        return tuple(found)
    return (path,)


def suffix_of(path: Path) -> str:
    """The suffix of the format, in lower case, without `.gz`."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _read_file(path: Path, iri: str, place: int, take: Take, progress: Progress | None) -> None:
    suffix = suffix_of(path)
    if suffix not in FORMATS:
        raise KnowledgeBaseError(f"unknown suffix {suffix!r}", str(path), hint=f"suffixes read: {_SUFFIXES}")
    try:
        if FORMATS[suffix] == RdfFormat.RDF_XML:
            _check_entities(path)
        elif path.is_file():
            _check_readable(path, FORMATS[suffix])
        with path.open("rb") as raw, _unpacked(raw, path, progress) as stream:
            if FORMATS[suffix] in BY_LINE:
                stream = cast(IO[bytes], _WithoutVersions(stream))
            quads = pyoxigraph.parse(stream, format=FORMATS[suffix], base_iri=iri)
            take(quads, BlankLabels(raw, iri, place, given=FORMATS[suffix] in _ALL_LABELS_GIVEN))
    except SyntaxError as error:
        raise _syntax_error(error, path, suffix) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise KnowledgeBaseError(f"damaged gzip file: {error}", str(path), hint="fetch or compress it again") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise KnowledgeBaseError(reason, str(path), hint="the file must exist and be readable") from error
    except ValueError as error:
        raise KnowledgeBaseError(str(error), str(path), hint=f"{iri!r} must be an absolute IRI") from error


def _check_entities(path: Path) -> None:
    with _opened(path) as stream:
        fault = entity_fault(stream)
    if fault:
        raise KnowledgeBaseError(fault, str(path), hint="write out what it stands for, or convert the file")


def _check_readable(path: Path, rdf_format: RdfFormat) -> None:
    """Raises SyntaxError for what is so deep that its parser would end the process, and for what it would pass over."""
    if rdf_format == RdfFormat.JSON_LD:
        with _opened(path) as stream:
            if is_deep(stream):
                raise too_deep()
        with _opened(path) as stream:
            check_star(stream)
        return
    with _opened(path) as stream:
        if not may_be_deep(stream, rdf_format in BY_LINE):
            return
    with _opened(path) as stream:
        check_depths(stream.read(), rdf_format)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw, _unpacked(raw, path, None) as stream:
        yield stream


@contextmanager
def _unpacked(raw: IO[bytes], path: Path, progress: Progress | None) -> Iterator[IO[bytes]]:
    watched = raw if progress is None else cast(IO[bytes], _Watched(raw, path, progress))
    if not path.name.lower().endswith(".gz"):
        yield watched
        return
    with gzip.GzipFile(fileobj=watched, mode="rb") as unzipped:
        yield cast(IO[bytes], unzipped)


class _WithoutVersions:
    """A file of N-Quads or N-Triples without the versions of RDF that it states."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw, self._lines, self._begun = raw, b"", b""

    def read(self, size: int) -> bytes:
        """See `IO`."""
        while not self._lines:
            piece = self._raw.read(_PIECE_BYTES)
            if not piece:
                self._lines, self._begun = without_versions(self._begun), b""
                break
            lines, end, self._begun = (self._begun + piece).rpartition(b"\n")
            self._lines = without_versions(lines + end)
        read, self._lines = self._lines[:size], self._lines[size:]
        return read


class _Watched:
    """A file that reports the progress of reading."""

    def __init__(self, raw: IO[bytes], path: Path, progress: Progress) -> None:
        self._raw, self._name, self._size, self._progress = raw, path.name, path.stat().st_size, progress
        self._done = 0

    def read(self, size: int = -1) -> bytes:
        """See `IO`."""
        piece = self._raw.read(size)
        self._done += len(piece)
        self._progress(self._name, self._done, self._size)
        return piece


def append(
    quads: Iterator[pyoxigraph.Quad], label: Callable[[str], str], dictionary: Dictionary, columns: Columns
) -> None:
    """Adds the ids of the triples of a file's quads; each distinct term is translated once. Raises NotWanted."""
    known: dict[ParsedTerm, int] = {}
    while some := list(islice(quads, _QUADS_AT_ONCE)):
        check_wanted()
        for quad in some:
            for column, parsed in zip(columns, (quad.subject, quad.predicate, quad.object), strict=True):
                identifier = known.get(parsed)
                if identifier is None:
                    identifier = known[parsed] = dictionary.intern(relabelled(to_term(parsed), label))
                column.append(identifier)


def _syntax_error(error: SyntaxError, path: Path, suffix: str) -> KnowledgeBaseError:
    message = str(error.args[0] if error.args else error)
    hint = f"it was read as {FORMATS[suffix].name} because of its suffix"
    if "LoadDocumentCallback" in message:
        message, hint = "a remote JSON-LD context, which is never fetched", "put the context into the file"
    return KnowledgeBaseError(message, str(path), line=error.lineno or 0, column=error.offset or 0, hint=hint)
