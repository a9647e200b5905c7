"""Indexing and shapes: rows."""

ROWS = """
take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor
    = take(x, indices, axis)
    The elements at indices along an axis, which only an array of one dimension can do without.

    >>> xp.take(xp.asarray([[1, 2], [3, 4]]), xp.asarray([1, 1]), axis=0)
    tensor([[3, 4],
            [3, 4]])

take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor
    The elements along an axis at an index for each.

    >>> xp.take_along_axis(xp.asarray([[1, 2], [3, 4]]), xp.asarray([[1], [0]]))
    tensor([[2],
            [3]])

broadcast_arrays(*arrays: Tensor) -> list[Tensor]
    = list(al.broadcast_tensors(*arrays)) if arrays else []
    Arrays of their common shape, without a copy.

    >>> [x.shape for x in xp.broadcast_arrays(xp.ones((3, 1)), xp.ones((2,)))]
    [(3, 2), (3, 2)]

broadcast_shapes(*shapes: tuple[int, ...]) -> tuple[int, ...]
    = tuple(al.broadcast_shapes(*shapes))
    The shape that arrays of these shapes have together.

    >>> xp.broadcast_shapes((3, 1), (2,))
    (3, 2)

broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor
    Repeated along dimensions of size one and new leading ones, without a copy.

    >>> xp.broadcast_to(xp.asarray([1, 2]), (2, 2))
    tensor([[1, 2],
            [1, 2]])

concat(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int | None = 0) -> Tensor
    = al.cat(arrays, axis) if axis is not None else al.cat([al.flatten(x) for x in arrays])
    Arrays side by side along an axis, or flattened and one after the other.

    >>> xp.concat([xp.ones((2, 1)), xp.zeros((1, 1))], axis=None)
    tensor([1., 1., 0.])

expand_dims(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor
    With new dimensions of size one at these places of the result.

    >>> xp.expand_dims(xp.ones((2, 3)), 1).shape
    (2, 1, 3)

flip(x: Tensor, /, *, axis: int | tuple[int, ...] | None = None) -> Tensor
    = al.flip(x, tuple(range(x.ndim)) if axis is None else axis)
    The elements in reverse along these axes, or all of them.

    >>> xp.flip(xp.asarray([1, 2, 3]))
    tensor([3, 2, 1])

moveaxis(x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /) -> Tensor
    The axes at source moved to destination.

    >>> xp.moveaxis(xp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)

permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor
    = al.permute(x, axes)
    The axes in another order.

    >>> xp.permute_dims(xp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)

repeat(x: Tensor, repeats: int | Tensor, /, *, axis: int | None = None) -> Tensor
    = al.repeat_interleave(x, repeats, axis)
    Each element so many times, along an axis or in the flattened array.

    >>> xp.repeat(xp.asarray([1, 2]), xp.asarray([1, 3]))
    tensor([1, 2, 2, 2])

reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor
    = reshape(x, shape, copy)
    The same elements in the same order in another shape; one size may be -1.

    >>> xp.reshape(xp.arange(6), (2, -1))
    tensor([[0, 1, 2],
            [3, 4, 5]])

roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: int | tuple[int, ...] | None = None) -> Tensor
    = al.roll(x, shift, axis)
    The elements moved along axes, those that leave at one end entering at the other.

    >>> xp.roll(xp.asarray([1, 2, 3]), 1)
    tensor([3, 1, 2])

squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor
    = squeeze(x, axis)
    Without these axes, which must have size one.

    >>> xp.squeeze(xp.ones((1, 2, 1)), 0).shape
    (2, 1)

stack(arrays: tuple[Tensor, ...] | list[Tensor], /, *, axis: int = 0) -> Tensor
    Arrays of one shape side by side along a new axis.

    >>> xp.stack([xp.asarray([1, 2]), xp.asarray([3, 4])], axis=1)
    tensor([[1, 3],
            [2, 4]])

tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor
    The array so many times along its last axes.

    >>> xp.tile(xp.asarray([1, 2]), (2,))
    tensor([1, 2, 1, 2])

unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]
    = tuple(al.unbind(x, axis))
    The parts of an array along an axis.

    >>> xp.unstack(xp.asarray([[1, 2], [3, 4]]))
    (tensor([1, 2]), tensor([3, 4]))
"""
