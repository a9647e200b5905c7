"""Batches from process to process: large tensors and arrays in shared memory, all else by pickle.

Shared memory has no name: its descriptor goes through the connection after the message, and nothing
is left of it when the last process that has it ends, however it ends.
"""

from __future__ import annotations

import io
import mmap
import os
import pickle
import socket
import sys
import weakref
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .._core import Tensor, from_numpy

#: Bytes from which on a tensor is shared: fewer cost the consumer less through the connection (at
#: 256 KB 60 us instead of 137; at 4 MB it is 6.4 ms instead of 1.7).
LEAST = 1 << 20
#: How many batches in shared memory there are at once, as each keeps a descriptor before Python 3.13.
MOST = 128
_kept = 0
#: Where tensors in shared memory begin.
ALIGNMENT = 64


def can_share() -> bool:
    """Whether this process can read batches from shared memory: on Linux, with NumPy."""
    if not hasattr(os, "memfd_create") or not hasattr(socket, "send_fds"):
        return False
    try:
        import numpy  # noqa: F401
    except ImportError:
        return False
    return True


class _Pickler(ForkingPickler):
    """A pickler that puts large tensors and buffers aside."""

    def __init__(self, file: Any) -> None:
        super().__init__(file, 5, True, self._put_buffer)
        self.parts: list[Any] = []
        #: Where buffers of arrays are, and how many bytes they have.
        self.buffers: list[tuple[int, int]] = []
        self.size = 0

    def _place(self, elements: Any, count: int) -> int:
        offset = -(-self.size // ALIGNMENT) * ALIGNMENT
        self.parts.append((offset, elements))
        self.size = offset + count
        return offset

    def _put_buffer(self, buffer: Any) -> bool:
        """Buffers of arrays; true means that pickle keeps it."""
        try:
            elements = buffer.raw()
        except BufferError:
            return True
        if elements.nbytes < LEAST:
            return True
        self.buffers.append((self._place(elements, elements.nbytes), elements.nbytes))
        return False

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not Tensor or obj.requires_grad:
            return None
        count = obj.numel() * obj.dtype.itemsize
        if count < LEAST:
            return None
        # Elements are written out when all is pickled: until then the tensor is kept.
        elements = memoryview(obj.contiguous().reshape(-1).view("uint8"))
        return self._place(elements, count), count, obj.dtype.name, tuple(obj.shape)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, memory: Any, buffers: Any) -> None:
        super().__init__(file, buffers=buffers)
        self._memory = memory

    def persistent_load(self, pid: Any) -> Any:
        offset, count, dtype, shape = pid
        import numpy

        elements = numpy.frombuffer(self._memory, numpy.uint8, count, offset)
        return from_numpy(elements).view(dtype).reshape(shape)


def pack(value: Any) -> tuple[bytes, int | None]:
    """The value as bytes, and the descriptor of the memory that holds its large parts."""
    file = io.BytesIO()
    pickler = _Pickler(file)
    pickler.dump(value)
    if not pickler.parts:
        return pickle.dumps((0, [], file.getvalue()), 5), None
    descriptor = os.memfd_create("allotrope-batch", os.MFD_CLOEXEC)
    try:
        os.ftruncate(descriptor, pickler.size)
        for offset, elements in pickler.parts:
            done = 0
            while done < elements.nbytes:
                done += os.pwrite(descriptor, elements[done:], offset + done)
    except BaseException:
        os.close(descriptor)
        raise
    return pickle.dumps((pickler.size, pickler.buffers, file.getvalue()), 5), descriptor


def _map(descriptor: int, size: int) -> Any:
    """The memory, or a copy of it if too many descriptors are kept by batches that somebody has."""
    global _kept
    flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
    if sys.version_info >= (3, 13):
        return mmap.mmap(descriptor, size, flags, trackfd=False)
    if _kept < MOST:
        memory = mmap.mmap(descriptor, size, flags)
        _kept += 1
        weakref.finalize(memory, _forget).atexit = False
        return memory
    copy = bytearray(size)
    done = 0
    while done < size:
        done += os.preadv(descriptor, [memoryview(copy)[done:]], done)
    return copy


def _forget() -> None:
    global _kept
    _kept -= 1


def unpack(message: bytes, descriptor: int | None) -> Any:
    """What was packed; its large parts stay in the shared memory."""
    size, places, payload = pickle.loads(message)
    if descriptor is None:
        return pickle.loads(payload)
    try:
        memory = _map(descriptor, size)
    finally:
        os.close(descriptor)
    whole = memoryview(memory)
    buffers = [whole[offset : offset + count] for offset, count in places]
    return _Unpickler(io.BytesIO(payload), memory, buffers).load()
