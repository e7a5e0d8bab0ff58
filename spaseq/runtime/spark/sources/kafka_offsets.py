"""Places in Kafka topics, as offsets of Spark's checkpoint: the next messages, and what the brokers no longer have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Offsets = Mapping[str, Mapping[str, int]]
"""Topic → partition → the next message; partitions are strings, as JSON has them."""
Marks = Mapping[str, Mapping[str, str]]
"""Topic → partition → what the message before the next one is known by."""
Bounds = Mapping[str, Mapping[str, tuple[int, int]]]
"""Topic → partition → the first message that is kept, and the one after the last."""

_ENDED, _MARKS, _IDLE, _SINCE = "spaseq.ended", "#marks", "#idle", "#since"
"""Keys of an offset beside the topics; no topic has these names."""


@dataclass(frozen=True, slots=True)
class KafkaPlace:
    """A place in some topics.

    marks   by which a topic that was made anew is told from the one that was read
    ended   the end of the stream has been signalled
    idle    partitions, by name, that do not hold the watermark: the clock has decided it, a replay reads it here
    since   the time in seconds at which each partition last had something to be read
    """

    next: Offsets
    marks: Marks = field(default_factory=dict)
    ended: bool = False
    idle: Sequence[str] = ()
    since: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(offset: Mapping[str, Any]) -> KafkaPlace:
        """The place in an offset of Spark's checkpoint."""
        topics = {topic: found for topic, found in offset.items() if topic not in (_ENDED, _MARKS, _IDLE, _SINCE)}
        idle, since = offset.get(_IDLE, ()), offset.get(_SINCE, {})
        return KafkaPlace(topics, offset.get(_MARKS, {}), _ENDED in offset, tuple(idle), since)

    def offset(self) -> dict[str, Any]:
        """The offset for Spark's checkpoint."""
        more = {_MARKS: self.marks, _IDLE: list(self.idle), _SINCE: self.since}
        return {**self.next, **{k: v for k, v in more.items() if v}, **({_ENDED: {}} if self.ended else {})}

    def partitions(self) -> list[str]:
        """The names of all partitions."""
        return [f"{topic}[{number}]" for topic, found in sorted(self.next.items()) for number in sorted(found, key=int)]

    def kept(self, bounds: Bounds, marks: Marks) -> KafkaPlace:
        """The place on the brokers of now: topics made anew from their first messages on, what is gone passed over."""
        anew = {topic for topic, _, is_anew in self._lost(bounds, marks) if is_anew}
        following = {
            topic: {
                number: low if topic in anew else max(low, self.next.get(topic, {}).get(number, 0))
                for number, (low, _) in found.items()
            }
            for topic, found in bounds.items()
        }
        return replace(self, next=following, marks={t: m for t, m in self.marks.items() if t not in anew})

    def lost(self, bounds: Bounds, marks: Marks) -> list[str]:
        """The messages that are no longer there, in words; `marks` are those of the same messages now."""
        return [reason for _, reason, _ in self._lost(bounds, marks)]

    def _lost(self, bounds: Bounds, marks: Marks) -> Iterator[tuple[str, str, bool]]:
        """The topic, the reason in words, and whether the topic was made anew."""
        for topic, found in self.next.items():
            for number, following in found.items():
                name = f"{topic}[{number}]"
                if number not in bounds.get(topic, {}):
                    yield topic, f"{name} is no longer there", topic in bounds
                    continue
                low, high = bounds[topic][number]
                old, new = (m.get(topic, {}).get(number, "") for m in (self.marks, marks))
                if high < following:
                    reason = f"{name} ends before message {high}, and was read to {following}: the topic was made anew"
                    yield topic, reason, True
                elif old and new and old != new:
                    reason = f"message {following - 1} of {name} is another one: the topic was made anew"
                    yield topic, reason, True
                elif following < low:
                    yield topic, f"messages {following} to {low - 1} of {name} are no longer kept", False
            for number, (low, _) in bounds.get(topic, {}).items():
                if number not in found and low:
                    yield topic, f"messages 0 to {low - 1} of {topic}[{number}] are no longer kept", False


def changed(start: Offsets, end: Offsets) -> Iterator[tuple[str, str, int, int]]:
    """(topic, partition, begin, end) of what lies between two places; a new partition begins with its first message."""
    for topic, partitions in sorted(end.items()):
        for number, stop in sorted(partitions.items(), key=lambda item: int(item[0])):
            begin = start.get(topic, {}).get(number, 0)
            if begin < stop:
                yield topic, number, begin, stop


def limited(start: Offsets, last: Offsets, messages: int) -> Offsets:
    """The offsets after about so many messages, at least one of each partition with a backlog."""
    waiting = {(topic, number): stop - begin for topic, number, begin, stop in changed(start, last)}
    total = sum(waiting.values())
    if total <= messages:
        return last
    taken = {key: min(count, max(1, count * messages // total)) for key, count in waiting.items()}
    return {
        t: {n: start.get(t, {}).get(n, 0) + taken[t, n] if (t, n) in taken else stop for n, stop in found.items()}
        for t, found in last.items()
    }
