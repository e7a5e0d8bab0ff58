"""Every reader of the benchmark of formats reads the same events."""

from __future__ import annotations

from pathlib import Path

from benchmarks.formats import FILES, PEERS, QUADS_PER_EVENT, TABLES, read_stream, write_files


def test_every_reader_reads_the_same_events(tmp_path: Path) -> None:
    write_files(tmp_path, 40)
    found = {name: read_stream(tmp_path / file, name in TABLES) for name, file in FILES.items()}
    found |= {name: read(tmp_path / file) for name, (file, read) in PEERS.items()}
    assert found == dict.fromkeys(found, (40, 40 * QUADS_PER_EVENT))
