"""No public name and no parameter disappears, and a user's program has the types that it relies on."""

from __future__ import annotations

import tomllib
from pathlib import Path

from sparql_gpm.terms import XSD
from tests.public_api import names, user_program

ROOT = Path(__file__).parents[2]
QUERY = """SELECT ?s ?k WITHIN 1 HOUR FROM STREAM S1 <urn:s> FROM NAMED <urn:kb>
WHERE { SEQ(A) DEFINE GPM A ON S1 { ?s <urn:a> ?a GRAPH <urn:kb> { ?s <urn:kind> ?k } } }"""
EVENT = f"""<urn:e1> <http://www.w3.org/ns/prov#generatedAtTime> "2026-01-01T00:00:01Z"^^<{XSD}dateTime> .
<urn:x> <urn:a> "1" <urn:e1> .
"""


def test_no_public_name_and_no_parameter_has_disappeared() -> None:
    recorded = (ROOT / "tests" / "golden" / "public_api.txt").read_text(encoding="utf-8").split("\n")
    assert [name for name in recorded if name and name not in set(names())] == []


def test_the_program_whose_types_are_checked_runs(tmp_path: Path) -> None:
    (tmp_path / "events.nq").write_text(EVENT, encoding="utf-8")
    (tmp_path / "kb.nt").write_text("<urn:x> <urn:kind> <urn:good> .\n", encoding="utf-8")
    found = user_program(QUERY, tmp_path / "events.nq", tmp_path / "kb.nt")
    assert len(found) == 3 and all("urn:x" in row for row in found)
    assert "tests.public_api" in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mypy"]["modules"]


def test_every_package_says_that_it_has_types() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert [package for package in packages if not (ROOT / package / "py.typed").exists()] == []
