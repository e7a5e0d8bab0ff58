"""The source of a stream by its settings."""

from __future__ import annotations

from spaseq.service.settings.sources import SourceSettings
from spaseq.service.sources.intake import Source


def source_of(stream: str, settings: SourceSettings) -> Source:
    """The source of a stream; InputError if a package or a secret is missing."""
    if settings.kafka is not None:
        from spaseq.service.sources.kafka import KafkaSource

        return KafkaSource(stream, settings)
    if settings.mqtt is not None:
        from spaseq.service.sources.mqtt import MqttSource

        return MqttSource(stream, settings)
    if settings.sse is not None:
        from spaseq.service.sources.sse import SseSource

        return SseSource(stream, settings)
    if settings.websocket is not None:
        from spaseq.service.sources.websocket import WebSocketSource

        return WebSocketSource(stream, settings)
    from spaseq.service.sources.files import FilesSource

    return FilesSource(stream, settings)
