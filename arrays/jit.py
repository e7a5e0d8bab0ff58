"""Compiled kernels: the one module that decorates functions for numba; importing it imports numba.

Kernels take arrays, scalars and NamedTuples of arrays. With NUMBA_DISABLE_JIT=1 they run unchanged as Python.

Compiled code is kept in a folder for each module and content: the text of the module and of all modules of its package,
and of this one, that it imports. So no edit can leave old code running, and none elsewhere discards code.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba import extending

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config
COMPILED = not bool(getattr(_config, "DISABLE_JIT", 0))
ASSERTING = not COMPILED
"""Kernels check their invariants when they run as Python; compiled, the checks are left out."""
_CONTENTS_MAX = 3
"""Contents of one module whose compiled code is kept; the least recently used are removed."""
_IMPORT = re.compile(r"^(?:from ([\w.]+) )?import (\([^)]*\)|[^(\n]*)", re.MULTILINE)


def kernel(function: Function) -> Function:
    """The function compiled on its first call; kept on disk where a folder can be written, else in memory only."""
    return _compiled(function)


def part(function: Function) -> Function:
    """A function that only kernels call, without an entry point for Python, which takes longest to compile."""
    return _compiled(function, keep=False, no_cpython_wrapper=True)


def lean_kernel(function: Function) -> Function:
    """A kernel that makes no array, nor part of one: it counts no references."""
    return _compiled(function, _nrt=False)


def inlined_kernel(function: Function) -> Function:
    """A lean kernel that is inlined into each other kernel that calls it.

    Else every call passes each array as seven words, which took four times as long as the work itself.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def lean_part(function: Function) -> Function:
    """A function that is inlined into each lean kernel that calls it, without an entry point for Python."""
    return _compiled(function, keep=False, no_cpython_wrapper=True, _nrt=False, forceinline=True)


def callable_from_kernels(function: Function) -> Function:
    """The same Python function, which kernels may call from now on."""
    shared: Function = extending.register_jitable(_nrt=False)(function) if COMPILED else function
    return shared


def is_kept(compiled: Callable[..., Any]) -> bool:
    """True if compiled code of a kernel is on disk."""
    if not COMPILED:
        return False
    folder, code = cast("Any", compiled).stats.cache_path, compiled.__code__
    return folder is not None and any(Path(folder).glob(f"{Path(code.co_filename).stem}.{compiled.__qualname__}-*.nbi"))


def _compiled(function: Function, keep: bool = True, **options: Any) -> Function:
    if not COMPILED:
        return np.errstate(over="ignore", invalid="ignore")(function) if keep else function
    compiler: Any = numba.njit
    folder = _folder(function.__module__) if keep else None
    given, _config.CACHE_DIR = _config.CACHE_DIR, str(folder or "")
    try:
        compiled: Function = compiler(cache=folder is not None, no_cfunc_wrapper=True, **options)(function)
    finally:
        _config.CACHE_DIR = given
    return compiled


@cache
def _folder(module: str) -> Path | None:
    """The folder for compiled code of the module's present content; None if none can be written."""
    for root in filter(None, (_config.CACHE_DIR, Path(__file__).parent / "__pycache__", "~/.cache/spaseq")):
        try:
            folder = Path(root).expanduser() / f"{module}-{_content(module)}"
            folder.mkdir(parents=True, exist_ok=True)
            TemporaryFile(dir=folder).close()
            os.utime(folder)
            by_use = sorted(folder.parent.glob(f"{module}-*"), key=lambda path: path.stat().st_mtime)
        except (OSError, RuntimeError):  # RuntimeError: there is no home
            continue
        for old in by_use[:-_CONTENTS_MAX]:
            shutil.rmtree(old, ignore_errors=True)
        return folder
    return None


def _content(module: str) -> str:
    """A digest of the text of the module and of all that it imports from its package and from this one."""
    packages = {module.partition(".")[0], __name__.partition(".")[0]}
    texts: dict[str, str] = {}
    waiting = [module, __name__]
    while waiting:
        name = waiting.pop()
        file = getattr(sys.modules.get(name), "__file__", None)
        if name not in texts and file is not None:
            texts[name] = Path(file).read_text(encoding="utf-8")
            waiting += [found for found in _imports(texts[name]) if found.partition(".")[0] in packages]
    return blake2b(repr(sorted(texts.items())).encode(), digest_size=8).hexdigest()


def _imports(text: str) -> Iterator[str]:
    """Names that may be those of modules that a text imports as it is loaded."""
    for package, names in _IMPORT.findall(text):
        yield from (package, *(f"{package}.{name}".lstrip(".") for name in re.findall(r"[\w.]+", names)))
