"""IRIs of the outer language: escapes, resolution against BASE, prefixed names."""

from __future__ import annotations

from collections.abc import Iterable

from sparql_gpm.iris import resolve_iri
from sparql_gpm.syntax.tokens import unescape
from spaseq.lang.codes import Code
from spaseq.lang.drafts import Clause, Declaration, Word
from spaseq.lang.report import Report

NAMESPACE_CHARACTERS_MAX = 4_096
"""Characters of the IRI of a prefix."""


class Namespace:
    """BASE and the prefixes of a query. Each undeclared prefix is reported once, where it is used first."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._undeclared: set[str] = set()
        self.base: str | None = None
        self.prefixes: dict[str, str] = {}

    def declare(self, clauses: Iterable[Clause]) -> None:
        """Reads BASE and PREFIX in the order written; a later declaration replaces an earlier one."""
        for clause in clauses:
            match clause:
                case Declaration(None, iri):
                    self.base = self.expand(iri)
                case Declaration(Word(prefix), iri) if prefix.endswith(":"):
                    self.prefixes[prefix[:-1]] = self._namespace(iri)
                case Declaration(Word() as prefix, _):
                    hint = "a prefix ends with a colon: PREFIX ex: <…>"
                    self._report.add(Code.BAD_PREFIX, prefix.span, f"'{prefix.text}' is not a prefix", hint)

    def _namespace(self, word: Word) -> str:
        """The IRI of a prefix; every name with the prefix holds it."""
        iri = self.expand(word)
        if len(iri) <= NAMESPACE_CHARACTERS_MAX:
            return iri
        message = f"the IRI of a prefix has at most {NAMESPACE_CHARACTERS_MAX:,} characters (IRI of a prefix)"
        self._report.add(Code.BEYOND_BOUND, word.span, message, "write the IRI in full where it is used")
        return ""

    def expand(self, word: Word) -> str:
        """The IRI of `<…>` or `prefix:local`."""
        try:
            if word.text.startswith("<"):
                reference = unescape(word.text[1:-1])
                return reference if self.base is None else resolve_iri(reference, self.base)
            self.check(word)
            prefix, _, local = word.text.partition(":")
            return self.prefixes.get(prefix, "") + unescape(local)
        except ValueError as error:
            self._report.add(Code.BAD_IRI, word.span, str(error))
            return ""

    def check(self, word: Word) -> None:
        """Reports the prefix of a prefixed name unless it is declared."""
        prefix = word.text.partition(":")[0]
        if prefix in self.prefixes or prefix in self._undeclared:
            return
        self._undeclared.add(prefix)
        write = f"declare it: PREFIX {prefix}: <…>"
        known = (f"{known}:" for known in self.prefixes)
        hint = self._report.choices_hint(f"{prefix}:", known, f"{write}; declared here: {{}}")
        self._report.add(Code.UNDECLARED_PREFIX, word.span, f"undeclared prefix '{prefix}:'", hint or write)

    def with_undeclared(self) -> dict[str, str]:
        """The prefixes, undeclared ones included, so that one missing prefix hides no other error."""
        return {**self.prefixes, **{prefix: f"urn:undeclared:{prefix}:" for prefix in self._undeclared}}
