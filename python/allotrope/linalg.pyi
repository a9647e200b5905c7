"""Linear algebra, as torch.linalg."""

from typing import Literal, NamedTuple, TypeAlias

from . import Tensor, _Dims, _DTypeLike, _Operand

_Order: TypeAlias = float | Literal["fro", "nuc", "inf", "-inf"] | None
_Tolerance: TypeAlias = float | Tensor | None

class LinAlgError(ValueError, RuntimeError): ...

class _SolveEx(NamedTuple):
    result: Tensor
    info: Tensor

class _InvEx(NamedTuple):
    inverse: Tensor
    info: Tensor

class _CholeskyEx(NamedTuple):
    L: Tensor
    info: Tensor

class _Slogdet(NamedTuple):
    sign: Tensor
    logabsdet: Tensor

class _Lu(NamedTuple):
    P: Tensor
    L: Tensor
    U: Tensor

class _LuFactorEx(NamedTuple):
    LU: Tensor
    pivots: Tensor
    info: Tensor

class _LuFactor(NamedTuple):
    LU: Tensor
    pivots: Tensor

class _Qr(NamedTuple):
    Q: Tensor
    R: Tensor

class _Eigen(NamedTuple):
    eigenvalues: Tensor
    eigenvectors: Tensor

class _Svd(NamedTuple):
    U: Tensor
    S: Tensor
    Vh: Tensor

class _Lstsq(NamedTuple):
    solution: Tensor
    residuals: Tensor
    rank: Tensor
    singular_values: Tensor

def solve(A: _Operand, B: _Operand, *, left: bool = True) -> Tensor: ...
def solve_ex(
    A: _Operand,
    B: _Operand,
    *,
    left: bool = True,
    check_errors: bool = False,
) -> _SolveEx: ...
def inv(A: _Operand) -> Tensor: ...
def inv_ex(A: _Operand, *, check_errors: bool = False) -> _InvEx: ...
def det(A: _Operand) -> Tensor: ...
def slogdet(A: _Operand) -> _Slogdet: ...
def cholesky(A: _Operand, *, upper: bool = False) -> Tensor: ...
def cholesky_ex(
    A: _Operand,
    *,
    upper: bool = False,
    check_errors: bool = False,
) -> _CholeskyEx: ...
def lu(A: _Operand, *, pivot: bool = True) -> _Lu: ...
def lu_factor(A: _Operand, *, pivot: bool = True) -> _LuFactor: ...
def lu_factor_ex(A: _Operand, *, pivot: bool = True, check_errors: bool = False) -> _LuFactorEx: ...
def matmul(input: _Operand, other: _Operand) -> Tensor: ...
def multi_dot(tensors: list[Tensor]) -> Tensor: ...
def vander(x: _Operand, N: int | None = None) -> Tensor: ...
def lu_solve(
    LU: _Operand,
    pivots: _Operand,
    B: _Operand,
    *,
    left: bool = True,
    adjoint: bool = False,
) -> Tensor: ...
def solve_triangular(
    A: _Operand,
    B: _Operand,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> Tensor: ...
def tensorsolve(A: _Operand, B: _Operand, dims: _Dims = None) -> Tensor: ...
def tensorinv(A: _Operand, ind: int = 2) -> Tensor: ...
def qr(A: _Operand, mode: Literal["reduced", "complete", "r"] = "reduced") -> _Qr: ...
def householder_product(A: _Operand, tau: _Operand) -> Tensor: ...
def eigh(A: _Operand, UPLO: Literal["L", "U"] = "L") -> _Eigen: ...
def eigvalsh(A: _Operand, UPLO: Literal["L", "U"] = "L") -> Tensor: ...
def eig(A: _Operand) -> _Eigen: ...
def eigvals(A: _Operand) -> Tensor: ...
def svd(
    A: _Operand,
    full_matrices: bool = True,
    *,
    driver: str | None = None,
) -> _Svd: ...
def svdvals(A: _Operand, *, driver: str | None = None) -> Tensor: ...
def pinv(
    A: _Operand,
    rcond: _Tolerance = None,
    hermitian: bool = False,
    *,
    atol: _Tolerance = None,
    rtol: _Tolerance = None,
) -> Tensor: ...
def matrix_rank(
    A: _Operand,
    tol: _Tolerance = None,
    hermitian: bool = False,
    *,
    atol: _Tolerance = None,
    rtol: _Tolerance = None,
) -> Tensor: ...
def cond(A: _Operand, p: _Order = None) -> Tensor: ...
def lstsq(
    A: _Operand,
    B: _Operand,
    rcond: float | None = None,
    *,
    driver: str | None = None,
) -> _Lstsq: ...
def vector_norm(
    x: _Operand,
    ord: float = 2.0,
    dim: _Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: _DTypeLike = None,
    axis: _Dims = None,
    keepdims: bool | None = None,
) -> Tensor: ...
def matrix_norm(
    A: _Operand,
    ord: _Order = None,
    dim: _Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: _DTypeLike = None,
    axis: _Dims = None,
    keepdims: bool | None = None,
) -> Tensor: ...
def norm(
    A: _Operand,
    ord: _Order = None,
    dim: _Dims = None,
    keepdim: bool | None = None,
    *,
    dtype: _DTypeLike = None,
    axis: _Dims = None,
    keepdims: bool | None = None,
) -> Tensor: ...
def matrix_power(A: _Operand, n: int) -> Tensor: ...
def matrix_exp(A: _Operand) -> Tensor: ...
def cross(
    input: _Operand,
    other: _Operand,
    *,
    dim: int | None = None,
    axis: int | None = None,
) -> Tensor: ...
def vecdot(
    x: _Operand,
    y: _Operand,
    *,
    dim: int | None = None,
    axis: int | None = None,
) -> Tensor: ...
def diagonal(
    A: _Operand,
    *,
    offset: int = 0,
    dim1: int = -2,
    dim2: int = -1,
) -> Tensor: ...
