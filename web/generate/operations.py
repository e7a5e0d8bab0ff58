"""The table of requests as types: the client of the workbench can ask nothing that the service does not answer."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from spaseq.service.http.openapi import document
from spaseq.service.http.routes import OPERATIONS

HEAD = "// Made by `make web` of the service's OpenAPI document; do not edit.\n"
_PRIMITIVES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null"}


def operations() -> str:
    """The TypeScript source: an interface for each body, and the table of operations."""
    api = json.loads(document(OPERATIONS))
    schemas: Mapping[str, Any] = api["components"]["schemas"]
    found = [HEAD]
    found += [
        f"export interface {name} {_type(schema)}\n" for name, schema in schemas.items() if "properties" in schema
    ]
    found += [
        f"export type {name} = {_type(schema)};\n" for name, schema in schemas.items() if "properties" not in schema
    ]
    entries = [
        f'  "{method.upper()} {path}": {_operation(path, operation)};\n'
        for path, methods in api["paths"].items()
        for method, operation in methods.items()
    ]
    return "\n".join([*found, "export interface Operations {\n" + "".join(entries) + "}\n"])


def _operation(path: str, operation: Any) -> str:
    """The path parameters, the members of the query string and the bodies by media type."""
    parameters = [each for each in operation.get("parameters", ()) if each.get("in") == "query"]
    bodies = operation.get("requestBody", {}).get("content", {})
    members = {
        "path": _record(dict.fromkeys(re.findall(r"{(\w+)}", path), "string")),
        "query": _record({f"{each['name']}?": "string | number" for each in parameters}),
        "body": _record({json.dumps(media): _body(content["schema"]) for media, content in bodies.items()}),
    }
    return _record(members)


def _body(schema: Any) -> str:
    return "string | Blob" if schema == {"type": "string"} else _type(schema)


def _record(members: Mapping[str, str]) -> str:
    return "{ " + " ".join(f"{name}: {kind};" for name, kind in members.items()) + " }" if members else "{}"


def _type(schema: Any) -> str:
    """The type of the values that a JSON schema describes."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type(each) for each in schema["anyOf"])
    match schema.get("type"):
        case "array":
            return f"({_type(schema.get('items', {}))})[]"
        case "object" if "properties" in schema:
            required = schema.get("required", ())
            names = {name: name if name in required else f"{name}?" for name in schema["properties"]}
            return _record({names[name]: _type(each) for name, each in schema["properties"].items()})
        case "object":
            return f"Record<string, {_type(schema.get('additionalProperties') or {})}>"
        case kind:
            return _PRIMITIVES.get(str(kind), "unknown")
