"""`spaseq run … --format ndjson`, as a user calls it, in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from automata import protocol

CONFIGURATIONS = (("auto", "embedded"), ("nfa", "embedded"))
"""(evaluator, runtime) pairs that every case runs with."""


def run(
    queries: Sequence[Path],
    streams: Mapping[str, Path],
    kbs: Mapping[str, Path],
    configuration: tuple[str, str],
    batch_events: int | None = None,
) -> list[dict[str, Any]]:
    """The rows of the first query, as JSON objects; runs meet the events of a case in columns, `auto` one by one."""
    from click.testing import CliRunner

    from spaseq.cli import main

    evaluator, runtime = configuration
    arguments = ["run", *map(str, queries), "--format", "ndjson", "--evaluator", evaluator, "--runtime", runtime]
    for name, path in streams.items():
        arguments += ["--stream", f"{name}={path}"]
    for iri, path in kbs.items():
        arguments += ["--kb", f"{iri}={path}"]
    if batch_events is not None:
        arguments += ["--batch-size", str(batch_events)]
    few = 1 if evaluator == "nfa" else protocol.FEW_EVENTS_MAX
    with patch.object(protocol, "FEW_EVENTS_MAX", few):
        result = CliRunner().invoke(main, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return [row for row in rows if row["query"] == queries[0].stem]
