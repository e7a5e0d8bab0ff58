"""Hadoop's file systems, reached through the JVM of the driver: `hdfs://`, `s3a://`, `file:///`, and plain paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from spaseq.errors import RunError


class HadoopFiles:
    """Files and folders, each a text that Hadoop understands; RunError, in Hadoop's own words, where one fails."""

    def __init__(self, jvm: Any, settings: Any) -> None:
        self._hadoop = jvm.org.apache.hadoop.fs
        self._settings = settings

    @staticmethod
    def of(spark: SparkSession) -> HadoopFiles:
        """As a session reaches them."""
        return HadoopFiles(spark._jvm, spark._jsparkSession.sessionState().newHadoopConf())

    def exists(self, path: str) -> bool:
        """True if there is such a file or folder."""
        with told(path):
            return bool(self._system(path).exists(self._hadoop.Path(path)))

    def copy(self, source: str, target: str) -> None:
        """Copy a file or a folder with all that is in it."""
        with told(target):
            one, other = self._hadoop.Path(source), self._hadoop.Path(target)
            systems = self._system(source), self._system(target)
            self._hadoop.FileUtil.copy(systems[0], one, systems[1], other, False, self._settings)

    def rename(self, source: str, target: str) -> None:
        """Give a file or folder another name, which nothing has."""
        with told(source):
            done = self._system(source).rename(self._hadoop.Path(source), self._hadoop.Path(target))
        if not done:
            raise RunError(f"cannot rename {source} to {target}", hint="see whether both are there, and who may write")

    def sizes(self, path: str) -> dict[str, int]:
        """The bytes of each file that a path or glob means; in folders at any depth, without hidden names."""
        found = {}
        with told(path):
            system, where = self._system(path), self._hadoop.Path(path)
            matching = [system.getFileStatus(where)] if system.exists(where) else system.globStatus(where) or []
            for status in matching:
                if status.isFile():
                    found[status.getPath().toString()] = int(status.getLen())
                    continue
                folder, inside = status.getPath().toString(), system.listFiles(status.getPath(), True)
                while inside.hasNext():
                    each = inside.next()
                    name = each.getPath().toString()
                    if not any(part.startswith(".") for part in name.removeprefix(folder).split("/")):
                        found[name] = int(each.getLen())
        return found

    def names(self, folder: str) -> list[str]:
        """The names in a folder, hidden ones among them; none if it is not there."""
        with told(folder):
            system, where = self._system(folder), self._hadoop.Path(folder)
            return [each.getPath().getName() for each in system.listStatus(where)] if system.exists(where) else []

    def opened(self, path: str, begin: int) -> Any:
        """Java's stream of a file's bytes from a place on."""
        with told(path):
            stream = self._system(path).open(self._hadoop.Path(path))
            stream.seek(begin)
        return stream

    def make_folder(self, path: str) -> None:
        """Make a folder and those above it, where they are missing."""
        with told(path):
            self._system(path).mkdirs(self._hadoop.Path(path))

    def read(self, path: str) -> bytes:
        """All bytes of a small file."""
        with told(path):
            handle = self._system(path).open(self._hadoop.Path(path))
            try:
                return bytes(handle.readAllBytes())
            finally:
                handle.close()

    def put(self, local: Path, path: str) -> None:
        """Replace a file by a local one: complete under a hidden name, and then under its own."""
        folder, _, name = path.rpartition("/")
        hidden = f"{folder}/.{name}.tmp"
        with told(path):
            system = self._system(path)
            system.copyFromLocalFile(False, True, self._hadoop.Path(local.as_uri()), self._hadoop.Path(hidden))
        self.delete(path)
        self.rename(hidden, path)

    def delete(self, path: str) -> None:
        """Remove a file or a folder with all that is in it, if it is there."""
        with told(path):
            self._system(path).delete(self._hadoop.Path(path), True)

    def _system(self, path: str) -> Any:
        return self._hadoop.Path(path).getFileSystem(self._settings)


@contextmanager
def told(path: str) -> Iterator[None]:
    """A context in which what Java raises becomes a RunError about a path, with Java's message."""
    try:
        yield
    except Py4JJavaError as error:
        hint = "a file system that Spark does not bring needs its jar and its settings, spark.hadoop.*"
        raise RunError(f"{path}: {error.java_exception.toString()}", hint=hint) from error
