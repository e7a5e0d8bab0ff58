"""Tokens, and the roles of requests that they allow."""

from __future__ import annotations

import hmac
import os
from dataclasses import dataclass
from typing import Literal

from spaseq.errors import InputError
from spaseq.service.http.problem import plain
from spaseq.service.settings.configuration import Auth

Role = Literal["none", "read", "push", "admin"]
_ROLES: tuple[Literal["admin", "push", "read"], ...] = ("admin", "push", "read")
_TOKEN_BYTES_MAX = 4_096


@dataclass(frozen=True, slots=True, repr=False)
class Tokens:
    """The tokens of a service, by role; None: everybody may all."""

    by_role: tuple[tuple[Role, bytes], ...] | None = None

    @staticmethod
    def of(auth: Auth | None) -> Tokens:
        """The tokens in the environment; InputError for a variable that is not set."""
        if auth is None:
            return Tokens()
        found: list[tuple[Role, bytes]] = []
        for role in _ROLES:
            if (variable := getattr(auth, role)) is not None:
                token = os.environ.get(variable, "").strip()
                if not token:
                    hint = f"put the token into the environment: {variable}=…"
                    raise InputError(f"auth.{role}: the environment variable {variable} is not set", hint=hint)
                found.append((role, token.encode("utf-8", "surrogateescape")))
        return Tokens(tuple(found))

    def check(self, authorization: str | None, role: Role) -> None:
        """Raises Refused unless the header carries a token for requests of the role."""
        if self.by_role is None or role == "none":
            return
        if authorization is None:
            raise plain(401, "a token is needed: Authorization: Bearer …", {"WWW-Authenticate": "Bearer"})
        held = self._held(authorization)
        if not held:
            challenge = 'Bearer error="invalid_token"'
            raise plain(401, "the token is not one of this service", {"WWW-Authenticate": challenge})
        if role not in held and "admin" not in held:
            raise plain(403, f"the token does not allow this: it needs that of {role}")

    def _held(self, authorization: str) -> set[Role]:
        """The roles of a token; every known one is compared, in a time that does not depend on where they differ."""
        scheme, _, text = authorization.partition(" ")
        given = text.strip().encode("latin-1", "replace")[:_TOKEN_BYTES_MAX]
        same = [(role, hmac.compare_digest(token, given)) for role, token in self.by_role or ()]
        return {role for role, equal in same if equal} if scheme.lower() == "bearer" else set()
