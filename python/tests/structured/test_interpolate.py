"""Grids of another size against weights in plain NumPy."""

import math

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, FLOATS, INTEGERS, assert_same, named, numpy_cast
from windows import adaptive, for_each_window, mean

F = al.nn.functional
LINEAR = {1: "linear", 2: "bilinear", 3: "trilinear"}


def sample(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    low = 0 if dtype.kind in ("bool", "unsigned integer") else -7
    numbers = rng.integers(low, 2 if dtype.kind == "bool" else 8, shape)
    if dtype.is_complex:
        numbers = numbers + 1j * rng.integers(-7, 8, shape)
    return numpy_cast(numbers, dtype)


def wide(array):
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def cubic(x, a):
    x = abs(x)
    if x < 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a if x < 2 else 0.0


def matrix(size, output, mode, align, scale=None, antialias=False):
    """The map along one axis: `[output, size]`."""
    m = np.zeros((output, size))
    step = scale and 1 / scale or size / output
    if align:
        step = (size - 1) / (output - 1) if output > 1 else 0.0
    for o in range(output):
        if antialias:
            width = max(step, 1.0)
            center = step * (o + 0.5)
            radius = (2 if mode == "cubic" else 1) * width
            first = max(int(center - radius + 0.5), 0)
            last = min(int(center + radius + 0.5), size)
            for i in range(first, last):
                x = (i - center + 0.5) / width
                m[o, i] = cubic(x, -0.5) if mode == "cubic" else max(1 - abs(x), 0)
            m[o] /= m[o].sum()
            continue
        place = step * o if align else step * (o + 0.5) - 0.5
        if mode == "linear":
            place = min(max(place, 0.0), size - 1)
        first = math.floor(place)
        reach = range(first, first + 2) if mode == "linear" else range(first - 1, first + 3)
        for i in reach:
            weight = 1 - abs(place - i) if mode == "linear" else cubic(place - i, -0.75)
            m[o, min(max(i, 0), size - 1)] += weight
    return m


def blend(x, matrices):
    for axis, m in enumerate(matrices, 2):
        x = np.moveaxis(np.tensordot(m, x, (1, axis)), 0, axis)
    return x


def check(got, want, dtype):
    """Within the precision of the dtype; of integers and bool within that of the default float."""
    if not (dtype.is_floating_point or dtype.is_complex):
        dtype = al.get_default_dtype()
    assert got.dtype == dtype and got.shape == want.shape
    got = wide(got.numpy())
    eps = float(al.finfo(dtype).eps)
    floor = 1e-12 if dtype.bits // (1 + dtype.is_complex) == 64 else 2e-6
    assert (abs(got - want) <= eps * abs(want) + floor * 10).all()


GRIDS = [
    (1, (5,), (9,)),
    (1, (9,), (4,)),
    (1, (4,), (1,)),
    (1, (1,), (3,)),
    (2, (4, 5), (7, 10)),
    (2, (9, 8), (4, 3)),
    (2, (5, 5), (5, 5)),
    (3, (3, 4, 5), (5, 3, 8)),
]


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rank, grid, output", GRIDS)
def test_nearest(rank, grid, output, dtype):
    x = sample(dtype, (2, 3, *grid))
    for mode, shift in (("nearest", 0), ("nearest-exact", 1)):
        places = [
            [(2 * o + shift) * n // (2 * m) for o in range(m)] for n, m in zip(grid, output)
        ]
        want = x[np.ix_(range(2), range(3), *places)]
        assert_same(F.interpolate(al.tensor(x), output, mode=mode).numpy(), want)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rank, grid, output", GRIDS)
@pytest.mark.parametrize("align", [False, True])
def test_linear(rank, grid, output, align, dtype):
    x = sample(dtype, (2, 3, *grid))
    want = blend(wide(x), [matrix(n, m, "linear", align) for n, m in zip(grid, output)])
    got = F.interpolate(al.tensor(x), output, mode=LINEAR[rank], align_corners=align)
    check(got, want, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("grid, output", [(g, o) for r, g, o in GRIDS if r == 2])
@pytest.mark.parametrize("align", [False, True])
def test_bicubic(grid, output, align, dtype):
    x = sample(dtype, (2, 3, *grid))
    want = blend(wide(x), [matrix(n, m, "cubic", align) for n, m in zip(grid, output)])
    got = F.interpolate(al.tensor(x), output, mode="bicubic", align_corners=align)
    check(got, want, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("grid, output", [((9, 17), (4, 3)), ((5, 6), (11, 7)), ((8, 4), (1, 1))])
def test_antialias(mode, grid, output, dtype):
    x = sample(dtype, (1, 2, *grid))
    maps = [matrix(n, m, mode, False, antialias=True) for n, m in zip(grid, output)]
    got = F.interpolate(al.tensor(x), output, mode="bi" + mode, antialias=True)
    check(got, blend(wide(x), maps), dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rank, grid, output", GRIDS)
def test_area(rank, grid, output, dtype):
    x = sample(dtype, (1, 2, *grid))
    want = np.zeros((2, *output), wide(x).dtype)
    for at, values, _ in for_each_window(wide(x), rank, adaptive(grid, output)):
        want[at] = mean(values, len(values))
    check(F.interpolate(al.tensor(x), output, mode="area"), want[None], dtype)


@pytest.mark.parametrize("factor", [2.0, 0.6, 1.5, 2.3])
def test_scale_factors(factor):
    x = sample(al.float64, (1, 2, 10, 7))
    sizes = [math.floor(n * factor) for n in (10, 7)]
    for recompute in (None, False, True):
        scale = None if recompute else factor
        maps = [matrix(n, m, "linear", False, scale) for n, m in zip((10, 7), sizes)]
        got = F.interpolate(
            al.tensor(x),
            scale_factor=factor,
            mode="bilinear",
            recompute_scale_factor=recompute,
        )
        check(got, blend(x, maps), al.float64)
        places = [
            [min(int(o / (scale or m / n)), n - 1) for o in range(m)]
            for n, m in zip((10, 7), sizes)
        ]
        got = F.interpolate(
            al.tensor(x), scale_factor=(factor, factor), recompute_scale_factor=recompute
        )
        assert_same(got.numpy(), x[np.ix_([0], [0, 1], *places)])


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_blended_integers_are_floats(dtype):
    """As their means are: nothing is rounded away or cut off at the ends of a range."""
    x = np.zeros((1, 1, 4, 4), dtype.numpy_dtype)
    x[..., 1:3, 1:3] = min(al.iinfo(dtype).max, 2**50)
    for mode in ("bilinear", "bicubic", "area"):
        got = F.interpolate(al.tensor(x), 9, mode=mode)
        want = F.interpolate(al.tensor(x.astype(np.float64)), 9, mode=mode).numpy()
        assert got.dtype == al.float32 == F.avg_pool2d(al.tensor(x), 2).dtype
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6, atol=1e-6 * x.max())
        with al.set_default_dtype(al.float64):
            assert F.interpolate(al.tensor(x), 9, mode=mode).dtype == al.float64
    for mode in ("nearest", "nearest-exact"):
        assert F.interpolate(al.tensor(x), 9, mode=mode).dtype == dtype


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_special_values(dtype):
    """The size that a grid has changes nothing, not even infinities, NaN and -0."""
    values = [0.0, -0.0, 1.0, math.nan]
    values += [math.inf, -math.inf] if al.finfo(dtype).has_inf else []
    x = al.tensor([[values]], dtype=dtype)
    for mode in ("nearest", "linear"):
        assert_same(F.interpolate(x, len(values), mode=mode).numpy(), x.numpy())
    y = F.interpolate(x, 2 * len(values), mode="linear").to(al.float64).numpy()[0, 0]
    assert np.isnan(y[6])


LAYOUTS = [
    lambda x: x.transpose(-1, -2),
    lambda x: x[..., ::-1],
    lambda x: x[:, ::2, 1:],
    lambda x: x[:1].expand(4, -1, -1, -1),
]


@pytest.mark.parametrize("view", LAYOUTS)
@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.uint8], ids=named)
def test_layouts(view, dtype):
    x = view(al.tensor(sample(dtype, (4, 4, 10, 9))))
    y = al.tensor(x.numpy().copy())
    for mode in ("nearest", "bilinear", "bicubic", "area"):
        for size in (5, 13, x.shape[-2:]):
            got = F.interpolate(x, size, mode=mode)
            assert_same(got.numpy(), F.interpolate(y, size, mode=mode).numpy())


def test_large():
    x = sample(al.float32, (4, 8, 50, 61))
    maps = [matrix(n, m, "linear", False) for n, m in zip((50, 61), (100, 122))]
    got = F.interpolate(al.tensor(x), scale_factor=2, mode="bilinear")
    check(got, blend(wide(x), maps), al.float32)
    row = sample(al.float32, (1, 1, 100_000))
    got = F.interpolate(al.tensor(row), 150_000, mode="linear").numpy()
    maps = np.clip((np.arange(150_000) + 0.5) / 1.5 - 0.5, 0, 99_999)
    want = np.interp(maps, np.arange(100_000), row[0, 0])
    assert abs(got[0, 0] - want).max() < 1e-5


def test_synonyms_and_empty():
    x = al.arange(4.0).reshape(1, 1, 2, 2)
    same = F.interpolate(x, 4, mode="bilinear", align_corners=True)
    assert_same(F.upsample_bilinear(x, 4).numpy(), same.numpy())
    assert_same(F.upsample(x, 4, None, "bilinear", True).numpy(), same.numpy())
    assert_same(F.upsample_nearest(x, 4).numpy(), F.interpolate(x, 4).numpy())
    for mode in ("nearest", "bilinear", "area"):
        assert F.interpolate(al.zeros(0, 3, 2, 2), 4, mode=mode).shape == (0, 3, 4, 4)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: F.interpolate(x), "one of size and scale_factor"),
        (lambda x: F.interpolate(x, 2, 2.0), "one of size and scale_factor"),
        (lambda x: F.interpolate(x, 2, mode="lanczos"), "unknown mode: 'lanczos'"),
        (lambda x: F.interpolate(x, 2, mode="linear"), "mode 'linear' takes 3"),
        (lambda x: F.interpolate(x, 2, align_corners=True), "align_corners does not apply"),
        (lambda x: F.interpolate(x, 2, antialias=True), "antialias does not apply"),
        (lambda x: F.interpolate(x, 0), "size out of range at index 0: 0"),
        (lambda x: F.interpolate(x, (2, 2, 2)), "lengths differ: 3 and 2"),
        (lambda x: F.interpolate(x, scale_factor=0.1), "scale_factor out of range"),
        (lambda x: F.interpolate(x, scale_factor=math.nan), "scale_factor out of range"),
        (lambda x: F.interpolate(x, scale_factor=(1.0, 2.0, 3.0)), "lengths differ: 3 and 2"),
        (lambda x: F.interpolate(x[..., :0], 2), "window does not fit"),
        (lambda x: F.interpolate(x[0, 0], 2), "number of dimensions out of range: 2"),
        (lambda x: F.interpolate(x, 2, recompute_scale_factor=True), "recompute_scale_factor"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(al.ones(1, 1, 3, 3))
