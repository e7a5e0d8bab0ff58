"""Bytes of a text, one or eight at a time, inside kernels; importing this imports numba."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from arrays.jit import COMPILED

Bytes = NDArray[np.uint8]
WORD = 8
"""Bytes in a word; a text that words are read from has so many bytes after its end."""


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


def _put_word(typing: Any, text: Any, at: Any, word: Any) -> Any:
    """text[at:at + 8] = word, little-endian; at must not be negative."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        place = builder.gep(array.data, [arguments[1]])
        builder.store(arguments[2], builder.bitcast(place, ir.IntType(64).as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(text, types.int64, types.int64), code


def _put_word_in_python(text: Bytes, at: int, word: int) -> None:
    text[at : at + WORD] = np.array([word], dtype="<i8").view(np.uint8)


def _first_byte(typing: Any, mask: Any) -> Any:
    """The number of the byte, counted from the lowest, that holds the lowest bit set in a word; there must be one."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.lshr(zeros, ir.Constant(ir.IntType(64), 3))

    return types.int64(types.int64), code


def _either(code: Callable[..., Any], in_python: Callable[..., Any]) -> Callable[..., Any]:
    """The intrinsic of numba; where kernels run as Python, the function in Python."""
    return cast("Callable[..., Any]", intrinsic(code)) if COMPILED else in_python


byte_at: Callable[[Bytes, int], int] = _either(_byte_at, lambda text, at: int(text[at]))
word_at: Callable[[Bytes, int], int] = _either(_word_at, lambda text, at: text[at : at + WORD].view("<i8")[0])
first_byte: Callable[[int], int] = _either(_first_byte, lambda mask: (int(mask & -mask).bit_length() - 1) // WORD)
put_word: Callable[[Bytes, int, int], None] = _either(_put_word, _put_word_in_python)
