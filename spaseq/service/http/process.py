"""The process of a service, from its arguments to its end."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from spaseq.errors import InputError
from spaseq.service.core.folder import DataFolder
from spaseq.service.core.service import Service
from spaseq.service.errors import Refused
from spaseq.service.http.hosts import HostPolicy, is_loopback
from spaseq.service.http.logs import begin_logging
from spaseq.service.http.server import Server, address_of, listening
from spaseq.service.http.state import AppState
from spaseq.service.http.supervisor import ended_by_signals
from spaseq.service.http.tokens import Tokens
from spaseq.service.maintenance.repair import give_up
from spaseq.service.settings.configuration import Configuration
from spaseq.service.settings.queries import QueryChanges
from spaseq.service.store.faults import starting

SWITCH_S = 0.0005
"""Seconds for which a thread that computes keeps the others waiting, a tenth of Python's: answers wait for matching."""
SUPERVISED_PART = 0.75
"""The part of the limit `grace` after which the process ends, whatever still goes on."""
_LOG = logging.getLogger("spaseq.http")


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of `spaseq serve`.

    wins    what the configuration declares replaces what HTTP has changed or deleted
    accept_loss     what is damaged of the data folder is given up, once
    """

    configuration: Configuration
    data: Path
    host: str
    port: int
    wins: bool
    accept_loss: bool = False

    def folder(self) -> DataFolder:
        """The data folder, whose ends have been compared; raises InputError and RunError."""
        with starting():
            if self.accept_loss and self.data.exists():
                give_up(self.data)
            return DataFolder(self.data)

    def opened(self, folder: DataFolder, recovering: Callable[[Service], None] | None = None) -> Service:
        """The service, recovered, with what the configuration declares; raises InputError.

        recovering  as of `Service.open`
        """
        with starting():
            service = Service.open(folder, self.configuration.limits, recovering=recovering)
        try:
            for key, part in _parts(self.configuration):
                _declare(service, f"{self.configuration.file}: {key}", part, self.wins)
        except BaseException:
            service.close()
            raise
        return service


def _parts(configuration: Configuration) -> Iterator[tuple[str, Configuration]]:
    """Each declaration of a configuration with its key: streams, knowledge bases, then the queries that use them."""
    for name, stream in configuration.streams.items():
        yield f"streams.{name}", Configuration(streams={name: stream})
    for name, knowledge in configuration.kb.items():
        yield f"kb.{name}", Configuration(kb={name: knowledge})
    for name, query in configuration.queries.items():
        yield f"queries.{name}", Configuration(queries={name: query})


def _declare(service: Service, key: str, part: Configuration, wins: bool) -> None:
    """Declare what is not there yet and has not been changed or deleted since; all of it if the file `wins`.

    Raises InputError with the file and the key for what the service refuses.
    """
    try:
        for name, stream in part.streams.items():
            if wins or not service.is_known("stream", name):
                service.put_stream(name, stream)
        for name, kb in part.kb.items():
            if wins or not service.is_known("kb", name):
                service.put_kb(name, kb)
        for name, query in part.queries.items():
            if wins or not service.is_known("query", name):
                changes = QueryChanges(query.text, query.max_runs, query.retention, query.sinks, query.since)
                service.put_query(name, changes)
    except Refused as refused:
        places = [
            f"{each.line}:{each.column}: {each.severity}[{each.code}]: {each.message}" for each in refused.problems
        ]
        raise InputError("\n  ".join([f"{key}: {refused.detail}", *places])) from refused


def serve(
    arguments: Arguments,
    begun: Callable[[Service, str], None] | None = None,
    ended: Callable[[], None] | None = None,
) -> None:
    """Serve until a signal; raises InputError for what cannot be used, RunError for a port that is taken.

    begun   is told the service when it is open, and its address
    ended   is called before it is closed
    """
    sys.setswitchinterval(SWITCH_S)
    declared = arguments.configuration
    if declared.auth is None and not is_loopback(arguments.host):
        hint = "declare tokens in the table [auth] of the configuration, or listen at 127.0.0.1"
        raise InputError(f"others can reach {arguments.host}, and the configuration has no tokens", hint=hint)
    try:
        tokens, hosts = Tokens.of(declared.auth), HostPolicy.of(arguments.host, declared.web)
    except InputError as error:
        raise InputError(f"{declared.file}: {error.message}", hint=error.hint) from error
    begin_logging()
    with closing(arguments.folder()) as folder, listening(arguments.host, arguments.port) as listener:
        state = AppState(declared.limits, tokens, hosts)
        address = address_of(arguments.host, listener.getsockname()[1])

        def opened() -> Service:
            service = arguments.opened(folder, state.recover_with)
            if begun is not None:
                begun(service, address)
            return service

        server = Server(state, opened, address)

        def told() -> None:
            folder.watch.expect_end()
            server.end()

        with ended_by_signals(told, SUPERVISED_PART * declared.limits.grace_s, lambda: bool(state.busy)):
            try:
                server.run(sockets=[listener])
            finally:
                if ended is not None:
                    ended()
                if state.service is not None:
                    state.service.close()
            if state.busy:
                _LOG.error("the process ends although %d requests still go on", len(state.busy))
    if server.failure is not None:
        raise server.failure
