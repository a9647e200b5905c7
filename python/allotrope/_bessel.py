"""Bessel's and Airy's functions: compositions that compute in float64 and round once.

Near zero they are series of Chebyshev's polynomials in the square of the argument, far from it waves, or a decay,
times such series in its reciprocal. Derivatives are functions of the same family, so that there are all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from . import _bessel_series as series
from . import _core
from ._core import Tensor, where
from ._special import _wide
from .autograd.function import Function

# Where the series near zero end, and where the waves and the decay of Airy's function begin.
_NEAR, _NEAR_K, _LOW, _MIDDLE, _HIGH = 8.0, 2.0, -8.0, -3.0, 2.0
_ZETA, _FIRST = 2 / 3 * 8**1.5, 2 / 3 * 2**1.5


def _sum(coefficients: list[float], t: Tensor) -> Tensor:
    """The series at numbers from -1 to 1, by Clenshaw's recurrence."""
    before, now = t * 0, t * 0
    for coefficient in reversed(coefficients[1:]):
        before, now = now, 2 * t * now - before + coefficient
    return t * now - before + coefficients[0]


def _waves(order: int, x: Tensor) -> tuple[Tensor, Tensor]:
    """The functions of the first and second kind from 8 on."""
    z = _NEAR / x
    t = 2 * z * z - 1
    cosine = _sum(series.COSINE1 if order else series.COSINE0, t)
    sine = _sum(series.SINE1 if order else series.SINE0, t) * z
    # Of the difference to a multiple of pi/4, which would be rounded.
    c, s = x.cos(), x.sin()
    shifted_cosine, shifted_sine = (s - c, -s - c) if order else (c + s, s - c)
    root = (1 / (math.pi * x)).sqrt()
    first = root * (cosine * shifted_cosine - sine * shifted_sine)
    return first, root * (cosine * shifted_sine + sine * shifted_cosine)


def _first_kind(order: int, x: Tensor) -> Tensor:
    y = x.abs()
    is_near = y <= _NEAR
    z = where(is_near, y, 1.0)
    t = z * z / (_NEAR * _NEAR / 2) - 1
    near = z * _sum(series.J1_NEAR, t) if order else _sum(series.J0_NEAR, t)
    far, _ = _waves(order, where(is_near | y.isinf(), _NEAR, y))
    found = where(is_near, near, where(y.isinf(), 0.0, far))
    return where(x.isnan(), x, found * x.sign() if order else found)


def _second_kind(order: int, x: Tensor) -> Tensor:
    is_near = x <= _NEAR
    y = where(is_near & (x > 0), x, 1.0)
    t = y * y / (_NEAR * _NEAR / 2) - 1
    turned = y.log() * (2 / math.pi) * _first_kind(order, y)
    if order:
        near = turned - 2 / math.pi / y + y * _sum(series.Y1_NEAR, t)
    else:
        near = turned + _sum(series.Y0_NEAR, t)
    _, far = _waves(order, where(is_near | ~x.isfinite(), _NEAR, x))
    found = where(is_near, near, where(x == math.inf, 0.0, far))
    found = where(x == 0, -math.inf, where(x < 0, math.nan, found))
    return where(x.isnan(), x, found)


def _decay(order: int, x: Tensor, is_scaled: bool) -> Tensor:
    """The modified functions of the second kind, times the exponential of x if it is wanted."""
    is_near = x <= _NEAR_K
    y = where(is_near & (x > 0), x, 1.0)
    t = y * y / (_NEAR_K * _NEAR_K / 2) - 1
    log = (y / 2).log()
    near = log * _core.i1(y) + _sum(series.K1_NEAR, t) / y if order else _sum(series.K0_NEAR, t) - log * _core.i0(y)
    z = where(is_near | ~x.isfinite(), _NEAR_K, x)
    far = _sum(series.K1_FAR if order else series.K0_FAR, 2 * _NEAR_K / z - 1) / z.sqrt()
    found = where(is_near, near * y.exp(), far) if is_scaled else where(is_near, near, far * (-z).exp())
    found = where(x == 0, math.inf, where(x < 0, math.nan, where(x == math.inf, 0.0, found)))
    return where(x.isnan(), x, found)


def _between(coefficients: list[float], low: float, high: float, x: Tensor) -> Tensor:
    x = x.clamp(low, high)
    return _sum(coefficients, (x - (low + high) / 2) / ((high - low) / 2))


def _airy(x: Tensor, is_slope: bool) -> Tensor:
    """Airy's function, or its derivative."""
    name = "SLOPE" if is_slope else "AI"
    low, high = getattr(series, f"{name}_LOW"), getattr(series, f"{name}_HIGH")
    found = where(x < _MIDDLE, _between(low, _LOW, _MIDDLE, x), _between(high, _MIDDLE, _HIGH, x))
    # Waves below.
    y = where((x < _LOW) & x.isfinite(), -x, -_LOW)
    zeta, root = y * y.sqrt() * (2 / 3), y.sqrt().sqrt() * math.sqrt(math.pi)
    z = _ZETA / zeta
    even = _sum(getattr(series, f"{name}_EVEN"), 2 * z * z - 1)
    odd = _sum(getattr(series, f"{name}_ODD"), 2 * z * z - 1) * z
    c, s = zeta.cos() * math.sqrt(0.5), zeta.sin() * math.sqrt(0.5)
    sine, cosine = s + c, c - s
    if is_slope:
        waves = -(cosine * even + sine * odd) * root / math.pi
    else:
        waves = (sine * even - cosine * odd) / root
    found = where(x < _LOW, waves, found)
    # The decay above.
    y = where((x > _HIGH) & x.isfinite(), x, _HIGH)
    zeta, root = y * y.sqrt() * (2 / 3), y.sqrt().sqrt()
    factor = _sum(getattr(series, f"{name}_DECAY"), 2 * _FIRST / zeta - 1) * (-zeta).exp()
    factor = factor * (1 / (2 * math.sqrt(math.pi)))
    found = where(x > _HIGH, factor * root if is_slope else factor / root, found)
    ends = math.nan if is_slope else 0.0
    found = where(x == math.inf, 0.0, where(x == -math.inf, ends, found))
    return where(x.isnan(), x, found)


# Values by name, and their derivatives, as functions of the argument and of the value.
_Rule = Callable[[Tensor, Tensor], Tensor]


def _quotient(value: Tensor, x: Tensor, at_zero: float) -> Tensor:
    """A value over x, and its limit."""
    return where(x == 0, at_zero, value / where(x == 0, 1.0, x))


_VALUES: dict[str, tuple[Callable[[Tensor], Tensor], _Rule]] = {
    "j0": (lambda x: _first_kind(0, x), lambda x, _: -_apply("j1", x)),
    "j1": (lambda x: _first_kind(1, x), lambda x, y: _apply("j0", x) - _quotient(y, x, 0.5)),
    "y0": (lambda x: _second_kind(0, x), lambda x, _: -_apply("y1", x)),
    "y1": (lambda x: _second_kind(1, x), lambda x, y: _apply("y0", x) - y / x),
    "k0": (lambda x: _decay(0, x, False), lambda x, _: -_apply("k1", x)),
    "k1": (lambda x: _decay(1, x, False), lambda x, y: -_apply("k0", x) - y / x),
    "k0e": (lambda x: _decay(0, x, True), lambda x, y: y - _apply("k1e", x)),
    "k1e": (lambda x: _decay(1, x, True), lambda x, y: y - _apply("k0e", x) - y / x),
    "ai": (lambda x: _airy(x, False), lambda x, _: _apply("slope", x)),
    "slope": (lambda x: _airy(x, True), lambda x, _: x * _apply("ai", x)),
}


class _Value(Function):
    """A function of the table."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, name: str) -> Tensor:
        ctx.save_for_backward(x)
        ctx.name = name
        return _VALUES[name][0](x.detach())

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        (x,) = ctx.saved_tensors
        # Computed again rather than saved, so that a derivative has derivatives.
        value = _apply(ctx.name, x) if ctx.name in ("j1", "y1", "k1", "k0e", "k1e") else x
        return gradient * _VALUES[ctx.name][1](x, value), None


def _apply(name: str, x: Tensor) -> Tensor:
    found: Tensor = _Value.apply(x, name)
    return found


def _named(op: str, name: str, input: Any) -> Tensor:
    (x,), dtype = _wide(op, input)
    return _apply(name, x).to(dtype)


def bessel_j0(input: Any) -> Tensor:
    """Bessel's function of the first kind and order 0.

    >>> al.special.bessel_j0(al.tensor([0.0, 1.0]))
    tensor([1.0000, 0.7652])
    """
    return _named("bessel_j0", "j0", input)


def bessel_j1(input: Any) -> Tensor:
    """Bessel's function of the first kind and order 1.

    >>> al.special.bessel_j1(al.tensor([0.0, 1.0]))
    tensor([0.0000, 0.4401])
    """
    return _named("bessel_j1", "j1", input)


def bessel_y0(input: Any) -> Tensor:
    """Bessel's function of the second kind and order 0; of negative numbers NaN.

    >>> al.special.bessel_y0(al.tensor([0.0, 1.0]))
    tensor([  -inf, 0.0883])
    """
    return _named("bessel_y0", "y0", input)


def bessel_y1(input: Any) -> Tensor:
    """Bessel's function of the second kind and order 1; of negative numbers NaN.

    >>> al.special.bessel_y1(al.tensor([0.0, 1.0]))
    tensor([   -inf, -0.7812])
    """
    return _named("bessel_y1", "y1", input)


def modified_bessel_k0(input: Any) -> Tensor:
    """The modified Bessel function of the second kind and order 0; of negative numbers NaN.

    >>> al.special.modified_bessel_k0(al.tensor([0.0, 1.0]))
    tensor([   inf, 0.4210])
    """
    return _named("modified_bessel_k0", "k0", input)


def modified_bessel_k1(input: Any) -> Tensor:
    """The modified Bessel function of the second kind and order 1; of negative numbers NaN.

    >>> al.special.modified_bessel_k1(al.tensor([0.0, 1.0]))
    tensor([   inf, 0.6019])
    """
    return _named("modified_bessel_k1", "k1", input)


def scaled_modified_bessel_k0(x: Any) -> Tensor:
    """`modified_bessel_k0` times the exponential of x, which does not vanish for great numbers.

    >>> al.special.scaled_modified_bessel_k0(al.tensor([1.0, 1000.0]))
    tensor([1.1445, 0.0396])
    """
    return _named("scaled_modified_bessel_k0", "k0e", x)


def scaled_modified_bessel_k1(x: Any) -> Tensor:
    """`modified_bessel_k1` times the exponential of x, which does not vanish for great numbers.

    >>> al.special.scaled_modified_bessel_k1(al.tensor([1.0, 1000.0]))
    tensor([1.6362, 0.0396])
    """
    return _named("scaled_modified_bessel_k1", "k1e", x)


def airy_ai(x: Any) -> Tensor:
    """Airy's function Ai, the solution of y'' = x y that vanishes for great numbers.

    >>> al.special.airy_ai(al.tensor([-2.0, 0.0, 2.0]))
    tensor([0.2274, 0.3550, 0.0349])
    """
    return _named("airy_ai", "ai", x)


__all__ = [
    "airy_ai",
    "bessel_j0",
    "bessel_j1",
    "bessel_y0",
    "bessel_y1",
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
]
