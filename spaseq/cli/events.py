"""`spaseq sort`, `convert`, `peek` and `template`: events without a query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from spaseq.cli.reporting import say_warning
from spaseq.cli.run import report_dead_letters, run_options
from spaseq.engine.options import RunOptions
from spaseq.engine.sorting import Written, convert_inputs, first_event, sort_inputs
from spaseq.errors import InputError, RunError
from spaseq.inputs.sorting import MEMORY
from spaseq.outputs.destination import Output


def sort(inputs: Sequence[str], output: Path, memory: int | None, options: dict[str, Any]) -> None:
    """Sort the events of some inputs into a file."""
    read = _options(inputs, output, options)
    _report(sort_inputs(inputs, output, read, memory or MEMORY), read)


def convert(inputs: Sequence[str], output: Path, options: dict[str, Any]) -> None:
    """Write the events of some inputs in another format."""
    read = _options(inputs, output, options)
    _report(convert_inputs(inputs, output, read), read)


def propose(path: str, options: dict[str, Any]) -> None:
    """Print a template for a table."""
    from spaseq.engine.propose import proposed_template

    Output.open(None).write(proposed_template(path, run_options(options)))


def peek(inputs: Sequence[str], options: dict[str, Any]) -> None:
    """Print the first event of each input; raises RunError if one has none."""
    read = run_options(options)
    missing = []
    for path in inputs:
        found = first_event(path, read)
        if found.event is None:
            missing.append(f"{path}: {found.reason}")
            continue
        Output.open(None).write(f"# {path}\n{found.event}")
    if missing:
        hint = "--time-predicate names the property, or the path <IRI>/<IRI>, that gives the time"
        raise RunError("; ".join(missing), hint=hint)


def _options(inputs: Sequence[str], output: Path, options: dict[str, Any]) -> RunOptions:
    read = run_options(options)
    if list(inputs).count("-") > 1:
        raise InputError("standard input is given twice", hint="give each input once")
    if read.dead_letter is not None and Path(read.dead_letter).absolute() == output.absolute():
        raise InputError(f"--output and --dead-letter are both {output}", hint="give two files")
    return read


def _report(written: Written, options: RunOptions) -> None:
    report_dead_letters(written.dead_letters, options.dead_letter)
    if written.dropped:
        say_warning(
            f"triples of the default graph that state no time are left out: {written.dropped:,}",
            "put them into named graphs",
        )
    if not written.events:
        kinds = ", ".join(written.dead_letters)
        raise RunError(f"no event was written{f': {kinds}' if kinds else ''}", hint=_way_out(written.dead_letters))


def _way_out(letters: Mapping[str, int]) -> str:
    from spaseq.engine.intake import way_out

    return way_out(letters)
