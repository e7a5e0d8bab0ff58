"""Queries in notebooks: `%load_ext spaseq` brings the cell magic `%%spaseq` and the displays of queries and rows."""

from __future__ import annotations

from typing import Any

from spaseq.notebook.answer import Answer

__all__ = ["Answer", "load_ipython_extension"]


def load_ipython_extension(shell: Any) -> None:
    """Register the magic and the displays with a shell of IPython."""
    from spaseq.notebook.displays import register_displays
    from spaseq.notebook.magic import register_magic

    register_displays(shell.display_formatter)
    register_magic(shell)
