"""A Spark session as the command line needs it: quiet, in UTC, with a state store that stage 2 can use."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from spaseq.errors import InputError, RunError, SPAseqError

CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
"""A micro-batch writes what has changed of its state, and no packed copy of the database: 75 ms a shard, not 140."""
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    CHANGELOG: "true",
    "spark.sql.streaming.numRecentProgressUpdates": "10",
    "spark.ui.showConsoleProgress": "false",
}
"""What a job needs; `spaseq submit` writes them into its job."""
LOCAL_SETTINGS = {
    "spark.python.daemon.module": "spaseq.runtime.spark.daemon",
    "spark.ui.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""For one machine, whose workers can import SPAseq. Files of a checkpoint are written by FileSystem: FileContext, the
default, starts ten processes (readlink, chmod) for each of them."""
_RAISED = re.compile(r"^spaseq\.errors\.(InputError|RunError): (.+)(?:\nhint: (.+))?$", re.MULTILINE)
_LAST_LINES_MAX = 3
_PATH = "PYTHONPATH"


@contextmanager
def local_session(name: str, shards: int | None = None) -> Iterator[SparkSession]:
    """A session on the threads of this machine, or on SPARK_MASTER; stopped in the end. A shard a processor by default.

    An active session of this process is used and not stopped. The output of Spark's processes goes to a log, whose last
    lines are in the error if Spark does not start.
    """
    if (active := SparkSession.getActiveSession()) is not None:
        yield active
        return
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name).master(os.environ.get("SPARK_MASTER", "local[*]"))
    partitions = {"spark.sql.shuffle.partitions": str(shards or os.cpu_count() or 1)}
    settings = SETTINGS | LOCAL_SETTINGS | partitions
    for key, value in settings.items():
        builder = builder.config(key, value)
    with tempfile.TemporaryDirectory(prefix="spaseq-spark-") as folder:
        log = Path(folder) / "spark.log"
        builder = builder.config("spark.sql.warehouse.dir", str(Path(folder) / "warehouse"))
        with _standard_error_to(log):
            try:
                session = builder.getOrCreate()
            except Exception as error:
                raise RunError(
                    f"Spark does not start: {_last_lines(log) or error}", hint="see its log above"
                ) from error
        session.sparkContext.setLogLevel("ERROR")
        try:
            yield session
        finally:
            session.stop()


@contextmanager
def shared_functions(spark: SparkSession) -> Iterator[None]:
    """A context in which the functions made for Spark may be run by several streaming queries at once, and anywhere.

    Two queries over one plan, or one source, share its functions, and Spark writes into a function's environment as it
    starts a query. The map that pyspark gives it is a HashMap: written while another query's tasks are being sent, it
    reaches them broken (java.io.OptionalDataException). Here it is one that any thread may read and write.

    If SPAseq is imported from an archive (`--py-files`), executors are sent that, and the environment names it: to
    the processes that it starts on the driver, for sources and for the state's schema, Spark does not say where it is.
    """
    context = spark.sparkContext
    own = context.environment
    assert context._jvm is not None
    shared = context._jvm.java.util.concurrent.ConcurrentHashMap()
    for name, value in own.items():
        shared.put(name, value)
    if archive := own_archive():
        _send(context, archive)
        shared.put(_PATH, os.pathsep.join(filter(None, [archive, own.get(_PATH)])))
    context.environment = shared
    try:
        yield
    finally:
        context.environment = own


def own_archive() -> str | None:
    """The path of the zip file or wheel that SPAseq is imported from; None if it is a folder."""
    archive = getattr(sys.modules[__name__.partition(".")[0]].__loader__, "archive", None)
    return None if archive is None else os.path.abspath(archive)


def _send(context: SparkContext, archive: str) -> None:
    """Have executors import from the archive, be it a wheel, which `--py-files` sends and leaves at that."""
    includes = context._python_includes
    assert includes is not None
    if (name := os.path.basename(archive)) not in includes:
        context.addFile(archive)
        includes.append(name)


def as_spaseq_error(error: PySparkException) -> SPAseqError:
    """The message of a worker of ours, else the first line of Spark's."""
    text = str(error)
    if found := _RAISED.search(text):
        kind = InputError if found[1] == "InputError" else RunError
        return kind(found[2], hint=found[3] or "Spark's message has more: --debug")
    first = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return RunError(f"Spark failed: {first}", hint="its whole message is above, or shown by --debug")


@contextmanager
def _standard_error_to(path: Path) -> Iterator[None]:
    """A context in which child processes inherit this file as their file descriptor 2."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(path, "ab") as log:
            os.dup2(log.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _last_lines(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.exists() else []
    return " / ".join(line.strip() for line in lines[-_LAST_LINES_MAX:])
