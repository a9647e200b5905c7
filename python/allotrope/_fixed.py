"""Settings of torch's that have one answer here: they are taken, and what holds is what is read."""

from __future__ import annotations

import reprlib
from typing import Any


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Taken: a result never depends on the number of threads, so all algorithms are deterministic.

    >>> al.use_deterministic_algorithms(False)
    >>> al.are_deterministic_algorithms_enabled()
    True
    """
    _check_bool("use_deterministic_algorithms", mode)
    _check_bool("use_deterministic_algorithms", warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether equal calls give equal bits: they do.

    >>> al.are_deterministic_algorithms_enabled()
    True
    """
    return True


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether an algorithm that is not deterministic is only warned of: there is none.

    >>> al.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return False


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Taken, as `use_deterministic_algorithms`: "default", "warn" or "error", or their numbers.

    >>> al.set_deterministic_debug_mode("warn")
    >>> al.get_deterministic_debug_mode()
    2
    """
    if debug_mode not in (0, 1, 2, "default", "warn", "error"):
        raise ValueError(f"set_deterministic_debug_mode: no such mode: {reprlib.repr(debug_mode)}; default, warn and error are accepted")


def get_deterministic_debug_mode() -> int:
    """What becomes of an algorithm that is not deterministic: 2, an error, since there is none.

    >>> al.get_deterministic_debug_mode()
    2
    """
    return 2


_PRECISIONS = ("highest", "high", "medium")


def set_float32_matmul_precision(precision: str) -> None:
    """Taken: "highest", "high" or "medium". Products of float32 are formed in float32 with each, and
    `get_float32_matmul_precision` says so.

    >>> al.set_float32_matmul_precision("high")
    >>> al.get_float32_matmul_precision()
    'highest'
    """
    if precision not in _PRECISIONS:
        accepted = ", ".join(_PRECISIONS)
        raise ValueError(f"set_float32_matmul_precision: no such precision: {reprlib.repr(precision)}; {accepted} are accepted")


def get_float32_matmul_precision() -> str:
    """In which precision products of float32 are formed: the highest.

    >>> al.get_float32_matmul_precision()
    'highest'
    """
    return "highest"


def set_flush_denormal(mode: bool) -> bool:
    """Whether numbers too small to be normal become zero, as asked: they are kept.

    >>> al.set_flush_denormal(True), al.set_flush_denormal(False)
    (False, True)
    """
    _check_bool("set_flush_denormal", mode)
    return not mode


def get_num_interop_threads() -> int:
    """How many operations run at a time: one, in as many threads as `get_num_threads` says.

    >>> al.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(num: int) -> None:
    """Taken: operations run one after the other, each in as many threads as `get_num_threads` says.

    >>> al.set_num_interop_threads(4)
    >>> al.get_num_interop_threads()
    1
    """
    if isinstance(num, bool) or not isinstance(num, int) or num < 1:
        raise ValueError(f"set_num_interop_threads: not a number of threads: {num!r}; 1 or more are accepted")


def _check_bool(op: str, value: Any) -> None:
    if not isinstance(value, (bool, int)):
        raise TypeError(f"{op}: not a bool: {reprlib.repr(value)}; True and False are accepted")


NAMES = (
    are_deterministic_algorithms_enabled, get_deterministic_debug_mode, get_float32_matmul_precision,
    get_num_interop_threads, is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode,
    set_float32_matmul_precision, set_flush_denormal, set_num_interop_threads, use_deterministic_algorithms,
)  # fmt: skip
