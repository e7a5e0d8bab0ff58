"""Knowledge bases from RDF files on this machine, read into columns as an event's graph is.

Literals keep their lexical form, so that values join with those of events as the same terms. Nothing
here opens a connection: the parsers load no remote JSON-LD context and no external XML entity.
"""

from __future__ import annotations

import glob
import gzip
import itertools
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, assert_never, cast

import numpy as np
import pyoxigraph

from kb.errors import KnowledgeBaseError
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.relation_keys import first_rows
from sparql_gpm.terms import IRI, BlankNode, Literal, Term

FORMATS: Mapping[str, pyoxigraph.RdfFormat] = {
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".nt": pyoxigraph.RdfFormat.N_TRIPLES,
    ".nq": pyoxigraph.RdfFormat.N_QUADS,
    ".trig": pyoxigraph.RdfFormat.TRIG,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
    ".xml": pyoxigraph.RdfFormat.RDF_XML,
    ".owl": pyoxigraph.RdfFormat.RDF_XML,
    ".jsonld": pyoxigraph.RdfFormat.JSON_LD,
}
"""The suffixes that are read, each also with `.gz`."""

_SUFFIXES = " ".join(FORMATS) + ", each also with .gz"
_REMOTE = ("http://", "https://")
_files_read = itertools.count()

_Parsed = pyoxigraph.NamedNode | pyoxigraph.BlankNode | pyoxigraph.Literal | pyoxigraph.Triple


def load_graph(source: str | os.PathLike[str], iri: str, dictionary: Dictionary) -> EventBatch:
    """The triples of a file, of the files of a directory, or of those a glob names, as a batch of one event.

    A knowledge base is one graph: the graph names of quads are ignored, and every triple is there once.
    Its terms are pinned in the dictionary. Relative IRIs are resolved against the knowledge base's own;
    blank nodes are local to their file. Raises KnowledgeBaseError.
    """
    columns: tuple[list[int], list[int], list[int]] = ([], [], [])
    for path in files_of(os.fspath(source)):
        _read_file(path, iri, dictionary, columns)
    subjects, predicates, objects = (np.array(column, dtype=np.int64) for column in columns)
    return graph_of(iri, subjects, predicates, objects)


def graph_of(iri: str, subjects: Ids, predicates: Ids, objects: Ids) -> EventBatch:
    """A knowledge base's triples, each once, as a batch of one event."""
    rows = first_rows([subjects, predicates, objects])
    zero = np.zeros(1, dtype=np.int64)
    offsets = np.array([0, len(rows)], dtype=np.int64)
    return EventBatch(zero, zero, [iri], offsets, subjects[rows], predicates[rows], objects[rows])


def files_of(source: str) -> tuple[Path, ...]:
    """The files that a path, directory or glob stands for, in name order; at least one."""
    if source.lower().startswith(_REMOTE):
        raise KnowledgeBaseError(
            "knowledge bases over the network are not read by this version",
            source,
            hint="download the data to a file, or dump the endpoint's graph to one, and name that file",
        )
    path = Path(source)
    if path.is_dir():
        found = sorted(child for child in path.iterdir() if child.is_file() and suffix_of(child) in FORMATS)
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
    """The suffix that says the format, in lower case, `.gz` left aside."""
    name = path.name.lower()
    return Path(name.removesuffix(".gz")).suffix


def _read_file(path: Path, iri: str, dictionary: Dictionary, columns: tuple[list[int], list[int], list[int]]) -> None:
    suffix = suffix_of(path)
    if suffix not in FORMATS:
        raise KnowledgeBaseError(f"unknown suffix {suffix!r}", str(path), hint=f"suffixes read: {_SUFFIXES}")
    try:
        with _opened(path) as stream:
            _append(pyoxigraph.parse(stream, format=FORMATS[suffix], base_iri=iri), path, dictionary, columns)
    except SyntaxError as error:
        raise _syntax_error(error, path, suffix) from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise KnowledgeBaseError(f"damaged gzip file: {error}", str(path), hint="fetch or compress it again") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise KnowledgeBaseError(reason, str(path), hint="the file must exist and be readable") from error
    except ValueError as error:
        raise KnowledgeBaseError(str(error), str(path), hint=f"{iri!r} must be an absolute IRI") from error


def _opened(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.open(path, "rb")) if path.name.lower().endswith(".gz") else open(path, "rb")


def _append(
    quads: Iterator[pyoxigraph.Quad],
    path: Path,
    dictionary: Dictionary,
    columns: tuple[list[int], list[int], list[int]],
) -> None:
    """Adds the ids of every quad's triple; each distinct term is translated once."""
    scope = f"kb{next(_files_read)}"
    known: dict[_Parsed, int] = {}
    for quad in quads:
        for column, parsed in zip(columns, (quad.subject, quad.predicate, quad.object), strict=True):
            identifier = known.get(parsed)
            if identifier is None:
                identifier = known[parsed] = dictionary.pin(_term(parsed, scope, path))
            column.append(identifier)


def _term(parsed: _Parsed, scope: str, path: Path) -> Term:
    match parsed:
        case pyoxigraph.NamedNode():
            return IRI(parsed.value)
        case pyoxigraph.BlankNode():
            return BlankNode(f"{scope}x{parsed.value}")
        case pyoxigraph.Literal():
            return Literal(parsed.value, parsed.datatype.value, (parsed.language or "").lower())
        case pyoxigraph.Triple():
            hint = "this version reads RDF 1.1: write the statement out with ordinary triples"
            raise KnowledgeBaseError("a triple term", str(path), hint=hint)
        case _:
            assert_never(parsed)


def _syntax_error(error: SyntaxError, path: Path, suffix: str) -> KnowledgeBaseError:
    message = str(error.args[0] if error.args else error)
    hint = f"it was read as {FORMATS[suffix].name} because of its suffix"
    if "LoadDocumentCallback" in message:
        message, hint = "a remote JSON-LD context, which is never fetched", "put the context into the file"
    return KnowledgeBaseError(message, str(path), line=error.lineno or 0, column=error.offset or 0, hint=hint)
