"""`spaseq warm`: kernels compiled beforehand, for this machine or to be shipped."""

from __future__ import annotations

import os
import time
from pathlib import Path

from spaseq.cli.reporting import say
from spaseq.errors import InputError, RunError


def warm(output: Path | None, portable: bool) -> None:
    """Compile every kernel; numba, which reads its settings as it is imported, must not have been imported."""
    if output is not None:
        os.environ["NUMBA_CACHE_DIR"] = os.fspath(output)
    if portable:
        os.environ["NUMBA_CPU_NAME"] = "generic"
    from arrays.jit import COMPILED
    from arrays.kernel_cache import folders

    if not COMPILED:
        raise InputError("nothing is compiled with NUMBA_DISABLE_JIT=1", hint="unset it")
    from sparql_gpm.reading import nquads_kernel

    kept = folders(nquads_kernel.__name__).write
    if kept is None or (output is not None and not kept.is_relative_to(output)):
        where = "the installation nor ~/.cache" if output is None else output
        raise RunError(f"cannot write to {where}", hint="name a folder you can write to: --output FOLDER")
    from spaseq.engine.warm import compile_kernels

    begun = time.perf_counter()
    compile_kernels()
    say(f"all kernels are compiled, in {time.perf_counter() - begun:.0f} s; they are kept in {kept.parent}")
