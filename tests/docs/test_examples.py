"""Every example runs, and finds what plain Python finds in the same files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pyoxigraph
import pytest

from tests.example_patterns import (
    Expected,
    Seen,
    big_after_small,
    fishing_trips,
    is_expensive_fuel,
    is_good_weather,
    is_head_and_shoulders,
    is_solar_offer,
    jams_that_spread,
    local,
    login_episodes,
    price_runs,
    read_events,
    read_knowledge,
    rises_and_falls,
    solar_after_good_weather,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
EVENTS, SEED = 5000, 7


def generate(example: str, folder: Path, *, events: int = EVENTS, file_format: str = "nquads") -> Path:
    command = [sys.executable, str(EXAMPLES / example / "generate.py"), f"--out={folder}"]
    subprocess.run([*command, f"--events={events}", f"--seed={SEED}", f"--format={file_format}"], check=True)
    return folder


def run_query(query: str, streams: Mapping[str, Path], kb: Mapping[str, Path]) -> list[Expected]:
    command = [sys.executable, "-m", "spaseq.cli", "run", str(EXAMPLES / query)]
    command += [f"--stream={name}={path}" for name, path in streams.items()]
    command += [f"--kb={iri}={path}" for iri, path in kb.items()]
    done = subprocess.run([*command, "--format=ndjson"], capture_output=True, text=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return [as_row(json.loads(line)) for line in done.stdout.splitlines()]


def as_row(row: dict[str, dict[str, dict[str, str]]]) -> Expected:
    bindings = tuple((name, term["value"]) for name, term in row["bindings"].items())
    return Expected(bindings, tuple((step, tuple(names)) for step, names in row["events"].items()))


def assert_same_rows(found: list[Expected], expected: list[Expected], count: int, **sample: str) -> None:
    """The same multiset of rows, as many as were planted, one of them with the bindings of the sample."""
    assert len(expected) == count
    assert any(sample.items() <= {name: local(value) for name, value in row.bindings}.items() for row in expected)
    assert Counter(found) == Counter(expected)


@pytest.fixture(scope="module")
def grid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return generate("smart_grid", tmp_path_factory.mktemp("smart_grid"))


def run_grid(query: str, folder: Path, suffix: str = "nq") -> list[Expected]:
    names = {"S1": "power", "S2": "weather", "S3": "storage"}
    streams = {name: folder / f"{stream}.{suffix}" for name, stream in names.items()}
    return run_query(f"smart_grid/{query}", streams, {"http://smartgrid.org/db": folder / "kb.ttl"})


def grid_events(folder: Path) -> list[Seen]:
    return read_events(folder, ("power", "weather", "storage"))


def test_the_smart_grid_finds_houses_that_could_change_to_solar_power(grid: Path) -> None:
    expected = solar_after_good_weather(grid_events(grid), read_knowledge(grid / "kb.ttl"))
    assert_same_rows(run_grid("query.rq", grid), expected, 18, house="H94", fr1="21", fr2="14", oname="Inês")


def test_a_live_smart_grid_finds_rows_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, str(EXAMPLES / "smart_grid" / "live.py"), "--out", str(tmp_path / "live"), "--port", "0"]
    command += ["--events", "2000"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "/v1/queries/cheap/matches" in done.stdout
    assert int(done.stdout.splitlines()[-1].split()[0]) > 0


def test_a_smart_grid_partitioned_by_location_ignores_what_happens_elsewhere(grid: Path) -> None:
    patterns = (is_expensive_fuel, is_good_weather, is_solar_offer)
    relevant = [event for event in grid_events(grid) if any(matches(event) for matches in patterns)]
    known = read_knowledge(grid / "kb.ttl")
    expected = [
        row
        for location in {event.facts["loc"] for event in relevant}
        for row in solar_after_good_weather([event for event in relevant if event.facts["loc"] == location], known)
    ]
    assert_same_rows(run_grid("query_partitioned.rq", grid), expected, 192, house="H94", fr1="21", fr2="14")


def test_a_stream_as_trig_gives_the_rows_of_the_same_stream_as_nquads(grid: Path, tmp_path: Path) -> None:
    generate("smart_grid", tmp_path, file_format="trig")
    assert run_grid("query.rq", tmp_path, "trig") == run_grid("query.rq", grid)


def test_credit_cards_show_a_big_purchase_after_a_small_one(tmp_path: Path) -> None:
    generate("credit_card", tmp_path)
    expected = big_after_small(read_events(tmp_path, ("transactions",)), read_knowledge(tmp_path / "kb.ttl"))
    streams = {"S1": tmp_path / "transactions.nq"}
    found = run_query("credit_card/query.rq", streams, {"http://creditcard.org/db": tmp_path / "kb.ttl"})
    assert_same_rows(found, expected, 66, id1="id364", amount1="17.36", amount2="225.68", name="Eva 36")


def test_stock_trades_show_head_and_shoulders(tmp_path: Path) -> None:
    generate("stock", tmp_path)
    expected = price_runs(read_events(tmp_path, ("trades",)), "ABCDEFG", is_head_and_shoulders)
    found = run_query("stock/head_and_shoulders.rq", {"S1": tmp_path / "trades.nq"}, {})
    assert_same_rows(found, expected, 6, company="company6", p1="400.81", p4="413.41", p7="407.71")


def test_stock_trades_show_v_shapes(tmp_path: Path) -> None:
    generate("stock", tmp_path)
    expected = price_runs(read_events(tmp_path, ("trades",)), "ABC", rises_and_falls)
    found = run_query("stock/v_shape.rq", {"S1": tmp_path / "trades.nq"}, {})
    assert_same_rows(found, expected, 47, company="company21", p1="328.34", p2="332.34", p3="330.74")


def test_traffic_jams_spread_to_two_junctions_at_once(tmp_path: Path) -> None:
    generate("traffic", tmp_path)
    names = {"S1": "first", "S2": "second", "S3": "third"}
    expected = jams_that_spread(read_events(tmp_path, tuple(names.values())))
    found = run_query("traffic/query.rq", {name: tmp_path / f"{stream}.nq" for name, stream in names.items()}, {})
    assert_same_rows(found, expected, 13, traffic="road16", v1="7", v2="7", v3="8")


def test_vessels_leave_the_harbour_to_fish(tmp_path: Path) -> None:
    generate("vessels", tmp_path)
    expected = fishing_trips(read_events(tmp_path, ("boats",)), read_knowledge(tmp_path / "kb.ttl"))
    streams = {"S1": tmp_path / "boats.nq"}
    found = run_query("vessels/query.rq", streams, {"http://harbour.org/db": tmp_path / "kb.ttl"})
    assert_same_rows(found, expected, 19, vessel="vessel46", n="Santa María 46", cname="Fishery 1")


def test_logins_show_one_row_for_each_episode_of_failures(tmp_path: Path) -> None:
    generate("logins", tmp_path)
    expected = login_episodes(read_events(tmp_path, ("logins",)))
    found = run_query("logins/query.rq", {"S1": tmp_path / "logins.nq"}, {})
    counted = [replace(row, bindings=row.bindings[:3]) for row in found]
    assert_same_rows(counted, expected, 51, failures="45", addresses="31")
    assert [name for name, _ in found[0].bindings] == ["user", "failures", "addresses", "since", "time"]


def test_a_longer_stream_begins_with_the_shorter_one(tmp_path: Path) -> None:
    short = generate("stock", tmp_path / "short", events=300) / "trades.nq"
    long = generate("stock", tmp_path / "long", events=900) / "trades.nq"
    assert long.read_bytes().startswith(short.read_bytes())


@pytest.mark.parametrize("example", sorted(path.parent.name for path in EXAMPLES.glob("*/generate.py")))
@pytest.mark.parametrize("file_format", ["nquads", "trig"])
def test_a_generator_writes_as_many_events_as_asked_for_in_time_order(
    example: str, file_format: str, tmp_path: Path
) -> None:
    generate(example, tmp_path, events=400, file_format=file_format)
    files = [path for path in tmp_path.iterdir() if path.suffix in (".nq", ".trig")]
    stamps = [
        [quad.object.value for quad in pyoxigraph.parse(path=path) if quad.graph_name == pyoxigraph.DefaultGraph()]
        for path in files
    ]
    assert sum(map(len, stamps)) == 400
    assert all(times == sorted(times) for times in stamps)
