"""Special functions that are compositions: they compute in float64 and round once."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import Tensor, float64, get_default_dtype, where
from ._core import lgamma as _lgamma
from ._operand import operand
from .autograd.function import Function


def _wide(op: str, *given: Any) -> tuple[list[Tensor], Any]:
    """Operands in float64, and the dtype of the result."""
    # Numbers of Python have no dtype of their own.
    dtypes = [x.dtype for x in map(operand, given)]
    exact = [dtype for x, dtype in zip(given, dtypes) if not isinstance(x, (bool, int, float))] or dtypes
    dtype = exact[0]
    for other in exact[1:]:
        dtype = _core.promote_types(dtype, other)
    if dtype.is_complex:
        raise TypeError(f"{op}: a tensor of {dtype.name}; floats, integers and bool are accepted")
    # Numbers stand beside the tensors.
    device = next((x.device for x in given if isinstance(x, Tensor)), None)
    wide = [x if isinstance(x, Tensor) else operand(x).to(device or "cpu") for x in given]
    return [x.to(float64) for x in wide], dtype if dtype.is_floating_point else get_default_dtype()


def multigammaln(input: Any, p: int) -> Tensor:
    """The logarithm of the gamma function of dimension `p`.

    >>> al.special.multigammaln(al.tensor(2.0), 2)
    tensor(0.4516)
    """
    if not 1 <= p <= 10_000:
        raise ValueError(f"multigammaln: p is out of range: {str(p)[:50]}; 1 to 10000 are accepted")
    (x,), dtype = _wide("multigammaln", input)
    total = x * 0 + p * (p - 1) / 4 * math.log(math.pi)
    for j in range(p):
        total = total + _lgamma(x - j / 2)
    return total.to(dtype)


class _Ndtri(Function):
    @staticmethod
    def forward(ctx: Any, p: Tensor) -> Tensor:
        p = p.detach()
        least = where(p < 0.5, p, 1 - p)
        is_tail = (least < 0.05) & (least > 0)
        middle = math.sqrt(2) * _core.erfinv(where(is_tail, 0.0, 2 * p - 1))
        wanted = where(is_tail, least, 0.01).log()
        x = -(-2 * wanted).sqrt()
        for _ in range(8):
            log = _core.log_ndtr(x)
            # Newton's steps on the logarithm, which is concave.
            slope = (-x * x / 2 - log).exp() * (1 / math.sqrt(2 * math.pi))
            x = x - (log - wanted) / slope
        found = where(is_tail, where(p < 0.5, x, -x), middle)
        found = where((p < 0) | (p > 1), math.nan, found)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        found: Tensor = gradient * (x * x / 2).exp() * math.sqrt(2 * math.pi)
        return found


def ndtri(input: Any) -> Tensor:
    """The number that a normal one is below with the given probability: the inverse of `ndtr`.

    >>> al.special.ndtri(al.tensor([0.5, 0.975]))
    tensor([0.0000, 1.9600])
    """
    (p,), dtype = _wide("ndtri", input)
    found: Tensor = _Ndtri.apply(p).to(dtype)
    return found


def spherical_bessel_j0(input: Any) -> Tensor:
    """The spherical Bessel function of the first kind and order 0, sin(x) / x.

    >>> al.special.spherical_bessel_j0(al.tensor([0.0, 1.0]))
    tensor([1.0000, 0.8415])
    """
    (x,), dtype = _wide("spherical_bessel_j0", input)
    whole = where(x == 0, 1.0, x)
    return where(x == 0, 1.0, where(x.isinf(), 0.0, whole.sin() / whole)).to(dtype)


__all__ = ["multigammaln", "ndtri", "spherical_bessel_j0"]
