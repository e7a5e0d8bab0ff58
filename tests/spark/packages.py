"""SPAseq as clusters are given it: a wheel, a packed environment; and a Python that has all but SPAseq."""

from __future__ import annotations

import shutil
import tarfile
import tomllib
import venv
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import numpy

ROOT = Path(__file__).resolve().parents[2]
DEPENDENCIES = Path(numpy.__file__).resolve().parents[1]
"""Of this environment: files for SPAseq in development are not processed where only the folder is named."""


def packages() -> list[str]:
    """The packages of the wheel."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    found: list[str] = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    return found


def files() -> Iterator[Path]:
    """The files of the wheel, below ROOT."""
    for package in packages():
        for path in sorted((ROOT / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT)


def archive(path: Path) -> Path:
    """A zip file of what the wheel has."""
    with ZipFile(path, "w", ZIP_DEFLATED) as written:
        for file in files():
            written.write(ROOT / file, file)
    return path


def python(folder: Path, *, whole: bool) -> Path:
    """The Python of a new virtual environment with the dependencies, and, if it is whole, SPAseq with its kernels."""
    venv.create(folder, symlinks=True)
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{DEPENDENCIES}\n", encoding="utf-8")
    if whole:
        for file in files():
            (site / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / file, site / file)
        kernels = ROOT / "arrays" / "__pycache__"
        if kernels.is_dir():  # else it compiles them, where a clean checkout has not yet
            shutil.copytree(kernels, site / "arrays" / "__pycache__", dirs_exist_ok=True)
    return folder / "bin" / "python"


def packed(environment: Path, path: Path) -> Path:
    """The environment as an archive, as `tar -czf env.tar.gz -C env .` makes it."""
    with tarfile.open(path, "w:gz") as written:
        written.add(environment, ".")
    return path
