"""Layers and losses in float64 by NumPy, from their textbook formulas; and how near is near enough."""

import numpy as np

import allotrope as al


def wide(x):
    """The values of a tensor in float64."""
    return x.to("float64").numpy()


def samples(dtype, *sizes, seed=0, low=-4.0, high=4.0):
    """A tensor of numbers that the dtype holds: halves and whole ones."""
    random = np.random.default_rng(seed)
    values = random.integers(round(2 * low), round(2 * high) + 1, sizes) / 2
    dtype = al.dtype(dtype) if isinstance(dtype, str) else dtype
    if not dtype.is_floating_point:
        values = np.abs(values) if not dtype.is_signed else values
        values = np.trunc(values)
    return al.tensor(values).to(dtype)


def result_dtype(dtype):
    """The dtype of a float-valued function."""
    return dtype if dtype.is_floating_point else al.float32


def assert_near(got, want, dtype, scale=4.0, floor=None):
    """Within some units in the last place of what is computed in, counted at the number or at the
    floor; and a rounding to the dtype, whose overflow is that of a cast."""
    assert got.dtype == dtype, f"{got.dtype} instead of {dtype}"
    info = al.finfo(dtype)
    values, want = wide(got), np.asarray(want, dtype=np.float64)
    assert values.shape == want.shape
    rounded = wide(al.tensor(want).to(dtype))
    least = info.tiny if floor is None else floor
    if dtype.bits <= 16:
        step = np.maximum(np.abs(want) * info.eps, info.smallest_subnormal) / 2
        unit = 2.0**-23
    else:
        step, unit = info.smallest_subnormal, info.eps
    limit = scale * unit * np.maximum(np.abs(want), least) + step
    with np.errstate(invalid="ignore"):
        same = (np.isnan(values) & np.isnan(rounded)) | (values == rounded)
        near = same | (np.isfinite(rounded) & (np.abs(values - want) <= limit))
    assert near.all(), f"{values[~near][:5]} instead of {want[~near][:5]}"


def softmax(x, axis):
    with np.errstate(invalid="ignore"):
        shifted = np.exp(x - x.max(axis, keepdims=True))
    return shifted / shifted.sum(axis, keepdims=True)


def log_softmax(x, axis):
    with np.errstate(invalid="ignore"):
        shifted = x - x.max(axis, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def standardized(x, axes, eps):
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(x.var(axes, keepdims=True) + eps)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))
