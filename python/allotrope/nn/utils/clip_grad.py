"""Bounds for gradients: their norm together, or each number."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ... import linalg as _linalg
from ... import Tensor, _core
from ...autograd import no_grad


def _tensors(given: Any) -> list[Tensor]:
    return [given] if isinstance(given, Tensor) else list(given)


@no_grad()
def get_total_norm(
    tensors: Tensor | Iterable[Tensor],
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """The norm of all tensors together, as of one vector, in float32 at least: a norm of halves may
    be beyond them.

    >>> al.nn.utils.get_total_norm([al.tensor([3.0]), al.tensor([4.0])])
    tensor(5.)
    """
    given = _tensors(tensors)
    if not given:
        return _core.tensor(0.0)
    power = float(norm_type)
    norms = []
    for tensor in given:
        wide = _core.promote_types(tensor.dtype, _core.float32)
        norms.append(_linalg.vector_norm(tensor, power, dtype=wide).abs())
    total = norms[0] if len(norms) == 1 else _linalg.vector_norm(_core.stack(norms), power)
    if error_if_nonfinite and not math.isfinite(total.item()):
        raise RuntimeError(
            f"clip_grad_norm_: the norm of order {norm_type} is not finite: {total.item()} "
            "(hint: error_if_nonfinite=False scales by it)"
        )
    return total


@no_grad()
def clip_grads_with_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    total_norm: Tensor,
    foreach: bool | None = None,
) -> None:
    """Scales the gradients of parameters so that their norm, which is given, is at most max_norm.

    >>> w = al.zeros(2, requires_grad=True)
    >>> w.grad = al.tensor([3.0, 4.0])
    >>> al.nn.utils.clip_grads_with_norm_(w, 1.0, al.tensor(5.0))
    >>> w.grad
    tensor([0.6000, 0.8000])
    """
    gradients = [p.grad for p in _tensors(parameters) if p.grad is not None]
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    for gradient in gradients:
        # The product is computed in the wider dtype, and rounded once.
        gradient.detach().mul_(factor)


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor],
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scales the gradients of parameters so that their norm together is at most max_norm, and gives
    the norm that they had.

    >>> p = al.nn.Parameter(al.ones(2))
    >>> p.grad = al.tensor([3.0, 4.0])
    >>> al.nn.utils.clip_grad_norm_(p, 1.0)
    tensor(5.)
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    given = _tensors(parameters)
    gradients = [p.grad for p in given if p.grad is not None]
    total = get_total_norm(gradients, norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, total)
    found: Tensor = total
    return found


@no_grad()
def clip_grad_value_(
    parameters: Tensor | Iterable[Tensor], clip_value: float, foreach: bool | None = None
) -> None:
    """Brings every number of the gradients of parameters between ±clip_value.

    >>> p = al.nn.Parameter(al.ones(2))
    >>> p.grad = al.tensor([3.0, -0.5])
    >>> al.nn.utils.clip_grad_value_(p, 1.0)
    >>> p.grad
    tensor([ 1.0000, -0.5000])
    """
    bound = float(clip_value)
    for parameter in _tensors(parameters):
        if parameter.grad is not None:
            parameter.grad.detach().clamp_(-bound, bound)


__all__ = ["clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]
