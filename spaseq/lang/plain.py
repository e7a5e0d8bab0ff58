"""A parsed query as JSON, and back.

A node is a list: the name of its class, then its fields in their order. What is read is checked against the types that
the classes of the tree declare, so that whatever the JSON holds, there is a tree of these types, or a ValueError.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache, partial
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from spaseq.lang.ast import Query

_Reader = Callable[[Any], Any]
_PLAIN: dict[type[Any], type[Any]] = {kind: kind for kind in (NoneType, bool, int, str)} | {tuple: list}
"""The type in JSON of what is no node; that of a member of an enumeration is a string."""


def to_json(query: Query) -> str:
    """The JSON text of a query; RecursionError if it is nested too deeply."""
    return json.dumps(_plain(query), ensure_ascii=False, separators=(",", ":"))


def from_json(text: str) -> Query:
    """The query of a JSON text; ValueError, or RecursionError, for any other text."""
    read: Query = _reader(Query)(json.loads(text))
    return read


def _plain(value: Any) -> Any:
    match value:
        case None | str() | int():
            return value
        case Enum():
            return value.name
        case tuple():
            return [_plain(each) for each in value]
    kind: Any = type(value)
    return [_name(kind), *(_plain(getattr(value, name)) for name in _names(kind))]


def _name(kind: Any) -> str:
    return str(kind.__name__)


@cache
def _names(kind: Any) -> Sequence[str]:
    return tuple(field.name for field in fields(kind))


@cache
def _reader(hint: Any) -> _Reader:
    """The reader of values of a type; a type variable is a name, as steps are called by theirs."""
    origin = get_origin(hint) or hint
    if origin in (Union, UnionType):
        return _reader_of_any(get_args(hint))
    if origin is tuple:
        return _reader_of_tuple(get_args(hint))
    if isinstance(hint, TypeVar):
        return partial(_scalar, str)
    if is_dataclass(origin):
        return _reader_of_nodes({_name(origin): origin})
    return partial(_member if issubclass(origin, Enum) else _scalar, origin)


def _reader_of_any(hints: Sequence[Any]) -> _Reader:
    """The reader of a union: nodes are told by their names, other values by their types in JSON."""
    nodes: dict[str, Any] = {}
    readers: dict[type[Any], _Reader] = {}
    for hint in hints:
        kind: Any = get_origin(hint) or hint
        if is_dataclass(kind):
            nodes[_name(kind)] = kind
        else:
            readers[_PLAIN.get(kind, str)] = _reader(hint)
    if nodes:
        readers[list] = _reader_of_nodes(nodes)

    def read(value: Any) -> Any:
        reader = readers.get(type(value))
        if reader is None:
            raise ValueError(value)
        return reader(value)

    return read


def _reader_of_tuple(hints: Sequence[Any]) -> _Reader:
    if hints[-1:] == (...,):
        member = _reader(hints[0])
        return lambda value: tuple(map(member, _scalar(list, value)))
    members = [_reader(hint) for hint in hints]
    return lambda value: tuple(read(each) for read, each in zip(members, _scalar(list, value), strict=True))


def _reader_of_nodes(kinds: dict[str, Any]) -> _Reader:
    def read(value: Any) -> Any:
        name, *values = _scalar(list, value)
        kind = kinds.get(name) if isinstance(name, str) else None
        if kind is None:
            raise ValueError(name)
        readers = _field_readers(kind)
        return kind(**{field: read(each) for (field, read), each in zip(readers, values, strict=True)})

    return read


@cache
def _field_readers(kind: Any) -> Sequence[tuple[str, _Reader]]:
    hints = get_type_hints(kind)
    return tuple((name, _reader(hints[name])) for name in _names(kind))


def _member(kind: type[Enum], value: Any) -> Enum:
    found = kind.__members__.get(_scalar(str, value))
    if found is None:
        raise ValueError(value)
    return found


def _scalar(kind: type[Any], value: Any) -> Any:
    if type(value) is not kind:
        raise ValueError(value)
    return value
