"""The public names of SPAseq, and a program of a user that uses them; `make lint` checks its types in strict mode.

python -m tests.public_api > tests/golden/public_api.txt     after a name or a parameter was added
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import spaseq
import spaseq.spark

INTERNAL = {"begin", "check_shape", "end", "hand_out", "registered", "replanned", "saved", "take"}
"""Methods of a registration that the engine calls."""


def names() -> list[str]:
    """The public names: of functions with their parameters, of classes with their attributes and methods."""
    found = [line for name in spaseq.__all__ for line in _lines(f"spaseq.{name}", getattr(spaseq, name))]
    own = (name for name, value in vars(spaseq.spark).items() if _is_own(spaseq.spark, name, value))
    found += [line for name in own for line in _lines(f"spaseq.spark.{name}", getattr(spaseq.spark, name))]
    return sorted({*found, "spaseq.__version__"})


def _is_own(module: ModuleType, name: str, value: Any) -> bool:
    return not name.startswith("_") and getattr(value, "__module__", "") == module.__name__


def _lines(name: str, value: Any) -> Iterator[str]:
    if not isinstance(value, type):
        yield name
        yield from (f"{name}({parameter})" for parameter in inspect.signature(value).parameters if parameter != "self")
        return
    yield name
    if not issubclass(value, Exception) and value is not spaseq.Registration:
        yield from (f"{name}({parameter})" for parameter in inspect.signature(value).parameters)
    fields = [field.name for field in dataclasses.fields(value)] if dataclasses.is_dataclass(value) else []
    for member in {*dir(value), *fields}:
        inner = value is spaseq.Registration and member in INTERNAL
        if inner or member.startswith("_") or hasattr(Exception, member):
            continue
        held = getattr(value, member, None)
        if inspect.isfunction(held) or inspect.ismethod(held):
            yield from _lines(f"{name}.{member}", held)
        else:
            yield f"{name}.{member}"


def user_program(text: str, events: Path, kb: Path) -> list[str]:
    """A program of a user: rows of a run, rows of a live engine, reasons, errors."""
    found: list[str] = []
    try:
        query = spaseq.parse(text, "typed")
    except spaseq.QueryError as error:
        return [error.message]
    result: spaseq.Result = spaseq.run(query, streams={"S1": events}, kb={"urn:kb": kb})
    for row in result:
        time: int = row.time
        found.append(f"{time} {row['s']}")
    engine = spaseq.Engine(kb={"urn:kb": kb})
    rows: list[spaseq.Row] = []
    registration: spaseq.Registration = engine.register(query, on_match=rows.append)
    engine.push("urn:s", "<urn:x> <urn:a> 1 .", "2026-01-01T00:00:00Z")
    registration.unregister()
    engine.close()
    job = spaseq.Job([query], {"S1": events}, {"urn:kb": kb}, spaseq.RunOptions(batch_events=10))
    try:
        found += [str(row) for piece in job.rows() for row in piece]
    except spaseq.RunError as error:
        found.append(error.hint)
    finally:
        job.close()
    return [*found, *map(str, rows)]


if __name__ == "__main__":
    print("\n".join(names()))
