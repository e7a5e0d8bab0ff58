"""Texts of terms in Jelly that kernels do not recognise; each is read once, as the reader in Python reads it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyoxigraph as ox

from sparql_gpm.columns import Ids
from sparql_gpm.dictionary import Dictionary
from sparql_gpm.interning.term_table import ByteStrings
from sparql_gpm.reading.document_terms import TERM_CACHE_MAX, to_term
from sparql_gpm.reading.jelly_rows import blank_node
from sparql_gpm.reading.jelly_term_kernels import BLANK, MALFORMED, UNLEARNED
from sparql_gpm.term_text import canonical_token, term_of
from sparql_gpm.terms import BlankNode, Literal, Term


class Forms:
    """The forms found by scans.

    strings     their texts, with numbers of their own
    ids         by number: the id of the term, or UNLEARNED, BLANK or MALFORMED
    """

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self.clear()

    @property
    def full(self) -> bool:
        """True if there are so many that they should be dropped."""
        return len(self.strings) > TERM_CACHE_MAX

    def clear(self) -> None:
        """Drop all."""
        self.strings = ByteStrings()
        self.ids: Ids = np.zeros(len(self.strings.entries), dtype=np.int64)
        self._labels: dict[int, str] = {}
        self._looked_at = 1

    def reserve(self, count: int, size: int) -> None:
        """Make room for so many more forms and bytes; may replace the arrays."""
        self.strings.reserve(count, size)
        if len(self.ids) < len(self.strings.entries):
            longer = np.zeros(len(self.strings.entries), dtype=np.int64)
            longer[: len(self.ids)] = self.ids
            self.ids = longer

    def learn(self) -> None:
        """Read all that are not known yet."""
        table = self._dictionary.table()
        for form in range(self._looked_at, self.strings.bound):
            if self.ids[form] != UNLEARNED:
                continue
            text = self.strings[form]
            term = _term(text)
            match term:
                case None:
                    self.ids[form] = MALFORMED
                case BlankNode():
                    self.ids[form] = BLANK
                case _:
                    self.ids[form] = identifier = table.intern(term)
                    if canonical_token(term) == text:
                        table.check(identifier)
        self._looked_at = self.strings.bound

    def enter(self, label: str) -> int:
        """The number of the form of a blank node."""
        text = f"_:{label}".encode()
        self.reserve(1, len(text))
        form = abs(self.strings.add(text))
        self.ids[form] = BLANK
        return form

    def label(self, form: int) -> str:
        """The label of a blank node."""
        found = self._labels.get(form)
        if found is None:
            found = self._labels[form] = blank_node(self.strings[form][2:].decode()).value
        return found

    def scoped(self, rows: Ids, of_group: Ids, new_scope: Callable[[], int]) -> Ids:
        """Rows in which blank nodes have ids; each group is an event."""
        places, columns = np.nonzero(rows < 0)
        forms, groups, bound = -rows[places, columns], of_group[columns], self.strings.bound
        distinct, which = np.unique(groups * bound + forms, return_inverse=True)
        scopes = {group: new_scope() for group in np.unique(groups).tolist()}
        nodes = [BlankNode(f"e{scopes[pair // bound]}_{self.label(pair % bound)}") for pair in distinct.tolist()]
        replaced = rows.copy()
        replaced[places, columns] = self._dictionary.table().intern_all(nodes)[which]
        return replaced


def _term(text: bytes) -> Term | None:
    """The term of a form, checked as the reader in Python does, or None."""
    try:
        written = text.decode()
        if written.startswith("_:"):
            return BlankNode(blank_node(written[2:]).value)
        if written.startswith("<"):
            return to_term(ox.NamedNode(written[1:-1]))
        literal = term_of(text)
        assert isinstance(literal, Literal), literal
        if literal.language or written.endswith("@"):
            tag = f"{literal.language}--{literal.direction}" if literal.direction else literal.language
            return to_term(ox.Literal(literal.lexical, language=tag))
        return to_term(ox.Literal(literal.lexical, datatype=ox.NamedNode(literal.datatype)))
    except ValueError:
        pass
    return None
