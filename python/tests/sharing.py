"""Arrays of every dtype in every layout, and whether a tensor shares their memory."""

import numpy as np
import pytest
from reference import DTYPES, named

import allotrope as al

# NumPy's own dtypes; its DLPack has no names for the others.
BY_DLPACK = [d for d in DTYPES if d.numpy_dtype.isbuiltin == 1]

# Before that, NumPy's DLPack has neither copies nor capsules that say read-only.
needs_dlpack_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="DLPack 1.0 came with NumPy 2.1"
)

LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "negative step": lambda a: a[::-1, ::-2],
    "sliced": lambda a: a[1:, 1::2],
    "column": lambda a: a[:, 1],
    "0-d": lambda a: a[1, 2, ...],
    "empty": lambda a: a[:, 3:3],
    "broadcast": lambda a: np.broadcast_to(a[0], (5, 4)),
    "new axis": lambda a: a[:, None, ::2],
}


def sample(dtype, layout="contiguous"):
    """Small whole numbers of a dtype in a layout."""
    return LAYOUTS[layout]((np.arange(12) % 7).reshape(3, 4).astype(dtype.numpy_dtype))


def address(array):
    array = array.numpy() if isinstance(array, al.Tensor) else array
    return array.__array_interface__["data"][0]


def same(tensor, array):
    """Whether a tensor has the dtype, shape and bits of an array."""
    return (
        tensor.dtype.numpy_dtype == array.dtype
        and tensor.shape == array.shape
        and np.ascontiguousarray(tensor.numpy()).tobytes() == np.ascontiguousarray(array).tobytes()
    )


def is_shared(tensor, array):
    """Whether a tensor sees the elements of an array in their own place."""
    strides = [s * tensor.dtype.itemsize for s in tensor.stride()]
    moves = [n > 1 for n in array.shape]
    return address(tensor) == address(array) and all(
        a == b for a, b, is_moving in zip(strides, array.strides, moves) if is_moving
    )


every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)
