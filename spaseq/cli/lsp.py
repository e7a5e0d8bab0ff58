"""`spaseq lsp`."""

from __future__ import annotations

from spaseq.errors import InputError


def serve_editor() -> None:
    """Serve the editor that has started the process; raises InputError where pygls is missing."""
    try:
        from spaseq.editors.server import serve
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.startswith("spaseq"):
            raise
        hint = "pip install 'spaseq[lsp]'"
        raise InputError(f"the language server needs pygls: there is no module {error.name}", hint=hint) from error
    serve()
