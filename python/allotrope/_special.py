"""Special functions that are compositions: they compute in float64 and round once."""

from __future__ import annotations

import math
from typing import Any

from . import _core
from ._core import Tensor, float64, get_default_dtype, where
from ._core import lgamma as _lgamma
from ._operand import operand
from .autograd.function import Function

# The Bernoulli numbers B₂, B₄, … over (2j)!.
_BERNOULLI = [
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000, 1 / 74724249600,
    -3617 / 10670622842880000, 43867 / 5109094217170944000,
]  # fmt: skip


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
    devices: list[str] = [x.device for x in given if isinstance(x, Tensor)] or ["cpu"]
    wide = [(x if isinstance(x, Tensor) else operand(x).to(devices[0])).to(float64) for x in given]
    return wide, dtype if dtype.is_floating_point else get_default_dtype()


def zeta(input: Any, other: Any) -> Tensor:
    """Hurwitz' zeta function: the sum of (k + other) ** -input over all k from zero.

    >>> al.special.zeta(al.tensor(2.0), 1.0)
    tensor(1.6449)
    """
    (x, q), dtype = _wide("zeta", input, other)
    x, q = _core.broadcast_tensors(x, q)
    # Terms up to where Euler's and Maclaurin's series converges to the last digit.
    lowest = float(q[q.isfinite()].min()) if q.isfinite().any() else 0.0
    count = 12 + max(0, math.ceil(-lowest))
    if count > 100_000:
        raise ValueError(f"zeta: too far below zero: {lowest}; numbers down to -100000 are accepted")
    is_whole = x == x.floor()
    total = x * 0
    for k in range(count):
        base = q + k
        # Of negative numbers only whole powers are real.
        power = base.abs() ** -x
        total = total + where((base < 0) & (x % 2 == 1), -power, power)
    end = q + count
    total = total + end ** (1 - x) / (x - 1) + end**-x / 2
    factor, power = x, end ** (-x - 1)
    for j, number in enumerate(_BERNOULLI):
        total = total + number * factor * power
        factor = factor * (x + (2 * j + 1)) * (x + (2 * j + 2))
        power = power / (end * end)
    total = where(q == math.inf, 0.0, total)
    total = where((q <= 0) & (q == q.floor()), math.inf, total)
    total = where((q < 0) & ~is_whole, math.nan, total)
    total = where(x == math.inf, where(q > 1, 0.0, where(q == 1, 1.0, math.inf)), total)
    total = where(x == 1, math.inf, where(x < 1, math.nan, total))
    return total.to(dtype)


def polygamma(n: int, input: Any) -> Tensor:
    """The derivative of order `n` of the digamma function.

    >>> al.special.polygamma(1, al.tensor(1.0))
    tensor(1.6449)
    """
    if isinstance(n, Tensor) and isinstance(input, int):
        # As a method the tensor comes first.
        n, input = input, n
    if not 0 <= n <= 170:
        raise ValueError(f"polygamma: the order is out of range: {str(n)[:50]}; 0 to 170 are accepted")
    if n == 0:
        return _core.digamma(input)
    (x,), dtype = _wide("polygamma", input)
    return ((-1.0) ** (n + 1) * math.factorial(n) * zeta(float(n + 1), x)).to(dtype)


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


class _Gammainc(Function):
    """The shares below and above of the gamma function; the derivative by the first argument is not known."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, x: Tensor, is_upper: bool) -> Tensor:
        ctx.save_for_backward(a, x)
        ctx.is_upper = is_upper
        return _shares(a.detach(), x.detach(), is_upper)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        a, x = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            raise NotImplementedError("gammainc: no derivative by the first argument (hint: input.detach())")
        slope = ((a - 1) * x.log() - x - _lgamma(a)).exp()
        return None, gradient * (-slope if ctx.is_upper else slope), None


# From here on Temme's asymptotic form has nine digits; the series would take thousands of terms.
_GREAT = 1e6


def _great_shares(a: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The shares below and above for great numbers."""
    above = x / a - 1
    eta = (2 * (above - above.log1p())).clamp(min=0.0).sqrt() * above.sign()
    is_near = eta.abs() < 1e-3
    safe = where(is_near, 1.0, eta)
    first = where(is_near, -1 / 3 + eta / 12, 1 / where(is_near, 1.0, above) - 1 / safe)
    rest = (-a * eta * eta / 2).exp() / (2 * math.pi * a).sqrt() * first
    z = eta * a.sqrt()
    return _core.ndtr(z) - rest, _core.ndtr(-z) + rest


def _shares(a: Tensor, x: Tensor, is_upper: bool) -> Tensor:
    is_great = (a >= _GREAT) & a.isfinite() & (x > 0) & x.isfinite()
    great = _great_shares(where(is_great, a, 1.0), where(is_great, x, 1.0))[is_upper]
    return where(is_great, great, _small_shares(where(is_great, 1.0, a), where(is_great, 1.0, x), is_upper))


def _small_shares(a: Tensor, x: Tensor, is_upper: bool) -> Tensor:
    is_plain = (a > 0) & (x > 0) & a.isfinite() & x.isfinite()
    a1, x1 = where(is_plain, a, 1.0), where(is_plain, x, 1.0)
    is_low = x1 < a1 + 1
    front = (a1 * x1.log() - x1 - _lgamma(a1)).exp()
    # Below, the series; where it is not taken its argument is small.
    below = where(is_low, x1, 0.5)
    term = 1 / where(is_low, a1, 1.0)
    series, divisor = term, where(is_low, a1, 1.0)
    # Above, Lentz' continued fraction.
    above, order = where(is_low, 4.0, x1), where(is_low, 1.0, a1)
    b = above + 1 - order
    c = 1 / (above * 0 + 1e-300)
    d = 1 / where(b == 0, 1e-300, b)
    fraction = d
    for step in range(1, 20_000):
        divisor = divisor + 1
        term = term * below / divisor
        series = series + term
        factor = -step * (step - order)
        b = b + 2
        d = factor * d + b
        d = 1 / where(d == 0, 1e-300, d)
        c = b + factor / c
        c = where(c == 0, 1e-300, c)
        change = c * d
        fraction = fraction * change
        if step % 32 == 0 and bool(((term <= series * 1e-17) & ((change - 1).abs() < 1e-16)).all()):
            break
    lower = where(is_low, front * series, 1 - front * fraction)
    upper = where(is_low, 1 - front * series, front * fraction)
    share = upper if is_upper else lower
    ends = (1.0, 0.0) if is_upper else (0.0, 1.0)
    share = where(is_plain, share, math.nan)
    share = where((a > 0) & (x == 0), ends[0], share)
    share = where((a >= 0) & a.isfinite() & (x == math.inf), ends[1], share)
    share = where((a == 0) & (x > 0), ends[1], share)
    return where((a == math.inf) & (x >= 0) & x.isfinite(), ends[0], share)


def gammainc(input: Any, other: Any) -> Tensor:
    """The share of the gamma function of `input` that lies below `other`.

    >>> al.special.gammainc(al.tensor(1.0), al.tensor(2.0))
    tensor(0.8647)
    """
    (a, x), dtype = _wide("gammainc", input, other)
    found: Tensor = _Gammainc.apply(*_core.broadcast_tensors(a, x), False).to(dtype)
    return found


def gammaincc(input: Any, other: Any) -> Tensor:
    """The share of the gamma function of `input` that lies above `other`.

    >>> al.special.gammaincc(al.tensor(1.0), al.tensor(2.0))
    tensor(0.1353)
    """
    (a, x), dtype = _wide("gammaincc", input, other)
    found: Tensor = _Gammainc.apply(*_core.broadcast_tensors(a, x), True).to(dtype)
    return found


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


def _polynomial(name: str, input: Any, n: Any, first: Any, step: Any) -> Tensor:
    """The polynomial of degree n by a recurrence from those of degree 0, which is 1, and 1."""
    (x, order), dtype = _wide(name, input, n)
    x, order = _core.broadcast_tensors(x, order)
    last = int(order.max()) if order.numel() else 0
    if last > 10_000:
        raise ValueError(f"{name}: too great an order: {last}; at most 10000 are accepted")
    before, now = x * 0 + 1, first(x)
    found = where(order >= 1, now, before)
    for k in range(1, last):
        before, now = now, step(k, x, now, before)
        found = where(order > k, now, found)
    return where(order < 0, 0.0, found).to(dtype)


def chebyshev_polynomial_t(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomial of the first kind of degree `n`, by its recurrence.

    >>> al.special.chebyshev_polynomial_t(al.tensor(0.5), 2)
    tensor(-0.5000)
    """
    return _polynomial("chebyshev_polynomial_t", input, n, lambda x: x, lambda k, x, now, before: 2 * x * now - before)


def chebyshev_polynomial_u(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomial of the second kind of degree `n`, by its recurrence.

    >>> al.special.chebyshev_polynomial_u(al.tensor(0.5), 2)
    tensor(0.)
    """
    return _polynomial("chebyshev_polynomial_u", input, n, lambda x: 2 * x, lambda k, x, now, before: 2 * x * now - before)


def chebyshev_polynomial_v(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomial of the third kind of degree `n`, by its recurrence.

    >>> al.special.chebyshev_polynomial_v(al.tensor(0.5), 2)
    tensor(-1.)
    """
    return _polynomial("chebyshev_polynomial_v", input, n, lambda x: 2 * x - 1, lambda k, x, now, before: 2 * x * now - before)


def chebyshev_polynomial_w(input: Any, n: Any) -> Tensor:
    """Chebyshev's polynomial of the fourth kind of degree `n`, by its recurrence.

    >>> al.special.chebyshev_polynomial_w(al.tensor(0.5), 2)
    tensor(1.)
    """
    return _polynomial("chebyshev_polynomial_w", input, n, lambda x: 2 * x + 1, lambda k, x, now, before: 2 * x * now - before)


def hermite_polynomial_h(input: Any, n: Any) -> Tensor:
    """The physicists' polynomial of Hermite of degree `n`, by its recurrence.

    >>> al.special.hermite_polynomial_h(al.tensor(0.5), 2)
    tensor(-1.)
    """
    return _polynomial("hermite_polynomial_h", input, n, lambda x: 2 * x, lambda k, x, now, before: 2 * (x * now - k * before))


def hermite_polynomial_he(input: Any, n: Any) -> Tensor:
    """The statisticians' polynomial of Hermite of degree `n`, by its recurrence.

    >>> al.special.hermite_polynomial_he(al.tensor(0.5), 2)
    tensor(-0.7500)
    """
    return _polynomial("hermite_polynomial_he", input, n, lambda x: x, lambda k, x, now, before: x * now - k * before)


def laguerre_polynomial_l(input: Any, n: Any) -> Tensor:
    """Laguerre's polynomial of degree `n`, by its recurrence.

    >>> al.special.laguerre_polynomial_l(al.tensor(0.5), 2)
    tensor(0.1250)
    """
    return _polynomial("laguerre_polynomial_l", input, n, lambda x: 1 - x, lambda k, x, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1))


def legendre_polynomial_p(input: Any, n: Any) -> Tensor:
    """Legendre's polynomial of degree `n`, by its recurrence.

    >>> al.special.legendre_polynomial_p(al.tensor(0.5), 2)
    tensor(-0.1250)
    """
    return _polynomial("legendre_polynomial_p", input, n, lambda x: x, lambda k, x, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1))


__all__ = [
    "chebyshev_polynomial_t",
    "chebyshev_polynomial_u",
    "chebyshev_polynomial_v",
    "chebyshev_polynomial_w",
    "gammainc",
    "gammaincc",
    "hermite_polynomial_h",
    "hermite_polynomial_he",
    "laguerre_polynomial_l",
    "legendre_polynomial_p",
    "multigammaln",
    "ndtri",
    "polygamma",
    "spherical_bessel_j0",
    "zeta",
]
