"""What version 2025.12 answers otherwise than 2024.12: rows."""

ROWS = '''
meshgrid(*arrays: Tensor, indexing: Literal["xy", "ij"] = "xy") -> tuple[Tensor, ...]
    = tuple(al.meshgrid(*arrays, indexing=indexing)) if arrays else ()
    The coordinates of a grid, an array for each given one.

    >>> al.array_api.v2025_12.meshgrid(xp.asarray([1, 2]), xp.asarray([3]))
    (tensor([[1, 2]]), tensor([[3, 3]]))

broadcast_arrays(*arrays: Tensor) -> tuple[Tensor, ...]
    = tuple(al.broadcast_tensors(*arrays)) if arrays else ()
    Arrays of their common shape, without a copy.

    >>> al.array_api.v2025_12.broadcast_arrays(xp.zeros((2,)), xp.ones(()))
    (tensor([0., 0.]), tensor([1., 1.]))
'''
