"""The W3C's tests that fail, each with the reason."""

from __future__ import annotations

_CANONICAL = "canonical N-Triples of RDF 1.1: control characters but CR and LF stand as they are, as N-Triples allows"
_C14N = {
    "n-triples": """literal_all_controls literal_ascii_boundaries literal_with_BACKSPACE literal_with_FORM_FEED
        literal_with_CHARACTER_TABULATION literal_with_extra_whitespace literal_needing_uchar_escaping-01
        literal_needing_uchar_escaping-02 literal_with_numeric_escape4 literal_with_numeric_escape8""",
    "n-quads": """literal_all_controls literal_ascii_boundaries literal_with_BACKSPACE literal_with_FORM_FEED
        literal_with_CHARACTER_TABULATION literal_with_extra_whitespace literal_needing_uchar_escaping-01
        literal_needing_uchar_escaping-02""",
}

KNOWN_FAILURES = {
    "sparql/sparql10/graph#graph-not-exist": (
        "a knowledge base that is named but not supplied is an error before anything runs, not an empty graph"
    ),
    "sparql/sparql11/functions#bnode01": (
        'BNODE("a") twice in one solution gives two blank nodes: each expression is evaluated by itself, for all '
        "solutions at once"
    ),
    **{f"rdf/rdf12/rdf-{f}/c14n#{name}": _CANONICAL for f, names in _C14N.items() for name in names.split()},
}
"""By identifier."""
