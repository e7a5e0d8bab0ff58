"""SPAseq runs from an archive, and from a wheel that is built from its sdist and installed where nothing else is."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

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


def test_spaseq_runs_from_an_archive(tmp_path: Path) -> None:
    interpreter, path = python(tmp_path / "bare", whole=False), archive(tmp_path / "spaseq.zip")
    for program in ("import spaseq", EVERY_MODULE, RUN):
        settings = {"HOME": str(tmp_path), "PYTHONPATH": "" if program == "import spaseq" else str(path)}
        command = [str(interpreter), "-c", program, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path)
        if program == "import spaseq":
            assert "No module named 'spaseq'" in done.stderr
        else:
            assert done.returncode == 0, done.stderr
    assert done.stdout == "['urn:x']\n"


def test_a_wheel_that_the_sdist_builds_is_whole_and_shows_the_demo(tmp_path: Path) -> None:
    """pip gets no dependency from an index: those of this environment are found in the empty one."""
    told(tmp_path, "-m", "hatchling", "build", "-t", "sdist", "-d", str(tmp_path), cwd=ROOT)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as packed:
        packed.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    told(tmp_path, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=source)
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as built:
        assert {Path(name) for name in built.namelist() if ".dist-info/" not in name} == set(files())
    interpreter = python(tmp_path / "empty", whole=False)
    pip = ("-m", "pip", "--python", str(interpreter), "install", "--no-index", "--no-deps", "--quiet")
    told(tmp_path, *pip, "--disable-pip-version-check", str(wheel))
    spaseq = interpreter.with_name("spaseq")
    shown = told(tmp_path, "demo", "--events", "2000", program=spaseq)
    assert shown.startswith("time ") and "urn:storage:" in shown
    doctor = told(tmp_path, "doctor", program=spaseq)
    assert str(tmp_path / "empty") in doctor.splitlines()[0] and "spaseq[serve]" in doctor


def told(folder: Path, *arguments: str, program: Path = Path(sys.executable), cwd: Path | None = None) -> str:
    """The standard output of a program that succeeds, with this folder as its home."""
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [str(program), *arguments], capture_output=True, text=True, env=environment, cwd=cwd or folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
