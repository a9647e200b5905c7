"""Linear algebra: rows of the namespace, and of its extension."""

ROWS = """
matmul(x1: Tensor, x2: Tensor, /) -> Tensor
    The product of two matrices, of vectors with them, or of each pair of several.

    >>> xp.matmul(xp.ones((2, 3)), xp.ones((3, 1)))
    tensor([[3.],
            [3.]])

matrix_transpose(x: Tensor, /) -> Tensor
    = x.mT
    With the last two axes exchanged.

    >>> xp.matrix_transpose(xp.ones((4, 2, 3))).shape
    (4, 3, 2)

tensordot(x1: Tensor, x2: Tensor, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> Tensor
    = al.tensordot(x1, x2, axes)
    The sums of products along several axes.

    >>> xp.tensordot(xp.ones((2, 3)), xp.ones((3, 4)), axes=1).shape
    (2, 4)

vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor
    = vecdot(x1, x2, axis)
    The products of vectors along an axis; those of the first are conjugated.

    >>> xp.vecdot(xp.asarray([1j, 2]), xp.asarray([1j, 1]))
    tensor(3.+0.j)
"""

EXTENSION = """
cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor
    = al.linalg.cholesky(x, upper=upper)
    The lower or upper triangular factor of positive definite matrices.

    >>> xp.linalg.cholesky(xp.asarray([[4.0]]))
    tensor([[2.]])

cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor
    = al.linalg.cross(x1, x2, dim=axis)
    The cross product of vectors of three elements.

    >>> xp.linalg.cross(xp.asarray([1, 0, 0]), xp.asarray([0, 1, 0]))
    tensor([0, 0, 1])

det inv(x: Tensor, /) -> Tensor
    = al.linalg.{name}(x)
    The determinant of matrices, or their inverse.

    >>> float(xp.linalg.{name}(xp.asarray([[1.0]])))
    1.0

diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor
    = al.linalg.diagonal(x, offset=offset)
    A diagonal of matrices; offset counts from the main one upwards.

    >>> xp.linalg.diagonal(xp.asarray([[1, 2], [3, 4]]), offset=1)
    tensor([2])

eig(x: Tensor, /) -> eig_result
    = eig_result(*al.linalg.eig(x))
    The eigenvalues and eigenvectors of matrices, complex numbers.

    >>> xp.linalg.eig(xp.asarray([[2.0]])).eigenvalues
    tensor([2.+0.j])

eigvals(x: Tensor, /) -> Tensor
    = al.linalg.eigvals(x)
    The eigenvalues of matrices, complex numbers.

    >>> xp.linalg.eigvals(xp.asarray([[2.0]]))
    tensor([2.+0.j])

eigh(x: Tensor, /) -> eigh_result
    = eigh_result(*al.linalg.eigh(x))
    The eigenvalues, in ascending order, and eigenvectors of symmetric or Hermitian matrices.

    >>> xp.linalg.eigh(xp.asarray([[2.0]])).eigenvalues
    tensor([2.])

eigvalsh(x: Tensor, /) -> Tensor
    = al.linalg.eigvalsh(x)
    The eigenvalues of symmetric or Hermitian matrices, in ascending order.

    >>> xp.linalg.eigvalsh(xp.asarray([[2.0]]))
    tensor([2.])

matrix_norm(x: Tensor, /, *, keepdims: bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro") -> Tensor
    = al.linalg.matrix_norm(x, "fro" if ord is None else ord, keepdims=keepdims)
    The norm of matrices.

    >>> xp.linalg.matrix_norm(xp.asarray([[3.0, 4.0]]))
    tensor(5.)

matrix_power(x: Tensor, n: int, /) -> Tensor
    = al.linalg.matrix_power(x, n)
    Square matrices to an integer power.

    >>> xp.linalg.matrix_power(xp.asarray([[2.0]]), -1)
    tensor([[0.5000]])

matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor
    = al.linalg.matrix_rank(x, rtol=rtol)
    How many singular values exceed rtol times the greatest.

    >>> xp.linalg.matrix_rank(xp.ones((2, 2)))
    tensor(1)

outer(x1: Tensor, x2: Tensor, /) -> Tensor
    = al.outer(x1, x2)
    The product of each element of a vector with each of another.

    >>> xp.linalg.outer(xp.asarray([1, 2]), xp.asarray([3, 4]))
    tensor([[3, 4],
            [6, 8]])

pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor
    = al.linalg.pinv(x, rtol=rtol)
    The pseudo-inverse; singular values below rtol times the greatest are taken for zero.

    >>> xp.linalg.pinv(xp.asarray([[2.0]]))
    tensor([[0.5000]])

qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> qr_result
    = qr_result(*al.linalg.qr(x, mode))
    Orthonormal columns and an upper triangle whose product are the matrices.

    >>> xp.linalg.qr(xp.ones((3, 2)), mode="complete").Q.shape
    (3, 3)

slogdet(x: Tensor, /) -> slogdet_result
    = slogdet_result(*al.linalg.slogdet(x))
    The sign of the determinant and the logarithm of its magnitude.

    >>> xp.linalg.slogdet(xp.asarray([[-1.0]])).sign
    tensor(-1.)

solve(x1: Tensor, x2: Tensor, /) -> Tensor
    = solve(x1, x2)
    The x with x1 @ x = x2. Only an x2 of one dimension is a vector.

    >>> xp.linalg.solve(xp.asarray([[2.0]]), xp.asarray([4.0]))
    tensor([2.])

svd(x: Tensor, /, *, full_matrices: bool = True) -> svd_result
    = svd_result(*al.linalg.svd(x, full_matrices))
    The singular values, in descending order, with the unitary matrices before and after them.

    >>> xp.linalg.svd(xp.asarray([[3.0, 4.0]])).S
    tensor([5.])

svdvals(x: Tensor, /) -> Tensor
    = al.linalg.svdvals(x)
    The singular values, in descending order.

    >>> xp.linalg.svdvals(xp.asarray([[3.0, 4.0]]))
    tensor([5.])

trace(x: Tensor, /, *, offset: int = 0, dtype: dtype | None = None) -> Tensor
    = al.sum(al.linalg.diagonal(x, offset=offset), -1, dtype=dtype)
    The sum along a diagonal of matrices.

    >>> xp.linalg.trace(xp.asarray([[1, 2], [3, 4]]))
    tensor(5)

vector_norm(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, ord: int | float = 2) -> Tensor
    = al.linalg.vector_norm(x, ord, axis, keepdims)
    The norm of vectors along axes, or of everything.

    >>> xp.linalg.vector_norm(xp.asarray([3.0, 4.0]))
    tensor(5.)
""" + ROWS
