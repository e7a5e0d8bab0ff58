"""The parts of this installation: packages and their extras, kernels, caches."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)(?:\[[\w, -]*\])? *(?P<bounds>[^;]*)(?:;.*extra *== *['\"](?P<extra>[\w-]+))?"
)
_BOUND = re.compile(r"(>=|<) *([\d.]+)")
_DEVELOPMENT = ("bench", "dev")
_KERNELS = {
    "N-Quads and RDF terms": (("sparql_gpm.reading.nquads_kernel", "scan"),),
    "NDJSON by templates": (("spaseq.inputs.tables.json_kernel", "scan"),),
    "Jelly": (("sparql_gpm.reading.jelly_kernel", "scan"),),
    "register automata": (("automata.registers.kernel", "consume"), ("automata.registers.kernel", "expire")),
    "complex event automata": (("automata.cea.update", "advance"), ("automata.cea.enumeration", "enumerate_roots")),
    "OVER MATCHES": (("automata.propagation.kernel", "consume"),),
}
"""The entry points of the kernels of each part."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package that SPAseq, or one of its extras, needs.

    extra       None: SPAseq itself
    bounds      versions, as in pyproject.toml
    found       the version that is installed, None if none is
    """

    name: str
    extra: str | None
    bounds: str
    found: str | None

    @property
    def is_met(self) -> bool:
        """True if it is installed in a version within the bounds."""
        if self.found is None:
            return False
        found = _numbers(self.found)
        return all((found >= _numbers(other)) == (sign == ">=") for sign, other in _BOUND.findall(self.bounds))


def requirements() -> Iterator[Requirement]:
    """Those of SPAseq and of the extras of its users; none if SPAseq runs without having been installed."""
    try:
        texts = metadata.requires("spaseq") or []
    except metadata.PackageNotFoundError:
        return
    for text in texts:
        parsed = _REQUIREMENT.match(text)
        if parsed is not None and parsed["name"] != "spaseq" and parsed["extra"] not in _DEVELOPMENT:
            yield Requirement(parsed["name"], parsed["extra"], parsed["bounds"].strip(), _version(parsed["name"]))


def compiled_kernels() -> dict[str, bool]:
    """For each part that has kernels, True if its compiled code is on disk; imports numba."""
    from arrays.jit import is_kept

    return {
        part: all(is_kept(getattr(import_module(module), name)) for module, name in entries)
        for part, entries in _KERNELS.items()
    }


def kernel_folder() -> Path | None:
    """The folder in which compiled code is kept, None if no folder for it can be written."""
    from arrays.kernel_cache import folders

    found = folders("arrays.jit").write
    return None if found is None else found.parent


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    """The release of a version, without zeros at its end; what follows it is ignored."""
    release = re.match(r"\d+(?:\.\d+)*", version)
    numbers = [int(part) for part in release[0].split(".")] if release else []
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
