"""Derivatives along a direction that go forward with the values, as torch.autograd.forward_ad.

A dual tensor is a tensor of which a level knows the tangent. The tangent of what is computed of it is
asked of the history, as `func.jvp` asks it: the derivative of a product with the derivative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .._core import Tensor, is_grad_enabled, zeros_like
from .engine import grad

# The levels that are open, the innermost last, each a list of dual tensors and their tangents.
_LEVELS: list[list[tuple[Tensor, Tensor]]] = []


class UnpackedDualTensor(NamedTuple):
    """A value, and its derivative along the direction of a level.

    >>> fw = al.autograd.forward_ad
    >>> with fw.dual_level():
    ...     fw.unpack_dual(fw.make_dual(al.ones(1), al.zeros(1))).tangent
    tensor([0.])
    """

    primal: Tensor
    tangent: Tensor | None


class dual_level:  # noqa: N801 - torch's name
    """A block in which tensors may have tangents.

    >>> import allotrope.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(al.tensor(3.0), al.tensor(1.0))
    ...     fw.unpack_dual(x * x).tangent
    tensor(6.)
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *error: object) -> None:
        exit_dual_level()


def enter_dual_level() -> int:
    """Opens a level, as a block of `dual_level` does, and gives its number.

    >>> import allotrope.autograd.forward_ad as fw
    >>> fw.enter_dual_level()
    0
    >>> fw.exit_dual_level()
    """
    if _LEVELS:
        raise RuntimeError("dual_level: one level within another; one is accepted (hint: al.func.jvp can be nested)")
    _LEVELS.append([])
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """Closes the level.

    >>> import allotrope.autograd.forward_ad as fw
    >>> _ = fw.enter_dual_level()
    >>> fw.exit_dual_level()
    """
    _open("exit_dual_level", level)
    _LEVELS.pop()


def _open(op: str, level: int | None) -> list[tuple[Tensor, Tensor]]:
    if not _LEVELS or level not in (None, 0):
        raise RuntimeError(f"{op}: no level is open; a block of dual_level is accepted")
    return _LEVELS[-1]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor with a tangent of its shape, along which the level asks for derivatives.

    >>> import allotrope.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(al.tensor([1.0, 2.0]), al.tensor([1.0, 0.0]))
    ...     fw.unpack_dual(x.exp().sum()).tangent
    tensor(2.7183)
    """
    duals = _open("make_dual", level)
    if tensor.shape != tangent.shape:
        given = f"{list(tensor.shape)} and {list(tangent.shape)}"
        raise ValueError(f"make_dual: shapes differ: {given}; a tangent of the tensor's shape is accepted")
    if not is_grad_enabled():
        raise RuntimeError("make_dual: nothing is recorded, and tangents are found by what is (hint: al.enable_grad())")
    dual = tensor.view_as(tensor) if tensor.requires_grad else tensor.detach().requires_grad_()
    duals.append((dual, tangent))
    return dual


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value, and its tangent: None for what no dual tensor went into.

    >>> import allotrope.autograd.forward_ad as fw
    >>> with fw.dual_level():
    ...     x = fw.make_dual(al.tensor(2.0), al.tensor(1.0))
    ...     fw.unpack_dual(x**3)
    UnpackedDualTensor(primal=tensor(8.), tangent=tensor(12.))
    """
    duals = _open("unpack_dual", level)
    primal = tensor.detach()
    if not tensor.requires_grad or not duals:
        return UnpackedDualTensor(primal, None)
    inputs, tangents = zip(*duals)
    weight = zeros_like(tensor).requires_grad_()
    found: Any = grad([tensor], inputs, [weight], retain_graph=True, create_graph=True, allow_unused=True)
    pairs = [(back, tangent) for back, tangent in zip(found, tangents) if back is not None]
    if not pairs:
        return UnpackedDualTensor(primal, None)
    pairs = [(back, tangent) for back, tangent in pairs if back.requires_grad]
    pushed: Any = (None,)
    if pairs:
        backs, directions = zip(*pairs)
        pushed = grad(backs, [weight], directions, retain_graph=True, allow_unused=True)
    return UnpackedDualTensor(primal, zeros_like(primal) if pushed[0] is None else pushed[0])


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
