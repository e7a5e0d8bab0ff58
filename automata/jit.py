"""The one door to numba: whoever imports this module pays for numba's import.

Kernels take arrays, scalars and NamedTuples of arrays, and run unchanged as Python with NUMBA_DISABLE_JIT=1.
numba notices a changed file by the kernel's own file only: after a change in a file whose kernels are called
from another file, remove that other file's `*.nbi` from `__pycache__`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import config

Function = TypeVar("Function", bound=Callable[..., Any])

ASSERTING = bool(vars(config)["DISABLE_JIT"])
"""Kernels check their invariants when they run as Python; compiled, the checks are left out."""


def kernel(function: Function) -> Function:
    """The function compiled on its first call; kept on disk where a folder can be written, else in memory only."""
    return _compiled(function)


def lean_kernel(function: Function) -> Function:
    """A kernel that makes no array, nor part of one: it counts no references."""
    return _compiled(function, _nrt=False)


def lean_part(function: Function) -> Function:
    """A function that lean kernels call for each event: it becomes part of each of them.

    Else every call hands over each array as seven words, which took four times as long as the work itself.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def _compiled(function: Function, **options: Any) -> Function:
    compiler: Any = numba.njit
    try:
        compiled: Function = compiler(cache=True, **options)(function)
    except RuntimeError:  # numba's word for "no place for the cache"
        compiled = compiler(**options)(function)
    return compiled
