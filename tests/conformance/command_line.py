"""`spaseq run … --format ndjson`, as a user calls it, in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, chdir
from pathlib import Path
from typing import Any
from unittest.mock import patch

from automata import protocol


def in_columns(asked: bool) -> AbstractContextManager[object]:
    """A context in which also the few events of a case are met in columns, if asked for."""
    return patch.object(protocol, "FEW_EVENTS_MAX", 1 if asked else protocol.FEW_EVENTS_MAX)


def run(
    queries: Sequence[Path],
    streams: Mapping[str, Path],
    kbs: Mapping[str, Path],
    evaluator: str = "auto",
    further: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """The rows of the first query, as JSON objects; `nfa` meets the events of a case in columns, `auto` one by one.

    further     arguments; files that they name lie beside the query
    """
    from click.testing import CliRunner

    from spaseq.cli import main

    arguments = ["run", *map(str, queries), "--format", "ndjson", "--evaluator", evaluator]
    for name, path in streams.items():
        arguments += ["--stream", f"{name}={path}"]
    for iri, path in kbs.items():
        arguments += ["--kb", f"{iri}={path}"]
    with in_columns(evaluator == "nfa"), chdir(queries[0].parent):
        result = CliRunner().invoke(main, [*arguments, *further], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    return [row for row in rows if row["query"] == queries[0].stem]
