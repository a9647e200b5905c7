"""The model: NumPy arrays over bytes whose places are known, and who chooses at random."""

import random

import numpy as np

from .library import BFLOAT16


class Chooser:
    """Choices by a seed, for tables of cases."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def integer(self, low, high):
        return self.random.randint(low, high)

    def one_of(self, items):
        return self.random.choice(list(items))

    def shuffled(self, items):
        items = list(items)
        return self.random.sample(items, len(items))

    def is_chosen(self):
        return self.random.random() < 0.5


class DrawnChooser:
    """The same choices by hypothesis, which shrinks them."""

    def __init__(self, data):
        from hypothesis import strategies

        self.draw, self.strategies = data.draw, strategies

    def integer(self, low, high):
        return self.draw(self.strategies.integers(low, high))

    def one_of(self, items):
        return self.draw(self.strategies.sampled_from(list(items)))

    def shuffled(self, items):
        return list(self.draw(self.strategies.permutations(list(items))))

    def is_chosen(self):
        return self.draw(self.strategies.booleans())


def kind_of(dtype):
    """b, i, u, f or c."""
    return "f" if dtype == BFLOAT16 else np.dtype(dtype).kind


def with_memory(array):
    """The bytes of a new contiguous array of the same elements, and that array over them."""
    memory = np.zeros(max(array.nbytes, 1), np.uint8)
    copy = np.ndarray(array.shape, array.dtype, memory)
    copy[...] = array
    return copy, memory


def offset_in(memory, array):
    """The place of an array's first element, in bytes."""
    if array.size == 0:
        return 0
    return array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]


def over(memory, array, shape, strides, offset=0, dtype=None):
    """Another array over the memory of one, `offset` bytes behind its first element."""
    start = 0 if 0 in shape else offset_in(memory, array) + offset
    return np.ndarray(tuple(shape), dtype or array.dtype, memory, start, tuple(strides))


def is_overlapping(array):
    """Whether two elements of an array are one place."""
    places = np.zeros((1,), np.int64)
    for size, stride in zip(array.shape, array.strides):
        places = (places[:, None] + np.arange(size) * stride).ravel()
    return len(np.unique(places)) < places.size


def is_repeated(array):
    """Whether a dimension repeats its elements, as of `expand`."""
    return array.size > 0 and any(n > 1 and s == 0 for n, s in zip(array.shape, array.strides))


def broadcasts(shape, target):
    """Whether a shape broadcasts to another without changing it."""
    return len(shape) <= len(target) and all(
        a in (1, b) for a, b in zip(reversed(shape), reversed(target))
    )
