"""The words of SPARQL 1.2 in upper case, without `a`, and those of iterations."""

from __future__ import annotations

from sparql_gpm.syntax.signs import SIGNS

AGGREGATES = frozenset({"COUNT", "SUM", "AVG", "MIN", "MAX", "SAMPLE", "GROUP_CONCAT"})
ITERATIONS = frozenset({"PREV", "FIRST", "LAST"})
"""What has the value of an iteration."""

KEYWORDS = frozenset({
    "AS", "ASC", "BIND", "BY", "DESC", "DISTINCT", "EXISTS", "FILTER", "GRAPH", "GROUP", "HAVING", "IN", "LIMIT",
    "MINUS", "NOT", "OFFSET", "OPTIONAL", "ORDER", "REDUCED", "SELECT", "SEPARATOR", "SERVICE", "SILENT", "UNDEF",
    "UNION", "VALUES", "WHERE",
})  # fmt: skip

CONSTANTS = frozenset({"TRUE", "FALSE"})

_TERMINALS = {
    "CALL_0": "NOW RAND STRUUID UUID",
    "CALL_0_1": "BNODE",
    "CALL_1": """ABS CEIL DATATYPE DAY ENCODE_FOR_URI FLOOR HASLANG HASLANGDIR HOURS IRI ISBLANK ISIRI ISLITERAL
        ISNUMERIC ISTRIPLE ISURI LANG LANGDIR LCASE MD5 MINUTES MONTH OBJECT PREDICATE ROUND SECONDS SHA1 SHA256 SHA384
        SHA512 STR STRLEN SUBJECT TIMEZONE TZ UCASE URI YEAR""",
    "CALL_2": "CONTAINS LANGMATCHES SAMETERM STRAFTER STRBEFORE STRDT STRENDS STRLANG STRSTARTS",
    "CALL_2_3": "REGEX SUBSTR",
    "CALL_3": "IF STRLANGDIR TRIPLE",
    "CALL_3_4": "REPLACE",
    "CALL_LIST": "COALESCE CONCAT",
    "CALL_VARIABLE": "BOUND",
}
"""The built-in functions by their terminal in the grammar, which says how many arguments they take."""
_CALLS = {name: terminal for terminal, names in _TERMINALS.items() for name in names.split()}

FUNCTIONS = frozenset({*AGGREGATES, *ITERATIONS, *_CALLS})
"""The built-in functions, aggregates, and PREV, FIRST and LAST."""

TERMINALS = {
    **{word: word for word in KEYWORDS}, **dict.fromkeys(CONSTANTS, "BOOLEAN"), **_CALLS,
    **dict.fromkeys(AGGREGATES, "AGGREGATE"), "COUNT": "COUNT", "GROUP_CONCAT": "GROUP_CONCAT",
    **dict.fromkeys(ITERATIONS, "ITERATION"),
}  # fmt: skip
"""The terminal of each word in the grammar."""

DECLARED = frozenset({
    *TERMINALS.values(), "IRI", "PNAME", "BNODE", "VAR", "STRING", "LANGTAG", "INTEGER", "DECIMAL", "DOUBLE", "SIGNED",
})  # fmt: skip
"""The terminals that are no signs."""


def declarations() -> str:
    """The terminals as the lines of a grammar of Lark."""
    signs = (f'{sign.terminal}: "{sign.text}"' for sign in SIGNS.values())
    return "\n".join((f"%declare {' '.join(sorted(DECLARED))}", 'A: "a"', *signs))
