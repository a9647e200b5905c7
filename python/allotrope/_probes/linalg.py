"""Linear algebra."""

from typing import Any

import allotrope as al


def _square(dtype: Any) -> Any:
    return al.tensor([[2, 0], [0, 3]]).to(dtype)


def _right(dtype: Any) -> Any:
    return al.tensor([[1, 2, 3], [0, 1, 1]]).to(dtype)


def _solutions(name: Any) -> Any:
    return lambda dtype: getattr(al.linalg, name)(_square(dtype), _right(dtype))


def _single(name: Any) -> Any:
    return lambda dtype: getattr(al.linalg, name)(_square(dtype))


def _lu_solve(dtype: Any) -> Any:
    pivots = al.tensor([1, 2], dtype=al.int32)
    return al.linalg.lu_solve(_square(dtype), pivots, _right(dtype))


def _cross(dtype: Any) -> Any:
    return al.linalg.cross(_right(dtype), al.ones(3).to(dtype))


CALLS = {
    f"linalg.{name}": _single(name)
    for name in """
    inv inv_ex det slogdet lu lu_factor lu_factor_ex cholesky cholesky_ex qr eigh eigvalsh eig eigvals svd svdvals
    pinv matrix_rank cond matrix_norm vector_norm norm matrix_exp
    """.split()
}
CALLS |= {f"linalg.{name}": _solutions(name) for name in ["solve", "solve_ex", "lstsq"]}
CALLS |= {
    "linalg.lu_solve": _lu_solve,
    "lu_unpack": lambda d: al.lu_unpack(_square(d), al.tensor([1, 2], dtype=al.int32)),
    "linalg.solve_triangular": lambda d: al.linalg.solve_triangular(
        _square(d), _right(d), upper=False
    ),
    "cholesky_solve": lambda d: al.cholesky_solve(_right(d), _square(d)),
    "cholesky_inverse": lambda d: al.cholesky_inverse(_square(d)),
    "linalg.householder_product": lambda d: al.linalg.householder_product(
        _square(d), al.ones(2).to(d)
    ),
    "linalg.matrix_power": lambda d: al.linalg.matrix_power(_square(d), 3),
    "linalg.cross": _cross,
    "linalg.vecdot": lambda d: al.linalg.vecdot(_right(d), _right(d)),
    "linalg.tensorsolve": lambda d: al.linalg.tensorsolve(_square(d), al.ones(2).to(d)),
    "linalg.tensorinv": lambda d: al.linalg.tensorinv(_square(d), 1),
}
