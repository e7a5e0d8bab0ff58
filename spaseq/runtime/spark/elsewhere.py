"""Files of Hadoop's file systems as any Python process of a job reads them, the workers among them.

Spark's Python workers have no way into their executor's JVM. A worker that has to read such files starts a small Java
process of its own, with Spark's jars and the settings of the driver's Hadoop; it ends with the worker.
"""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import zlib
from functools import lru_cache
from glob import glob
from typing import Any, BinaryIO

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pyspark import SparkContext, SparkFiles
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from spaseq.errors import InputError
from spaseq.inputs.paths import natural_order, plain
from spaseq.inputs.storage import bring
from spaseq.runtime.spark.hadoop import HadoopFiles, told

_SETTINGS, _JARS = "SPASEQ_HADOOP_SETTINGS", "SPASEQ_HADOOP_JARS"
"""Environment variables of workers: the settings of Hadoop, as XML, compressed, in base 64; and jars of the job."""
_PROPERTY = re.compile(rb"<property>.*?</property>", re.DOTALL)
_JAVA_OPTIONS = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
_BLOCK_BYTES = 1 << 22
"""Bytes that are read from Java at a time."""


def share_settings(spark: SparkSession) -> None:
    """Have the workers of functions made from now on read files as this session does."""
    context = spark.sparkContext
    assert context._jvm is not None
    spark._jsparkSession.sharedState()  # what is made at its first use adds a setting
    out = context._jvm.java.io.ByteArrayOutputStream()
    context._jsc.hadoopConfiguration().writeXml(out)
    xml, environment = bytes(out.toByteArray()), context.environment
    shared = environment.get(_SETTINGS)
    if shared is None or _properties(_unpacked(shared)) != _properties(xml):  # others would be workers of their own
        environment[_SETTINGS] = base64.b64encode(zlib.compress(xml, 9)).decode()
    jars = context.getConf().get("spark.jars") or ""
    environment[_JARS] = os.pathsep.join(plain(jar) for jar in jars.split(",") if jar)


def _unpacked(settings: str) -> bytes:
    return zlib.decompress(base64.b64decode(settings))


def _properties(xml: bytes) -> list[bytes]:
    """Each property, in an order of their own; that of Hadoop varies."""
    return sorted(_PROPERTY.findall(xml))


class FilesElsewhere:
    """The storage of files that are not on this machine."""

    def __init__(self, jvm: Any, settings: Any) -> None:
        self._files = HadoopFiles(jvm, settings)
        self._sizes: dict[str, int] = {}

    def files(self, path: str) -> list[str]:
        """See `Storage`; `**` is not known."""
        if "**" in path:
            raise InputError(
                f"{path}: Hadoop's file systems do not know `**`", hint="name a folder: its sub-folders are read"
            )
        self._sizes = self._files.sizes(path)
        return sorted(self._sizes, key=natural_order)

    def size(self, name: str) -> int:
        """See `Storage`; that of the last listing, if it is in it."""
        return self._sizes[name] if name in self._sizes else self._files.sizes(name)[name]

    def open(self, name: str, begin: int = 0) -> BinaryIO:
        """See `Storage`."""
        return io.BufferedReader(_Bytes(name, self._files.opened(name, begin)), _BLOCK_BYTES)


class _Bytes(io.RawIOBase):
    """The bytes of an input stream of Java."""

    def __init__(self, name: str, stream: Any) -> None:
        self._name, self._stream = name, stream

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fills the buffer, or less at the end."""
        with told(self._name):
            found = bytes(self._stream.readNBytes(len(buffer)))
        buffer[: len(found)] = found
        return len(found)

    def close(self) -> None:
        """Closes Java's stream."""
        if not self.closed:
            self._stream.close()
        super().close()


def _storage() -> FilesElsewhere:
    context = SparkContext._active_spark_context
    if context is not None:
        return FilesElsewhere(context._jvm, context._jsc.hadoopConfiguration())
    return _of_own_java()


@lru_cache(maxsize=1)
def _of_own_java() -> FilesElsewhere:
    jars = os.path.join(_find_spark_home(), "jars")
    home = os.environ.get("JAVA_HOME")
    port, secret = launch_gateway(
        jarpath=next(iter(glob(os.path.join(jars, "py4j*.jar")))), classpath=_classpath(jars), javaopts=_JAVA_OPTIONS,
        die_on_exit=True, java_path=os.path.join(home, "bin", "java") if home else "java", enable_auth=True,
        redirect_stderr=subprocess.DEVNULL,
    )  # fmt: skip
    parameters = GatewayParameters(port=port, auth_token=secret, auto_convert=True)
    jvm = JavaGateway(gateway_parameters=parameters).jvm
    settings = jvm.org.apache.hadoop.conf.Configuration()
    if packed := os.environ.get(_SETTINGS):
        settings.addResource(jvm.java.io.ByteArrayInputStream(_unpacked(packed)))
    return FilesElsewhere(jvm, settings)


def _classpath(jars: str) -> str:
    """Spark's jars, those of the job where Spark has put them, and the folder of Hadoop's settings."""
    folders = [jars]
    if SparkFiles._is_running_on_worker and SparkFiles._root_directory:
        folders.append(SparkFiles._root_directory)
    if "CONTAINER_ID" in os.environ:  # of YARN
        folders.append(os.getcwd())
    more = [os.environ.get(_JARS), os.environ.get("HADOOP_CONF_DIR")]
    return os.pathsep.join([*(os.path.join(folder, "*") for folder in folders), *(each for each in more if each)])


bring(_storage)
