"""Windows of M points, as torch.signal.windows: symmetric, or with `sym=False` one period of a longer one."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from .._core import Tensor, arange, cos, exp, get_default_device, get_default_dtype, ones, sin
from .._core import float64 as _float64


def _points(op: str, m: int, sym: bool, dtype: Any) -> tuple[Tensor, int, Any]:
    """The places of the points, the last of a symmetric window, and the dtype of the result."""
    if m < 0:
        raise ValueError(f"{op}: a negative number of points: {m}")
    dtype = get_default_dtype() if dtype is None else dtype
    # Computed in float64 and rounded once.
    return arange(m, dtype=_float64, device="cpu"), (m - 1 if sym else m), dtype


def _finish(window: Tensor, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    window = window.to(dtype).to(get_default_device() if device is None else device)
    return window.requires_grad_(requires_grad)


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A sum of cosines with the weights `a`, of alternating sign.

    >>> al.signal.windows.general_cosine(3, a=[0.46, 0.23, 0.31])
    tensor([0.5400, 1.0000, 0.5400])
    """
    places, last, dtype = _points("general_cosine", M, sym, dtype)
    if M == 1:
        return _finish(ones(1, dtype=_float64, device="cpu"), dtype, device, requires_grad)
    turn = places * (2 * math.pi / max(last, 1))
    window = places * 0
    for k, weight in enumerate(a):
        window = window + (-1) ** k * weight * cos(k * turn)
    return _finish(window, dtype, device, requires_grad)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """The window alpha - (1 - alpha) cos(...).

    >>> al.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad
    )


def hamming(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Hamming's window.

    >>> al.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hann(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Von Hann's window.

    >>> al.signal.windows.hann(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def blackman(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Blackman's window.

    >>> al.signal.windows.blackman(3)[1]
    tensor(1.)
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def nuttall(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Nuttall's window with a continuous first derivative.

    >>> al.signal.windows.nuttall(3)[1]
    tensor(1.)
    """
    weights = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=weights, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def bartlett(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Bartlett's triangle, zero at its ends.

    >>> al.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    places, last, dtype = _points("bartlett", M, sym, dtype)
    if M == 1:
        return _finish(ones(1, dtype=_float64, device="cpu"), dtype, device, requires_grad)
    return _finish(1 - (places * (2 / max(last, 1)) - 1).abs(), dtype, device, requires_grad)


def cosine(M: int, *, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Tensor:
    """Half a wave of a sine.

    >>> al.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    places, last, dtype = _points("cosine", M, sym, dtype)
    return _finish(sin((places + 0.5) * (math.pi / (last + 1))), dtype, device, requires_grad)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """A bell with a standard deviation of `std` points.

    >>> al.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    if std <= 0:
        raise ValueError(f"gaussian: std is not positive: {std}")
    places, last, dtype = _points("gaussian", M, sym, dtype)
    return _finish(exp(-0.5 * ((places - last / 2) / std) ** 2), dtype, device, requires_grad)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: Any = None, device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """An exponential that falls to both sides of its center by a factor of e in `tau` points.

    >>> al.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    if tau <= 0:
        raise ValueError(f"exponential: tau is not positive: {tau}")
    if sym and center is not None:
        raise ValueError("exponential: a center of a symmetric window; sym=False takes one")
    places, last, dtype = _points("exponential", M, sym, dtype)
    middle = last / 2 if center is None else center
    return _finish(exp(-(places - middle).abs() / tau), dtype, device, requires_grad)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: Any = None, device: Any = None, requires_grad: bool = False
) -> Tensor:
    """Kaiser's window, of Bessel functions.

    >>> al.signal.windows.kaiser(3)[1]
    tensor(1.)
    """
    from .._core import kaiser_window

    if beta < 0:
        raise ValueError(f"kaiser: a negative beta: {beta}")
    _, _, dtype = _points("kaiser", M, sym, dtype)
    return _finish(kaiser_window(M, not sym, beta, dtype=_float64), dtype, device, requires_grad)


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming",
    "hann", "kaiser", "nuttall",
]
