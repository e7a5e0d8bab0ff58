"""A sink of a query by its settings."""

from __future__ import annotations

from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.sinks.feed import Sink


def sink_of(query: str, settings: SinkSettings) -> Sink:
    """A sink of a query; InputError if a package or a secret is missing."""
    if settings.kafka is not None:
        from spaseq.service.sinks.kafka import KafkaSink

        return KafkaSink(query, settings)
    if settings.webhook is not None:
        from spaseq.service.sinks.webhook import WebhookSink

        return WebhookSink(query, settings)
    from spaseq.service.sinks.file import FileSink

    return FileSink(query, settings)
