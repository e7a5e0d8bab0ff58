"""Other services over HTTP."""

from __future__ import annotations

import httpx2

from spaseq.service.peers.pauses import Away

CONNECT_S_MAX = 10.0


def client_of(silence_s: float) -> httpx2.AsyncClient:
    """A client that waits so long for the next byte, follows no redirect, and takes nothing from the environment."""
    timeout = httpx2.Timeout(silence_s, connect=CONNECT_S_MAX)
    headers = {"User-Agent": "spaseq"}
    return httpx2.AsyncClient(timeout=timeout, follow_redirects=False, trust_env=False, headers=headers)


def refusal(response: httpx2.Response) -> Away:
    """The error for an answer that is not the expected one; redirects are not followed."""
    status = response.status_code
    hint = " (redirects are not followed: give the other address)" if 300 <= status < 400 else ""
    after = response.headers.get("Retry-After", "")
    return Away(f"HTTP status {status}{hint}", float(after) if after.isascii() and after.isdigit() else 0.0)
