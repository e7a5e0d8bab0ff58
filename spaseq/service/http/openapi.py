"""The OpenAPI document, made of the table of requests and the settings."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import msgspec
from msgspec import Struct

from spaseq.service.http.operations import PATH_PARAMETERS, Operation
from spaseq.service.http.problem import MEDIA_TYPE


class ProblemInText(Struct):
    """One thing wrong with a text, where it is, and the way out."""

    code: str
    line: int
    column: int
    message: str
    hint: str


class ProblemDetails(Struct):
    """An answer that says what is wrong (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    problems: list[ProblemInText] = []


def document(operations: Sequence[Operation]) -> bytes:
    """The document as JSON."""
    kinds = {kind for each in operations for kind in each.body.values() if kind is not None} | {ProblemDetails}
    ordered = sorted(kinds, key=lambda kind: kind.__name__)
    found, schemas = msgspec.json.schema_components(ordered, ref_template="#/components/schemas/{name}")
    references = dict(zip(ordered, found, strict=True))
    paths: dict[str, Any] = {}
    for each in operations:
        paths.setdefault(each.path, {})[each.method.lower()] = each.document(references.__getitem__)
    problem = {"description": "what is wrong", "content": {MEDIA_TYPE: {"schema": references[ProblemDetails]}}}
    parameters = {
        name: {"name": name, "in": "path", "required": True, "schema": schema}
        for name, schema in PATH_PARAMETERS.items()
    }
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "SPAseq", "version": _version(), "description": "Temporal patterns over RDF streams."},
            "paths": paths,
            "components": {
                "schemas": schemas,
                "responses": {"Problem": problem},
                "parameters": parameters,
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        }
    )


@cache
def _version() -> str:
    try:
        return version("spaseq")
    except PackageNotFoundError:
        return "0"
