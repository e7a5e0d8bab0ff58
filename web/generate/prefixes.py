"""The prefixes of well-known vocabularies, as the language server has them."""

from __future__ import annotations

import json

from spaseq.editors.fixes import PREFIXES


def prefixes() -> str:
    """The TypeScript source: the namespaces by their usual prefixes."""
    entries = "".join(f"  {prefix}: {json.dumps(iri)},\n" for prefix, iri in PREFIXES.items())
    return (
        "// Made by `make web` of spaseq.editors; do not edit.\n\n"
        f"export const PREFIXES: Readonly<Record<string, string>> = {{\n{entries}}};\n"
    )
