"""Operations on lists of tensors, as torch's `_foreach_` functions: one call for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from . import linalg
from ._core import Tensor

_UNARY = (
    "abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg "
    "reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc"
).split()
# With a number, a list of numbers, or a list of tensors beside the first one.
_BINARY = "add sub mul div pow maximum minimum clamp_max clamp_min".split()
# Two lists of tensors, and a number or a list of numbers.
_TERNARY = "addcdiv addcmul".split()


def _each(name: str, tensors: Sequence[Tensor], other: Any) -> list[Any]:
    """The other operand of each tensor."""
    if isinstance(other, (list, tuple)):
        if len(other) != len(tensors):
            raise ValueError(f"{name}: lists of different lengths: {len(tensors)} and {len(other)}")
        return list(other)
    return [other] * len(tensors)


def _unary(name: str, method: str) -> Callable[..., Any]:
    def apply(self: Sequence[Tensor]) -> Any:
        results = [getattr(x, method)() for x in self]
        return None if method.endswith("_") else results

    return apply


def _binary(name: str, method: str) -> Callable[..., Any]:
    def apply(self: Sequence[Tensor], other: Any, **options: Any) -> Any:
        results = [getattr(x, method)(y, **options) for x, y in zip(self, _each(name, self, other))]
        return None if method.endswith("_") else results

    return apply


def _ternary(name: str, method: str) -> Callable[..., Any]:
    def apply(self: Sequence[Tensor], tensor1: Sequence[Tensor], tensor2: Sequence[Tensor], value: Any = 1) -> Any:
        others = (_each(name, self, list(tensor1)), _each(name, self, list(tensor2)), _each(name, self, value))
        results = [getattr(x, method)(a, b, value=v) for x, a, b, v in zip(self, *others)]
        return None if method.endswith("_") else results

    return apply


def _lerp(name: str, method: str) -> Callable[..., Any]:
    def apply(self: Sequence[Tensor], tensors1: Sequence[Tensor], weight: Any) -> Any:
        others = (_each(name, self, list(tensors1)), _each(name, self, weight))
        results = [getattr(x, method)(y, w) for x, y, w in zip(self, *others)]
        return None if method.endswith("_") else results

    return apply


def _foreach_norm(self: Sequence[Tensor], ord: float = 2.0, dtype: Any = None) -> list[Tensor]:
    """The norm of each tensor.

    >>> al._foreach_norm([al.tensor([3.0, 4.0]), al.zeros(2)])
    [tensor(5.), tensor(0.)]
    """
    return [linalg.vector_norm(x, ord, dtype=dtype) for x in self]


def _foreach_zero_(self: Sequence[Tensor]) -> None:
    """Zeros written over each tensor.

    >>> x = al.ones(2)
    >>> al._foreach_zero_([x])
    >>> x
    tensor([0., 0.])
    """
    for x in self:
        x.zero_()


def _foreach_copy_(self: Sequence[Tensor], src: Sequence[Tensor], non_blocking: bool = False) -> None:
    """The elements of each source written over a tensor.

    >>> x = al.zeros(2)
    >>> al._foreach_copy_([x], [al.ones(2)])
    >>> x
    tensor([1., 1.])
    """
    for x, y in zip(self, _each("_foreach_copy_", self, list(src))):
        x.copy_(y)


def _names() -> dict[str, Callable[..., Any]]:
    made: dict[str, Callable[..., Any]] = {
        "_foreach_norm": _foreach_norm,
        "_foreach_zero_": _foreach_zero_,
        "_foreach_copy_": _foreach_copy_,
    }
    kinds = ((_unary, _UNARY), (_binary, _BINARY), (_ternary, _TERNARY), (_lerp, ["lerp"]))
    for make, rows in kinds:
        for row in rows:
            for method in (row, row + "_"):
                name = "_foreach_" + method
                function = make(name, method)
                function.__name__ = function.__qualname__ = name
                what = "written over each of some tensors" if method.endswith("_") else "of each of some tensors"
                function.__doc__ = f"`{row}` {what}."
                made[name] = function
    return made


NAMES = _names()
