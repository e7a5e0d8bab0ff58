"""Tokens that the kernels do not know to be canonical terms: each looked at once, by the strict parser."""

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
"""What stands for a form that is no term, and for a blank node, which has another id in each event."""


def mark_doubtful(runs: Ids, which: Ids) -> None:
    """Have some runs read by line: a line of theirs may be malformed, and the run before them may then go on."""
    runs[which, STATE] |= ODD
    runs[np.maximum(which - 1, 0), STATE] |= ODD


class WrittenForms:
    """The written forms that a scan met.

    strings     the forms, with numbers of their own
    """

    def __init__(self, dictionary: Dictionary, new_scope: Callable[[], int]) -> None:
        self._dictionary, self._new_scope = dictionary, new_scope
        self._forget()

    def refresh(self) -> None:
        """Forget ids that are stale or too many; to be called before every scan."""
        if self._dictionary.generation != self._generation or len(self.strings) > TERM_CACHE_MAX:
            self._forget()

    def replace(self, rows: Ids, runs: Ids) -> None:
        """Put ids for the forms in rows, and mark the runs odd that have malformed ones."""
        self._learn()
        places, columns = np.nonzero(rows < 0)
        forms = -rows[places, columns]
        ids = self._ids[forms]
        of_run = np.searchsorted(runs[:, ROW], columns, side="right") - 1
        mark_doubtful(runs, of_run[ids == _MALFORMED])
        blank = ids == _BLANK
        if blank.any():
            ids[blank] = self._scoped(of_run[blank], forms[blank])
        rows[places, columns] = ids

    def _forget(self) -> None:
        self.strings = ByteStrings()
        self._ids: Ids = np.zeros(1, dtype=np.int64)
        self._labels: dict[int, str] = {}
        self._generation = self._dictionary.generation

    def _learn(self) -> None:
        """Parse the forms that are new."""
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

    def _scoped(self, of_run: Ids, forms: Ids) -> Ids:
        """The ids of blank nodes, by their run and form."""
        bound = self.strings.bound
        distinct, which = np.unique(of_run * bound + forms, return_inverse=True)
        scopes = {run: self._new_scope() for run in np.unique(of_run).tolist()}
        nodes = [BlankNode(f"e{scopes[pair // bound]}_{self._labels[pair % bound]}") for pair in distinct.tolist()]
        return self._dictionary.table().intern_all(nodes)[which]
