"""The canonical text of a query (specification 3.5.3)."""

from __future__ import annotations

import pytest

from spaseq.algebra.build import build
from spaseq.lang.canonical import canonical_text
from spaseq.lang.parse import parse

WRITTEN = """base <http://x/> # a comment
Prefix p: <ns#>
Construct { $h a p:Alarm ; <mean> Avg(?t) . [] p:of _:b }
within 1 hour sliding  partition by $h
From Stream S <s> from named kb <kb>
where { Seq( A{ 1 , 3 } : (B;+ | C)? , D! )
  define gpm A on S { ?h p:t ?t filter(?t>21&&Lang(?n) = 'EN'^^p:d) optional { ?h p:n 'it\\'s'@EN-gb } }
  define gpm B on S { ?h p:t 1.50 . ?h p:a\\-b \"""a "b"\n\\t\\u00e9\""" }
  define gpm C on S { graph <kb> { ?h p: true } }
  define gpm D on S { values ?h { undef } } }
after match skip past last event limit 07"""
CANONICAL = (
    "CONSTRUCT { ?h <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://x/ns#Alarm> ; <http://x/mean> AVG ( ?t ) "
    ". [ ] <http://x/ns#of> _:b } WITHIN 1 HOUR SLIDING PARTITION BY ?h FROM STREAM S <http://x/s> FROM NAMED KB "
    "<http://x/kb> WHERE { SEQ ( A {1,3} : ( B ;+ | C ) ? , D ! ) "
    'DEFINE GPM A ON S { ?h <http://x/ns#t> ?t FILTER ( ?t > 21 && LANG ( ?n ) = "EN" ^^ <http://x/ns#d> ) OPTIONAL { '
    '?h <http://x/ns#n> "it\'s" @en-gb } } '
    'DEFINE GPM B ON S { ?h <http://x/ns#t> 1.50 . ?h <http://x/ns#a-b> "a \\"b\\"\\n\té" } '
    "DEFINE GPM C ON S { GRAPH <http://x/kb> { ?h <http://x/ns#> TRUE } } "
    "DEFINE GPM D ON S { VALUES ?h { UNDEF } } } AFTER MATCH SKIP PAST LAST EVENT LIMIT 07"
)


def test_the_canonical_text_has_every_token_in_one_form() -> None:
    assert canonical_text(parse(WRITTEN)) == CANONICAL


def test_a_canonical_text_is_its_own() -> None:
    assert canonical_text(parse(CANONICAL)) == CANONICAL


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("p:Alarm", "p:alarm"),
        ("?t", "?T"),
        ("1.50", "1.5"),
        ("Seq( A", "Seq( B"),
        ("Stream S", "Stream s"),
        ("D!", "D?"),
    ],
)
def test_what_may_matter_stays(old: str, new: str) -> None:
    other = WRITTEN.replace(old, new).replace("on S", "on s" if new == "Stream s" else "on S")
    other = other.replace("(B;+", "(A;+") if new == "Seq( B" else other
    assert canonical_text(parse(other)) != CANONICAL


def test_a_query_with_a_lone_surrogate_has_a_digest() -> None:
    text = "CONSTRUCT { <http://x/m> <http://x/p> '\udcd0' } WITHIN 1 SECOND FROM STREAM S <http://x/s> { SEQ(A) "
    assert build(parse(text + "DEFINE GPM A ON S { ?s ?p ?o } }")).digest
