"""Steps to be read, and simpler ones in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sparql_gpm.times import format_time
from spaseq.errors import QueryError
from spaseq.lang.parse import parse
from tests.shrinking import shorter_texts
from tests.simulation import engine_steps, service_steps
from tests.simulation.bodies import FORMATS, nquads
from tests.simulation.engine_steps import Advance as EngineAdvance
from tests.simulation.engine_steps import Push as EnginePush
from tests.simulation.engine_steps import PushBatch
from tests.simulation.engine_steps import Register as EngineRegister
from tests.simulation.engine_steps import Replace as EngineReplace
from tests.simulation.reduction import parts_left
from tests.simulation.service_steps import (
    Advance,
    FullDisk,
    Kill,
    Know,
    Pass,
    Power,
    Push,
    Register,
    Replace,
    Restart,
    Snapshot,
)

Step = service_steps.Step | engine_steps.Step


def shown(step: Step) -> str:
    """A step as a user could do it by hand."""
    match step:
        case Register(name, text) | Replace(name, text) | EngineRegister(name, text) | EngineReplace(name, text):
            return f"{step.KIND} {name}:\n{_indented(text)}"
        case Push(way, stream, form, events):
            given = {"Idempotency-Key": step.key, "ce-id": step.identifier}
            more = "".join(f", {name} {value}" for name, value in given.items() if value is not None)
            body = nquads(events) if form == "jelly" else FORMATS[form](events)
            return f"{way} as {form} to {stream}, {step.after_s} s later{more}:\n{_indented(body.decode())}"
        case PushBatch(way, stream, form, events):
            return f"{way} as {form} to {stream}:\n{_indented(FORMATS[form](events).decode())}"
        case EnginePush(stream, event):
            return f"push to {stream}:\n{_indented(nquads([event]).decode())}"
        case Advance(stream, time) | EngineAdvance(stream, time):
            return f"advance {stream} to {format_time(time)}"
        case Know(text):
            return f"knowledge:\n{_indented(text)}"
        case FullDisk(request, at):
            return f"the disk fails at operation {at} of\n{_indented(shown(request))}"
        case Kill(down_s, request, at, kept) if request is not None:
            how = (
                "" if at is None else f", whose disk operations fail from {at} on; {kept} % of what was not synced stay"
            )
            return f"kill, {down_s} s down, before anything is read of{how}\n{_indented(shown(request))}"
        case Power(down_s, seed, request, at, again):
            where = "" if at is None else f" from operation {at} of the disks on"
            more = "" if again is None else f", and again at operation {again} while it starts"
            of = "" if request is None else f", during\n{_indented(shown(request))}"
            return f"no power{where} (drawn from {seed}){more}, {down_s} s down{of}"
    return repr(step)


def traits(step: Step) -> list[str]:
    """What a step has in common with others: the query that it names, its kind."""
    return [*([step.name] if hasattr(step, "name") else []), step.KIND]


def simpler(step: Step) -> Iterator[Step]:
    """Steps that say less."""
    match step:
        case Register() | Replace() | EngineRegister() | EngineReplace():
            for text in shorter_texts(step.text):
                if _is_right(text):
                    yield replace(step, text=text)
        case Push():
            for events in parts_left(step.events):
                yield replace(step, events=events)
            if step.format not in ("nquads", "csv", "ndjson"):
                yield replace(step, format="nquads")
            if step.key or step.identifier:
                yield replace(step, key=None, identifier=None)
        case PushBatch():
            for events in parts_left(step.events):
                yield replace(step, events=events)
            if len(step.events) == 1:
                yield EnginePush(step.stream, step.events[0])
        case FullDisk(request):
            yield request
            for less in simpler(request):
                yield replace(step, request=less)
        case Kill(_, None) | Restart():
            if step.down_s:
                yield replace(step, down_s=0)
        case Kill(_, request) if request is not None:
            yield Kill(0)
            for less in simpler(request):
                yield replace(step, during=less)
        case Power():
            yield from _simpler_power(step)
        case Pass(seconds) if seconds > 1:
            yield Pass(seconds // 2)


def _simpler_power(step: Power) -> Iterator[Step]:
    yield Kill(0, None if isinstance(step.during, Snapshot) else step.during)
    for name in ("again", "at", "during"):
        if getattr(step, name) is not None and (name != "at" or not isinstance(step.during, Snapshot)):
            yield replace(step, **{name: None})
    if step.during is not None:
        for less in simpler(step.during):
            yield replace(step, during=less)
    if step.down_s:
        yield replace(step, down_s=0)


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines() if line.strip()).rstrip()


def _is_right(text: str) -> bool:
    try:
        parse(text, "q")
    except QueryError:
        return False
    return True
