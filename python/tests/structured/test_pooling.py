"""Pooling against windows in plain NumPy."""

import functools
import math

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, FLOATS, REALS, assert_same, named, numpy_cast
from windows import adaptive, each, for_each_window, mean, sliding

F = al.nn.functional

# kernel, stride, padding, dilation, ceil_mode, grid
CASES = {
    1: [
        (2, 2, 0, 1, False, (9,)),
        (3, 1, 1, 1, False, (40,)),
        (3, 2, 1, 2, True, (33,)),
        (4, 3, 2, 1, True, (14,)),
        (20, 5, 3, 1, True, (77,)),
        (1, 4, 0, 1, False, (5,)),
        (4, 3, 0, 1, True, (2,)),
    ],
    2: [
        (2, 2, 0, 1, False, (6, 7)),
        (3, 2, 1, 1, False, (11, 18)),
        ((3, 2), (1, 3), (1, 0), (2, 1), True, (9, 8)),
        ((1, 5), (2, 2), (0, 2), 1, True, (4, 21)),
        ((3, 2), (3, 2), (0, 1), 1, True, (1, 6)),
    ],
    3: [
        (2, 2, 0, 1, False, (4, 4, 5)),
        ((3, 2, 3), (2, 1, 2), (1, 0, 1), 1, True, (5, 3, 8)),
    ],
}
FLAT = [(rank, case) for rank, cases in CASES.items() for case in cases]


def sort_of(dtype):
    """What small numbers a dtype holds: dtypes of one sort share their samples and references."""
    if dtype.is_complex:
        return "complex"
    return {"bool": "bool", "unsigned integer": "unsigned"}.get(dtype.kind, "signed")


@functools.cache
def numbers(sort, shape):
    """Small numbers with repetitions, exact in every dtype."""
    rng = np.random.default_rng(0)
    low = 0 if sort in ("bool", "unsigned") else -7
    drawn = rng.integers(low, 2 if sort == "bool" else 8, shape)
    if sort == "complex":
        return drawn + 1j * rng.integers(-7, 8, shape)
    return drawn.astype(np.float64)


def sample(dtype, shape):
    return numpy_cast(numbers(sort_of(dtype), shape), dtype)


@functools.cache
def greatest(sort, shape, rank, windows):
    """The greatest of each window, and the place of the first of equals."""
    sizes, places = windows()
    x = numbers(sort, shape)
    planes = math.prod(shape[:-rank])
    want, found = np.zeros((planes, *sizes)), np.zeros((planes, *sizes), np.int64)
    for at, values, flat in for_each_window(x, rank, (sizes, places)):
        best = max(range(len(values)), key=lambda i: values[i])
        want[at], found[at] = values[best], flat[best]
    return want.reshape(*shape[:-rank], *sizes), found.reshape(*shape[:-rank], *sizes)


@functools.cache
def totals(sort, shape, rank, windows):
    """The elements of each window."""
    sizes, places = windows()
    x = numbers(sort, shape)
    return sizes, places, list(for_each_window(x, rank, (sizes, places)))


def average_dtype(dtype):
    inexact = dtype.is_floating_point or dtype.is_complex
    return dtype if inexact else al.float32


@functools.cache
def sliding_windows(case, dilated=True):
    """The windows of a case, made when asked for."""
    kernel, stride, padding, dilation, ceil_mode, grid = case
    return lambda: sliding(grid, kernel, stride, padding, dilation if dilated else 1, ceil_mode)


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("rank, case", FLAT)
def test_max_pool(rank, case, dtype):
    *options, grid = case
    shape = (2, 3, *grid)
    want, places = greatest(sort_of(dtype), shape, rank, sliding_windows(case))
    want = numpy_cast(want, dtype)
    x = al.tensor(sample(dtype, shape))
    pool = getattr(al, f"max_pool{rank}d")
    assert_same(pool(x, *options).numpy(), want)
    values, found = pool(x, *options, return_indices=True)
    assert_same(values.numpy(), want)
    assert_same(found.numpy(), places)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rank, case", FLAT)
def test_avg_pool(rank, case, dtype):
    kernel, stride, padding, _, ceil_mode, grid = case
    if any(p > k // 2 for p, k in zip(each(padding, rank), each(kernel, rank))):
        padding = 0
        case = (kernel, stride, 0, 1, ceil_mode, grid)
    shape = (3, *grid)
    windows = sliding_windows(case, dilated=False)
    sizes, places, elements = totals(sort_of(dtype), shape, rank, windows)
    paddings = each(padding, rank)
    pool = getattr(F, f"avg_pool{rank}d")
    x = al.tensor(sample(dtype, shape))
    for include, divisor in ((True, None), (False, None), (True, 3)):
        if divisor and rank == 1:
            continue
        want = np.zeros((3, *sizes), numbers(sort_of(dtype), shape).dtype)
        for at, values, _ in elements:
            count = len(values)
            if include:
                count = math.prod(
                    sum(p < grid[axis] + paddings[axis] for p in places[axis][o])
                    for axis, o in enumerate(at[1:])
                )
            want[at] = mean(values, divisor or count)
        options = {"divisor_override": divisor} if rank > 1 else {}
        got = pool(x, kernel, stride, padding, ceil_mode, include, **options)
        assert_same(got.numpy(), numpy_cast(want, average_dtype(dtype)))


ADAPTIVE = [
    (1, (10,), (5,)),
    (1, (10,), (4,)),
    (1, (3,), (7,)),
    (1, (50,), (1,)),
    (2, (7, 9), (3, 3)),
    (2, (8, 6), (1, 1)),
    (2, (8, 6), (4, 5)),
    (3, (4, 5, 6), (2, 3, 4)),
    (3, (3, 3, 3), (1, 1, 1)),
]


@functools.cache
def sharing_windows(grid, output):
    return lambda: adaptive(grid, output)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rank, grid, output", ADAPTIVE)
def test_adaptive(rank, grid, output, dtype):
    shape = (2, 2, *grid)
    windows = sharing_windows(grid, output)
    _, _, elements = totals(sort_of(dtype), shape, rank, windows)
    means = np.zeros((4, *output), numbers(sort_of(dtype), shape).dtype)
    for at, values, _ in elements:
        means[at] = mean(values, len(values))
    x = al.tensor(sample(dtype, shape))
    got = getattr(F, f"adaptive_avg_pool{rank}d")(x, output)
    assert_same(got.numpy(), numpy_cast(means, average_dtype(dtype)).reshape(2, 2, *output))
    if dtype.is_complex:
        return
    want, places = greatest(sort_of(dtype), shape, rank, windows)
    want = numpy_cast(want, dtype)
    pool = getattr(F, f"adaptive_max_pool{rank}d")
    assert_same(pool(x, output).numpy(), want)
    values, found = pool(x, output, True)
    assert_same(values.numpy(), want)
    assert_same(found.numpy(), places)


def test_adaptive_keeps_sizes_that_are_none():
    x = al.arange(24).reshape(1, 4, 6)
    assert F.adaptive_max_pool2d(x, (None, 3)).shape == (1, 4, 3)
    assert F.adaptive_avg_pool2d(x, (2, None)).shape == (1, 2, 6)
    assert F.adaptive_avg_pool2d(x, None).shape == (1, 4, 6)


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
@pytest.mark.parametrize("indices", [False, True])
def test_max_pool_nan_and_infinities(dtype, indices):
    info = al.finfo(dtype)
    low = -math.inf if info.has_inf else float(info.min)
    x = al.tensor([[low, low, math.nan, 1.0, 2.0, math.nan, math.nan, -1.0]], dtype)
    got = al.max_pool1d(x, 2, return_indices=indices)
    values, places = got if indices else (got, None)
    values = values.to(al.float64).tolist()[0]
    assert values[0] == low and values[2] != values[2] or not info.has_nan
    assert values[1] != values[1] and values[3] != values[3]
    if indices:
        # The first of equals, the first NaN.
        assert places.tolist() == [[0, 2, 5, 6]]


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
@pytest.mark.parametrize("p", [1, 2, 3, 2.5])
def test_lp_pool(dtype, p):
    x = np.abs(sample(dtype, (2, 7, 9)).astype(np.float64))
    for rank, options in ((1, (3, 2)), (2, ((2, 3), (1, 2)))):
        grid = x.shape[-rank:]
        windows = sliding(grid, *options)
        planes = math.prod(x.shape[:-rank])
        want = np.zeros((planes, *windows[0]))
        for at, values, _ in for_each_window(x, rank, windows):
            want[at] = sum(v**p for v in values) ** (1 / p)
        got = getattr(F, f"lp_pool{rank}d")(al.tensor(x).to(dtype), p, *options)
        assert got.dtype == dtype
        tolerance = max(float(al.finfo(dtype).eps), 1e-6 if dtype.bits < 64 else 1e-12)
        want = want.reshape(got.shape)
        np.testing.assert_allclose(got.to(al.float64).numpy(), want, rtol=tolerance)


def test_lp_pool_of_integers_is_the_default_float():
    x = al.tensor([[3, 4, 6, 8]])
    got = F.lp_pool1d(x, 2, 2)
    assert got.dtype == al.float32 and got.tolist() == [[5.0, 10.0]]
    assert F.lp_pool3d(al.ones(1, 2, 2, 2, dtype="bool"), 1, 2).item() == 8.0


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_unpool(rank, dtype):
    grid = (4, 6, 8)[-rank:]
    x = np.abs(sample(dtype, (2, 3, *grid)).astype(np.int64))
    x = al.tensor(x).to(dtype)
    values, places = getattr(al, f"max_pool{rank}d")(x, 2, return_indices=True)
    got = getattr(F, f"max_unpool{rank}d")(values, places, 2)
    want = np.zeros((6, math.prod(grid)), dtype.numpy_dtype)
    for plane, (v, p) in enumerate(
        zip(values.numpy().reshape(6, -1), places.numpy().reshape(6, -1))
    ):
        want[plane, p] = v
    assert_same(got.numpy(), want.reshape(x.shape))
    larger = tuple(size + 1 for size in grid)
    assert getattr(F, f"max_unpool{rank}d")(values, places, 2, output_size=larger).shape == (
        2,
        3,
        *larger,
    )


LAYOUTS = [
    lambda x: x.transpose(-1, -2),
    lambda x: x[..., ::-1],
    lambda x: x[:, ::2, 1:],
    lambda x: x[:1].expand(4, -1, -1),
    lambda x: x.permute(2, 0, 1),
]


@pytest.mark.parametrize("view", LAYOUTS)
@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.int16, al.bool], ids=named)
def test_layouts(view, dtype):
    x = view(al.tensor(sample(dtype, (4, 12, 10))))
    y = al.tensor(x.numpy().copy())
    for name, options in (
        ("max_pool2d", (3, 2, 1)),
        ("avg_pool2d", (3, 2, 1)),
        ("adaptive_avg_pool2d", (3,)),
        ("lp_pool2d", (2, 2)),
    ):
        pool = getattr(F, name)
        assert_same(pool(x, *options).numpy(), pool(y, *options).numpy())


@pytest.mark.parametrize("dtype", [al.float32, al.float16, al.uint8], ids=named)
def test_large_planes_are_cut_alike(dtype):
    """Long rows and many planes: results come in pieces, with windows that reach across."""
    x = al.tensor(sample(dtype, (2, 150_000)))
    windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), 5, -1)[:, ::3]
    want = windows.astype(np.float64).max(-1)
    got, places = al.max_pool1d(x, 5, 3, return_indices=True)
    assert (got.to(al.float64).numpy() == want).all()
    first = windows.astype(np.float64).argmax(-1) + 3 * np.arange(windows.shape[1])
    assert (places.numpy() == first).all()
    x = al.tensor(sample(dtype, (40, 60, 61)))
    windows = np.lib.stride_tricks.sliding_window_view(x.numpy(), (3, 3), (-2, -1))[:, ::2, ::2]
    want = windows.astype(np.float64)
    assert (al.max_pool2d(x, 3, 2).to(al.float64).numpy() == want.max((-2, -1))).all()
    got = al.nn.functional.avg_pool2d(x, 3, 2)
    assert_same(got.numpy(), numpy_cast(want.sum((-2, -1)) / 9, average_dtype(dtype)))


def test_averages_of_float32_do_not_lose_digits():
    x = al.full((1, 1, 1000, 1001), 0.1)
    x = al.nn.functional.avg_pool2d(x, (1000, 1001)).item()
    assert x == np.float32(0.1)


def test_empty_batches():
    x = al.zeros(0, 3, 8, 8)
    assert al.max_pool2d(x, 2).shape == (0, 3, 4, 4)
    assert F.avg_pool2d(x, 2).shape == (0, 3, 4, 4)
    assert F.adaptive_avg_pool2d(x, 2).shape == (0, 3, 2, 2)
    values, places = al.max_pool2d(x, 2, return_indices=True)
    assert values.shape == places.shape == (0, 3, 4, 4)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: al.max_pool2d(al.zeros(4, 4), 2), "number of dimensions out of range: 2; 3"),
        (lambda: al.max_pool2d(al.zeros(1, 4, 4), 5), "window does not fit: size 5"),
        (lambda: al.max_pool2d(al.zeros(1, 4, 4), 2, 0), "stride out of range at index 0: 0"),
        (lambda: al.max_pool2d(al.zeros(1, 4, 4), 0), "kernel size out of range"),
        (lambda: al.max_pool2d(al.zeros(1, 4, 4), 2, 2, 2), "padding out of range"),
        (lambda: al.max_pool2d(al.zeros(1, 4, 4), (2, 2, 2)), "lengths differ: 3 and 2"),
        (lambda: al.max_pool2d(al.zeros(1, 4, 4), -1), "negative size: -1"),
        (lambda: al.max_pool2d(al.zeros(1, 0, 4), 1), "window does not fit"),
        (lambda: al.max_pool1d(al.zeros(1, 4), 2**62, dilation=2**62), "out of range|not fit"),
        (lambda: F.avg_pool2d(al.zeros(1, 4, 4), 2, divisor_override=0), "divisor_override"),
        (lambda: F.lp_pool1d(al.zeros(1, 4), 0, 2), "norm_type out of range"),
        (lambda: F.adaptive_avg_pool2d(al.zeros(1, 4, 0), 2), "window does not fit"),
        (lambda: F.adaptive_avg_pool1d(al.zeros(1, 4), 2**62), "too many|out of range"),
        (
            lambda: F.max_unpool1d(al.zeros(1, 2), al.zeros(1, 3, dtype="int64"), 2),
            "shapes do not broadcast",
        ),
    ],
)
def test_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_other_errors():
    with pytest.raises(TypeError, match="max_pool1d: wrong dtype: complex64"):
        al.max_pool1d(al.zeros(1, 4, dtype="complex64"), 2)
    with pytest.raises(TypeError, match="max_unpool1d: wrong dtype: float32"):
        F.max_unpool1d(al.zeros(1, 2), al.zeros(1, 2), 2)
    with pytest.raises(IndexError, match="index out of range: 4"):
        F.max_unpool1d(al.zeros(1, 2), al.tensor([[0, 4]]), 2)
    with pytest.raises(IndexError, match="index out of range: -1"):
        F.max_unpool1d(al.zeros(1, 2), al.tensor([[0, -1]]), 2)


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pools_with_indices(rank):
    x = al.tensor(np.random.default_rng(rank).random((2, 3) + (6,) * rank))
    calls = [(f"max_pool{rank}d", (2,)), (f"adaptive_max_pool{rank}d", (3,))]
    for name, arguments in calls:
        got = getattr(F, name + "_with_indices")(x, *arguments)
        want = getattr(F, name)(x, *arguments, return_indices=True)
        assert [part.tolist() for part in got] == [part.tolist() for part in want]
    if rank > 1:
        samples = al.rand(2, 3, rank)
        name, options = f"fractional_max_pool{rank}d", {"output_size": 3, "_random_samples": samples}
        got = getattr(F, name + "_with_indices")(x, 2, **options)
        want = getattr(F, name)(x, 2, return_indices=True, **options)
        assert [part.tolist() for part in got] == [part.tolist() for part in want]
