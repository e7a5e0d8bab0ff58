"""`spaseq serve`."""

from __future__ import annotations

from pathlib import Path

from spaseq.errors import InputError
from spaseq.service.settings.configuration import Configuration
from spaseq.service.settings.toml import read_configuration


def serve_until_told(config: Path | None, wins: bool, data: Path, host: str, port: int) -> None:
    """Serve until SIGTERM or Ctrl-C; raises InputError and RunError."""
    configuration = Configuration() if config is None else read_configuration(config)
    try:
        from spaseq.service.http.process import Arguments, serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("spaseq"):
            raise
        hint = "pip install 'spaseq[serve]'"
        raise InputError(f"the service needs a web server: there is no module {error.name}", hint=hint) from error
    serve(Arguments(configuration, data, host, port, wins))
