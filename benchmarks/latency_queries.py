"""Queries over the stream of trades, each with another construct, whose latency is measured one event at a time."""

from __future__ import annotations

_A = "?company :price ?p1 ; :volume ?vol1"
_FALLS = "?company :price ?p2 ; :volume ?vol2 . FILTER (?p2 < ?p1)"
_LARGE = "?company :volume ?vol3 . FILTER (?vol3 > 400)"
_RISES = "?company :price ?p2 . FILTER (?p2 > COALESCE(PREV(?p2), ?p1))"
_BELOW_MEAN = "?company :price ?p3 . FILTER (?p3 < AVG(?p2))"


def _query(select: str, window: str, sequence: str, after: str = "", by: str = "", **steps: str) -> str:
    defines = "\n".join(f"  DEFINE GPM {name} ON S1 {{ {pattern} }}" for name, pattern in steps.items())
    clauses = f"{select}\nWITHIN {window}\n{by}\nFROM STREAM S1 <http://stockmarket.org/stocks>"
    return f"PREFIX : <http://example/>\n{clauses}\nWHERE {{\n  SEQ({sequence})\n{defines}\n}}\n{after}\n"


TRADES = {
    "stock": _query("SELECT ?company ?p1 ?p2 ?vol1 ?vol2", "10 MINUTES", "A; B", A=_A, B=_FALLS),
    "partitioned": _query("SELECT *", "10 MINUTES SLIDING", "A, B", by="PARTITION BY ?company", A=_A, B=_FALLS),
    "count window": _query("SELECT *", "200 EVENTS SLIDING", "A; B", A=_A, B=_FALLS),
    "negation": _query("SELECT *", "10 MINUTES SLIDING", "A; N!; B", A=_A, N=_LARGE, B=_FALLS),
    "trailing negation": _query("SELECT *", "1 MINUTE SLIDING", "A; B; N!", A=_A, B=_FALLS, N=_LARGE),
    "kleene": _query("SELECT ?company ?p1 (COUNT(?p2) AS ?n) (AVG(?p2) AS ?mean) ?p3", "4 MINUTES SLIDING", "A; B;+; C",
                     A=_A, B=_RISES, C=_BELOW_MEAN),
    "skip till any": _query("SELECT *", "2 MINUTES SLIDING", "A : B", A=_A, B=_FALLS),
    "any order": _query("SELECT *", "2 MINUTES SLIDING", "ALL(A, B)", A=f"{_A} . FILTER (?vol1 > 400)",
                        B="?company :price ?p2 ; :volume ?vol2 . FILTER (?vol2 < 100)"),
    "both": _query("SELECT *", "10 MINUTES SLIDING", "A; B & N", A=_A, B=_FALLS, N=_LARGE),
    "MAX": _query("SELECT MAX *", "4 MINUTES SLIDING", "A; B;+", A=_A, B=_RISES),
    "consume": _query("SELECT *", "10 MINUTES SLIDING", "A; B", "AFTER MATCH CONSUME ALL", A=_A, B=_FALLS),
}  # fmt: skip
"""By name; every trade completes a match or nearly does."""
