"""The daemon that Spark's Python workers are forked from, with the modules of both stages already loaded.

`spark.python.daemon.module` names it. With Spark's own daemon each worker imports pyarrow, pandas, numba and SPAseq by
itself, a second of processor time, before its first event: and a streaming job has a worker a core for either stage.
"""

from __future__ import annotations

from importlib import import_module

from pyspark import daemon

LOADED = (
    "automata.registers.register_evaluator", "pandas", "pyarrow.compute", "pyspark.worker",
    "sparql_gpm.reading.nquads_columns", "spaseq.engine.staged", "spaseq.runtime.spark.stages",
)  # fmt: skip
"""Loaded by name: `spaseq.engine` lies above this package."""

for module in LOADED:
    import_module(module)

if __name__ == "__main__":
    daemon.manager()
