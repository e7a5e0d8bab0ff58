"""The smart grid as a service: starts `spaseq serve` on a folder of its own and pushes events for ever.

python examples/smart_grid/live.py --out out/live
"""

from __future__ import annotations

import argparse
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import httpx2

if __package__ in (None, ""):  # run as a script: the folder above examples/ holds the modules
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples.event_files import as_nquads, timestamps
from examples.smart_grid.generate import EXAMPLE, knowledge

QUERY = Path(__file__).with_name("query_partitioned.rq")
STREAMS = {"power": "mainSource", "weather": "weather", "storage": "storageSource"}
BATCH_EVENTS, BATCHES_A_SECOND = 100, 4
TIMEOUT_S = 60


def configuration() -> str:
    """The streams, the knowledge base and the query, as TOML."""
    streams = [f'streams.{name}.iri = "http://smartgrid.org/{iri}"' for name, iri in STREAMS.items()]
    knowledge_base = 'kb.grid = { iri = "http://smartgrid.org/db", path = "kb.ttl" }'
    return "\n".join([*streams, knowledge_base, "[queries.cheap]", "file = 'query.rq'", ""])


@contextmanager
def serving(folder: Path, port: int) -> Iterator[str]:
    """A service over a new data folder; gives its address."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "kb.ttl").write_text(knowledge(), encoding="utf-8")
    (folder / "query.rq").write_text(QUERY.read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "spaseq.toml").write_text(configuration(), encoding="utf-8")
    command = [sys.executable, "-m", "spaseq.cli", "serve", "--config", str(folder / "spaseq.toml")]
    command += ["--data", str(folder / "data"), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            said = next((line for line in process.stderr if line.startswith("listening on ")), "")
            if not said:
                raise SystemExit(f"the service did not start: spaseq serve --config {folder / 'spaseq.toml'}")
            yield said.removeprefix("listening on ").strip()
        finally:
            process.terminate()
            process.wait(TIMEOUT_S)


def push(client: httpx2.Client, seed: int, events: int | None) -> None:
    """Push events as they are made, so many or for ever."""
    made, timestamp = islice(EXAMPLE.events(random.Random(seed)), events), timestamps()
    while batch := list(islice(made, BATCH_EVENTS)):
        last = timestamp(batch[-1].time_ms)
        for stream in STREAMS:
            body = "".join(as_nquads(each, timestamp(each.time_ms)) for each in batch if each.stream == stream)
            if body:
                headers = {"Content-Type": "application/n-quads"}
                client.post(f"/v1/streams/{stream}", content=body.encode(), headers=headers).raise_for_status()
            client.post(f"/v1/streams/{stream}/advance", json={"time": last}).raise_for_status()
        time.sleep(1 / BATCHES_A_SECOND)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the service; made anew")
    parser.add_argument("--port", type=int, default=7373, metavar="N", help="[7373]")
    parser.add_argument("--seed", type=int, default=1, metavar="S", help="the same seed gives the same events [1]")
    parser.add_argument("--events", type=int, metavar="N", help="[for ever]")
    asked = parser.parse_args()
    with serving(asked.out, asked.port) as address, httpx2.Client(base_url=address, timeout=TIMEOUT_S) as client:
        print(f"events come at {BATCH_EVENTS * BATCHES_A_SECOND} a second; Ctrl-C ends it")
        print(f"  look at    {address}/")
        rows = f"{address}/v1/queries/cheap/matches"
        print(f"  or follow  curl -N '{rows}?after=0' -H 'Accept: text/event-stream'", flush=True)
        try:
            push(client, asked.seed, asked.events)
        except KeyboardInterrupt:
            return
        print(f"{client.get('/v1/queries/cheap').json()['rows']} rows")


if __name__ == "__main__":
    main()
