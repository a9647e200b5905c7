"""What is kept for the walk back, as torch.autograd.graph."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from .._core import devices


class saved_tensors_hooks:  # noqa: N801 - torch's name
    """Refused: what operations keep for gradients are values of their own memory, which nobody else is
    handed. `al.autograd.checkpoint` keeps inputs alone.

    >>> with al.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
    ...     pass
    Traceback (most recent call last):
        ...
    RuntimeError: saved_tensors_hooks: what is kept for gradients is not handed out (hint: al.autograd.checkpoint keeps inputs alone)
    """

    def __init__(self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> saved_tensors_hooks:
        raise RuntimeError(
            "saved_tensors_hooks: what is kept for gradients is not handed out "
            "(hint: al.autograd.checkpoint keeps inputs alone)"
        )

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None


class save_on_cpu(saved_tensors_hooks):  # noqa: N801 - torch's name
    """What is kept for gradients is on the CPU, for a block: where all tensors are there, it is.

    Where there is another device it is refused, since what is kept there stays there.

    >>> x = al.ones(2, requires_grad=True)
    >>> with al.autograd.graph.save_on_cpu():
    ...     y = (x * x).sum()
    >>> y.backward()
    >>> x.grad
    tensor([2., 2.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        self.pin_memory, self.device_type = pin_memory, device_type

    def __enter__(self) -> save_on_cpu:
        if len(devices()) > 1:
            names = ", ".join(map(str, devices()))
            raise RuntimeError(
                f"save_on_cpu: what is kept for gradients stays on its device: {names}; cpu alone is accepted "
                "(hint: al.autograd.checkpoint keeps inputs alone)"
            )
        return self


__all__ = ["save_on_cpu", "saved_tensors_hooks"]
