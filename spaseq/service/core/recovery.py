"""Recovery: what was remembered comes back, and the log is read from the snapshot on."""

from __future__ import annotations

from spaseq.service.core.admission import Admission
from spaseq.service.core.kernels import Kernels
from spaseq.service.core.matcher import Matcher
from spaseq.service.core.meanings import can_take
from spaseq.service.core.records import Accepted, decoded
from spaseq.service.core.snapshots import Saved
from spaseq.service.log.segmented import SegmentedLog

KERNEL_REPLAY_EVENTS_MIN = 100_000
"""Events, and records without some, that are read again after a crash, which repay loading kernels.

So many are held before they are matched.
"""


def recover(saved: Saved, log: SegmentedLog, admission: Admission, matcher: Matcher, kernels: Kernels) -> None:
    """Bring a service whose queries are restored to the end of the log; none of its threads runs yet."""
    for memory in saved.memories:
        admission.restore(memory.stream, memory.restored(), memory.answers)
    held = 0
    for place, data in log.read_linked(saved.state.number + 1):
        record = decoded(data)
        if log.has_lost and not can_take(admission.durable, record):
            continue  # what it needs was declared in a record that is lost, which was accepted
        admission.replay(place.number, record)
        matcher.hand(place, record)
        held += max(1, record.count) if isinstance(record, Accepted) else 1
        if held >= KERNEL_REPLAY_EVENTS_MIN:
            held = 0
            if not kernels.ready:
                kernels.load()
            matcher.recover()
    admission.recovered()
    matcher.recover()
