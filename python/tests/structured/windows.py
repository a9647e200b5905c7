"""Windows over grids in plain NumPy: what pooling and convolution are compared with."""

import itertools

import numpy as np


def each(value, rank):
    """A number per dimension."""
    return (value,) * rank if isinstance(value, int) else tuple(value)


def pooled_size(size, kernel, stride, padding, dilation, ceil_mode):
    """The number of windows; with ceil_mode also those that only begin within the grid."""
    reach = dilation * (kernel - 1) + 1
    available = size + 2 * padding - reach
    count = available // stride + 1
    if ceil_mode and available % stride and count * stride < size + padding:
        count += 1
    return count


def sliding(shape, kernel, stride, padding=0, dilation=1, ceil_mode=False):
    """The number of windows per dimension, and for each dimension the places of every window."""
    rank = len(shape)
    parts = [each(p, rank) for p in (kernel, stride, padding, dilation)]
    sizes, places = [], []
    for size, k, s, p, d in zip(shape, *parts):
        count = pooled_size(size, k, s, p, d, ceil_mode)
        sizes.append(count)
        places.append([[o * s - p + t * d for t in range(k)] for o in range(count)])
    return sizes, places


def adaptive(shape, output):
    """The same for windows that share the grid out."""
    places = [
        [list(range(o * n // m, -(-((o + 1) * n) // m))) for o in range(m)]
        for n, m in zip(shape, output)
    ]
    return list(output), places


def for_each_window(x, rank, windows):
    """Every window of every plane: its index in the result, its elements that lie within the grid
    in order, and their places in the plane."""
    sizes, places = windows
    grid = x.shape[-rank:]
    planes = x.reshape(-1, *grid)
    for plane in range(len(planes)):
        for at in np.ndindex(*sizes):
            inside = [
                [p for p in places[axis][o] if 0 <= p < grid[axis]] for axis, o in enumerate(at)
            ]
            coordinates = list(itertools.product(*inside))
            values = [planes[(plane, *c)] for c in coordinates]
            flat = [int(np.ravel_multi_index(c, grid)) for c in coordinates]
            yield (plane, *at), values, flat


def mean(values, count):
    """The sum by a count; NumPy divides complex numbers by complex ones, with an error."""
    total = sum(values)
    if isinstance(total, complex):
        return complex(total.real / count, total.imag / count)
    return total / count
