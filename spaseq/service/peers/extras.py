"""Packages that not every installation has, and secrets in the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.util import find_spec

from spaseq.errors import InputError


def require(package: str, extra: str, purpose: str) -> None:
    """Raises InputError with the command that installs a package which is not there."""
    if find_spec(package) is None:
        raise InputError(f"{purpose} needs {package}", hint=f'pip install "spaseq[{extra}]"')


def secret(variable: str | None) -> str | None:
    """The secret in an environment variable, None without one; InputError if the variable is not set."""
    if variable is None:
        return None
    if not (found := os.environ.get(variable)):
        raise InputError(f"the environment variable {variable} is not set", hint="it holds a secret of the settings")
    return found


def secrets(variables: Mapping[str, str] | None) -> dict[str, str]:
    """The secrets by name; InputError as for one."""
    return {name: secret(variable) or "" for name, variable in (variables or {}).items()}


def authorization(variable: str | None) -> dict[str, str]:
    """The headers with the bearer token of an environment variable."""
    token = secret(variable)
    return {} if token is None else {"Authorization": f"Bearer {token}"}
