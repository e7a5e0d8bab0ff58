"""Input that is left out, as a report shows it: in bounded size, however long it is."""

from __future__ import annotations

import hashlib

RAW_BYTES_MAX = 64 << 10
"""The first bytes of what was left out that a report shows; of longer ones it has length and hash."""


class RawText:
    """Input in pieces, of which only the beginning, the length and the SHA-256 hash are kept.

    beginning   its first RAW_BYTES_MAX bytes
    length      bytes
    """

    def __init__(self, text: bytes = b"") -> None:
        self.beginning = b""
        self._hash = hashlib.sha256()
        self.length = 0
        self.add(text)

    def add(self, text: bytes) -> None:
        """Appends a piece."""
        if len(self.beginning) < RAW_BYTES_MAX:
            self.beginning += text[: RAW_BYTES_MAX - len(self.beginning)]
        self.length += len(text)
        self._hash.update(text)

    @property
    def is_cut(self) -> bool:
        """Only a part of it is shown."""
        return self.length > RAW_BYTES_MAX

    @property
    def shown(self) -> str:
        """Its beginning; bytes that are not UTF-8 as \\xNN."""
        return shown(_whole_characters(self.beginning) if self.is_cut else self.beginning)

    @property
    def whole(self) -> tuple[int, str]:
        """Length and hexadecimal hash of all of it where only a part is shown, else 0 and ""."""
        return (self.length, self._hash.hexdigest()) if self.is_cut else (0, "")


def shown(raw: bytes) -> str:
    """Input bytes as text for a report."""
    return raw.decode("utf-8", errors="backslashreplace")


def _whole_characters(text: bytes) -> bytes:
    """Without the first bytes of a character at the end."""
    for back in range(1, min(4, len(text)) + 1):
        if text[-back] & 0xC0 != 0x80:
            return text if text[-back] < 0x80 else text[:-back]
    return text
