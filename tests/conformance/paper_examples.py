"""The shape of an example from a paper: a query, a few events, and the matches as short texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from spaseq.lang.parse import parse
from tests.conformance.cases import read_kb, read_stream, row_json
from tests.conformance.command_line import run
from tests.conformance.times import from_iso, to_iso
from tests.reference.api import evaluate

PREFIX = "PREFIX : <http://ex.org/>\n"
HEAD = "@prefix : <http://ex.org/> .\n@prefix prov: <http://www.w3.org/ns/prov#> .\n"
ORIGIN = from_iso("2026-01-01T00:00:00Z")
DB = "http://ex.org/db"

Told = Sequence[tuple[str, float, str]]
"""(name, second, triples in Turtle) per event."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example.

    sequence, gpms      what stands in SEQ( ), and the body of each GPM with its stream
    shown               the projected variables; the rows show them
    """

    sequence: str
    gpms: Mapping[str, tuple[str, str]]
    streams: Mapping[str, Told]
    shown: tuple[str, ...] = ()
    window: str = "100 SECONDS"
    selector: str = ""
    kb: str = ""
    modifiers: str = ""

    def text(self) -> str:
        """The query."""
        froms = "\n".join(f"FROM STREAM {name} <http://ex.org/{name.lower()}>" for name in self.streams)
        defines = "\n".join(f"  DEFINE GPM {name} ON {on} {{ {body} }}" for name, (on, body) in self.gpms.items())
        columns = " ".join(f"?{name}" for name in self.shown) or "*"
        head = f"SELECT {self.selector} {columns}\nWITHIN {self.window}\n{froms}"
        return f"{PREFIX}{head}\nWHERE {{\n  SEQ({self.sequence})\n{defines}\n}}\n{self.modifiers}\n"

    def files(self, folder: Path) -> dict[str, Path]:
        """The streams as TriG files."""
        paths = {}
        for name, events in self.streams.items():
            paths[name] = folder / f"{name}.trig"
            paths[name].write_text(HEAD + "".join(map(_block, events)), encoding="utf-8")
        return paths

    def kbs(self, folder: Path) -> dict[str, Path]:
        """The KB as a Turtle file."""
        if not self.kb:
            return {}
        path = folder / "kb.ttl"
        path.write_text(f"@prefix : <http://ex.org/> .\n{self.kb}\n", encoding="utf-8")
        return {DB: path}

    def by_reference(self, folder: Path) -> list[str]:
        """The rows as the reference gives them."""
        streams = {name: read_stream(path) for name, path in self.files(folder).items()}
        kb = {iri: read_kb(path) for iri, path in self.kbs(folder).items()}
        return sorted(self.show(row_json(row)) for row in evaluate(parse(self.text(), "query"), streams, kb))

    def by_command_line(self, folder: Path, evaluator: str) -> list[str]:
        """The rows as `spaseq run` gives them."""
        query = folder / "query.rq"
        query.write_text(self.text(), encoding="utf-8")
        return sorted(map(self.show, run([query], self.files(folder), self.kbs(folder), evaluator)))

    def show(self, row: Mapping[str, Any]) -> str:
        """`A=a1 B=b1,b2 x=1`."""
        steps = [f"{step}={','.join(names).replace('urn:', '')}" for step, names in row["events"].items()]
        bindings = row["bindings"]
        values = [f"{name}={_local(bindings[name])}" for name in self.shown if name in bindings]
        return " ".join([*steps, *values])


def _local(term: Mapping[str, str]) -> str:
    return term["value"].removeprefix("http://ex.org/")


def _block(event: tuple[str, float, str]) -> str:
    name, second, triples = event
    time = to_iso(ORIGIN + round(second * 1_000_000_000))
    stamp = f'"{time}"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    return f"<urn:{name}> prov:generatedAtTime {stamp} .\n<urn:{name}> {{ {triples} . }}\n"


def typed(order: str) -> Told:
    """`"a1 b1"` is an event of type A at 1 and one of type B at 2."""
    return [(name, second, f"[] a :{name[0].upper()}") for second, name in enumerate(order.split(), start=1)]


def of_types(names: str) -> dict[str, tuple[str, str]]:
    """One GPM per letter, for events of that type on S1."""
    return {name: ("S1", f"[] a :{name}") for name in names}
