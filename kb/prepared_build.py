"""`spaseq kb build`: RDF files of any size to a prepared file, in bounded memory.

What is read is cut into runs, which go to temporary files beside the output. The terms of all runs are merged, which
gives their ids; then the triples are, with these ids.
"""

from __future__ import annotations

import json
import os
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pyoxigraph

from kb.blank_labels import BlankLabels
from kb.entail import materialised
from kb.errors import KnowledgeBaseError
from kb.local import Columns, Progress, append, graph_of, read_files
from kb.prepared_file import ALIGNMENT, CHECKSUM, COLUMNS, HEAD, MAGIC, VERSION
from kb.prepared_merge import TermRuns, TripleRuns
from kb.spool import Spool
from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.numeric import float64
from sparql_gpm.reading.document_terms import ParsedTerm, to_term
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import relabelled

RUN_BYTES_MAX = 32 << 20
"""Memory of the terms and triples of a run, about; merging takes less."""
_TERM_BYTES = 400
"""Memory of a distinct term of a run beside its text, which is there twice."""
_TRIPLE_BYTES = 24
_QUADS_AT_ONCE = 1024


def build(
    sources: Sequence[str],
    output: Path,
    *,
    entail: bool = False,
    base: str = "urn:kb",
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Writes a prepared file from RDF files, directories and globs; gives the numbers of triples and terms.

    An existing output is replaced at once when the new one is complete, so that processes may go on with the old
    one. With `entail` all triples are in memory at once. Raises KnowledgeBaseError.
    """
    runs = _Runs(output.absolute().parent)
    if entail:
        _add_entailed(runs, sources, base, progress)
    else:
        for source in sources:
            read_files(source, base, runs.take, progress)
        runs.end()
    columns = runs.merged()
    try:
        _write(output, columns, entail)
    except OSError as error:
        raise KnowledgeBaseError(error.strerror or str(error), str(output), hint="it could not be written") from error
    return len(columns["subjects"]), len(columns["hashes"])


class _Runs:
    """Quads in temporary files, cut into runs by the memory that they take."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._files = folder, 0
        self._terms, self._triples = TermRuns(folder), TripleRuns(folder)
        self._begin()

    def _begin(self) -> None:
        self._known: dict[ParsedTerm, int] = {}
        self._tokens: list[bytes] = []
        self._numbers = array("d")
        self._columns: Columns = (array("q"), array("q"), array("q"))
        self._bytes = 0

    def take(self, quads: Iterator[pyoxigraph.Quad], _: BlankLabels) -> None:
        """Add the quads of a file. Its blank nodes are told from those of others by the number of the file."""
        scope = self.next_scope()
        blank: dict[ParsedTerm, int] = {}
        while some := list(islice(quads, _QUADS_AT_ONCE)):
            for quad in some:
                for column, parsed in zip(self._columns, (quad.subject, quad.predicate, quad.object), strict=True):
                    place = self._known.get(parsed)
                    if place is None and (place := blank.get(parsed)) is None:
                        place = self._new(parsed, scope)
                        (blank if isinstance(parsed, pyoxigraph.BlankNode | pyoxigraph.Triple) else self._known)[
                            parsed
                        ] = place
                    column.append(place)
            self._bytes += len(some) * _TRIPLE_BYTES
            if self._bytes > RUN_BYTES_MAX:
                self.end()
                blank.clear()

    def next_scope(self) -> str:
        """The beginning of the labels of the blank nodes of the next file."""
        self._files += 1
        return f"kb{self._files - 1}x"

    def _new(self, parsed: ParsedTerm, scope: str) -> int:
        term = relabelled(to_term(parsed), lambda label: scope + label)
        token = canonical_token(term)
        self._tokens.append(token)
        self._numbers.append(float64(term))
        self._bytes += _TERM_BYTES + 2 * len(token)
        return len(self._tokens) - 1

    def end(self) -> None:
        """End the run; the next one knows none of its terms."""
        subjects, predicates, objects = (np.frombuffer(column, dtype=np.int64) for column in self._columns)
        places = self._terms.add(self._tokens, np.frombuffer(self._numbers))
        self._triples.add((places[subjects], places[predicates], places[objects]))
        self._begin()

    def add(self, triples: tuple[Ids, Ids, Ids], dictionary: Dictionary) -> None:
        """Add a run of triples whose terms are in a dictionary."""
        used, places = np.unique(np.concatenate(triples), return_inverse=True)
        tokens = [dictionary.token(identifier) for identifier in used.tolist()]
        subjects, predicates, objects = self._terms.add(tokens, dictionary.numbers[used])[places].reshape(3, -1)
        self._triples.add((subjects, predicates, objects))

    def merged(self) -> dict[str, Spool]:
        """The columns of the file."""
        kinds = {"texts": "u1", "offsets": "i8", "hashes": "u8", "numbers": "f8"}
        columns = {name: Spool(kinds.get(name, "i8"), self._folder) for name in COLUMNS}
        self._terms.merge_into(columns)
        self._triples.merge_into(columns, self._terms)
        return columns


def _add_entailed(runs: _Runs, sources: Sequence[str], base: str, progress: Progress | None) -> None:
    """Add the triples of the sources, and all that follow from them together, as one run."""
    dictionary = Dictionary()
    columns: Columns = (array("q"), array("q"), array("q"))

    def take(quads: Iterator[pyoxigraph.Quad], _: BlankLabels) -> None:
        scope = runs.next_scope()
        append(quads, lambda label: scope + label, dictionary, columns)

    for source in sources:
        read_files(source, base, take, progress)
    subjects, predicates, objects = (np.frombuffer(column, dtype=np.int64) for column in columns)
    graph = graph_of(base, *materialised((subjects, predicates, objects), dictionary))
    runs.add(graph.terms, dictionary)


def _write(output: Path, columns: Mapping[str, Spool], entailed: bool) -> None:
    """Write the file beside its place, then move it there."""
    sections = {name: (columns[name].kind.str, 0, len(columns[name]), 0) for name in COLUMNS}
    room = len(json.dumps({"arrays": sections, "entailed": entailed, "size": 0})) + 34 * (len(sections) + 1)
    start = _aligned(HEAD.size + CHECKSUM.size + room)
    part = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            for name in COLUMNS:
                column = columns[name]
                file.seek(start)
                sections[name] = (column.kind.str, start, len(column), column.copy(file))
                start = _aligned(start + len(column) * column.kind.itemsize)
            file.truncate(start)
            text = json.dumps({"arrays": sections, "entailed": entailed, "size": start}).encode().ljust(room)
            file.seek(0)
            file.write(HEAD.pack(MAGIC, VERSION, room) + CHECKSUM.pack(zlib.crc32(text)) + text)
            file.flush()
            os.fsync(file.fileno())
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)


def _aligned(place: int) -> int:
    return -(-place // ALIGNMENT) * ALIGNMENT
