"""What differs from the library by more than an expression, and the results with named fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import allotrope as al
from allotrope import Tensor, device, dtype

Scalar: TypeAlias = bool | int | float | complex
Operand: TypeAlias = Tensor | Scalar


class unique_all_result(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class unique_counts_result(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class unique_inverse_result(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


class eig_result(NamedTuple):
    """What `eig` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class eigh_result(NamedTuple):
    """What `eigh` gives."""

    eigenvalues: Tensor
    eigenvectors: Tensor


class qr_result(NamedTuple):
    """What `qr` gives."""

    Q: Tensor
    R: Tensor


class slogdet_result(NamedTuple):
    """What `slogdet` gives."""

    sign: Tensor
    logabsdet: Tensor


class svd_result(NamedTuple):
    """What `svd` gives."""

    U: Tensor
    S: Tensor
    Vh: Tensor


def eye(rows: int, columns: int | None, k: int, dtype: Any, device: Any) -> Tensor:
    columns = rows if columns is None else columns
    made = al.zeros((rows, columns), dtype=dtype, device=device)
    if -rows < k < columns:
        made.diagonal(k).fill_(1)
    return made


def linspace(start: Any, stop: Any, num: int, dtype: Any, device: Any, endpoint: bool) -> Tensor:
    if endpoint:
        return al.linspace(start, stop, num, dtype=dtype, device=device)
    return al.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def astype(x: Tensor, dtype: Any, copy: bool, device: Any) -> Tensor:
    if device is not None:
        x = x.to(device)
    return x.astype(dtype, copy=copy)


def clip(x: Tensor, least: Any, greatest: Any) -> Tensor:
    return x.clone() if least is None and greatest is None else al.clamp(x, least, greatest)


def take(x: Tensor, indices: Tensor, axis: int | None) -> Tensor:
    if axis is None and x.ndim != 1:
        raise ValueError(f"take: no axis: {x.ndim} dimensions; axis may be left out of one")
    return al.index_select(x, 0 if axis is None else axis, indices)


def reshape(x: Tensor, shape: Sequence[int], copy: bool | None) -> Tensor:
    if copy is None:
        return al.reshape(x, shape)
    return x.clone().view(shape) if copy else x.view(shape)


def squeeze(x: Tensor, axis: int | tuple[int, ...]) -> Tensor:
    for each in (axis,) if isinstance(axis, int) else axis:
        if -x.ndim <= each < x.ndim and x.shape[each] != 1:
            raise ValueError(f"squeeze: size {x.shape[each]} along axis {each}; 1 is accepted")
    return al.squeeze(x, axis)


def nonzero(x: Tensor) -> tuple[Tensor, ...]:
    if x.ndim == 0:
        raise ValueError("nonzero: no dimensions: []; one or more are accepted")
    return tuple(al.nonzero(x, as_tuple=True))


def unique_all(x: Tensor) -> unique_all_result:
    values, inverse, counts = al.unique(x, return_inverse=True, return_counts=True)
    places = al.arange(inverse.numel(), device=x.device).flip(0)
    # The last write to a place is that of its first element.
    first = al.empty(counts.shape, dtype="int64", device=x.device).scatter(0, inverse.flatten().flip(0), places)
    return unique_all_result(values, first, inverse, counts)


def unique_counts(x: Tensor) -> unique_counts_result:
    return unique_counts_result(*al.unique(x, return_counts=True))


def unique_inverse(x: Tensor) -> unique_inverse_result:
    return unique_inverse_result(*al.unique(x, return_inverse=True))


def spread(
    function: Callable[..., Tensor], x: Tensor, axis: Any, correction: float, keepdims: bool
) -> Tensor:
    result = function(x, axis, correction=correction, keepdims=keepdims)
    count = x.numel() // result.numel() if result.numel() else 1
    return result if count > correction else result * al.nan


def vecdot(x1: Tensor, x2: Tensor, axis: int) -> Tensor:
    sizes = (x1.shape[axis], x2.shape[axis])
    if sizes[0] != sizes[1]:
        raise ValueError(f"vecdot: sizes differ along axis {axis}: {sizes[0]} and {sizes[1]}")
    return al.linalg.vecdot(x1, x2, dim=axis)


def solve(x1: Tensor, x2: Tensor) -> Tensor:
    if x2.ndim == 1:
        return al.linalg.solve(x1, x2[:, None])[..., 0]
    # With as many dimensions it is not taken for a stack of vectors.
    return al.linalg.solve(x1, x2[(None,) * max(x1.ndim - x2.ndim, 0)])
