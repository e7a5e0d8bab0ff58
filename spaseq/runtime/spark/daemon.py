"""The daemon that Spark's Python workers are forked from, with what both stages import in memory already.

`spark.python.daemon.module` names it. With Spark's own daemon each worker imports pyarrow, pandas, numba and SPAseq by
itself, a second of processor time, before its first event: and a streaming job has a worker a core for either stage.
"""

from __future__ import annotations

import pandas
import pyarrow.compute
from pyspark import daemon, worker

import automata.registers.register_evaluator
import sparql_gpm.reading.nquads_columns
import spaseq.engine.staged
import spaseq.runtime.spark.stages

LOADED = (
    automata.registers.register_evaluator, pandas, pyarrow.compute, sparql_gpm.reading.nquads_columns,
    spaseq.engine.staged,
    spaseq.runtime.spark.stages, worker,
)  # fmt: skip
"""What workers find loaded."""

if __name__ == "__main__":
    daemon.manager()
