"""A way in: what the fuzzer makes for it, and what must hold."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random

from kb.errors import KnowledgeBaseError
from spaseq.errors import SPAseqError

REFUSED = (SPAseqError, KnowledgeBaseError)
_KEPT: list[tempfile.TemporaryDirectory[str]] = []


class Finding(AssertionError):
    """An input was used in a wrong way."""


def _nothing() -> None:
    """Nothing is to be made ready."""


@dataclass(frozen=True, slots=True)
class Target:
    """One way in.

    make        draws an input
    take        returns, or raises what is a finding
    ready       is called once before: kernels are compiled, whose time is no input's
    """

    name: str
    make: Callable[[Random], bytes]
    take: Callable[[bytes], None]
    ready: Callable[[], None] = _nothing


@cache
def folder() -> Path:
    """The files of this process; removed with it."""
    made = tempfile.TemporaryDirectory(prefix="spaseq-fuzz-")
    _KEPT.append(made)
    return Path(made.name)
