"""The inputs that the fuzzer mutates: queries, streams, answers of endpoints, knowledge bases, configurations."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyoxigraph as ox

from sparql_gpm.rdf_io import PROV_TIME
from tests.inputs.jelly_files import written
from tests.strategies.query import QueryText
from tests.strategies.sequence import SeededDice

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
_TIME = f'<{PROV_TIME}> "%d"^^<http://www.w3.org/2001/XMLSchema#integer> .'
QUADS = "".join(f'<urn:e{n}> {_TIME % n}\n<urn:s> <urn:p> "é{n}" <urn:e{9 - n}> .\n' for n in range(10)).encode()
"""Quads in no order."""
CONTEXT_URL = "http://ex.org/context"
CONTEXT = {"@vocab": "http://ex.org/", "at": {"@id": PROV_TIME}}
JSON_LD = b"""{"@context": {"@vocab": "http://ex.org/", "at": {"@id": "http://www.w3.org/ns/prov#generatedAtTime"}},
 "@id": "urn:e1", "at": 5, "@graph": [{"@id": "urn:s", "p": [1.5, {"@value": "x", "@language": "en"}],
  "q": {"r": null}}]}"""
_GIVEN = b"""{"@context": ["http://ex.org/context", {"w": {"@id": "urn:w", "@container": "@list"}}],
 "@id": "_:b", "at": "2026-01-01T00:00:00Z", "w": [1, {"@reverse": {"p": {"@id": "urn:x"}}}], "@type": "C"}"""
_LINES = b"".join(
    each.replace(b"\n", b"") + b"\n" for each in (JSON_LD, JSON_LD.replace(b"e1", b"e2"), b'{"@id": "urn:x"}', _GIVEN)
)
MESSAGES = b"""# @message
PREFIX : <http://ex.org/> PREFIX prov: <http://www.w3.org/ns/prov#>
_:b :p 1 ; prov:generatedAtTime 5 .
# @message
<urn:g> prov:generatedAtTime 7 . <urn:g> { :a :b "# @message" }
MESSAGE
:s prov:generatedAtTime 9 .
"""
_LINE_MESSAGES = b'VERSION "1.2-messages"\n# @message\n' + NQUADS.replace(b"# a comment", b"MESSAGE")


def _jelly() -> tuple[bytes, ...]:
    """Jelly of each physical type, with frames that mean nothing and with frames that are events."""
    quads = list(ox.parse(QUADS, ox.RdfFormat.N_QUADS))
    triples = list(ox.parse(NTRIPLES.replace(b"--rtl", b""), ox.RdfFormat.N_TRIPLES))
    units = [list(ox.parse(text, ox.RdfFormat.N_QUADS)) for text in _units()]
    return (
        written([quads], "quads", "flat quads", frame_size=8),
        written([quads], "graphs", "flat quads", frame_size=30, namespaces=True),
        written(units, "quads", "datasets"),
        written(units, "graphs", "datasets", tables=9),
        written([triples] * 2, "triples", "graphs", namespaces=True),
        written([triples], "triples", "flat triples"),
    )


def _units() -> list[bytes]:
    lines = [line for line in NQUADS.splitlines(keepends=True)[:10] if b"#" not in line or b"XMLSchema" in line]
    return [b"".join(lines[:3]), b"".join(lines[3:6]), QUADS[:400].rpartition(b"\n")[0]]


EVENTS = {
    "nquads": (NQUADS,), "trig": (TRIG,), "turtle": (TURTLE,), "ntriples": (NTRIPLES,),
    "jsonld": (JSON_LD, _GIVEN), "ndjsonld": (_LINES,), "messages": (MESSAGES,), "nquads-messages": (_LINE_MESSAGES,),
    "jelly": _jelly(),
}  # fmt: skip
"""Streams of each format."""
EVENT_TEXTS = tuple(seed for name, seeds in EVENTS.items() if name != "jelly" for seed in seeds)
SUFFIXES = {
    "nquads": ".nq", "trig": ".trig", "turtle": ".ttl", "ntriples": ".nt", "jsonld": ".jsonld",
    "ndjsonld": ".ndjsonld", "jelly": ".jelly",
}  # fmt: skip
CONFIGURATION = b"""[streams.power]
iri = "http://smartgrid.org/mainSource"
max_delay = "10s"
idle_timeout = "PT5S"
max_ahead = "1h"
clock = "event"
time = ["http://www.w3.org/ns/sosa/resultTime"]
dedup = { age = "1h", events = 1_000_000 }
retention = { age = "7d", size = "20GB" }
[streams.far.source]
kafka = "127.0.0.1:9092"
topic = "t"
[kb.smartgrid]
iri = "http://smartgrid.org/db"
path = "kb.nt"
refresh = "1m"
entail = "rdfs"
[queries.cheap]
text = "SELECT * WITHIN 9 SECONDS FROM STREAM S <urn:s> { SEQ(A) DEFINE GPM A ON S { ?a <urn:p> ?b } }"
max_runs = 10_000
retention = { rows = 10, age = "7d" }
sinks = [{ webhook = "http://127.0.0.1:9/x", token = "TOKEN" }, { kafka = "127.0.0.1:9092", topic = "t" }]
[auth]
admin = "SPASEQ_ADMIN_TOKEN"
[limits]
body = "1MB"
header_timeout = "500ms"
[web]
origins = ["https://example.org"]
"""
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
