"""`format("spaseq")`: streams of RDF events as rows of whole events, from files, Kafka topics and sockets.

    spaseq.spark.register(spark)
    events = spark.readStream.format("spaseq").option("path", "events/").load()
    events = spark.readStream.format("spaseq").option("kafka.bootstrap.servers", "broker:9092") \\
        .option("subscribe", "events").load()

Options: `spaseq.runtime.spark.sources.options.SourceOptions`; columns: `rows.SCHEMA`.
"""

from __future__ import annotations

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, SimpleDataSourceStreamReader
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from spaseq.errors import InputError
from spaseq.runtime.spark.elsewhere import share_settings
from spaseq.runtime.spark.session import shared_functions
from spaseq.runtime.spark.sources.files import FilesReader, FilesStreamReader
from spaseq.runtime.spark.sources.kafka import KafkaReader, KafkaStreamReader
from spaseq.runtime.spark.sources.options import read_options
from spaseq.runtime.spark.sources.rows import SCHEMA
from spaseq.runtime.spark.sources.sockets import SocketReader

__all__ = ["SpaseqSource", "register"]


def register(spark: SparkSession) -> None:
    """Make `format("spaseq")` known to a session; a second time does nothing new."""
    share_settings(spark)
    with shared_functions(spark):
        spark.dataSource.register(SpaseqSource)


class SpaseqSource(DataSource):
    """Streams of RDF events; one row holds whole events."""

    @classmethod
    def name(cls) -> str:
        """As in `format("spaseq")`."""
        return "spaseq"

    def schema(self) -> StructType:
        """See `rows.SCHEMA`."""
        return from_arrow_schema(SCHEMA)

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of all existing input."""
        options = read_options(dict(self.options))
        if options.host:
            raise InputError("a socket is no static input", hint="use readStream")
        return KafkaReader(options) if options.topics else FilesReader(options)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Files and topics; a socket has a simple reader, for which Spark asks next."""
        options = read_options(dict(self.options))
        if options.host:
            return super().streamReader(schema)
        return KafkaStreamReader(options) if options.topics else FilesStreamReader(options)

    def simpleStreamReader(self, schema: StructType) -> SimpleDataSourceStreamReader:
        """Sockets."""
        return SocketReader(read_options(dict(self.options)))
