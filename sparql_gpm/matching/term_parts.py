"""Triple terms taken apart: from columns of their ids to those of subjects, predicates and objects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import nan

import numpy as np

from sparql_gpm.columns import UNBOUND, Ids, Mask
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.numeric import float64
from sparql_gpm.relations.relation import Relation
from sparql_gpm.term_text import term_of
from sparql_gpm.terms import TripleTerm

Slot = str | int
"""A position of a triple pattern: the name of a variable, or the id of a constant."""

_PARTS = re.compile(rb"<<\( (<[^>]*>|_:[^ ]*) (<[^>]*>) (.*) \)>>", re.DOTALL)
"""The canonical tokens of the parts of a triple term, in its own."""
_NONE: Ids = np.zeros(0, dtype=np.int64)


class KnownParts:
    """The parts of the triple terms of a batch, each found once while the dictionary releases nothing."""

    def __init__(self) -> None:
        self._generation = -1
        self._ids = _NONE
        self._parts: Ids = _NONE.reshape(0, 3)

    def of(self, ids: Ids, dictionary: Dictionary) -> Ids:
        """int64[len(ids), 3]: subject, predicate and object of terms; UNBOUND for those that are no triple terms."""
        if self._generation != dictionary.generation:
            self._generation, self._ids, self._parts = dictionary.generation, _NONE, _NONE.reshape(0, 3)
        new = np.setdiff1d(ids, self._ids)
        if len(new):
            every = np.concatenate((self._ids, new))
            order = np.argsort(every)
            self._ids, self._parts = every[order], np.concatenate((self._parts, _parts(new, dictionary)))[order]
        found: Ids = self._parts[np.searchsorted(self._ids, ids)]
        return found


def _parts(ids: Ids, dictionary: Dictionary) -> Ids:
    """See `KnownParts.of`; computed from the texts of the terms."""
    text, lengths = dictionary.joined(ids)
    ends = np.cumsum(lengths)
    brackets = np.frombuffer(text, dtype=np.uint8)[(starts := ends - lengths)[:, None] + np.arange(2)]
    rows = np.flatnonzero((brackets == ord("<")).all(axis=1))
    tokens: list[bytes] = []
    for begin, end in zip(starts[rows].tolist(), ends[rows].tolist(), strict=True):
        parts = _PARTS.fullmatch(text, begin, end)
        assert parts is not None, text[begin:end]
        tokens += parts.groups()
    numbers = np.array([float64(term_of(token)) if token.startswith(b'"') else nan for token in tokens])
    sizes = np.array([len(token) for token in tokens], dtype=np.int64)
    found = np.zeros((len(ids), 3), dtype=np.int64)
    found[rows] = dictionary.intern_joined(b"".join(tokens), sizes, numbers).reshape(-1, 3)
    return found


def parts_of_one(identifier: int, dictionary: Dictionary) -> tuple[int, ...]:
    """The ids of subject, predicate and object of a term; none if it is no triple term."""
    term = dictionary.term(identifier)
    if not isinstance(term, TripleTerm):
        return ()
    return tuple(map(dictionary.intern, (term.subject, term.predicate, term.object)))


@dataclass(frozen=True, slots=True)
class TermPattern:
    """The pattern of a triple term.

    term    the variable that has it
    parts   its subject, predicate and object
    """

    term: str
    parts: tuple[Slot, Slot, Slot]
    dictionary: Dictionary

    def apply(self, relation: Relation, known: KnownParts) -> Relation:
        """The rows, all of which bind the term, in which it has such parts; with the variables of these."""
        found = known.of(relation.columns[self.term], self.dictionary)
        fits: Mask = found[:, 0] != UNBOUND
        columns = dict(relation.columns)
        for slot, column in zip(self.parts, found.T, strict=True):
            if isinstance(slot, int):
                fits &= column == slot
            elif slot in columns:
                fits &= column == columns[slot]
            else:
                columns[slot] = column
        bound = relation.bound | {slot for slot in self.parts if isinstance(slot, str)}
        return Relation(len(relation), relation.events, columns, bound).take(fits)
