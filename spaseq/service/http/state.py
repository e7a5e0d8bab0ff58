"""The parts that all requests share."""

from __future__ import annotations

from spaseq.service.http.bodies import BodyBudget
from spaseq.service.http.broadcasts import Broadcasts
from spaseq.service.http.hosts import HostPolicy
from spaseq.service.http.metrics import Metrics
from spaseq.service.http.tokens import Tokens
from spaseq.service.http.workers import Workers
from spaseq.service.settings.configuration import Limits


class AppState(Workers):
    """A service and what surrounds it."""

    def __init__(self, limits: Limits, tokens: Tokens, hosts: HostPolicy) -> None:
        super().__init__()
        self.limits, self.tokens, self.hosts = limits, tokens, hosts
        self.budget = BodyBudget(limits.body_bytes)
        self.broadcasts = Broadcasts(self, limits.readers)
        self.metrics = Metrics(self, self.broadcasts, self.budget)
