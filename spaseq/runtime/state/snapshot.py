"""States as bytes: a versioned blob that carries terms, not ids, and no code.

blob := MAGIC VERSION digest zlib(msgpack [text, lengths, numbers, tree])

The terms are canonical N-Triples texts, one after the other in `text`, with their lengths in bytes and their numeric
values (`Dictionary.numbers`), so that neither end touches a single one.
`tree` is made of lists, mappings and plain values; an array is an extension with its type, shape and bytes, and in an
array of `automata.state.Values` each id is replaced by the place of its term, from 1 on. So a blob means the same in
every process. What the tree consists of is declared by the layouts of its parts, which have versions of their own.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from automata.state import Unreadable, Values
from automata.values import UNBOUND, Ids
from sparql_gpm.columns import EventBatch
from sparql_gpm.dictionary import Dictionary
from spaseq.errors import RunError
from spaseq.runtime.state.layouts import EVENTS

MAGIC, VERSION = b"SPAseq", 13
"""Of the format: one more whenever it changes."""
RELEASED = 12
"""The version that release 0.1.0 wrote, without a digest."""
DIGEST_BYTES = 16

_ARRAY, _VALUES = 1, 2
_Packed = tuple[bytes, bytes, bytes, bytes]
"""Text, lengths, numbers, tree."""
_LEVEL = 1
_TERMS = ("subjects", "predicates", "objects")
_NARROW = [(kind, int(np.iinfo(kind).min), int(np.iinfo(kind).max)) for kind in (np.int8, np.int16, np.int32)]
_FEW = 64
"""Of so few numbers Python finds the least sooner than numpy."""


def dumps(tree: Any, dictionary: Dictionary) -> bytes:
    """A state as a blob; its ids are those of the dictionary."""
    writer = _Writer(dictionary)
    body = msgspec.msgpack.encode(tree, enc_hook=writer.plain)
    packed = zlib.compress(msgspec.msgpack.encode((*writer.terms(), body)), _LEVEL)
    return MAGIC + VERSION.to_bytes(2, "big") + digest(packed) + packed


def version_of(blob: bytes) -> int | None:
    """The version of a blob; None of bytes that are none."""
    head = len(MAGIC) + 2
    return int.from_bytes(blob[len(MAGIC) : head], "big") if blob[: len(MAGIC)] == MAGIC and len(blob) > head else None


def loads(blob: bytes, dictionary: Dictionary) -> Any:
    """The state in a blob, with the dictionary's ids for its terms; RunError if it is damaged or of another version."""
    version = version_of(blob)
    if version not in (VERSION, RELEASED):
        found = "no SPAseq state at all" if version is None else f"version {version}"
        raise RunError(
            f"the saved state is {found}; this SPAseq reads versions {RELEASED} and {VERSION}",
            hint="go on with the SPAseq that wrote it, or begin anew with a new checkpoint folder: the input is then "
            "read again from where the new job starts",
        )
    packed = memoryview(blob)[len(MAGIC) + 2 :]
    try:
        if version != RELEASED:
            written, packed = packed[:DIGEST_BYTES], packed[DIGEST_BYTES:]
            if digest(packed) != written:
                raise Unreadable("its digest is another")
        text, lengths, numbers, body = msgspec.msgpack.decode(zlib.decompress(packed), type=_Packed)
    except (Unreadable, zlib.error, msgspec.MsgspecError) as error:
        hint = "begin anew with a new checkpoint folder"
        raise RunError(f"the saved state is damaged: {error}", hint=hint) from error
    interned = dictionary.intern_joined(text, _array(memoryview(lengths)), np.frombuffer(numbers, dtype=np.float64))
    ids = np.concatenate((np.array([UNBOUND], dtype=np.int64), interned))

    def whole(code: int, data: memoryview) -> Any:
        array = _array(data)
        return Values(ids[array]) if code == _VALUES else array

    return msgspec.msgpack.decode(body, ext_hook=whole)


def digest(data: bytes | memoryview) -> bytes:
    """A digest of bytes, by which they are known again."""
    return hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()


class _Writer:
    """Replaces arrays by extensions, and collects the terms of ids."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary
        self._places: Ids = np.zeros(dictionary.bound, dtype=np.int64)
        self._placed_ids: list[Ids] = []
        self._count = 0

    def terms(self) -> tuple[bytes, bytes, bytes]:
        """The texts, lengths and numbers of the terms, by their places."""
        ids = np.concatenate((np.zeros(0, dtype=np.int64), *self._placed_ids))
        text, lengths = self._dictionary.joined(ids)
        return text, _bytes(lengths), self._dictionary.numbers[ids].tobytes()

    def plain(self, value: Any) -> Any:
        """A value that MessagePack does not know."""
        match value:
            case Values(ids):
                return msgspec.msgpack.Ext(_VALUES, _bytes(self._placed(ids)))
            case np.ndarray():
                return msgspec.msgpack.Ext(_ARRAY, _bytes(value))
            case np.integer() | np.bool_():
                return value.item()
        raise AssertionError(f"no state: {type(value)}")

    def _placed(self, ids: Ids) -> Ids:
        """The places of ids; those that have none yet get the next ones."""
        fresh = np.unique(ids[self._places[ids] == 0])
        fresh = fresh[fresh != UNBOUND]
        self._places[fresh] = np.arange(self._count + 1, self._count + 1 + len(fresh))
        self._placed_ids.append(fresh)
        self._count += len(fresh)
        placed: Ids = self._places[ids]
        return placed


def state_bytes(tree: Any, dictionary: Dictionary) -> int:
    """The size of a state whose ids are those of the dictionary.

    Arrays count as they are, the text of each term once, and all else as in a blob. It takes less time than `dumps`.
    """
    found, ids = 0, [np.zeros(0, dtype=np.int64)]

    def counted(value: Any) -> Any:
        nonlocal found
        match value:
            case Values(some):
                found += some.nbytes
                ids.append(some.ravel())
            case np.ndarray():
                found += value.nbytes
            case np.integer() | np.bool_():
                return value.item()
            case _:
                raise AssertionError(f"no state: {type(value)}")
        return None

    plain = len(msgspec.msgpack.encode(tree, enc_hook=counted))
    distinct = np.unique(np.concatenate(ids))
    text, _ = dictionary.joined(distinct[distinct != UNBOUND])
    return found + plain + len(text)


def narrowed(values: NDArray[Any]) -> NDArray[Any]:
    """An int64 array in the smallest type that holds its values; any other array as it is."""
    if values.dtype != np.int64 or not values.size:
        return values
    if values.size <= _FEW:
        numbers = values.ravel().tolist()
        least, most = min(numbers), max(numbers)
    else:
        least, most = int(values.min()), int(values.max())
    for kind, low, high in _NARROW:
        if low <= least and most <= high:
            return values.astype(kind)
    return values


def _bytes(array: NDArray[Any]) -> bytes:
    """Type, shape and contents."""
    stored = narrowed(np.ascontiguousarray(array))
    return msgspec.msgpack.encode((array.dtype.str, stored.dtype.str, array.shape, stored.tobytes()))


def _array(data: memoryview) -> NDArray[Any]:
    meant, stored, shape, contents = msgspec.msgpack.decode(data, type=tuple[str, str, tuple[int, ...], bytes])
    array: NDArray[Any] = np.frombuffer(contents, dtype=stored).reshape(shape).astype(meant)
    return array


def batch_state(batch: EventBatch) -> dict[str, Any]:
    """Events."""
    terms = dict(zip(_TERMS, map(Values, batch.terms), strict=True))
    return EVENTS.written(
        times=batch.times, streams=batch.streams, names=list(batch.names), offsets=batch.offsets, **terms
    )


def restored_batch(state: Mapping[str, Any]) -> EventBatch:
    """The events of a state."""
    state = EVENTS.read(state)
    columns = (state[name].ids for name in _TERMS)
    return EventBatch(state["times"], state["streams"], state["names"], state["offsets"], *columns)
