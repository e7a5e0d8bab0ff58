"""The settings of sources and sinks, and the parts that they lead to."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from spaseq.errors import InputError
from spaseq.service.peers import extras
from spaseq.service.settings.sinks import SinkSettings
from spaseq.service.settings.sources import SourceSettings
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.settings.toml import read_configuration
from spaseq.service.sinks.kinds import sink_of
from spaseq.service.sources.followed_file import FilePlace, places_of, text_of
from spaseq.service.sources.kafka_position import KafkaPosition
from spaseq.service.sources.kinds import source_of
from spaseq.service.sources.positions import position_in, position_text

WHOLE = """
[streams.power]
iri = "urn:power"
source = { kafka = "localhost:9092", topic = "power", secrets = { "sasl.password" = "KAFKA_PASSWORD" } }
[streams.houses]
iri = "urn:houses"
source = { mqtt = "mqtts://broker:8883", topic = "houses/+/power", user = "me", password = "MQTT_PASSWORD" }
[streams.wiki]
iri = "urn:wiki"
source = { sse = "https://stream.wikimedia.org/v2/stream/recentchange" }
[streams.trades]
iri = "urn:trades"
template = "trades.trig"
source = { websocket = "wss://example.org/trades", format = "ndjson" }
[streams.log]
iri = "urn:log"
source = { files = "log/*.nq" }
[queries.cheap]
text = "x"
sinks = [
  { kafka = "localhost:9092", topic = "cheap" }, { webhook = "http://127.0.0.1:9000/in" }, { file = "cheap.ndjson" },
]
"""


def test_a_configuration_leads_to_sources_and_sinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_PASSWORD", "geheim")
    monkeypatch.setenv("MQTT_PASSWORD", "geheim")
    (tmp_path / "trades.trig").write_text("")
    (tmp_path / "spaseq.toml").write_text(WHOLE)
    found = read_configuration(tmp_path / "spaseq.toml")
    sources = {name: settings.source for name, settings in found.streams.items()}
    made = [type(source_of(name, source)).__name__ for name, source in sources.items() if source is not None]
    assert made == ["KafkaSource", "MqttSource", "SseSource", "WebSocketSource", "FilesSource"]
    assert [source.body_format for source in sources.values() if source is not None] == [
        "nquads", "nquads", "jsonld", "ndjson", "nquads",
    ]  # fmt: skip
    assert found.streams["log"].shown()["source"] == {"files": str(tmp_path / "log/*.nq")}
    sinks = found.queries["cheap"].sinks
    assert [type(sink_of("cheap", sink)).__name__ for sink in sinks] == ["KafkaSink", "WebhookSink", "FileSink"]
    assert [sink.key for sink in sinks] == [
        "kafka localhost:9092 cheap", "webhook http://127.0.0.1:9000/in", f"file {tmp_path / 'cheap.ndjson'}",
    ]  # fmt: skip
    for settings in (*found.streams.values(), *found.queries.values()):
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(settings), type=type(settings)) == settings
        assert "geheim" not in repr(settings.shown())


@pytest.mark.parametrize(
    ("settings", "package", "said"),
    [
        (SourceSettings(kafka="k:1", topic="t"), "confluent_kafka", "spaseq[kafka]"),
        (SourceSettings(mqtt="m:1", topic="t"), "paho", "spaseq[mqtt]"),
        (SourceSettings(websocket="ws://h/"), "websockets", "spaseq[serve]"),
        (SinkSettings(kafka="k:1", topic="t"), "confluent_kafka", "spaseq[kafka]"),
    ],
)
def test_a_package_that_is_missing_is_named_with_the_command_that_installs_it(
    settings: SourceSettings | SinkSettings, package: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = extras.find_spec
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == package else real(name))
    with pytest.raises(InputError) as error:
        source_of("s", settings) if isinstance(settings, SourceSettings) else sink_of("q", settings)
    assert error.value.hint == f'pip install "{said}"'


def test_a_position_counts_for_its_own_source_only() -> None:
    kafka = KafkaPosition("t", {0: 17, 1: 3}, {0: "mark"})
    assert KafkaPosition.of(kafka.text, "t") == KafkaPosition("t", {0: 17, 1: 3}, {0: "mark", 1: ""})
    assert KafkaPosition.of(kafka.text, "u") == KafkaPosition.of(None, "u") == KafkaPosition("u")
    places = {7: FilePlace("/a.nq", 10, 10, 1)}
    assert places_of(text_of(places, "/*.nq"), "/*.nq") == places
    assert places_of(kafka.text, "/*.nq") == places_of(text_of(places, "/*.nq"), "/*.ndjson") == {}
    assert position_in(position_text("sse http://a/", "1"), "sse http://b/", str) is None


def test_a_secret_that_is_not_set_is_named() -> None:
    with pytest.raises(InputError, match="the environment variable NO_SUCH_SECRET is not set"):
        source_of("s", SourceSettings(kafka="k:1", topic="t", secrets={"sasl.password": "NO_SUCH_SECRET"}))


def test_a_stream_of_rows_needs_a_template() -> None:
    with pytest.raises(ValueError, match="template: it is missing"):
        StreamSettings("urn:s", source=SourceSettings(files="/rows.csv"))
    StreamSettings("urn:s", source=SourceSettings(sse="http://h/", format="ndjson"))  # documents of JSON-LD
