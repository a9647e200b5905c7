"""Searching, sorting, sets, statistics, all and any: rows."""

ROWS = """
argmax argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor
    The place of that element along an axis, or in the flattened array; that of the first NaN.

    >>> xp.{name}(xp.asarray([[2, 2], [2, 2]]), axis=1)
    tensor([0, 0])

count_nonzero(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor
    How many are not zero, along axes or in everything.

    >>> xp.count_nonzero(xp.asarray([[0, 1], [2, 3]]), axis=0)
    tensor([1, 2])

nonzero(x: Tensor, /) -> tuple[Tensor, ...]
    = nonzero(x)
    The indices of the elements that are not zero, an array for each dimension.

    >>> xp.nonzero(xp.asarray([0, 7, 8]))
    (tensor([1, 2]),)

searchsorted(x1: Tensor, x2: Operand, /, *, side: Literal["left", "right"] = "left", sorter: Tensor | None = None) -> Tensor
    The places where values enter a sorted array.

    >>> xp.searchsorted(xp.asarray([1, 3, 5]), xp.asarray([3, 4]), side="right")
    tensor([2, 2])

isin(x1: Operand, x2: Operand, /, *, invert: bool = False) -> Tensor
    Whether each element of x1 is in x2, or with invert=True whether it is not.

    >>> xp.isin(xp.asarray([1, 2, 3]), xp.asarray([3, 1]))
    tensor([ True, False,  True])

unique_all(x: Tensor, /) -> unique_all_result
    = unique_all(x)
    The distinct elements in order, the place where each is first, the place of each element among
    them, and how often each occurs. Every NaN is distinct.

    >>> xp.unique_all(xp.asarray([5, 3, 5])).indices
    tensor([1, 0])

unique_counts(x: Tensor, /) -> unique_counts_result
    = unique_counts(x)
    The distinct elements in order and how often each occurs.

    >>> xp.unique_counts(xp.asarray([5, 3, 5])).counts
    tensor([1, 2])

unique_inverse(x: Tensor, /) -> unique_inverse_result
    = unique_inverse(x)
    The distinct elements in order and the place of each element among them.

    >>> xp.unique_inverse(xp.asarray([5, 3, 5])).inverse_indices
    tensor([1, 0, 1])

unique_values(x: Tensor, /) -> Tensor
    = al.unique(x)
    The distinct elements in order.

    >>> xp.unique_values(xp.asarray([5, 3, 5]))
    tensor([3, 5])

argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor
    The places of the elements in order along an axis.

    >>> xp.argsort(xp.asarray([3, 1, 2]))
    tensor([1, 2, 0])

sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor
    = al.sort(x, axis, descending, stable=stable).values
    The elements in order along an axis. NaN is the greatest.

    >>> xp.sort(xp.asarray([3, 1, 2]), descending=True)
    tensor([3, 2, 1])

cumulative_sum cumulative_prod(x: Tensor, /, *, axis: int | None = None, dtype: dtype | None = None, include_initial: bool = False) -> Tensor
    That of the elements up to each one along an axis, which only an array of one dimension can do
    without; with include_initial that of no element first.

    >>> xp.{name}(xp.asarray([1, 0, 0])).shape
    (3,)

max min(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor
    = al.a{name}(x, axis, keepdims)
    The {name}imum along axes, or of everything; NaN if there is one.

    >>> xp.{name}(xp.asarray([[1, 2], [1, 2]]), axis=0)
    tensor([1, 2])

mean(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor
    The mean along axes, or of everything.

    >>> xp.mean(xp.asarray([1.0, 2.0]))
    tensor(1.5000)

sum prod(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, dtype: dtype | None = None, keepdims: bool = False) -> Tensor
    The {name} along axes, or of everything. Integers accumulate in 64 bits.

    >>> xp.{name}(xp.asarray([1, 2, 3], dtype=xp.int8))
    tensor(6)

std var(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, correction: int | float = 0.0, keepdims: bool = False) -> Tensor
    = spread(al.{name}, x, axis, correction, keepdims)
    The variance along axes, or of everything, or for std its root; correction is taken from the
    count, and NaN is what nothing is left of.

    >>> xp.{name}(xp.asarray([1.0, 3.0]))
    tensor(1.)

all any(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Tensor
    Whether {name} elements are not zero, along axes or in everything.

    >>> xp.{name}(xp.asarray([[1, 1], [0, 0]]), axis=1)
    tensor([ True, False])

diff(x: Tensor, /, *, axis: int = -1, n: int = 1, prepend: Tensor | None = None, append: Tensor | None = None) -> Tensor
    The n-th differences of neighbours along an axis, after prepend and append were put at its ends.

    >>> xp.diff(xp.asarray([1, 4, 9]))
    tensor([3, 5])
"""
