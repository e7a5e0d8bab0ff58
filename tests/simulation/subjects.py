"""What is simulated: a service, or an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from random import Random
from typing import Any

from tests.simulation import engine_steps, service_steps
from tests.simulation.drawing import Drawing
from tests.simulation.engine_drawing import EngineDrawing
from tests.simulation.engine_trial import engine_trial
from tests.simulation.history import Follows, Trial
from tests.simulation.service_drawing import ServiceDrawing
from tests.simulation.service_trial import service_trial
from tests.simulation.shown import shown, simpler
from tests.simulation.texts import Texts


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind of trial, and all that its histories need.

    kinds       of steps
    trial       a new one
    drawing     of a history
    simpler     steps in the place of one
    shown       a step to be read
    """

    name: str
    kinds: Sequence[str]
    trial: Callable[[], AbstractContextManager[Trial[Any]]]
    drawing: Callable[[Random, Texts, Follows], Drawing]
    simpler: Callable[[Any], Iterable[Any]]
    shown: Callable[[Any], str]


SUBJECTS = {
    "service": Subject("service", service_steps.KINDS, service_trial, ServiceDrawing, simpler, shown),
    "engine": Subject("engine", engine_steps.KINDS, engine_trial, EngineDrawing, simpler, shown),
}
