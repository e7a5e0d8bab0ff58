"""The prepared form of a knowledge base on disk: memory-mapped columns.

    8 bytes   b"SPASEQKB"
    4 bytes   version, little-endian as everything here
    4 bytes   length of the header
    header    JSON: for each array its type, its place and its length; whether RDFS was applied
    arrays    each at a multiple of 64

Terms are numbered from 1 in the order of the hashes of their N-Triples texts, so a term is found by
binary search; triples are sorted by predicate, subject, object.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kb.errors import KnowledgeBaseError
from kb.local import Progress, graph_of, load_graph
from sparql_gpm.columns import EventBatch, Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.term_text import canonical_token

MAGIC = b"SPASEQKB"
VERSION = 1
SUFFIX = ".kb"
_ALIGNMENT = 64
_HEAD = struct.Struct("<8sII")
_COLUMNS = ("texts", "offsets", "hashes", "numbers", "subjects", "predicates", "objects")

Arrays = Mapping[str, NDArray[Any]]


def build(
    sources: list[str], output: Path, *, entail: bool = False, base: str = "urn:kb", progress: Progress | None = None
) -> tuple[int, int]:
    """Writes a prepared file from RDF files, directories and globs; gives the numbers of triples and terms.

    An existing output is replaced at once when the new one is complete, so that processes may go on with the old
    one. Raises KnowledgeBaseError.
    """
    dictionary = Dictionary()
    graphs = [load_graph(source, base, dictionary, progress=progress) for source in sources]
    columns = [np.concatenate([getattr(g, name) for g in graphs]) for name in ("subjects", "predicates", "objects")]
    graph = graph_of(base, columns[0], columns[1], columns[2])
    if entail:
        from kb.entail import materialised

        graph = graph_of(base, *materialised((graph.subjects, graph.predicates, graph.objects), dictionary))
    arrays = _arrays(graph, dictionary)
    try:
        _write(output, arrays, entail)
    except OSError as error:
        raise KnowledgeBaseError(error.strerror or str(error), str(output), hint="it could not be written") from error
    return len(graph.subjects), len(arrays["hashes"])


def opened(path: Path) -> tuple[Arrays, bool]:
    """The arrays of a prepared file, mapped and not read, and whether RDFS was applied; raises KnowledgeBaseError."""
    try:
        with path.open("rb") as file:
            magic, version, length = _HEAD.unpack(file.read(_HEAD.size))
            if magic != MAGIC:
                raise ValueError("not a prepared knowledge base")
            if version != VERSION:
                raise ValueError(f"prepared by another version ({version}, this one reads {VERSION})")
            header = json.loads(file.read(length))
        whole = np.memmap(path, dtype=np.uint8, mode="r")
        arrays = {name: _mapped(whole, *header["arrays"][name]) for name in _COLUMNS}
        return arrays, bool(header["entailed"])
    except OSError as error:
        raise KnowledgeBaseError(
            error.strerror or str(error), str(path), hint="it must exist and be readable"
        ) from error
    except (ValueError, KeyError, TypeError, struct.error) as error:
        hint = "make it with: spaseq kb build FILE… -o NAME.kb"
        raise KnowledgeBaseError(f"cannot be used: {error}", str(path), hint=hint) from error


def hash_of(text: bytes) -> int:
    """The hash of the text of a term."""
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _mapped(whole: NDArray[np.uint8], kind: str, start: int, length: int) -> NDArray[Any]:
    size = np.dtype(kind).itemsize * length
    if start % _ALIGNMENT or start + size > len(whole):
        raise ValueError("the file has been cut off")
    return whole[start : start + size].view(kind)


def _arrays(graph: EventBatch, dictionary: Dictionary) -> Arrays:
    used = np.unique(np.concatenate((graph.subjects, graph.predicates, graph.objects)))
    texts = [canonical_token(dictionary.term(i)) for i in used.tolist()]
    hashes = np.array([hash_of(text) for text in texts], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    rank = np.empty(len(used), dtype=np.int64)
    rank[order] = np.arange(1, len(used) + 1, dtype=np.int64)
    subjects, predicates, objects = (
        rank[np.searchsorted(used, column)] for column in (graph.subjects, graph.predicates, graph.objects)
    )
    rows: Ids = np.lexsort((objects, subjects, predicates))
    sorted_texts = [texts[i] for i in order.tolist()]
    lengths = np.array([len(text) for text in sorted_texts], dtype=np.int64)
    return {
        "texts": np.frombuffer(b"".join(sorted_texts), dtype=np.uint8),
        "offsets": np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        "hashes": hashes[order],
        "numbers": np.concatenate(([np.nan], dictionary.numbers[used][order])),
        "subjects": subjects[rows],
        "predicates": predicates[rows],
        "objects": objects[rows],
    }


def _write(output: Path, arrays: Arrays, entailed: bool) -> None:
    places: dict[str, tuple[str, int, int]] = {
        name: (arrays[name].dtype.str, 0, len(arrays[name])) for name in _COLUMNS
    }
    room = len(json.dumps({"arrays": places, "entailed": entailed})) + 24 * len(places)
    start = _aligned(_HEAD.size + room)
    for name in _COLUMNS:
        places[name] = (arrays[name].dtype.str, start, len(arrays[name]))
        start = _aligned(start + arrays[name].nbytes)
    header = json.dumps({"arrays": places, "entailed": entailed}).encode().ljust(room)
    part = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        with part.open("wb") as file:
            file.write(_HEAD.pack(MAGIC, VERSION, len(header)) + header)
            for name in _COLUMNS:
                file.seek(places[name][1])
                np.ascontiguousarray(arrays[name]).tofile(file)
            file.truncate(max(file.tell(), start))
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)


def _aligned(place: int) -> int:
    return -(-place // _ALIGNMENT) * _ALIGNMENT
