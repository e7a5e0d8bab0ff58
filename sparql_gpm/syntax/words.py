"""The words of SPARQL 1.1 in upper case, without `a`, and ours of iterations."""

from __future__ import annotations

from sparql_gpm.syntax.masked import AGGREGATE_WORDS, ITERATION_WORDS

KEYWORDS = frozenset({
    "AS", "ASC", "BIND", "BY", "DESC", "DISTINCT", "EXISTS", "FILTER", "GRAPH", "GROUP", "HAVING", "IN", "LIMIT",
    "MINUS", "NOT", "OFFSET", "OPTIONAL", "ORDER", "REDUCED", "SELECT", "SEPARATOR", "SERVICE", "SILENT", "UNDEF",
    "UNION", "VALUES", "WHERE",
})  # fmt: skip

CONSTANTS = frozenset({"TRUE", "FALSE"})

FUNCTIONS = frozenset({
    *AGGREGATE_WORDS, *ITERATION_WORDS,
    "ABS", "BNODE", "BOUND", "CEIL", "COALESCE", "CONCAT", "CONTAINS", "DATATYPE", "DAY", "ENCODE_FOR_URI", "FLOOR",
    "HOURS", "IF", "IRI", "ISBLANK", "ISIRI", "ISLITERAL", "ISNUMERIC", "ISURI", "LANG", "LANGMATCHES", "LCASE", "MD5",
    "MINUTES", "MONTH", "NOW", "RAND", "REGEX", "REPLACE", "ROUND", "SAMETERM", "SECONDS", "SHA1", "SHA256", "SHA384",
    "SHA512", "STR", "STRAFTER", "STRBEFORE", "STRDT", "STRENDS", "STRLANG", "STRLEN", "STRSTARTS", "STRUUID", "SUBSTR",
    "TIMEZONE", "TZ", "UCASE", "URI", "UUID", "YEAR",
})  # fmt: skip
"""The built-in functions, aggregates, and PREV, FIRST and LAST."""
