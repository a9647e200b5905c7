"""GPUs of every maker, as torch.cuda speaks of NVIDIA's: which there are, their memory, their work.

A device is named "gpu" or "gpu:1". Drivers are looked for when one is first asked for, never by
`import allotrope`. Functions take a name or a number; without one they mean the first GPU.
"""

import reprlib
from typing import Any, NamedTuple

from . import _core

__all__ = [
    "DeviceProperties",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "memory_allocated",
    "reset_peak_memory_stats",
    "synchronize",
]


class DeviceProperties(NamedTuple):
    """What a GPU says of itself, and what a probe of its arithmetic has found.

    >>> al.gpu.get_device_properties().total_memory > 0  # doctest: +GPU
    True
    """

    name: str
    backend: str
    driver: str
    kind: str
    total_memory: int
    # Whether float64 and int64 are native; if not, float64 is demoted and int64 emulated.
    float64: bool
    int64: bool
    # Whether sums, products, quotients and roots are rounded to nearest, of float32 and of float64.
    exact: bool
    exact64: bool
    # Whether subnormal numbers of float32 are kept.
    subnormals: bool
    # Whether multiply-add rounds once.
    fused: bool
    # Whether conversions between int32 and float32 round to nearest.
    conversions: bool


def is_available() -> bool:
    """Whether this machine has a GPU.

    >>> al.gpu.is_available() == (al.gpu.device_count() > 0)
    True
    """
    return device_count() > 0


def device_count() -> int:
    """How many GPUs there are. Drivers that compute on the CPU count if ALLOTROPE_GPU=software.

    >>> al.gpu.device_count() >= 0
    True
    """
    return _core._gpu_count()


def get_device_name(device: Any = None) -> str:
    """What the driver calls a GPU.

    >>> isinstance(al.gpu.get_device_name(), str)  # doctest: +GPU
    True
    """
    return get_device_properties(device).name


def get_device_properties(device: Any = None) -> DeviceProperties:
    """What a GPU says of itself, and what its arithmetic is like.

    >>> al.gpu.get_device_properties().backend  # doctest: +GPU
    '...'
    """
    found = _core._gpu_properties(_index("get_device_properties", device))
    numerics = dict(found.pop("numerics"))
    return DeviceProperties(**found, **numerics)


def memory_allocated(device: Any = None) -> int:
    """The bytes that tensors have on a GPU; 0 where there is none.

    >>> al.gpu.memory_allocated() >= 0
    True
    """
    return _memory("memory_allocated", device)[0]


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that tensors have had at once, since the start or `reset_peak_memory_stats`.

    >>> al.gpu.max_memory_allocated() >= al.gpu.memory_allocated()
    True
    """
    return _memory("max_memory_allocated", device)[1]


def reset_peak_memory_stats(device: Any = None) -> None:
    """Lets `max_memory_allocated` count from now on.

    >>> al.gpu.reset_peak_memory_stats()
    >>> al.gpu.max_memory_allocated() == al.gpu.memory_allocated()
    True
    """
    if device is not None or is_available():
        _core._gpu_reset_peak_memory(_index("reset_peak_memory_stats", device))


def empty_cache(device: Any = None) -> None:
    """Gives memory back to the driver that no tensor has: of one GPU, or of all.

    >>> al.gpu.empty_cache()
    """
    which = range(device_count()) if device is None else [_index("empty_cache", device)]
    for index in which:
        _core._gpu_empty_cache(index)


def synchronize(device: Any = None) -> None:
    """Waits until a GPU has done all work, and raises what went wrong meanwhile.

    >>> x = al.ones(3, device="gpu") * 2  # doctest: +GPU
    >>> al.gpu.synchronize()  # doctest: +GPU
    """
    index = _index("synchronize", device)
    _core.synchronize("gpu" if index == 0 else f"gpu:{index}")


def manual_seed(seed: int) -> None:
    """Seeds the generator, which is one for all devices: draws are the same on each of them.

    >>> al.gpu.manual_seed(3)
    >>> al.initial_seed()
    3
    """
    _core.manual_seed(seed)


def manual_seed_all(seed: int) -> None:
    """As `manual_seed`: there is one generator for all devices.

    >>> al.gpu.manual_seed_all(3)
    >>> al.initial_seed()
    3
    """
    _core.manual_seed(seed)


def _memory(op: str, device: Any) -> tuple[int, int]:
    if device is None and not is_available():
        return 0, 0
    return _core._gpu_memory(_index(op, device))


def _index(op: str, device: Any) -> int:
    """The number of a GPU."""
    if device is None:
        return 0
    if isinstance(device, bool) or not isinstance(device, (int, str)):
        kind = type(device).__name__
        raise TypeError(f"{op}: not a device: {reprlib.repr(device)} of type {kind}; 'gpu', 'gpu:1' and numbers are accepted")
    kind, _, number = str(device).partition(":") if isinstance(device, str) else ("gpu", "", str(device))
    if kind != "gpu" or not (number or "0").isdecimal():
        raise ValueError(f"{op}: not a GPU: {device!r}; 'gpu', 'gpu:1' and numbers are accepted")
    return int(number or 0)
