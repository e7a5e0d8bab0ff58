"""Settings from TOML and JSON: what is accepted, what it means, and what is said of the rest."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import msgspec
import pytest

from spaseq.errors import InputError
from spaseq.service.settings.configuration import Limits
from spaseq.service.settings.conversion import SettingsError, converted, declared
from spaseq.service.settings.knowledge import KnowledgeSettings
from spaseq.service.settings.quantities import is_name, size_bytes
from spaseq.service.settings.queries import QueryChanges, QuerySettings, RowRetention
from spaseq.service.settings.streams import StreamSettings
from spaseq.service.settings.toml import read_configuration
from tests.project.sources import ROOT

SECOND = 1_000_000_000
WHOLE = """
[streams.power]
iri = "http://smartgrid.org/mainSource"
max_delay = "10s"
idle_timeout = "PT5S"
max_ahead = "1h"
clock = "event"
time = ["http://www.w3.org/ns/sosa/resultTime"]
template = "trades.trig"
contexts = { "http://example.org/c" = "c.jsonld" }
dedup = { age = "1h", events = 1_000_000 }
retention = { age = "7d", size = "20GB" }

[kb.smartgrid]
iri = "http://smartgrid.org/db"
path = "kb.ttl"
refresh = "1m"
entail = "rdfs"

[queries.cheap]
file = "cheap.rq"
max_runs = 10_000
retention = { rows = 10, age = "7d" }
sinks = []

[auth]
admin = "SPASEQ_ADMIN_TOKEN"

[limits]
body = "1MB"
header_timeout = "500ms"
"""


def configured(folder: Path, text: str) -> Path:
    for name in ("trades.trig", "c.jsonld", "kb.ttl"):
        (folder / name).write_text("")
    (folder / "cheap.rq").write_text("SELECT …", encoding="utf-8")
    (folder / "spaseq.toml").write_text(text, encoding="utf-8")
    return folder / "spaseq.toml"


def test_a_file_declares_everything_with_paths_relative_to_it(tmp_path: Path) -> None:
    found = read_configuration(configured(tmp_path, WHOLE))
    power, base, cheap = found.streams["power"], found.kb["smartgrid"], found.queries["cheap"]
    assert (power.max_delay_ns, power.idle_timeout_ns, power.max_ahead_ns) == (10 * SECOND, 5 * SECOND, 3600 * SECOND)
    assert (power.dedup_age_ns, power.dedup_events, power.retention_bytes) == (3600 * SECOND, 1_000_000, 20 * 10**9)
    assert power.template == str(tmp_path / "trades.trig")
    assert power.contexts == {"http://example.org/c": str(tmp_path / "c.jsonld")}
    assert power.shown()["idle_timeout"] == "PT5S"
    assert (base.source.location, base.source.refresh_s, base.source.entail) == (str(tmp_path / "kb.ttl"), 60.0, True)
    assert (cheap.text, cheap.max_runs, cheap.retention_rows) == ("SELECT …", 10_000, 10)
    assert found.auth is not None and found.auth.admin == "SPASEQ_ADMIN_TOKEN"
    assert (found.limits.body_bytes, found.limits.header_timeout_ns, found.limits.queue) == (
        10**6,
        SECOND // 2,
        100_000,
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[streams.power\nx = 1", "line 1"),
        ("\n[streams.power", "line 2, the end of the file"),
        ("x = 1", "x: unknown table"),
        ("streams = 1", "streams: expected tables"),
        ('[streams."a b"]\niri = "urn:s"', "streams.a b: 'a b' is no name"),
        ("[streams.s]", "streams.s.iri: it is missing"),
        ("[streams]\ns = 1", "streams.s: expected a table"),
        ('[streams.s]\niri = "s"', "streams.s.iri: 's' is no absolute IRI"),
        ('[streams.s]\niri = "urn:s"\nlate = 1', "streams.s.late: unknown key"),
        ('[streams.s]\niri = "urn:s"\nmax_delay = "soon"', "streams.s.max_delay: 'soon' is not a duration"),
        ('[streams.s]\niri = "urn:s"\nmax_delay = 10', "streams.s.max_delay: expected `str`"),
        ('[streams.s]\niri = "urn:s"\ndedup = { events = 0 }', "streams.s.dedup.events"),
        ('[streams.s]\niri = "urn:s"\nretention = { size = "7Q" }', "streams.s.retention.size: '7Q' is no size"),
        ('[streams.s]\niri = "urn:s"\ntemplate = "none.trig"', "streams.s.template: there is no file"),
        ('[streams.s]\niri = "urn:s"\nsource = { kafka = "k:1" }', "streams.s.source.topic: it is missing"),
        ('[streams.s]\niri = "urn:s"\nsource = { kafka = "k:1", topic = "t", event = "e" }', "streams.s.source.event"),
        ('[streams.s]\niri = "urn:s"\nsource = {}', "streams.s.source.kafka, mqtt, sse"),
        ('[streams.s]\niri = "urn:s"\nsource = { files = "a.csv" }', "streams.s.template: it is missing"),
        ('[streams.s]\niri = "urn:s"\nsource = { files = "a.ttl", format = "turtle" }', "streams.s.source.format"),
        ('[streams.s]\niri = "urn:s"\nsource = { sse = "http://u:p@h/" }', "streams.s.source.sse: credentials"),
        ('[streams.s]\niri = "urn:s"\nsource = { sse = "http://h/", token = "a b" }', "streams.s.source.token"),
        ('[streams.s]\niri = "urn:s"\n[streams.t]\niri = "urn:s"', "streams.t.iri: <urn:s> is that of streams.s"),
        ('[kb.k]\niri = "urn:k"', "kb.k.path, url: give one of the two"),
        ('[kb.k]\niri = "urn:k"\npath = "none.ttl"', "kb.k.path: there is no file"),
        ('[kb.k]\niri = "urn:k"\nurl = "ftp://x/"', "kb.k.url: 'ftp://x/' does not begin with"),
        ("[queries.q]", "queries.q.file: give the file of the query"),
        ('[queries.q]\nfile = "none.rq"', "queries.q.file: cannot read 'none.rq'"),
        ('[queries.q]\ntext = "x"\nsinks = [{ webhook = "x" }]', "queries.q.sinks[0].webhook: expected http"),
        ('[queries.q]\ntext = "x"\nsinks = [{ file = "x" }, { file = "./x" }]', "queries.q.sinks: two lead to 'file "),
        ('[queries.q]\ntext = "x"\nmax_runs = 0', "queries.q.max_runs"),
        ("[auth]", "auth.read, push, admin: name"),
        ('[auth]\nroot = "X"', "auth.root: unknown key"),
        ('[limits]\nbody = "0MB"', "limits.body: '0MB' is no size"),
        ('[web]\norigins = ["example.org"]', "web.origins: 'example.org' is no origin"),
    ],
)
def test_what_is_wrong_is_said_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    file = configured(tmp_path, text)
    with pytest.raises(InputError) as raised:
        read_configuration(file)
    assert raised.value.message.startswith(f"{file}: ")
    assert said in raised.value.message


def test_a_file_that_is_not_there_or_no_text_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_configuration(tmp_path / "none.toml")
    (tmp_path / "binary.toml").write_bytes(b"x = '\xff'")
    with pytest.raises(InputError, match="byte 5 is no UTF-8"):
        read_configuration(tmp_path / "binary.toml")


def test_sizes_count_powers_of_ten_and_of_two() -> None:
    written = {"16MB": 16 * 10**6, "16MiB": 16 << 20, "1.5KB": 1500, "7": 7, "7B": 7, "2 GB": 2 * 10**9}
    assert {text: size_bytes("x", text) for text in written} == written


def test_names_are_those_of_the_interface() -> None:
    assert all(map(is_name, ["a", "A.b_c-9", "9", "a" * 100]))
    assert not any(map(is_name, ["", ".a", "-a", "_a", "a/b", "a b", "a\n", "é", "a" * 101, "..", "a%2f"]))


def test_settings_survive_json_as_they_were_written() -> None:
    stream = declared({"iri": "urn:s", "max_delay": "PT1M", "retention": {"age": "1h"}}, StreamSettings)
    again = converted(json.loads(msgspec.json.encode(stream)), StreamSettings)
    assert again == stream
    assert (again.max_delay_ns, again.retention_age_ns, again.retention_bytes) == (60 * SECOND, 3600 * SECOND, None)


def test_stored_settings_are_read_again_though_their_file_has_gone() -> None:
    given = {"iri": "urn:k", "path": "/nowhere/kb.ttl"}
    with pytest.raises(SettingsError, match="path: there is no file"):
        declared(given, KnowledgeSettings)
    assert converted(given, KnowledgeSettings).path == "/nowhere/kb.ttl"
    with pytest.raises(SettingsError, match="a relative path"):
        declared({"iri": "urn:k", "path": "kb.ttl"}, KnowledgeSettings)


def test_what_a_put_does_not_name_stays() -> None:
    before = QuerySettings("a", max_runs=5, retention=RowRetention(rows=3))
    after = before.changed(converted({"text": "b"}, QueryChanges))
    assert (after.text, after.max_runs, after.retention_rows) == ("b", 5, 3)
    assert before.changed(converted({"max_runs": 6}, QueryChanges)).text == "a"


def test_the_defaults_of_the_limits_are_those_of_the_interface() -> None:
    limits = Limits()
    assert (limits.body_bytes, limits.queue, limits.readers, limits.header_timeout_ns) == (
        16_000_000, 100_000, 1_000, 10 * SECOND,
    )  # fmt: skip


def test_the_pages_name_every_limit_with_its_default() -> None:
    guide, page = (ROOT / "docs" / name for name in ("how-to/service.md", "reference/limits.md"))
    (table,) = re.findall(r"^(\[limits\]\n(?:.+\n)+)", guide.read_text(encoding="utf-8"), re.MULTILINE)
    assert tomllib.loads(table)["limits"] == msgspec.to_builtins(Limits())
    named = re.findall(r"^\| `(\w+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert set(named) == set(Limits.__struct_fields__)


@pytest.mark.parametrize("given", ["file = 'cheap.rq'", "file = '/dev/zero'", "text = 'é" + "x" * 99 + "'"])
def test_the_text_of_a_query_in_a_configuration_has_a_size(tmp_path: Path, given: str) -> None:
    file = configured(tmp_path, f"[limits]\ntext = '100B'\n[queries.q]\n{given}\n")
    (tmp_path / "cheap.rq").write_text("\ufeff" + "x" * 100, encoding="utf-8")
    if "cheap" in given:
        assert read_configuration(file).queries["q"].text == "x" * 100
        (tmp_path / "cheap.rq").write_text("x" * 101, encoding="utf-8")
    with pytest.raises(InputError, match=r"queries\.q\.(file|text): .*100 bytes \(limit text\)"):
        read_configuration(file)


def test_a_configuration_without_an_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"4,000,000 bytes \(size of a configuration\)"):
        read_configuration(Path("/dev/zero"))
