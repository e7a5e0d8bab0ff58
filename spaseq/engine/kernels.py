"""Compiled code of evaluators: what is on disk, and a process that compiles what is missing.

Compiling in a thread would hold the interpreter's lock for seconds at a time. The process has the lowest priority, puts
the code where kernels are kept, and ends with this one.
"""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

PROCESSES_MAX = 1
"""Processes that compile at a time; other evaluators wait."""
_COMPILE = "import os, sys; os.nice(19); from spaseq.engine.warm import compile_kernels; compile_kernels(sys.argv[1])"

_CONSUMING = {"cea": ("automata.cea.update", "advance"), "registers": ("automata.registers.kernel", "consume")}
"""The kernel that consumes slices, by evaluator: the module and its name."""


class BackgroundKernels:
    """The kernels of this installation."""

    def __init__(self) -> None:
        self._kept: dict[str, bool] = {}
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._tried: set[str] = set()

    def loaded(self, evaluator: str) -> bool:
        """True if compiled code of an evaluator has run in this process."""
        return _is_loaded(evaluator)

    def kept(self, evaluator: str) -> bool:
        """True if all compiled code of an evaluator is on disk."""
        process = self._running.get(evaluator)
        if process is not None and process.poll() is not None:
            del self._running[evaluator]
            del self._kept[evaluator]
        if evaluator not in self._kept:
            self._kept[evaluator] = _is_kept(evaluator)
        return self._kept[evaluator]

    def compile(self, evaluator: str) -> None:
        """Begin to compile it in another process, once, unless its code cannot be kept."""
        if evaluator in self._tried or len(self._running) >= PROCESSES_MAX:
            return
        import subprocess

        self._tried.add(evaluator)
        if not (sys.executable and _can_be_kept()):
            return
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path or os.curdir for path in sys.path)}
        command = [sys.executable, "-c", _COMPILE, evaluator]
        with suppress(OSError):
            self._running[evaluator] = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )

    def end(self) -> None:
        """End what compiles."""
        for process in self._running.values():
            process.kill()
            process.wait()
        self._running.clear()


@dataclass(frozen=True, slots=True)
class KernelsThatPay:
    """Kernels for a query of which partial matches are counted: it does not take them for being loaded."""

    kernels: BackgroundKernels

    def loaded(self, evaluator: str) -> bool:
        """False."""
        return False

    def kept(self, evaluator: str) -> bool:
        """See `BackgroundKernels`."""
        return self.kernels.kept(evaluator)

    def compile(self, evaluator: str) -> None:
        """See `BackgroundKernels`."""
        self.kernels.compile(evaluator)


def _is_loaded(evaluator: str) -> bool:
    """True if the kernel that consumes slices has been called in this process; imports nothing."""
    name, function = _CONSUMING[evaluator]
    module = sys.modules.get(name)
    return module is not None and bool(getattr(getattr(module, function), "signatures", ()))


def _is_kept(evaluator: str) -> bool:
    """True if the entry points of an evaluator's kernels are on disk; imports numba."""
    from arrays.jit import is_kept

    if evaluator == "cea":
        from automata.cea.enumeration import enumerate_roots
        from automata.cea.update import advance

        return is_kept(advance) and is_kept(enumerate_roots)
    from automata.registers.kernel import consume, expire

    return is_kept(consume) and is_kept(expire)


def _can_be_kept() -> bool:
    """True if kernels are compiled at all, and there is a folder for them that can be written."""
    from arrays.jit import COMPILED
    from arrays.kernel_cache import folders

    return COMPILED and folders("arrays.jit").write is not None


@cache
def background_kernels() -> BackgroundKernels:
    """Those of this process."""
    kernels = BackgroundKernels()
    atexit.register(kernels.end)
    return kernels
