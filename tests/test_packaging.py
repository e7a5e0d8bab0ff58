"""SPAseq runs from an archive: every folder is a package, and data files are found in it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.spark.packages import ROOT, archive, files, python

EVERY_MODULE = """import importlib, pkgutil, sys
for package in ("arrays", "automata", "kb", "sparql_gpm", "spaseq"):
    root = importlib.import_module(package)
    assert root.__file__.startswith(sys.argv[1]), root.__file__
    for module in pkgutil.walk_packages(root.__path__, package + "."):
        if not module.name.endswith(("__main__", "daemon")):
            importlib.import_module(module.name)
"""
RUN = """import spaseq, sys
text = "SELECT ?s WITHIN 1 HOUR FROM STREAM S <urn:s> WHERE { SEQ(A) DEFINE GPM A ON S { ?s <urn:a> ?a } }"
query = spaseq.parse(text)
engine, found = spaseq.Engine(), []
engine.register(query, on_match=found.append)
engine.push("urn:s", "<urn:x> <urn:a> 1 .", "2026-01-01T00:00:00Z")
engine.close()
print([row["s"].value for row in found])
"""


def test_every_folder_of_the_wheel_is_a_package() -> None:
    folders = {file.parent for file in files()}
    folders |= {parent for folder in folders for parent in folder.parents} - {Path()}
    assert len(folders) > 20
    assert [str(folder) for folder in sorted(folders) if not (ROOT / folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("name", ["spaseq.zip", "spaseq-0.1.0-py3-none-any.whl"])
def test_spaseq_runs_from_an_archive(tmp_path: Path, name: str) -> None:
    interpreter, path = python(tmp_path / "bare", whole=False), archive(tmp_path / name)
    for program in ("import spaseq", EVERY_MODULE, RUN):
        settings = {"HOME": str(tmp_path), "PYTHONPATH": "" if program == "import spaseq" else str(path)}
        command = [str(interpreter), "-c", program, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path)
        if program == "import spaseq":
            assert "No module named 'spaseq'" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
    assert done.stdout == "['urn:x']\n"
