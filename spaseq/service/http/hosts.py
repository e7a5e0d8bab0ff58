"""The checks of Host and Origin: no page elsewhere reaches the service through a browser."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from spaseq.service.http.problem import plain
from spaseq.service.settings.configuration import Web

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_LOOPBACK_NAMES = frozenset({"localhost", "localhost.localdomain"})


def is_loopback(host: str) -> bool:
    """True for an address or name that only this machine reaches."""
    if host.lower() in _LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class HostPolicy:
    """The names of the service and the origins that may change something.

    names       in the header Host; addresses are always good, as no name of another can be rebound to them
    origins     of pages elsewhere
    """

    names: frozenset[str]
    origins: frozenset[str]

    @staticmethod
    def of(host: str, web: Web) -> HostPolicy:
        """The policy of a service that listens at a host."""
        names = {*_LOOPBACK_NAMES, host.lower(), *(name.lower() for name in web.hosts)}
        if not is_loopback(host):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        return HostPolicy(frozenset(names), frozenset(origin.lower() for origin in web.origins))

    def check(self, method: str, hosts: list[str], origin: str | None) -> None:
        """Raises Refused for a foreign Host, and for a request of a foreign Origin that changes something."""
        if len(hosts) != 1:
            raise plain(400, "a request has one header Host")
        host = hosts[0].lower()
        if not self._is_known(host):
            raise plain(421, f"'{host:.200}' is not a name of this service: web.hosts in its configuration lists names")
        if origin is not None and method not in _SAFE and not self._is_own(origin.lower(), host):
            raise plain(
                403, f"a page at '{origin:.200}' may not change anything here: web.origins lists those that may"
            )

    def _is_known(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if not name or "@" in host or "/" in host:
            return False
        return name in self.names or _is_address(name)

    def _is_own(self, origin: str, host: str) -> bool:
        return origin in (f"http://{host}", f"https://{host}") or origin in self.origins


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
