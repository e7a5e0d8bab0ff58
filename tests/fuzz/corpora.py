"""The inputs that the fuzzer mutates: queries, streams, answers of endpoints, knowledge bases."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

from tests.strategies_query import QueryText
from tests.strategies_sequence import SeededDice

TESTS = Path(__file__).parent.parent
CASES = TESTS / "conformance" / "cases"
KB_IRI = "http://x/db"

NQUADS = b"""<urn:e1> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:01Z"^^<XSD#dateTime> .
<urn:a> <urn:p> "x\\u00e9\\n\\"y\\""@en-GB <urn:e1> .
_:b <urn:p> "14.0"^^<XSD#double> <urn:e1> .
# a comment
<urn:e2> <http://www.w3.org/ns/prov#generatedAtTime> 5 .
<urn:e2> <http://www.w3.org/ns/prov#generatedAtTime> "2"^^<XSD#integer> .
<urn:\xc3\xa9> <urn:p> _:b.1 <urn:e2> .
<urn:a> <urn:q> "z" <urn:e2> .
<urn:e3> <http://www.w3.org/ns/prov#generatedAtTime> "3"^^<XSD#integer> .
<urn:a> <urn:p> <urn:b> <urn:e3> .
VERSION "1.2"
<urn:a> <urn:r> <<( _:b <urn:p> <<( <urn:a> <urn:p> "x"@ar--rtl )>> )>> <urn:e3> .
""".replace(b"XSD", b"http://www.w3.org/2001/XMLSchema")
TRIG = b"""@prefix : <http://x/> . PREFIX prov: <http://www.w3.org/ns/prov#>
:e1 prov:generatedAtTime "2026-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
:e1 { :a :p 1, 2.5, 1e3, true, 'x' ; :q [ :r ( 1 \"\"\"long
text\"\"\" ) ] . _:b a :C . }
:e2 { :a :p "\\u00e9"@en . } :e2 prov:generatedAtTime 2 .
GRAPH :e3 { :e3 prov:generatedAtTime 3 . :a :p :b }
VERSION "1.2" :e4 { :e4 prov:generatedAtTime 4 . :a :p "x"@ar--rtl ~ :r {| :q << :a :b :c >> |} .
:a :p <<( :a :p 5 )>> }
"""
TURTLE = b"""@base <http://x/> . @prefix : <#> .
<e1> <http://www.w3.org/ns/prov#generatedAtTime> 7 . :a :p 1, [ :q ( 2 3 ) ] ; a :C .
@version '1.2' . :a :p "x"@ar--rtl {| :q <<( :a :p <<( [] :p 5 )>> )>> |} .
"""
NTRIPLES = b"\n".join(line.replace(b" <urn:e1> .", b" .") for line in NQUADS.splitlines()[:3]) + b"\n"
EVENTS = {"nquads": NQUADS, "trig": TRIG, "turtle": TURTLE, "ntriples": NTRIPLES}
GZIP = gzip.compress(NQUADS * 3, mtime=0) + gzip.compress(NQUADS, mtime=0)
ANSWER = b"""{"head": {"vars": ["s", "v"]}, "results": {"bindings": [
{"s": {"type": "uri", "value": "http://x/s"}, "v": {"type": "literal", "value": "a", "xml:lang": "en"}},
{"s": {"type": "bnode", "value": "b0"}, "v": {"type": "typed-literal", "value": "1.50",
 "datatype": "http://www.w3.org/2001/XMLSchema#decimal"}},
{"s": {"type": "uri", "value": "http://x/s2"}}]}}"""
KNOWLEDGE = {
    ".ttl": b"@prefix : <http://x/> . :H1 :in :R1 ; :size 4 . :R1 :name 'r'@en . [] :in ( :R2 1.5 ) .\n",
    ".nt": b'<http://x/H1> <http://x/in> <http://x/R1> .\n<http://x/R1> <http://x/name> "r"@en .\n',
    ".jsonld": b'{"@id": "http://x/H1", "http://x/in": {"@id": "http://x/R1"}, "http://x/size": 4}',
    ".rdf": b'<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">'
    b'<rdf:Description rdf:about="http://x/H1"><x:in rdf:resource="http://x/R1"/></rdf:Description></rdf:RDF>',
}


def query_texts() -> list[str]:
    """The queries of the worked cases, of the papers and of the errors."""
    folders = (CASES, TESTS / "lang" / "paper", TESTS / "golden" / "errors", TESTS.parent / "examples")
    paths = sorted(path for folder in folders for path in folder.rglob("*.rq"))
    return [path.read_bytes().decode() for path in paths]


def random_query(random: Random) -> str:
    """A valid query over the streams S1 and S2."""
    return QueryText(SeededDice(random)).whole()
