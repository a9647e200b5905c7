"""Symmetric indefinite matrices as L D Lᵀ, by the pivots of Bunch and Kaufman: LAPACK's sytrf, hetrf and their solvers.

Compositions, a matrix of a batch at a time, that compute in float64 or complex128 and round once.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ._core import Tensor, broadcast_tensors, complex128, empty, float64, get_default_dtype, int32, promote_types, stack, tensor
from ._core import linalg as _linalg
from ._operand import operand

_ldl_factor = NamedTuple("linalg_ldl_factor", [("LD", Tensor), ("pivots", Tensor)])  # type: ignore[name-match]
_ldl_factor_ex = NamedTuple(  # type: ignore[name-match]
    "linalg_ldl_factor_ex", [("LD", Tensor), ("pivots", Tensor), ("info", Tensor)]
)

# What a pivot must have of its column's greatest element, for growth to be as small with one column as with two.
_ALPHA = (1 + math.sqrt(17)) / 8


def _square(op: str, given: Any) -> tuple[Tensor, Any]:
    """Matrices in the dtype that is computed in, and the dtype of the result."""
    x = operand(given)
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{op}: not square: {list(x.shape)}; the last two sizes must be equal")
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else get_default_dtype()
    return x.detach().to(complex128 if dtype.is_complex else float64), dtype


def _turned(x: Tensor, hermitian: bool) -> Tensor:
    return x.mH if hermitian else x.mT


def _sizes(x: Tensor) -> Tensor:
    """What LAPACK compares: of complex numbers the sum of both parts."""
    return x.real.abs() + x.imag.abs() if x.is_complex() else x.abs()


def _pivot(a: Tensor, k: int) -> tuple[int, int]:
    """The place of the pivot for column k of what is left, and how many columns it takes."""
    n = a.shape[0]
    own = float(_sizes(a[k, k]))
    if k == n - 1:
        return k, 1
    column = _sizes(a[k + 1 :, k])
    greatest = k + 1 + int(column.argmax())
    most = float(column.max())
    if max(own, most) == 0 or own >= _ALPHA * most:
        return k, 1
    row = _sizes(a[greatest, k:])
    row[greatest - k] = 0.0
    most_there = float(row.max())
    if own >= _ALPHA * most * (most / most_there):
        return k, 1
    if float(_sizes(a[greatest, greatest])) >= _ALPHA * most_there:
        return greatest, 1
    return greatest, 2


def _factor(matrix: Tensor, hermitian: bool) -> tuple[Tensor, list[int], int]:
    """One matrix: L below D, the pivots, and the number of the first zero on D's diagonal."""
    a = matrix.tril(-1)
    diagonal = matrix.diagonal()
    if hermitian and a.is_complex():
        diagonal = diagonal.real.to(a.dtype)
    a = a + _turned(a, hermitian) + diagonal.diag()
    n, pivots, info, k = a.shape[0], [], 0, 0
    while k < n:
        place, size = _pivot(a, k)
        last = k + size - 1
        if place != last:
            order = list(range(k, n))
            order[last - k], order[place - k] = place, last
            moved = tensor(order, device=a.device)
            a[k:, k:] = a[moved][:, moved]
        end = k + size
        block, below = a[k:end, k:end].clone(), a[end:, k:end].clone()
        if size == 1 and float(block.abs()) == 0.0:
            info = info or k + 1
        elif end < n:
            factors = _divided(below, block)
            a[end:, end:] = a[end:, end:] - factors @ _turned(below, hermitian)
            if hermitian and a.is_complex():
                # Rounding leaves no imaginary part there.
                a[end:, end:].diagonal().copy_(a[end:, end:].diagonal().real.to(a.dtype))
            a[end:, k:end] = factors
        pivots += [place + 1] if size == 1 else [-(place + 1)] * 2
        k = end
    return a.tril(), pivots, info


def _divided(below: Tensor, block: Tensor) -> Tensor:
    """Rows times the inverse of a block of one or two."""
    if block.shape[0] == 1:
        return below / block
    # Scaled by the element outside of the diagonal, which is the greatest.
    a, b, c, d = (block[i, j] for i in (0, 1) for j in (0, 1))
    first, second = a / c, d / b
    scale = 1 / (first * second - 1)
    left, right = below[:, 0], below[:, 1]
    return stack([scale * (second * (left / c) - right / b), scale * (first * (right / b) - left / c)], 1)


def _factored(op: str, given: Any, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]:
    x, dtype = _square(op, given)
    batch, n = x.shape[:-2], x.shape[-1]
    found = [_factor(one, hermitian) for one in x.reshape(-1, n, n).unbind()] if x.numel() else []
    if not found:
        places = empty((*batch, n), dtype=int32, device=x.device)
        return x.to(dtype), places, empty(batch, dtype=int32, device=x.device).zero_()
    factors = stack([factor for factor, _, _ in found]).reshape(x.shape)
    pivots = tensor([pivots for _, pivots, _ in found], dtype=int32, device=x.device).reshape(*batch, n)
    info = tensor([info for _, _, info in found], dtype=int32, device=x.device).reshape(batch)
    return factors.to(dtype), pivots, info


def ldl_factor_ex(A: Any, *, hermitian: bool = False, check_errors: bool = False) -> tuple[Tensor, Tensor, Tensor]:
    """The factors of `ldl_factor`, and for each matrix 0 or the number of the first pivot that is zero.

    >>> al.linalg.ldl_factor_ex(al.zeros(2, 2)).info
    tensor(1, dtype=int32)
    """
    factors, pivots, info = _factored("linalg.ldl_factor_ex", A, hermitian)
    if check_errors and bool((info != 0).any()):
        raise _singular("linalg.ldl_factor_ex", info)
    return _ldl_factor_ex(factors, pivots, info)


def _singular(op: str, info: Tensor) -> Exception:
    first = int(info.flatten()[info.flatten() != 0][0])
    error: Exception = _linalg.LinAlgError(
        f"{op}: singular matrix: pivot {first - 1} is zero; others are accepted (hint: linalg.ldl_factor_ex)"
    )
    return error


def ldl_factor(A: Any, *, hermitian: bool = False) -> tuple[Tensor, Tensor]:
    """Symmetric matrices, or Hermitian ones, as L D Lᵀ, with blocks of one or two on D's diagonal: L below D in one
    matrix, and the pivots, as LAPACK has them. The lower triangle is read. There is no derivative.

    >>> LD, pivots = al.linalg.ldl_factor(al.tensor([[4.0, 2.0], [2.0, 5.0]]))
    >>> LD
    tensor([[4.0000, 0.0000],
            [0.5000, 4.0000]])
    >>> al.linalg.ldl_solve(LD, pivots, al.tensor([[8.0], [9.0]]))
    tensor([[1.3750],
            [1.2500]])
    """
    factors, pivots, info = _factored("linalg.ldl_factor", A, hermitian)
    if bool((info != 0).any()):
        raise _singular("linalg.ldl_factor", info)
    return _ldl_factor(factors, pivots)


def _exchange(b: Tensor, i: int, j: int) -> None:
    if i != j:
        row = b[i].clone()
        b[i] = b[j]
        b[j] = row


def _solve(factors: Tensor, pivots: list[int], b: Tensor, hermitian: bool) -> Tensor:
    """One matrix: L, then D, then the transpose of L, each column with its exchange of rows."""
    n, b, blocks, k = factors.shape[0], b.clone(), [], 0
    while k < n:
        size = 1 if pivots[k] > 0 else 2
        end = k + size
        _exchange(b, end - 1, abs(pivots[k]) - 1)
        block = factors[k:end, k:end].clone()
        if size == 2:
            block[0, 1] = block[1, 0].conj() if hermitian else block[1, 0]
        b[end:] = b[end:] - factors[end:, k:end] @ b[k:end]
        # The inverse from the right of the transpose is that from the left.
        b[k:end] = _divided(b[k:end].mT, block.mT).mT
        blocks.append((k, end))
        k = end
    for k, end in reversed(blocks):
        b[k:end] = b[k:end] - _turned(factors[end:, k:end], hermitian) @ b[end:]
        _exchange(b, end - 1, abs(pivots[k]) - 1)
    return b


def ldl_solve(LD: Any, pivots: Any, B: Any, *, hermitian: bool = False) -> Tensor:
    """The solutions X of A X = B, of what `ldl_factor` made of A; batches are broadcast. There is no derivative.

    >>> LD, pivots = al.linalg.ldl_factor(al.tensor([[0.0, 1.0], [1.0, 0.0]]))
    >>> al.linalg.ldl_solve(LD, pivots, al.tensor([[3.0], [5.0]]))
    tensor([[5.],
            [3.]])
    """
    op = "linalg.ldl_solve"
    (factors, dtype), b = _square(op, LD), operand(B).detach()
    if b.ndim < 2 or b.shape[-2] != factors.shape[-1]:
        n = factors.shape[-1]
        raise ValueError(f"{op}: wrong shape of B: {list(b.shape)}; [..., {n}, k] is accepted")
    pivots = operand(pivots)
    n = factors.shape[-1]
    is_meant = pivots.ndim >= 1 and pivots.shape[-1] == n and not pivots.is_floating_point() and not pivots.is_complex()
    if not is_meant or not _are_pivots(pivots, n):
        raise ValueError(f"{op}: not pivots of {n} columns; those of linalg.ldl_factor are accepted")
    dtype = promote_types(dtype, b.dtype)
    b = b.to(complex128 if dtype.is_complex else float64)
    factors = factors.to(b.dtype)
    batch = broadcast_tensors(factors[..., 0, 0] if n else factors.sum((-1, -2)), b.sum((-1, -2)))[0].shape
    if not math.prod(batch) or not b.numel():
        return b.expand(*batch, *b.shape[-2:]).to(dtype)
    factors = factors.expand(*batch, n, n).reshape(-1, n, n)
    places = pivots.expand(*batch, n).reshape(-1, n).tolist()
    b = b.expand(*batch, *b.shape[-2:])
    pairs = zip(factors.unbind(), places, b.reshape(-1, *b.shape[-2:]).unbind())
    solved = [_solve(one, each, right, hermitian) for one, each, right in pairs]
    return stack(solved).reshape(b.shape).to(dtype)


def _are_pivots(pivots: Tensor, n: int) -> bool:
    """Whether numbers are rows, and those of blocks of two come in equal pairs."""
    for row in pivots.reshape(-1, n).tolist() if n else []:
        k = 0
        while k < n:
            place = row[k]
            if place > 0:
                is_place, k = k < place <= n, k + 1
            else:
                is_place, k = k + 1 < n and row[k + 1] == place and k + 1 < -place <= n, k + 2
            if not is_place:
                return False
    return True


__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]
