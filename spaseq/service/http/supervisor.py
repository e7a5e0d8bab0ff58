"""An end of the process that nothing can hold up, armed by the signal to end.

A signal handler of Python waits for the interpreter's lock, which a call of native code may hold for long: a regular
expression, an array, a parser. So the C library does all of this, with asynchronous reads (aio, POSIX) that call a
function when they are done:

    signal ──► the interpreter's C handler writes a byte (wakeup fd) ──► read: done ──► aio_read of a silent socket
           ──► read: done after its SO_RCVTIMEO ──► _exit(0)

The exit code is 0, as it is of every end by a signal: what has not been written is read again from the log. On systems
other than Linux a thread ends the process, once it gets the lock.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

_SIGEV_NONE, _SIGEV_THREAD = 1, 2
_SIGEVENT_BYTES = 64
_MICROSECONDS = 1_000_000


class _Event(ctypes.Structure):
    """The `struct sigevent` of Linux: what happens when a read is done."""

    _fields_ = (
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("function", ctypes.c_void_p),
        ("attributes", ctypes.c_void_p),
        ("rest", ctypes.c_byte * (_SIGEVENT_BYTES - 3 * ctypes.sizeof(ctypes.c_void_p) - 8)),
    )


class _Read(ctypes.Structure):
    """The first members of a `struct aiocb`, which glibc and musl agree about, and room for theirs."""

    _fields_ = (
        ("file", ctypes.c_int),
        ("opcode", ctypes.c_int),
        ("priority", ctypes.c_int),
        ("buffer", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("event", _Event),
        ("rest", ctypes.c_byte * 256),
    )


_KEPT: list[Any] = []
"""Reads with their buffers and sockets: the C library may look at them after the supervisor has gone."""


@contextmanager
def ended_by_signals(told: Callable[[], object], seconds: float, goes_on: Callable[[], bool]) -> Iterator[None]:
    """Inside, SIGTERM and SIGINT call `told`; so many seconds later the process ends, if this still goes on.

    It does so, too, if something `goes_on` at the end: a thread for which the interpreter would wait. Only the main
    thread gets signals: in another one nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    supervised: AbstractContextManager[None]
    if sys.platform == "linux":
        supervised = _supervised(seconds, goes_on)
    else:
        told, supervised = _timed(told, seconds), nullcontext()
    before = {number: signal.signal(number, lambda *_: told()) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        with supervised:
            yield
    finally:
        for number, found in before.items():
            signal.signal(number, signal.SIG_IGN if goes_on() else found)


def _timed(told: Callable[[], object], seconds: float) -> Callable[[], object]:
    """`told`, after which a thread ends the process in so many seconds."""

    def both() -> None:
        timer = threading.Timer(seconds, os._exit, (0,))
        timer.daemon = True
        timer.start()
        told()

    return both


@contextmanager
def _supervised(seconds: float, goes_on: Callable[[], bool]) -> Iterator[None]:
    """Inside, a signal that has a handler of Python ends the process after so many seconds."""
    library = _library()
    told, tell = os.pipe()
    silent, other = socket.socketpair()
    whole, part = divmod(round(seconds * _MICROSECONDS), _MICROSECONDS)
    silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", whole, part))
    last = _read(silent.fileno(), library._exit, 0)
    first = _read(told, library.aio_read, ctypes.addressof(last))
    if library.aio_read(ctypes.byref(first)):
        raise OSError(ctypes.get_errno(), "aio_read")
    os.set_blocking(tell, False)
    before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        if goes_on():
            _KEPT.extend((silent, other))
        else:
            first.event.notify = last.event.notify = _SIGEV_NONE
            os.close(tell)
            for each in (other, silent):
                each.close()
            os.close(told)


def _library() -> ctypes.CDLL:
    """The C library; before glibc 2.34 the part of it that reads asynchronously."""
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "aio_read") else ctypes.CDLL("librt.so.1", use_errno=True)


def _read(file: int, function: Any, value: int) -> _Read:
    """A read of one byte, after which the C library calls a function with a value."""
    buffer = ctypes.create_string_buffer(1)
    event = _Event(value=value, notify=_SIGEV_THREAD, function=ctypes.cast(function, ctypes.c_void_p).value)
    found = _Read(file=file, buffer=ctypes.addressof(buffer), count=1, event=event)
    _KEPT.extend((found, buffer))
    return found
