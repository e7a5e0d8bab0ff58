"""The one door to numba: whoever imports this module pays for numba's import.

Kernels take arrays and scalars, and run unchanged as Python with NUMBA_DISABLE_JIT=1. Their integers wrap around.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Bytes = NDArray[np.uint8]

COMPILED = not bool(getattr(numba.config, "DISABLE_JIT", 0))
WORD = 8
"""Bytes in a word; a text that words are read from has so many bytes after its end."""


def kernel(function: Function) -> Function:
    """The function compiled on its first call; kept on disk where a folder can be written, else in memory only.

    What is kept on disk is outdated when the kernel's own file changes, not when a file of its parts does.
    """
    compiler: Any = numba.njit
    if not COMPILED:
        return np.errstate(over="ignore")(function)
    try:
        compiled: Function = compiler(cache=True, no_cfunc_wrapper=True)(function)
    except RuntimeError:  # numba's word for "no place for the cache"
        compiled = compiler(no_cfunc_wrapper=True)(function)
    return compiled


def is_kept(compiled: Callable[..., Any]) -> bool:
    """Whether a kernel has been kept on disk, in some version."""
    if not COMPILED:
        return False
    folder, code = cast("Any", compiled).stats.cache_path, compiled.__code__
    kept = f"{Path(code.co_filename).stem}.{compiled.__qualname__}-*.nbi"
    return folder is not None and any(Path(folder).glob(kept))


def part(function: Function) -> Function:
    """A function that only kernels call: compiled into them, without a way in from Python, which takes longest."""
    compiler: Any = numba.njit
    if not COMPILED:
        return function
    compiled: Function = compiler(no_cfunc_wrapper=True, no_cpython_wrapper=True)(function)
    return compiled


def _load(bits: int) -> Callable[..., Any]:
    """The code for reading an integer of so many bits at any byte of an array."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        value = builder.load(builder.bitcast(place, ir.IntType(bits).as_pointer()), align=1)
        return value if bits == 64 else builder.zext(value, ir.IntType(64))

    return code


def _byte_at(typing: Any, text: Any, at: Any) -> Any:
    """text[at] as an int64; at must not be negative."""
    return types.int64(text, types.int64), _load(8)


def _word_at(typing: Any, text: Any, at: Any) -> Any:
    """text[at:at + 8] as one int64, little-endian; at must not be negative."""
    return types.int64(text, types.int64), _load(64)


def _byte_in_python(text: Bytes, at: int) -> int:
    return int(text[at])


def _word_in_python(text: Bytes, at: int) -> Any:
    return text[at : at + WORD].view("<i8")[0]


def _first_byte(typing: Any, mask: Any) -> Any:
    """Which byte of a word, counted from the lowest, holds its lowest bit that is set; there must be one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.int64), code


def _first_byte_in_python(mask: int) -> int:
    return (int(mask & -mask).bit_length() - 1) // WORD


byte_at: Callable[[Bytes, int], int] = _byte_in_python
word_at: Callable[[Bytes, int], int] = _word_in_python
first_byte: Callable[[int], int] = _first_byte_in_python
if COMPILED:
    byte_at = cast("Callable[[Bytes, int], int]", intrinsic(_byte_at))
    word_at = cast("Callable[[Bytes, int], int]", intrinsic(_word_at))
    first_byte = cast("Callable[[int], int]", intrinsic(_first_byte))
