"""Reductions of the elements that a mask keeps, as torch.masked: `mask` is true where an element counts."""

from __future__ import annotations

from typing import Any

from . import linalg
from ._core import Complex, Float, Tensor, finfo, full_like, get_default_dtype, iinfo, where
from ._core import bool as _bool
from ._operand import operand

_Dims = int | tuple[int, ...] | None


def _parts(op: str, input: Any, mask: Any, dtype: Any) -> tuple[Tensor, Tensor | None]:
    x = operand(input)
    if dtype is not None:
        x = x.to(dtype)
    if mask is None:
        return x, None
    mask = operand(mask)
    if mask.dtype != _bool:
        raise TypeError(f"{op}: a mask of {mask.dtype.name}; bool is accepted")
    return x, mask.expand(x.shape)


def _filled(x: Tensor, mask: Tensor | None, value: Any) -> Tensor:
    return x if mask is None else where(mask, x, full_like(x, value))


def _lowest(x: Tensor) -> Any:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        # The least finite number of dtypes without infinities, which end in fn and fnuz.
        return finfo(x.dtype).min if "fn" in x.dtype.name else float("-inf")
    return False if x.dtype == _bool else iinfo(x.dtype).min


def _highest(x: Tensor) -> Any:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return finfo(x.dtype).max if "fn" in x.dtype.name else float("inf")
    return True if x.dtype == _bool else iinfo(x.dtype).max


def _float(x: Tensor) -> Tensor:
    return x if x.dtype.is_floating_point else x.to(get_default_dtype())


def _along(dim: _Dims, keepdim: bool) -> dict[str, Any]:
    return {"keepdim": keepdim} if dim is None else {"dim": dim, "keepdim": keepdim}


def sum(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The sum of the elements that count.

    >>> al.masked.sum(al.tensor([1, 2, 4]), mask=al.tensor([True, False, True]))
    tensor(5)
    """
    x, mask = _parts("sum", input, mask, dtype)
    return _filled(x, mask, 0).sum(dim, keepdim=keepdim)


def prod(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The product of the elements that count.

    >>> al.masked.prod(al.tensor([1, 2, 4]), mask=al.tensor([True, False, True]))
    tensor(4)
    """
    x, mask = _parts("prod", input, mask, dtype)
    x = _filled(x, mask, 1)
    return x.prod() if dim is None else x.prod(dim, keepdim=keepdim)


def amax(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The greatest of the elements that count; the least number of the dtype where none does.

    >>> al.masked.amax(al.tensor([1.0, 9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(4.)
    """
    x, mask = _parts("amax", input, mask, dtype)
    return _filled(x, mask, _lowest(x)).amax(**_along(dim, keepdim))


def amin(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The least of the elements that count; the greatest number of the dtype where none does.

    >>> al.masked.amin(al.tensor([1.0, -9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(1.)
    """
    x, mask = _parts("amin", input, mask, dtype)
    return _filled(x, mask, _highest(x)).amin(**_along(dim, keepdim))


def argmax(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """Where the greatest of the elements that count is.

    >>> al.masked.argmax(al.tensor([1.0, 9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(2)
    """
    x, mask = _parts("argmax", input, mask, dtype)
    return _filled(x, mask, _lowest(x)).argmax(dim, keepdim=keepdim)


def argmin(input: Any, dim: int | None = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """Where the least of the elements that count is.

    >>> al.masked.argmin(al.tensor([1.0, -9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(0)
    """
    x, mask = _parts("argmin", input, mask, dtype)
    return _filled(x, mask, _highest(x)).argmin(dim, keepdim=keepdim)


def _count(x: Tensor, mask: Tensor | None, dim: _Dims, keepdim: bool) -> Tensor:
    return full_like(x, True, dtype=_bool).sum(dim, keepdim=keepdim) if mask is None else mask.sum(dim, keepdim=keepdim)


def _free(result: Tensor, x: Tensor) -> Tensor:
    """A quotient, whose width is as free as that of the numbers: a count has no say."""
    if not x.numeric.is_bit_free:
        return result
    return result.to(Complex if result.dtype.is_complex else Float)


def mean(input: Any, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The mean of the elements that count, NaN where none does.

    >>> al.masked.mean(al.tensor([1.0, 9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(2.5000)
    """
    x, mask = _parts("mean", input, mask, dtype)
    if mask is None:
        return x.mean(**_along(dim, keepdim))
    return _free(_filled(x, mask, 0).sum(dim, keepdim=keepdim) / _count(x, mask, dim, keepdim), x)


def var(
    input: Any, dim: _Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: Any = None, mask: Any = None,
) -> Tensor:
    """The variance of the elements that count.

    >>> al.masked.var(al.tensor([1.0, 9.0, 5.0]), mask=al.tensor([True, False, True]))
    tensor(8.)
    """
    x, mask = _parts("var", input, mask, dtype)
    if correction is None:
        correction = 0 if unbiased is False else 1
    center = mean(x, dim, keepdim=True, mask=mask)
    squares = _filled((x - center).abs() ** 2, mask, 0).sum(dim, keepdim=keepdim)
    return _free(squares / (_count(x, mask, dim, keepdim) - correction).clamp(min=0), x)


def std(
    input: Any, dim: _Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
    keepdim: bool = False, dtype: Any = None, mask: Any = None,
) -> Tensor:
    """The standard deviation of the elements that count.

    >>> al.masked.std(al.tensor([1.0, 9.0, 3.0]), unbiased=False, mask=al.tensor([True, False, True]))
    tensor(1.)
    """
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()


def norm(
    input: Any, ord: float = 2.0, dim: _Dims = None, *, keepdim: bool = False, dtype: Any = None, mask: Any = None
) -> Tensor:
    """The norm of the elements that count.

    >>> al.masked.norm(al.tensor([3.0, 9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(5.)
    """
    x, mask = _parts("norm", input, mask, dtype)
    rest = float("inf") if ord == float("-inf") else 0
    return linalg.vector_norm(_filled(x, mask, rest), ord, dim=dim, keepdim=keepdim)


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """The softmax of the elements that count, zero for the others; NaN where none does.

    >>> al.masked.softmax(al.tensor([0.0, 9.0, 0.0]), 0, mask=al.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    x, mask = _parts("softmax", input, mask, dtype)
    return _filled(_float(x), mask, _lowest(_float(x))).softmax(dim)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """The logarithms of `softmax`, minus infinity for elements that do not count.

    >>> al.masked.log_softmax(al.tensor([0.0, 9.0]), 0, mask=al.tensor([True, False]))
    tensor([  0., -inf])
    """
    x, mask = _parts("log_softmax", input, mask, dtype)
    return _filled(_float(x), mask, _lowest(_float(x))).log_softmax(dim)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """The softmax of the negated elements that count.

    >>> al.masked.softmin(al.tensor([0.0, -9.0, 0.0]), 0, mask=al.tensor([True, False, True]))
    tensor([0.5000, 0.0000, 0.5000])
    """
    x, mask = _parts("softmin", input, mask, dtype)
    return softmax(-x, dim, mask=mask)


def logsumexp(input: Any, dim: int, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The logarithm of the sum of exponentials of the elements that count.

    >>> al.masked.logsumexp(al.tensor([0.0, 9.0]), 0, mask=al.tensor([True, False]))
    tensor(0.)
    """
    x, mask = _parts("logsumexp", input, mask, dtype)
    return _filled(_float(x), mask, _lowest(_float(x))).logsumexp(dim, keepdim=keepdim)


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Running sums of the elements that count.

    >>> al.masked.cumsum(al.tensor([1, 2, 4]), 0, mask=al.tensor([True, False, True]))
    tensor([1, 1, 5])
    """
    x, mask = _parts("cumsum", input, mask, dtype)
    return _filled(x, mask, 0).cumsum(dim)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Any = None) -> Tensor:
    """Running products of the elements that count.

    >>> al.masked.cumprod(al.tensor([3, 2, 4]), 0, mask=al.tensor([True, False, True]))
    tensor([ 3,  3, 12])
    """
    x, mask = _parts("cumprod", input, mask, dtype)
    return _filled(x, mask, 1).cumprod(dim)


def median(input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Any = None) -> Tensor:
    """The median of the elements that count, NaN where none does.

    >>> al.masked.median(al.tensor([1.0, 9.0, 4.0]), mask=al.tensor([True, False, True]))
    tensor(1.)
    """
    x, mask = _parts("median", input, mask, dtype)
    if mask is None:
        return x.median(dim, keepdim=keepdim)[0]
    return _filled(_float(x), mask, float("nan")).nanmedian(dim, keepdim=keepdim)[0]


__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logsumexp", "mean", "median", "norm",
    "prod", "softmax", "softmin", "std", "sum", "var",
]
