"""Names of torch's and NumPy's that are compositions of others, as functions and as methods."""

from __future__ import annotations

import math
import reprlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from . import linalg
from ._core import (
    Tensor, _copied_views, arange, as_tensor, bincount, cat, empty, from_numpy, get_dtype, int32, int64, ldexp,
    linspace, randn, result_type, searchsorted, stack, uint8, where,
)
from ._examples import as_copy
from ._operand import operand

if TYPE_CHECKING:
    _Sizes = tuple[int, ...]
else:
    from ._core import _Sizes


def _sequence(op: str, given: Any) -> Any:
    """A sequence that has an end."""
    if not isinstance(given, (tuple, list, range)) or len(given) > 10_000:
        what = reprlib.repr(given) if not isinstance(given, range) else "a long range"
        raise TypeError(f"{op}: not a short list: {what}; lists and tuples are accepted")
    return given


class Size(_Sizes):
    """Sizes of dimensions, as torch's: a tuple that says how many elements there are. Slices of it, and
    it and another tuple put together, are sizes too.

    >>> al.Size([2, 3]).numel(), al.zeros(2, 3, 4).shape[1:].numel()
    (6, 12)
    """

    __slots__ = ()
    __module__ = "allotrope"

    def __new__(cls, sizes: Any = ()) -> Size:
        return super().__new__(cls, _sequence("Size", sizes))

    def numel(self) -> int:
        """The number of elements: the product of the sizes.

        >>> al.Size([2, 3]).numel()
        6
        """
        return math.prod(self)


def array(object: Any, dtype: Any = None, *, copy: bool | None = True, device: Any = None) -> Tensor:
    """A tensor of numbers, lists or arrays, as NumPy's `array`.

    >>> al.array([1, 2.5])
    tensor([1.0000, 2.5000])
    """
    if copy and isinstance(object, Tensor):
        return as_tensor(object, dtype=dtype, device=device).clone()
    return as_tensor(object, dtype=dtype, device=device, copy=copy)


def copy(self: Tensor) -> Tensor:
    """A copy with memory of its own and the same history, as `clone`.

    >>> x = al.zeros(2)
    >>> y = x.copy()
    >>> y += 1
    >>> x
    tensor([0., 0.])
    """
    return self.clone()


def tobytes(self: Tensor) -> bytes:
    """The bytes of the elements in row-major order.

    >>> al.tensor([1, 256], dtype=al.int16).tobytes()
    b'\\x01\\x00\\x00\\x01'
    """
    if not self.numel():
        return b""
    flat = self.detach().cpu().contiguous().reshape(-1)
    return bytes(memoryview(flat.view(uint8)))


def frombuffer(
    buffer: Any, *, dtype: Any, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A vector of the elements that lie in a buffer, from a byte on: so many, or all. It shares their
    memory, and writes to memory that cannot be written to copy it first.

    >>> al.frombuffer(bytearray(b"\\x01\\x00\\x02\\x00"), dtype=al.int16)
    tensor([1, 2], dtype=int16)
    """
    import numpy

    kind = get_dtype(dtype)
    size, given = kind.itemsize, memoryview(buffer).nbytes
    if not 0 <= offset < max(given, 1):
        raise ValueError(f"frombuffer: offset out of range: {offset}; the buffer has {given} bytes")
    left = given - offset
    if count < 0 and left % size:
        raise ValueError(f"frombuffer: {left} bytes are no whole elements of {kind}; multiples of {size} are accepted")
    length = left // size if count < 0 else count
    if length < 1 or length * size > left:
        raise ValueError(f"frombuffer: {length} elements of {kind}; the buffer has bytes for {left // size}")
    array = numpy.frombuffer(buffer, dtype=numpy.uint8, count=length * size, offset=offset)
    made = from_numpy(array)
    made = made.view(kind) if kind != made.dtype else made
    return made.requires_grad_() if requires_grad else made


def fill(input: Tensor, value: Any) -> Tensor:
    """A tensor of the same shape and dtype, all of one value: a number, or a tensor without dimensions.

    >>> al.fill(al.zeros(2, dtype=al.int8), 7)
    tensor([7, 7], dtype=int8)
    """
    return operand(input).clone().fill_(value)


def resize_as_(self: Tensor, the_template: Tensor) -> Tensor:
    """This object with the sizes of another tensor: the elements that it had come first, the others are
    zero.

    >>> al.arange(2).resize_as_(al.zeros(1, 3))
    tensor([[0, 1, 0]])
    """
    return resize_(self, tuple(the_template.shape))


def typename(obj: Any) -> str:
    """The name of an object's class with its module, or that of a tensor's dtype.

    >>> al.typename(al.ones(1)), al.typename(al.nn.Linear(1, 1))
    ('float32', 'allotrope.nn.linear.Linear')
    """
    if isinstance(obj, Tensor):
        return str(obj.dtype.name)
    kind = obj if isinstance(obj, type) else type(obj)
    return f"{kind.__module__}.{kind.__qualname__}" if kind.__module__ != "builtins" else kind.__qualname__


def _strides(self: Tensor) -> tuple[int, ...]:
    """The distances of neighbours along each dimension in bytes, as NumPy's; `stride()` counts elements.

    >>> al.zeros(2, 3).strides
    (12, 4)
    """
    return tuple(step * self.itemsize for step in self.stride())


def _met(*given: Any) -> list[Tensor]:
    """The operands in the dtype in which they meet."""
    tensors = [operand(each) for each in given]
    common = result_type(*tensors)
    return [tensor.to(common) for tensor in tensors]


# Views that torch has as copies too.
_COPIED, _COPYING_METHODS = _copied_views()


def _copying(name: str, is_method: bool) -> Callable[..., Any]:
    view = getattr(Tensor, name)

    def copying(input: Any, *args: Any, **options: Any) -> Any:
        found = view(operand(input), *args, **options)
        return found.clone() if isinstance(found, Tensor) else tuple(part.clone() for part in found)

    copying.__name__ = copying.__qualname__ = name + "_copy"
    copying.__doc__ = as_copy(view.__doc__, name, is_method)
    # Its signature is that of the method.
    copying.__wrapped__ = view  # type: ignore[attr-defined]
    return copying


def alias_copy(input: Tensor) -> Tensor:
    """A copy.

    >>> al.alias_copy(al.ones(2))
    tensor([1., 1.])
    """
    return operand(input).clone()


def slice_copy(input: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Tensor:
    """A copy of a range of one dimension.

    >>> al.slice_copy(al.arange(5), 0, 1, 4, 2)
    tensor([1, 3])
    """
    x = operand(input)
    index = [slice(None)] * x.ndim
    index[dim] = slice(start, end, step)
    return x[tuple(index)].clone()


def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None
) -> Tensor:
    """A copy in which the elements that `as_strided` sees are those of `src`.

    >>> al.as_strided_scatter(al.zeros(4), al.ones(2), (2,), (2,), 1)
    tensor([0., 1., 0., 1.])
    """
    copied = operand(input).clone()
    copied.as_strided(size, stride, storage_offset or 0).copy_(src)
    return copied


def empty_strided(
    size: Sequence[int], stride: Sequence[int], *, dtype: Any = None, device: Any = None, requires_grad: bool = False,
) -> Tensor:
    """A tensor with the given strides, in elements, and values that nobody knows.

    >>> al.empty_strided((2, 3), (1, 2)).stride()
    (1, 2)
    """
    if len(size) != len(stride):
        raise ValueError(f"empty_strided: {len(size)} sizes and {len(stride)} strides; a stride per size is accepted")
    if any(step < 0 for step in stride):
        raise ValueError(f"empty_strided: negative strides: {list(stride)}")
    length = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride))
    made = empty(length, dtype=dtype, device=device).as_strided(size, stride)
    return made.requires_grad_(requires_grad)


def resize_(self: Tensor, *sizes: Any) -> Tensor:
    """This object with other sizes: the elements that it had come first, the others are zero.

    >>> al.arange(3).resize_(2, 2)
    tensor([[0, 1],
            [2, 0]])
    """
    wanted = tuple(_sequence("resize_", sizes[0])) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if self.requires_grad:
        raise RuntimeError("resize_: a tensor that needs a gradient (hint: x.detach())")
    if any(size < 0 for size in wanted):
        raise ValueError(f"resize_: negative sizes: {list(wanted)}")
    count = math.prod(wanted)
    flat = self.reshape(-1)
    if count > flat.numel():
        grown = self.new_zeros(count)
        grown[: flat.numel()] = flat
        flat = grown
    self.data = flat[:count].reshape(wanted).clone()
    return self


_Frexp = NamedTuple("frexp", [("mantissa", Tensor), ("exponent", Tensor)])  # type: ignore[name-match]


def frexp(input: Tensor) -> tuple[Tensor, Tensor]:
    """Numbers as mantissas between one half and one times powers of two.

    >>> al.frexp(al.tensor([8.0, -0.375]))
    frexp(mantissa=tensor([ 0.5000, -0.7500]), exponent=tensor([ 4, -1], dtype=int32))
    """
    x = operand(input)
    if not x.is_floating_point():
        raise TypeError(f"frexp: a tensor of {x.dtype.name}; floats are accepted")
    is_plain = x.isfinite() & (x != 0)
    wide = x.detach().double()
    # Small numbers become greater ones first, so that none is subnormal.
    is_small = wide.abs() < 2.0**-1000
    scaled = where(is_plain, where(is_small, wide.abs() * 2.0**54, wide.abs()), 1.0)
    exponent = scaled.log2().floor().int() + 1
    # The logarithm of a number just below a power of two rounds to that power.
    part = ldexp(scaled, -exponent)
    exponent = exponent + (part >= 1).int() - (part < 0.5).int()
    exponent = exponent - 54 * is_small.int()
    exponent = where(is_plain, exponent, 0)
    first = exponent // 2
    mantissa = where(is_plain, ldexp(ldexp(x.to(wide.dtype), -first), first - exponent), x.to(wide.dtype))
    return _Frexp(mantissa.to(x.dtype), exponent.to(int32))


def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> tuple[Tensor, Tensor, Tensor]:
    """The singular value decomposition U diag(S) Vᴴ, with V where `linalg.svd` has its adjoint.

    >>> u, s, v = al.svd(al.eye(2))
    >>> s
    tensor([1., 1.])
    """
    x = operand(input)
    if not compute_uv:
        s = linalg.svdvals(x)
        rows, columns = x.shape[-2:]
        return x.new_zeros(*x.shape[:-1], rows), s, x.new_zeros(*x.shape[:-2], columns, columns)
    u, s, vh = linalg.svd(x, full_matrices=not some)
    return u, s, vh.mH


def lu(A: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """The LU factors of matrices in one, and the pivots.

    >>> al.lu(al.tensor([[1.0, 2.0], [3.0, 4.0]]))[1]
    tensor([2, 2], dtype=int32)
    """
    if get_infos:
        return tuple(linalg.lu_factor_ex(A, pivot=pivot))
    return tuple(linalg.lu_factor(A, pivot=pivot))


def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The solution of A X = B by the factors that `lu` gives.

    >>> factors = al.lu(al.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> al.lu_solve(al.ones(2, 1), *factors)
    tensor([[0.5000],
            [0.2500]])
    """
    return linalg.lu_solve(LU_data, LU_pivots, b)


def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Tensor, Tensor]:
    """The solution of A X = B with a triangle A, and the matrix, in the dtype in which both meet.

    >>> al.triangular_solve(al.ones(2, 1), al.tensor([[2.0, 0.0], [0.0, 4.0]]))[0]
    tensor([[0.5000],
            [0.2500]])
    """
    matrix, right = _met(A, b)
    turned = matrix.mT if transpose else matrix
    solution = linalg.solve_triangular(turned, right, upper=upper != transpose, unitriangular=unitriangular)
    return solution, matrix


def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """The QR decomposition as LAPACK has it: R with the reflectors below, and their factors.

    >>> a, tau = al.geqrf(al.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> q = al.linalg.householder_product(a, tau)
    >>> al.allclose(q @ a.triu(), al.tensor([[3.0, 1.0], [4.0, 2.0]]), atol=1e-6)
    True
    """
    a = operand(input).detach().clone()
    rows, columns = a.shape[-2:]
    factors = []
    for k in range(min(rows, columns)):
        column = a[..., k:, k].clone()
        first, rest = column[..., 0], column[..., 1:]
        tail = linalg.vector_norm(rest, dim=-1)
        norm = linalg.vector_norm(column, dim=-1)
        real = first.real if a.is_complex() else first
        # A column that is zero below its real diagonal is left as it is.
        is_done = (tail == 0) & ((first.imag == 0) if a.is_complex() else (tail == tail))
        beta = where(real > 0, -norm, norm)
        safe = where(is_done, 1, beta)
        tau = where(is_done, 0, (safe - first) / safe)
        scale = where(is_done, 1, first - safe)
        v = where(is_done.unsqueeze(-1), 0, rest / scale.unsqueeze(-1))
        whole = _one_before(v)
        trailing = a[..., k:, k:].clone()
        update = tau.conj().unsqueeze(-1).unsqueeze(-1) * whole.unsqueeze(-1) @ (whole.conj().unsqueeze(-2) @ trailing)
        a[..., k:, k:] = trailing - update
        a[..., k, k] = where(is_done, first, beta.to(a.dtype))
        a[..., k + 1 :, k] = v
        factors.append(tau)
    if not factors:
        return a, a.new_zeros(*a.shape[:-2], 0)
    return a, stack(factors, -1)


def _one_before(v: Tensor) -> Tensor:
    """A one before the elements of vectors."""
    return cat([v.new_ones(*v.shape[:-1], 1), v], -1)


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """The product of a matrix with the orthogonal matrix Q of reflectors, which is never formed smaller than whole.

    >>> a, tau = al.geqrf(al.eye(2))
    >>> al.ormqr(a, tau, al.ones(2, 1)).abs()
    tensor([[1.],
            [1.]])
    """
    a, tau, c = _met(input, tau, other)
    rows = a.shape[-2]
    square = a.new_zeros(*a.shape[:-1], rows)
    shared = min(rows, a.shape[-1])
    square[..., :shared] = a[..., :shared]
    q = linalg.householder_product(square, tau)
    q = q.mH if transpose else q
    return q @ c if left else c @ q


def svd_lowrank(A: Tensor, q: int = 6, niter: int = 2, M: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """The greatest `q` singular values and their vectors, by products with random vectors.

    >>> al.manual_seed(0)
    <allotrope.Generator ...>
    >>> u, s, v = al.svd_lowrank(al.diag(al.tensor([3.0, 2.0, 1.0])), q=3)
    >>> al.allclose(s, al.tensor([3.0, 2.0, 1.0]), atol=1e-5)
    True
    """
    x = operand(A) if M is None else operand(A) - M
    rows, columns = x.shape[-2:]
    q = min(q, rows, columns)
    if not 0 <= niter <= 1000:
        raise ValueError(f"svd_lowrank: niter out of range: {niter}; 0 to 1000 are accepted")
    if rows < columns:
        v, s, u = svd_lowrank(x.mH, q, niter)
        return u, s, v
    basis = linalg.qr(x @ randn(*x.shape[:-2], columns, q, dtype=x.dtype, device=x.device))[0]
    for _ in range(niter):
        basis = linalg.qr(x @ linalg.qr(x.mH @ basis)[0])[0]
    u, s, vh = linalg.svd(basis.mH @ x, full_matrices=False)
    return basis @ u, s, vh.mH


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The first principal components of rows of samples.

    >>> al.pca_lowrank(al.tensor([[1.0, 0.0], [3.0, 0.0]]), q=1)[2].abs()
    tensor([[1.],
            [0.]])
    """
    x = operand(A)
    rows, columns = x.shape[-2:]
    q = min(6, rows, columns) if q is None else q
    if not 0 <= q <= min(rows, columns):
        raise ValueError(f"pca_lowrank: q out of range: {q}; 0 to {min(rows, columns)} are accepted")
    return svd_lowrank(x - x.mean(-2, keepdim=True) if center else x, q, niter)


def lobpcg(
    A: Tensor, k: int = 1, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None,
    iK: Tensor | None = None, niter: int | None = None, tol: float | None = None, largest: bool = True,
    method: str | None = None, tracker: Any = None,
) -> tuple[Tensor, Tensor]:
    """The greatest or least eigenvalues of a symmetric matrix, or of a pair of them, and their vectors.

    The matrices are dense here, so that they are found by the whole decomposition; what guides an
    iteration (`X`, `n`, `iK`, `niter`, `tol`, `method`, `tracker`) has nothing to guide.

    >>> al.lobpcg(al.diag(al.tensor([1.0, 3.0, 2.0])), 2)[0]
    tensor([3., 2.])
    """
    x = operand(A)
    if X is not None and k == 1:
        k = X.shape[-1]
    if not 0 < k <= x.shape[-1]:
        raise ValueError(f"lobpcg: k out of range: {k}; 1 to {x.shape[-1]} are accepted")
    if B is None:
        values, vectors = linalg.eigh(x)
    else:
        factor = linalg.cholesky(operand(B))
        inner = linalg.solve_triangular(factor, x, upper=False)
        inner = linalg.solve_triangular(factor.mH, inner, upper=True, left=False)
        values, vectors = linalg.eigh((inner + inner.mH) / 2)
        vectors = linalg.solve_triangular(factor.mH, vectors, upper=True)
    if largest:
        return values[..., -k:].flip(-1), vectors[..., -k:].flip(-1)
    return values[..., :k], vectors[..., :k]


class _Histogramdd(NamedTuple):
    """The counts of boxes, and the edges of the boxes along each dimension."""

    hist: Tensor
    bin_edges: tuple[Tensor, ...]


_Histogramdd.__name__ = _Histogramdd.__qualname__ = "histogramdd"


def histogramdd(
    input: Tensor, bins: Any, *, range: Sequence[float] | None = None, weight: Tensor | None = None,
    density: bool = False,
) -> _Histogramdd:
    """How many points, the rows of a matrix, fall into each box of a grid, and the edges of the boxes.

    >>> al.histogramdd(al.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), [2, 2]).hist
    tensor([[0., 1.],
            [1., 1.]])
    """
    x, *weights_given = _met(input) if weight is None else _met(input, weight)
    x = x.reshape(-1, x.shape[-1])
    points, dims = x.shape
    counts = [bins] * dims if isinstance(bins, int) else list(_sequence("histogramdd", bins))
    if len(counts) != dims:
        raise ValueError(f"histogramdd: bins for {len(counts)} dimensions: {dims} are given")
    edges = []
    for i, given in enumerate(counts):
        if isinstance(given, Tensor):
            edges.append(given.to(x.dtype))
            continue
        if range is not None:
            low, high = float(range[2 * i]), float(range[2 * i + 1])
        else:
            low, high = (x[:, i].min().item(), x[:, i].max().item()) if points else (0.0, 0.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
        edges.append(linspace(low, high, given + 1, dtype=x.dtype, device=x.device))
    shape = [len(edge) - 1 for edge in edges]
    place = x.new_zeros(points, dtype=int64)
    inside = x.new_ones(points, dtype=int64) != 0
    for i, edge in enumerate(edges):
        column = x[:, i].contiguous()
        index = searchsorted(edge, column, right=True) - 1
        # The last bin has both its edges.
        index = where(column == edge[-1], len(edge) - 2, index)
        inside = inside & (index >= 0) & (index < len(edge) - 1)
        place = place * shape[i] + index.clamp(0, max(shape[i] - 1, 0))
    kept = place[inside]
    weights = (weights_given[0].reshape(-1) if weights_given else x.new_ones(points))[inside]
    hist = bincount(kept, weights, minlength=math.prod(shape)).to(x.dtype).reshape(shape)
    if density:
        hist = hist / hist.sum()
        for i, edge in enumerate(edges):
            hist = hist / edge.diff().reshape([-1 if j == i else 1 for j in arange(dims).tolist()])
    return _Histogramdd(hist, tuple(edges))


_FUNCTIONS = (
    alias_copy, array, as_strided_scatter, empty_strided, fill, frexp, frombuffer, geqrf, histogramdd, lobpcg,
    lu, lu_solve, ormqr, pca_lowrank, slice_copy, svd, svd_lowrank, triangular_solve, typename,
)
_METHODS = (as_strided_scatter, copy, frexp, geqrf, lu_solve, ormqr, resize_, resize_as_, svd, tobytes, triangular_solve)


def functions() -> dict[str, Any]:
    """What the package exports."""
    found: dict[str, Any] = {function.__name__: function for function in _FUNCTIONS}
    found.update({name + "_copy": _copying(name, False) for name in _COPIED})
    found["Size"] = Size
    return found


def add_methods() -> None:
    """What tensors have."""
    for method in _METHODS:
        setattr(Tensor, method.__name__, method)
    for name in _COPYING_METHODS:
        setattr(Tensor, name + "_copy", _copying(name, True))
    setattr(Tensor, "strides", property(_strides, doc=_strides.__doc__))
