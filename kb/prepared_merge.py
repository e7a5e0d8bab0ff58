"""Sorted runs of terms and of triples in temporary files, merged part by part.

Of a run a key is noted every so many bytes. These samples of all runs, sorted, say where to cut them so that what lies
between two cuts has a bounded size, however keys are distributed. Such a part is sorted as a whole, by arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kb.prepared_file import hash_of
from kb.spool import Spool
from sparql_gpm.columns import Ids

PART_BYTES_MAX = 8 << 20
"""Bytes of all runs that are sorted at once; a longer term is alone."""
_SAMPLE_BYTES = 1 << 16
_TERM_BYTES, _TRIPLE_BYTES = 32, 24
_ORDER = ("predicates", "subjects", "objects")
"""The columns by which triples are sorted."""

Range = tuple[int, int]


class TermRuns:
    """The terms of runs, each sorted by hash; merged, each term is there once, and has an id."""

    def __init__(self, folder: Path) -> None:
        self._texts, self._bounds = Spool("u1", folder), Spool("i8", folder)
        self._hashes, self._numbers, self._ids = (Spool(kind, folder) for kind in ("u8", "f8", "i8"))
        self._bounds.append([0])
        self._runs: list[Range] = []
        self._samples: list[int] = []

    def add(self, tokens: Sequence[bytes], numbers: NDArray[np.float64]) -> Ids:
        """Add a run of distinct terms; gives for each the place that it has in the run."""
        hashes = np.array([hash_of(token) for token in tokens], dtype=np.uint64)
        order, _ = _in_order(hashes, tokens)
        ends = np.cumsum(np.array([len(tokens[i]) for i in order.tolist()], dtype=np.int64))
        begin = len(self._hashes)
        self._bounds.append(ends + len(self._texts))
        self._texts.append(_joined(tokens, order))
        self._hashes.append(hashes[order])
        self._numbers.append(numbers[order])
        self._runs.append((begin, len(self._hashes)))
        samples = np.diff((ends + _TERM_BYTES * np.arange(1, len(ends) + 1)) // _SAMPLE_BYTES, prepend=0)
        self._samples += np.repeat(hashes[order], samples).tolist()
        places = np.empty(len(order), dtype=np.int64)
        places[order] = np.arange(len(order))
        return places

    def merge_into(self, columns: dict[str, Spool]) -> None:
        """Write the columns of all terms, sorted by hash."""
        columns["offsets"].append([0])
        columns["numbers"].append([np.nan])
        cuts = _cuts(sorted(self._samples), len(self._runs))
        for ranges in _parts(self._runs, cuts, self._hashes.first_not_below):
            hashes, numbers = (_read(spool, ranges) for spool in (self._hashes, self._numbers))
            tokens = [token for begin, end in ranges for token in self._tokens(begin, end)]
            order, new = _in_order(hashes, tokens)
            ids = np.empty(len(order), dtype=np.int64)
            ids[order] = len(columns["hashes"]) + np.cumsum(new)
            at = 0
            for begin, end in ranges:
                self._ids.put(begin, ids[at : at + end - begin])
                at += end - begin
            kept = order[new]
            ends = np.cumsum([len(tokens[i]) for i in kept.tolist()], dtype=np.int64)
            columns["offsets"].append(ends + len(columns["texts"]))
            columns["texts"].append(_joined(tokens, kept))
            columns["hashes"].append(hashes[kept])
            columns["numbers"].append(numbers[kept])

    def ids(self, run: int) -> Ids:
        """The ids of the terms of a run, by their places in it; after merging."""
        return self._ids.read(*self._runs[run])

    def _tokens(self, begin: int, end: int) -> Iterator[bytes]:
        bounds = self._bounds.read(begin, end + 1)
        text = self._texts.read(int(bounds[0]), int(bounds[-1])).tobytes()
        places = (bounds - bounds[0]).tolist()
        return (text[begin:end] for begin, end in pairwise(places))


class TripleRuns:
    """The triples of runs; merged, each is there once, by predicate, subject and object."""

    def __init__(self, folder: Path) -> None:
        self._added, self._sorted = ({name: Spool("i8", folder) for name in _ORDER} for _ in range(2))
        self._runs: list[Range] = []

    def add(self, triples: tuple[Ids, Ids, Ids]) -> None:
        """Add a run: subjects, predicates and objects, as places among the terms of the run with the same number."""
        begin = len(self._added["subjects"])
        for name, column in zip(("subjects", "predicates", "objects"), triples, strict=True):
            self._added[name].append(column)
        self._runs.append((begin, begin + len(triples[0])))

    def merge_into(self, columns: dict[str, Spool], terms: TermRuns) -> None:
        """Write the columns of all triples, with the ids that the terms have now."""
        samples: list[tuple[int, ...]] = []
        runs: list[Range] = []
        for number, (begin, end) in enumerate(self._runs):
            ids = terms.ids(number)
            begin_sorted = len(self._sorted["subjects"])
            rows = _distinct([ids[self._added[name].read(begin, end)] for name in _ORDER])
            samples += zip(*(column[:: _SAMPLE_BYTES // _TRIPLE_BYTES].tolist() for column in rows), strict=True)
            _append(self._sorted, rows)
            runs.append((begin_sorted, len(self._sorted["subjects"])))
        for ranges in _parts(runs, _cuts(sorted(samples), len(runs)), self._first_not_below):
            _append(columns, _distinct([_read(self._sorted[name], ranges) for name in _ORDER]))

    def _first_not_below(self, triple: tuple[int, ...], begin: int, end: int) -> int:
        for name, value in zip(_ORDER, triple, strict=True):
            find = self._sorted[name].first_not_below
            begin, end = find(value, begin, end), find(value + 1, begin, end)
        return begin


def _cuts(samples: Sequence[Any], runs: int) -> Sequence[Any]:
    """The keys at which runs are cut: between two lie so few samples that a part is not too long.

    Of each run there may be most of a sample more than samples tell.
    """
    step = max(1, PART_BYTES_MAX // _SAMPLE_BYTES - runs)
    return samples[step - 1 :: step]


def _parts(
    runs: Sequence[Range], cuts: Sequence[Any], first_not_below: Callable[[Any, int, int], int]
) -> Iterator[list[Range]]:
    """The ranges of the runs between cuts, in order of the keys; equal keys are in one part."""
    begins = [begin for begin, _ in runs]
    ends = [end for _, end in runs]
    for cut in cuts:
        middles = [first_not_below(cut, begin, end) for begin, end in zip(begins, ends, strict=True)]
        yield list(zip(begins, middles, strict=True))
        begins = middles
    yield list(zip(begins, ends, strict=True))


def _in_order(hashes: NDArray[np.uint64], tokens: Sequence[bytes]) -> tuple[Ids, NDArray[np.bool_]]:
    """The order of terms by hash, and which of them, in this order, differ from the one before.

    Equal hashes of different terms are so rare that only then texts decide on the order.
    """
    order: Ids = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = ordered[1:] != ordered[:-1]
    repeated = np.flatnonzero(~new)
    if all(tokens[a] == tokens[b] for a, b in zip(order[repeated].tolist(), order[repeated - 1].tolist(), strict=True)):
        return order, new
    by_text = sorted(range(len(tokens)), key=lambda place: (hashes[place], tokens[place]))
    new[1:] = [tokens[a] != tokens[b] for a, b in zip(by_text[1:], by_text, strict=False)]
    return np.array(by_text, dtype=np.int64), new


def _distinct(columns: Sequence[Ids]) -> list[Ids]:
    """The rows of columns, each once, sorted by the first, then by the next."""
    order = np.lexsort(columns[::-1])
    rows = [column[order] for column in columns]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.logical_or.reduce([column[1:] != column[:-1] for column in rows])
    return [column[new] for column in rows]


def _append(columns: dict[str, Spool], rows: Sequence[Ids]) -> None:
    for name, column in zip(_ORDER, rows, strict=True):
        columns[name].append(column)


def _read(spool: Spool, ranges: Sequence[Range]) -> NDArray[Any]:
    return np.concatenate([spool.read(begin, end) for begin, end in ranges])


def _joined(tokens: Sequence[bytes], order: Ids) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join([tokens[i] for i in order.tolist()]), dtype=np.uint8)
