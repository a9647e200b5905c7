"""Which kernel of attention torch is to use, for programs that say it: there is one here, for all."""

from __future__ import annotations

from collections.abc import Iterable
from contextvars import ContextVar
from enum import IntEnum
from typing import Any


class SDPBackend(IntEnum):
    """Kernels of attention by torch's names. Here `scaled_dot_product_attention` has one.

    >>> al.nn.attention.SDPBackend.MATH.name
    'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


_ASKED: ContextVar[tuple[SDPBackend, ...]] = ContextVar("kernels of attention", default=tuple(SDPBackend)[1:])


class sdpa_kernel:  # noqa: N801 - torch's name
    """A block in which kernels of attention are asked for by torch's names: taken and read by
    `al.nn.attention.asked_kernels`, while the kernel is the library's own. It keeps no matrix of weights,
    and gives the same bits within the block and outside of it.

    >>> attention = al.nn.attention
    >>> with attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION):
    ...     attention.asked_kernels()
    [<SDPBackend.FLASH_ATTENTION: 1>]
    """

    def __init__(self, backends: SDPBackend | Iterable[SDPBackend], set_priority: bool = False) -> None:
        given: Any = [backends] if isinstance(backends, SDPBackend) else list(backends)
        wrong = [each for each in given if not isinstance(each, SDPBackend)]
        if wrong or not given:
            what = repr(wrong[0]) if wrong else "none"
            raise TypeError(f"sdpa_kernel: not a kernel: {what}; members of SDPBackend are accepted")
        self.backends, self.set_priority = tuple(given), set_priority
        self._tokens: list[Any] = []

    def __enter__(self) -> sdpa_kernel:
        self._tokens.append(_ASKED.set(self.backends))
        return self

    def __exit__(self, *error: object) -> None:
        _ASKED.reset(self._tokens.pop())

    def __call__(self, function: Any) -> Any:
        from ..scope import decorate

        return decorate(self, function)


def asked_kernels() -> list[SDPBackend]:
    """The kernels of attention that are asked for here by `sdpa_kernel`; without it all.

    >>> len(al.nn.attention.asked_kernels())
    5
    """
    return list(_ASKED.get())


__all__ = ["SDPBackend", "asked_kernels", "sdpa_kernel"]
