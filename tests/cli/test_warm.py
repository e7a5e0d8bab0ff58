"""`spaseq warm` compiles every kernel that a run may need, and says where they are."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from arrays.jit import COMPILED

ROOT = Path(__file__).parents[2]
ASSERTIONS = {"output_depth", "is_safe"}
"""Kernels that are called only by other kernels, and where invariants are checked."""
KEPT = """import sys
from arrays.jit import is_kept
from arrays.kernel_cache import KernelCache
import automata.registers.register_evaluator, automata.cea.cea_evaluator, sparql_gpm.reading.nquads_columns
import automata.propagation.compiled, automata.propagation.shared.shared_propagation
import sparql_gpm.reading.trig_columns, sparql_gpm.reading.jelly_columns
import spaseq.inputs.tables.json_scan
packages = ("arrays", "automata", "sparql_gpm", "spaseq")
ours = [m for m in list(sys.modules.values()) if m.__name__.split(".")[0] in packages]
found = {v for m in ours for v in vars(m).values() if isinstance(getattr(v, "_cache", None), KernelCache)}
print(len(found), *sorted(kernel.__name__ for kernel in found if not is_kept(kernel)))
"""
RUNS = """import sys
from pathlib import Path
from numba.core import event
from spaseq.engine import warm
from spaseq.engine.job import Job
from spaseq.engine.options import RunOptions
from spaseq.lang.parse import parse
from spaseq.outputs.event_files import EventFile

class Compiled(event.Listener):
    def on_start(self, event):
        print(event.data["dispatcher"], event.data["args"])
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
folder, text = Path(sys.argv[1]), warm._text(0).encode()
events = [b"".join(line + b"\\n" for line in text.splitlines()[n : n + 2]) for n in range(0, 800, 2)]
for evaluator, query in warm._JOBS:
    for suffix in (".nq", ".trig", ".jelly"):
        file = EventFile(folder / ("s" + suffix))
        file.write(events)
        file.close()
        for optimise in (True, False):
            options = RunOptions(evaluator=evaluator, compiled=True, optimise=optimise)
            job = Job([parse(query, "q")], {"S": str(folder / ("s" + suffix))}, options=options)
            assert sum(map(len, job.rows())) and job.statistics.events == 400
"""
"""Runs over each format, with and without predicates that nobody needs; prints what is compiled."""


def python(*arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=environment, cwd=ROOT)


if COMPILED:

    def test_runs_compile_nothing_then(tmp_path: Path) -> None:
        done = python("-m", "spaseq.cli", "warm")
        assert done.returncode == 0, done.stderr
        assert "all kernels are compiled" in done.stderr and "they are kept in" in done.stderr
        known = python("-c", KEPT)
        assert known.returncode == 0, known.stderr
        count, *missing = known.stdout.split()
        assert int(count) > 20 and set(missing) <= ASSERTIONS
        runs = python("-c", RUNS, str(tmp_path))
        assert (runs.returncode, runs.stdout) == (0, ""), runs.stderr

    def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        done = python("-m", "spaseq.cli", "warm", "--output", str(tmp_path / "file" / "kernels"))
        assert done.returncode == 1 and f"cannot write to {tmp_path / 'file' / 'kernels'}" in done.stderr
        assert "hint: name a folder you can write to" in done.stderr

    def test_without_compiling_there_is_nothing_to_do() -> None:
        done = python("-m", "spaseq.cli", "warm", NUMBA_DISABLE_JIT="1")
        assert done.returncode == 2 and "nothing is compiled with NUMBA_DISABLE_JIT=1" in done.stderr
