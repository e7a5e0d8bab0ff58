"""The worked cases: folders with a query, its input and its rows; `cases/README.md` documents the format."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyoxigraph

from sparql_gpm.reading.document_terms import ParsedTerm, to_term
from sparql_gpm.terms import IRI, XSD, BlankNode, Literal, Term, TripleTerm, relabelled
from tests.conformance.times import from_iso, to_iso
from tests.reference.api import Arrivals, Row
from tests.reference.stream import Triples

OWN = Path(__file__).parent / "cases"
TIME_PREDICATE = "http://www.w3.org/ns/prov#generatedAtTime"
STREAM_SUFFIXES = (".trig", ".nq")
FURTHER = ("SPASEQ_CASES", "SPASEQ_CASES2", "SPASEQ_CASES3")
"""The environment variables that name folders of further cases."""
LATER = ("an_", "ca_", "ob_", "am_", "ex_", "al_", "ow_", "fn_", "geo_", "of_", "s12_order_")
"""What the names of further cases begin with that show what is not built yet; below, those of judged queries."""
LATER_JUDGED = (
    *("alias_", "any_", "at_", "first_", "fn_", "geo_", "last_", "limit_", "order_", "prev_", "starting_", "week_"),
    "zone_",
)


@dataclass(frozen=True, slots=True)
class Case:
    """One folder."""

    folder: Path

    @property
    def sections(self) -> list[str]:
        """The numbers of the specification's sections that the case shows."""
        first = (self.folder / "about.txt").read_text(encoding="utf-8").splitlines()[0]
        return first.removeprefix("Specification ").split(", ")

    @property
    def queries(self) -> list[Path]:
        """`query.rq` first, then those it reads."""
        return sorted(self.folder.glob("*.rq"), key=lambda path: (path.stem != "query", path.name))

    @property
    def streams(self) -> dict[str, Path]:
        """Stream files by the stream's name in the query."""
        return {path.stem: path for path in sorted(self.folder.iterdir()) if path.suffix in STREAM_SUFFIXES}

    @property
    def kbs(self) -> dict[str, Path]:
        """KB files by IRI."""
        found = {}
        for path in sorted(self.folder.glob("kb*.ttl")):
            first = path.read_text(encoding="utf-8").splitlines()[0]
            found[first.removeprefix("# KB ").strip(" <>")] = path
        return found

    @property
    def arguments(self) -> list[str]:
        """Further arguments of the command line, which is called in the folder."""
        path = self.folder / "args"
        return path.read_text(encoding="utf-8").splitlines() if path.exists() else []

    @property
    def expected(self) -> list[dict[str, Any]]:
        """The rows, as JSON objects."""
        lines = (self.folder / "expected.ndjson").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]


def case_folders(*roots: Path) -> list[Case]:
    """Every case below the given folders."""
    return [Case(path.parent) for root in roots for path in sorted(root.glob("*/query.rq"))]


def shared_roots() -> list[Path]:
    """The folders that the variables of FURTHER name."""
    return [Path(named).absolute() for variable in FURTHER if (named := os.environ.get(variable))]


def command_line_cases() -> list[Case]:
    """The project's own cases, and those of the further ones that are built."""
    further = [case for case in case_folders(*shared_roots()) if not case.folder.name.startswith(LATER)]
    return case_folders(OWN) + further


def every_case() -> list[Case]:
    """The cases that every way to run a query can run: those without arguments of the command line."""
    return [case for case in command_line_cases() if not case.arguments]


def judged_queries(kind: str) -> list[Path]:
    """The queries of the further folders that are built and whose errors, or warnings, are known."""
    found = [path for root in shared_roots() for path in sorted((root / kind).glob("*.rq"))]
    return [path for path in found if not path.name.startswith(LATER_JUDGED)]


# --- reading RDF for the reference ----------------------------------------------------------------


@cache
def read_stream(path: Path) -> Arrivals:
    """The events of a TriG or N-Quads file in order of appearance."""
    times: dict[str, int] = {}
    graphs: dict[str, set[tuple[Term, Term, Term]]] = {}
    labels: dict[tuple[str, str], str] = {}

    def term(node: ParsedTerm, graph: str) -> Term:
        return relabelled(to_term(node), lambda label: labels.setdefault((graph, label), f"{path.stem}.{len(labels)}"))

    for quad in pyoxigraph.parse(path=str(path)):
        in_default = isinstance(quad.graph_name, pyoxigraph.DefaultGraph)
        name = str(quad.subject.value if in_default else quad.graph_name.value)
        graph = graphs.setdefault(name, set())
        if not in_default:
            graph.add((term(quad.subject, name), term(quad.predicate, name), term(quad.object, name)))
        if quad.predicate.value == TIME_PREDICATE and quad.subject.value == name:
            times[name] = from_iso(quad.object.value)
    return tuple((times[name], name, frozenset(triples)) for name, triples in graphs.items())


def read_kb(path: Path) -> Triples:
    """The triples of a Turtle file."""
    quads = pyoxigraph.parse(path=str(path))
    return frozenset((to_term(quad.subject), to_term(quad.predicate), to_term(quad.object)) for quad in quads)


# --- comparing ------------------------------------------------------------------------------------


def agrees(case: Case, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the rows are those of the case: in order for the project's own cases, else as multisets."""
    found, expected = _texts(rows, set(graph_names(case))), _expected_texts(case)
    return found == expected if case.folder.parent == OWN else Counter(found) == Counter(expected)


def row_json(row: Row) -> dict[str, Any]:
    """A reference row in the shape of an NDJSON row."""
    shown: dict[str, Any] = {"time": to_iso(row.time), "start": to_iso(row.start), "events": dict(row.events)}
    if row.triples is None:
        shown["bindings"] = {name: term_json(term) for name, term in row.bindings.items()}
    else:
        shown["triples"] = row.lines()
    return shown


def term_json(term: Term) -> dict[str, Any]:
    """A term as in SPARQL 1.2 Query Results JSON."""
    match term:
        case IRI(value):
            return {"type": "uri", "value": value}
        case BlankNode(label):
            return {"type": "bnode", "value": label}
        case TripleTerm(subject, predicate, target):
            parts = {"subject": subject, "predicate": predicate, "object": target}
            return {"type": "triple", "value": {part: term_json(own) for part, own in parts.items()}}
        case Literal(lexical, datatype, language, direction):
            if language:
                tagged = {"type": "literal", "value": lexical, "xml:lang": language}
                return tagged | ({"its:dir": direction} if direction else {})
            if datatype == XSD + "string":
                return {"type": "literal", "value": lexical}
            return {"type": "literal", "value": lexical, "datatype": datatype}


def multiset(rows: Iterable[Mapping[str, Any]], inputs: Iterable[str]) -> Counter[str]:
    """Rows as a multiset of texts that are equal iff the rows are to be taken as equal."""
    return Counter(_texts(rows, set(inputs)))


@cache
def _expected_texts(case: Case) -> list[str]:
    return _texts(case.expected, set(graph_names(case)))


def _texts(rows: Iterable[Mapping[str, Any]], known: set[str]) -> list[str]:
    return [json.dumps(_comparable(row, known), sort_keys=True) for row in rows]


def _comparable(row: Mapping[str, Any], known: set[str]) -> dict[str, Any]:
    labels: dict[str, str] = {}
    bindings = {name: _known_term(term, labels) for name, term in sorted((row.get("bindings") or {}).items())}
    events = {step: [n if n in known else "derived" for n in names] for step, names in row["events"].items()}
    triples = _canonical(row.get("triples") or ())
    return {"time": row["time"], "start": row["start"], "bindings": bindings, "events": events, "triples": triples}


def _canonical(lines: Iterable[str]) -> list[str]:
    """The triples with canonical labels of their blank nodes."""
    graph = pyoxigraph.Dataset(pyoxigraph.parse("\n".join(lines), pyoxigraph.RdfFormat.N_TRIPLES))
    graph.canonicalize(pyoxigraph.CanonicalizationAlgorithm.UNSTABLE)
    return sorted(map(str, graph))


def _known_term(term: Mapping[str, Any], labels: dict[str, str]) -> object:
    """The term with the blank nodes of the row numbered, and its language tag in lower case."""
    match term:
        case {"type": "bnode", "value": label}:
            return labels.setdefault(label, f"bnode {len(labels)}")
        case {"type": "triple", "value": parts}:
            return [_known_term(parts[part], labels) for part in ("subject", "predicate", "object")]
        case {"xml:lang": tag}:
            return {**term, "xml:lang": tag.lower()}
    return term


def graph_names(case: Case) -> list[str]:
    """The names of all events in the case's files."""
    return [name for path in case.streams.values() for _, name, _ in read_stream(path)]


def as_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as NDJSON, for reading differences."""
    return "\n".join(json.dumps(row, sort_keys=True) for row in rows)


__all__ = [
    "OWN",
    "Case",
    "agrees",
    "case_folders",
    "command_line_cases",
    "every_case",
    "graph_names",
    "judged_queries",
    "multiset",
    "read_kb",
    "read_stream",
    "row_json",
    "shared_roots",
]
