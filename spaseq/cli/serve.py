"""`spaseq serve`."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from spaseq.errors import InputError
from spaseq.service.settings.configuration import Configuration
from spaseq.service.settings.toml import read_configuration


def serve_until_told(config: Path | None, wins: bool, data: Path, host: str, port: int, accept_loss: bool) -> None:
    """Serve until SIGTERM or Ctrl-C; raises InputError and RunError."""
    configuration = Configuration() if config is None else read_configuration(config)
    process = web_server()
    process.serve(process.Arguments(configuration, data, host, port, wins, accept_loss))


def web_server() -> ModuleType:
    """The module that serves; raises InputError where what the service answers with is not installed."""
    try:
        from spaseq.service.http import process
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("spaseq"):
            raise
        hint = "pip install 'spaseq[serve]'"
        raise InputError(f"the service needs a web server: there is no module {error.name}", hint=hint) from error
    return process
