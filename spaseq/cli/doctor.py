"""`spaseq doctor`: versions, extras, caches, kernels, Java."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import spaseq
from spaseq.engine.installation import Requirement, compiled_kernels, kernel_folder, requirements
from spaseq.errors import InputError
from spaseq.lang.query_cache import VARIABLE, folder

JAVA_MIN = 17
_JAVA_S_MAX = 20
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def examined() -> tuple[list[str], bool]:
    """The lines of the report; True if SPAseq itself has all that it needs."""
    needed = list(requirements())
    own = [each for each in needed if each.extra is None]
    lines = [
        f"SPAseq {spaseq.__version__} in {Path(spaseq.__file__).parent}",
        f"Python {platform.python_version()} on {platform.system()} {platform.machine()}, {os.cpu_count()} processors",
        *(_packages("packages", own) if own else ["packages  unknown: SPAseq was not installed by pip"]),
    ]
    extras = sorted((each for each in needed if each.extra), key=lambda each: str(each.extra))
    for extra, group in groupby(extras, key=lambda each: each.extra):
        lines += _packages(f"spaseq[{extra}]", list(group))
    return [*lines, *_kernels(), *_queries(), *_spark()], all(each.is_met for each in own)


def _packages(title: str, needed: list[Requirement]) -> Iterator[str]:
    yield f"{title}  {', '.join(f'{each.name} {each.found}' for each in needed if each.is_met) or 'none'}"
    for each in needed:
        if each.found is None:
            yield f"  missing: {each.name} {each.bounds}".rstrip()
        elif not each.is_met:
            yield f"  {each.name} {each.found} is not {each.bounds}"
    if not all(each.is_met for each in needed):
        yield f'  hint: pip install "{title if needed[0].extra else "spaseq"}"'


def _kernels() -> Iterator[str]:
    place = kernel_folder()
    yield f"kernels  {'cannot be kept: no folder can be written' if place is None else f'kept in {place}'}"
    kept = compiled_kernels()
    for done, word in ((True, "compiled"), (False, "not compiled yet")):
        if parts := [part for part, is_kept in kept.items() if is_kept == done]:
            yield f"  {word}: {', '.join(parts)}"
    if place is not None and not all(kept.values()):
        yield "  hint: spaseq warm compiles them now; long runs do when they need them"


def _queries() -> Iterator[str]:
    place = folder()
    if place is None:
        yield f"parsed queries  not kept ({VARIABLE}={os.environ.get(VARIABLE, '')})"
        return
    files = [path for path in place.glob("*") if path.is_file()] if place.is_dir() else []
    size = sum(path.stat().st_size for path in files) / 1000
    yield f"parsed queries  {len(files)} kept in {place}, {size:.0f} kB"


def _spark() -> Iterator[str]:
    from spaseq.spark import java, require

    program = java()
    if program is not None:
        version = _java_version(program)
        old = "" if version is None or version >= JAVA_MIN else f", and Spark needs {JAVA_MIN} or newer"
        yield f"Java  {'of an unknown version' if version is None else version} at {program}{old}"
    try:
        require()
        yield "Spark  can run"
    except InputError as error:
        yield f"Spark  cannot run: {error.message}"
        yield f"  hint: {error.hint}"


def _java_version(program: str) -> int | None:
    try:
        told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=_JAVA_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = _VERSION.search(told.stderr + told.stdout)
    return None if found is None else int(found[1])
