"""The page of the service's HTTP interface, made from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from spaseq.service.http.openapi import document
from spaseq.service.http.routes import OPERATIONS

HEAD = """# HTTP interface

Made from the OpenAPI document (`GET /openapi.json`). [The service](../how-to/service.md) shows
how requests are used. With tokens a request has `Authorization: Bearer TOKEN`. An answer that says what is wrong is
`application/problem+json` ([RFC 9457](https://www.rfc-editor.org/rfc/rfc9457)).
"""


def http_page() -> str:
    """The page: each request with its parameters, bodies and answers, then the members of the bodies."""
    described = json.loads(document(OPERATIONS))
    requests = (
        _request(method.upper(), path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    )
    schemas = described["components"]["schemas"]
    return f"{HEAD}{''.join(requests)}\n## Bodies\n{''.join(_schema(name, each) for name, each in schemas.items())}"


def _request(method: str, path: str, operation: Mapping[str, Any]) -> str:
    role = "no token" if operation["x-role"] == "none" else f"a token with the role `{operation['x-role']}`"
    rows = [*_parameters(operation), *_bodies(operation), *_answers(operation)]
    table = "".join(f"| {what} | {words} |\n" for what, words in rows)
    return f"\n## {method} {path}\n\n{_prose(operation['summary'])} It needs {role}.\n\n| | |\n|---|---|\n{table}"


def _parameters(operation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for each in operation.get("parameters", ()):
        if "name" in each:
            yield f"`{each['name']}` ({each['in']})", _prose(each["description"])


def _bodies(operation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return
    shown = []
    for media, body in content.items():
        name = body["schema"].get("$ref", "").rpartition("/")[2]
        shown.append(f"`{media}`" + (f": [{name}](#{name.lower()})" if name else ""))
    yield "body", ", ".join(shown)


def _answers(operation: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for status, answer in operation["responses"].items():
        if status != "default":
            yield f"**{status}**", _prose(answer["description"])


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    rows = "".join(
        f"| `{member}`{', required' if member in schema.get('required', ()) else ''} | {kind_of(each)} |\n"
        for member, each in schema.get("properties", {}).items()
    )
    words = _prose(schema.get("description", "").partition("\n\n")[0])
    return f"\n### {name}\n\n{words}\n\n| member | type |\n|---|---|\n{rows}"


def kind_of(schema: Mapping[str, Any]) -> str:
    """The type of a member in words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(kind_of, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(each)}`" for each in schema["enum"]) + _default(schema)
    if schema.get("type") == "array":
        return f"array of {kind_of(schema.get('items', {}))}"
    if schema.get("type") == "object" and "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        return f"object with values: {kind_of(inner)}" if isinstance(inner, Mapping) else "object"
    return f"{schema.get('type', 'any')}{_default(schema)}"


def _default(schema: Mapping[str, Any]) -> str:
    return f"; `{json.dumps(schema['default'])}` if nothing is said" if "default" in schema else ""


def _prose(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
