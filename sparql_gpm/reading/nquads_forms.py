"""Tokens that kernels do not recognise as canonical terms; the strict parser reads each of them once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.interning.term_table import ByteStrings
from sparql_gpm.reading.document_terms import TERM_CACHE_MAX, parse_token
from sparql_gpm.reading.nquads_kernel import ODD, ROW, STATE
from sparql_gpm.term_text import canonical_token
from sparql_gpm.terms import BlankNode, Term

_MALFORMED, _BLANK = 0, -1
"""In place of an id: the form is no term; it is a blank node, which has another id in each event."""


def mark_doubtful(groups: Ids, which: Ids) -> None:
    """Mark groups to be read by line: a line may be malformed, and the group before it may then continue."""
    groups[which, STATE] |= ODD
    groups[np.maximum(which - 1, 0), STATE] |= ODD


class WrittenForms:
    """The written forms found by scans; `strings`: the forms, with numbers of their own."""

    def __init__(self, dictionary: Dictionary, new_scope: Callable[[], int]) -> None:
        self._dictionary, self._new_scope = dictionary, new_scope
        self._clear()

    def refresh(self) -> None:
        """Drop ids that are stale or too many; to be called before every scan."""
        if self._dictionary.generation != self._generation or len(self.strings) > TERM_CACHE_MAX:
            self._clear()

    def replace(self, rows: Ids, groups: Ids) -> None:
        """Replace the forms in rows by ids, and mark groups with malformed forms as odd."""
        self._learn()
        places, columns = np.nonzero(rows < 0)
        forms = -rows[places, columns]
        ids = self._ids[forms]
        of_group = np.searchsorted(groups[:, ROW], columns, side="right") - 1
        mark_doubtful(groups, of_group[ids == _MALFORMED])
        blank = ids == _BLANK
        if blank.any():
            ids[blank] = self._scoped(of_group[blank], forms[blank])
        rows[places, columns] = ids

    def _clear(self) -> None:
        self.strings = ByteStrings()
        self._ids: Ids = np.zeros(1, dtype=np.int64)
        self._labels: dict[int, str] = {}
        self._generation = self._dictionary.generation

    def _learn(self) -> None:
        known, bound = len(self._ids), self.strings.bound
        self._ids = np.concatenate((self._ids, np.zeros(bound - known, dtype=np.int64)))
        terms: list[Term] = []
        forms: list[int] = []
        for form in range(known, bound):
            term = parse_token(self.strings[form])
            if isinstance(term, BlankNode):
                self._ids[form] = _BLANK
                self._labels[form] = term.label
            elif term is not None:
                terms.append(term)
                forms.append(form)
        table = self._dictionary.table()
        self._ids[forms] = table.intern_all(terms)
        for form, term in zip(forms, terms, strict=True):
            if canonical_token(term) == self.strings[form]:
                table.check(int(self._ids[form]))

    def _scoped(self, of_group: Ids, forms: Ids) -> Ids:
        """The ids of blank nodes, by their group and form."""
        bound = self.strings.bound
        distinct, which = np.unique(of_group * bound + forms, return_inverse=True)
        scopes = {group: self._new_scope() for group in np.unique(of_group).tolist()}
        nodes = [BlankNode(f"e{scopes[pair // bound]}_{self._labels[pair % bound]}") for pair in distinct.tolist()]
        return self._dictionary.table().intern_all(nodes)[which]
