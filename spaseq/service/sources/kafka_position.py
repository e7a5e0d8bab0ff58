"""The position in a Kafka topic, and what the brokers no longer have of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from spaseq.service.sources.positions import position_in, position_text

Place = tuple[int, str]
"""The next message of a partition, and the mark of the one before it: its time and checksum."""

Bounds = Mapping[int, tuple[int, int]]
"""Partition → the first message that is kept, and the one after the last."""


@dataclass(frozen=True, slots=True)
class KafkaPosition:
    """The place in each partition of a topic.

    next    partition → the next message
    marks   partition → what the message before it is known by
    """

    topic: str
    next: Mapping[int, int] = field(default_factory=dict)
    marks: Mapping[int, str] = field(default_factory=dict)

    @staticmethod
    def of(text: bytes | None, topic: str) -> KafkaPosition:
        """The position in its text; the beginning if there is none, or if it is one in another topic."""
        places = position_in(text, f"kafka {topic}", dict[int, Place]) or {}
        return KafkaPosition(topic, {p: n for p, (n, _) in places.items()}, {p: m for p, (_, m) in places.items()})

    @property
    def text(self) -> bytes:
        """The position as JSON."""
        places = {str(p): (n, self.marks.get(p, "")) for p, n in sorted(self.next.items())}
        return position_text(f"kafka {self.topic}", places)

    def after(self, partition: int, offset: int, mark: str) -> KafkaPosition:
        """The position after one more message."""
        return KafkaPosition(self.topic, {**self.next, partition: offset + 1}, {**self.marks, partition: mark})

    def lost(self, bounds: Bounds, marks: Mapping[int, str]) -> list[str]:
        """The offsets that are gone, in words; `marks` are those that the messages before the next ones have now."""
        return [each for partition in sorted(self.next) if (each := self._lost(partition, bounds, marks))]

    def _lost(self, partition: int, bounds: Bounds, marks: Mapping[int, str]) -> str:
        place, following = f"{self.topic}[{partition}]", self.next[partition]
        if partition not in bounds:
            return f"{place} is no longer there"
        low, high = bounds[partition]
        if following > high:
            return f"{place} ends before message {following}, which comes next: the topic was made anew"
        if following < low:
            return f"messages {following} to {low - 1} of {place} are no longer kept"
        if self._is_anew(partition, marks):
            return f"message {following - 1} of {place} is another one: the topic was made anew"
        return ""

    def _is_anew(self, partition: int, marks: Mapping[int, str]) -> bool:
        known, found = self.marks.get(partition), marks.get(partition)
        return bool(known and found and known != found)

    def kept(self, bounds: Bounds, marks: Mapping[int, str], start: str) -> KafkaPosition:
        """The position with a place in each partition: where it is, at what is still kept, or where new ones start."""
        following: dict[int, int] = {}
        for partition, (low, high) in bounds.items():
            here = self.next.get(partition)
            if here is None:
                following[partition] = high if start == "latest" and not self.next else low
            else:
                following[partition] = low if here > high or self._is_anew(partition, marks) else max(low, here)
        kept = {p: mark for p, mark in self.marks.items() if following.get(p) == self.next[p]}
        return KafkaPosition(self.topic, following, kept)
