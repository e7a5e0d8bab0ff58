"""Input made to cost much: shapes, and the ways in which they are read.

To add shapes, write a module of this package with a tuple `SHAPES`, and a mapping `WAYS` with the ways that it adds:

    WAYS = {"nquads": Way(read_nquads, bytes_max=16_000_000, seconds_max=10, memory_bytes_max=320_000_000)}
    SHAPES = (Shape("one line of `<`", "nquads", lambda size: b"<" * size),)
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Shape:
    """One sort of input.

    way     the name of the way in which it is read
    make    input of about so many bytes; of compressed input, so many after decompression
    """

    name: str
    way: str
    make: Callable[[int], bytes]


@dataclass(frozen=True, slots=True)
class Way:
    """One reader, and the limits that hold for it.

    read                reads an input; the result is a few words about it, such as the first error that was reported
    bytes_max           the largest size at which shapes are measured; the others are a half and a quarter of it
    seconds_max         of the processor
    memory_bytes_max    by which the process may grow
    """

    read: Callable[[bytes], str]
    bytes_max: int
    seconds_max: float
    memory_bytes_max: int


def shapes() -> tuple[Shape, ...]:
    """The shapes of all modules of this package."""
    return tuple(shape for module in _modules() for shape in module.SHAPES)


def ways() -> Mapping[str, Way]:
    """The ways of all modules of this package, by name."""
    found: dict[str, Way] = {}
    for module in _modules():
        assert found.keys().isdisjoint(module.WAYS), module.__name__
        found |= module.WAYS
    return found


def _modules() -> list[Any]:
    return [importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__)]
