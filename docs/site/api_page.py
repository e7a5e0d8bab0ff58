"""The page of the Python interface, made from the docstrings of what `spaseq` names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import spaseq
import spaseq.spark
import spaseq.testing

HEAD = """# Python interface

Made from the docstrings: every name of `spaseq` and its modules. [From Python](../how-to/python.md)
shows how they are used.
"""
MODULES = (spaseq, spaseq.testing, spaseq.spark)


def api_page() -> str:
    """The page: each name with its signature, its docstring, and those of its public methods and properties."""
    return HEAD + "".join(_entry(name, value) for name, value in documented())


def documented() -> Iterator[tuple[str, Any]]:
    """Each public name, with its module before it, and its value."""
    for module in MODULES:
        names = getattr(module, "__all__", None) or _own_functions(module)
        yield from ((f"{module.__name__}.{name}", getattr(module, name)) for name in names)


def members_of(value: Any) -> Iterator[tuple[str, Any]]:
    """The public methods and properties that a class defines or takes from a class of the project."""
    found: dict[str, Any] = {}
    for base in reversed(inspect.getmro(value)):
        if base.__module__.split(".")[0] == "spaseq":
            found |= {name: each for name, each in vars(base).items() if not name.startswith("_")}
    for name, each in found.items():
        if isinstance(each, property | classmethod | staticmethod) or inspect.isfunction(each):
            yield name, each


def _own_functions(module: Any) -> list[str]:
    """The functions and classes that a module without `__all__` defines."""
    own = (name for name, each in vars(module).items() if getattr(each, "__module__", "") == module.__name__)
    return sorted(name for name in own if not name.startswith("_"))


def _entry(name: str, value: Any) -> str:
    text = f"\n## {name}\n\n{_signature(name, value)}{_described(value)}"
    if not inspect.isclass(value):
        return text
    short = name.rpartition(".")[2]
    for member, each in members_of(value):
        plain = each.__func__ if isinstance(each, classmethod | staticmethod) else each
        head = "" if isinstance(each, property) else _signature(f"{short}.{member}", plain)
        text += f"\n### {short}.{member}\n\n{head}{_described(getattr(value, member, plain))}"
    return text


def _signature(name: str, value: Any) -> str:
    """The call as a block of code; nothing where Python knows none."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ""
    shown = [_parameter(each) for each in parameters if each.name not in ("self", "cls")]
    line = f"{name}({', '.join(shown)})"
    if len(line) > 100:
        line = f"{name}(\n" + "".join(f"    {each},\n" for each in shown) + ")"
    return f"```python\n{line}\n```\n\n"


def _parameter(parameter: inspect.Parameter) -> str:
    """A parameter, its type as it is written, without the addresses of objects, which change from run to run."""
    text = re.sub(r": '([^']*)'", r": \1", str(parameter))
    return re.sub(r"<(?:built-in )?(?:function|class) '?([\w.]+)'?[^>]*>", r"\1", text)


def _described(value: Any) -> str:
    """The docstring: its first paragraph as text, what follows as it is set."""
    words = inspect.getdoc(value) or ""
    first, _, rest = words.partition("\n\n")
    prose = " ".join(first.split()).replace("<", "&lt;")
    return f"{prose}\n" + (f"\n```text\n{rest.rstrip()}\n```\n" if rest.strip() else "")
