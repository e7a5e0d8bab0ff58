"""Compiled kernels: the one module that decorates functions for numba; importing it imports numba.

Kernels take arrays, scalars and NamedTuples of arrays. With NUMBA_DISABLE_JIT=1 they run unchanged as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba import extending, types

from arrays.kernel_cache import KernelCache, folders
from arrays.part_compiler import PartCompiler

Function = TypeVar("Function", bound=Callable[..., Any])

_config: Any = numba.config
_types: Any = types
COMPILED = not bool(getattr(_config, "DISABLE_JIT", 0))
ASSERTING = not COMPILED
"""Kernels check their invariants when they run as Python; compiled, the checks are left out."""


def kernel(function: Function) -> Function:
    """The function compiled on its first call; kept on disk where a folder can be written, else in memory only."""
    return _compiled(function)


def free_kernel(function: Function) -> Function:
    """A kernel that runs without the interpreter's lock, beside other threads; nobody else may write to its arrays."""
    return _compiled(function, nogil=True)


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


def lean_step(function: Function) -> Function:
    """A function that lean kernels call, which is long enough to be compiled once: it is not inlined."""
    return _compiled(function, keep=False, no_cpython_wrapper=True, _nrt=False)


def callable_from_kernels(function: Function) -> Function:
    """The same Python function, which kernels may call from now on."""
    shared: Function = extending.register_jitable(_nrt=False)(function) if COMPILED else function
    return shared


def is_kept(compiled: Callable[..., Any]) -> bool:
    """True if compiled code of a kernel is on disk."""
    if not COMPILED:
        return False
    pattern = f"{Path(compiled.__code__.co_filename).stem}.{compiled.__qualname__}-*.nbi"
    return any(any(folder.glob(pattern)) for folder in folders(compiled.__module__).read)


def _compiled(function: Function, keep: bool = True, **options: Any) -> Function:
    if not COMPILED:
        return np.errstate(over="ignore", invalid="ignore")(function) if keep else function
    compiler: Any = numba.njit
    if not keep:
        options["pipeline_class"] = PartCompiler
    compiled = compiler(no_cfunc_wrapper=True, **options)(function)
    compiled.get_call_template = partial(_call_template, compiled)
    if keep and folders(function.__module__).read:
        compiled._cache = KernelCache(function)
    kernel: Function = compiled
    return kernel


def _call_template(compiled: Any, args: tuple[Any, ...], kws: dict[str, Any]) -> Any:
    """The template by which kernels call a function: one for the types, where numba has one for each constant."""
    plain = {name: _types.unliteral(kind) for name, kind in kws.items()}
    return type(compiled).get_call_template(compiled, tuple(map(_types.unliteral, args)), plain)
