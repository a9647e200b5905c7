"""The library under test: Allotrope, or torch where the suite itself is to be checked.

`ALIASING_LIBRARY=torch` runs the same programs with torch: what fails then is a mistake of a test.
"""

import os

import ml_dtypes
import numpy as np

IS_TORCH = os.environ.get("ALIASING_LIBRARY") == "torch"

if IS_TORCH:
    import torch as lib
else:
    import allotrope as lib

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

# What torch has not: slices that go backwards, operands that overlap the target, arrays that keep
# their values.
HAS_NEGATIVE_STEPS = not IS_TORCH
HAS_OVERLAPPING_OPERANDS = not IS_TORCH
HAS_LASTING_ARRAYS = not IS_TORCH


def numpy_array(values, dtype=None, shape=None):
    array = np.array(values, dtype=dtype, order="C")
    return array if shape is None else array.reshape(shape)


def tensor(values, dtype=None, shape=None):
    """A tensor with memory of its own."""
    array = numpy_array(values, dtype, shape)
    if not IS_TORCH:
        return lib.tensor(array)
    if array.dtype == BFLOAT16:
        return lib.from_numpy(array.view(np.int16)).view(lib.bfloat16)
    return lib.from_numpy(array)


def read(x):
    """The elements of a tensor as an array of its own."""
    x = x.detach()
    if IS_TORCH and x.dtype == lib.bfloat16:
        return x.clone().contiguous().view(lib.int16).numpy().view(BFLOAT16)
    return np.array(x.numpy(), order="C")


def dtype_named(name):
    return getattr(lib, str(name))
