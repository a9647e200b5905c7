"""Running totals and extremes, differences and integrals, against NumPy and plain Python."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allotrope as al
from reference import DTYPES, FLOATS, INTEGERS, REALS, is_nan, named, round_integer, to_float64

COMPLEX = [d for d in DTYPES if d.is_complex]
SHAPES = [(0,), (1,), (7,), (8,), (2049,), (70_001,), (3, 5), (40, 3), (33, 20), (2, 9, 17), (900, 3, 5)]


def result_of(dtype):
    if dtype.is_floating_point or dtype.is_complex:
        return dtype
    return al.uint64 if dtype.kind == "unsigned integer" else al.int64


def sample(dtype, shape, low, high):
    values = np.random.default_rng(9).integers(low, high, shape)
    if dtype.is_complex:
        values = values + 1j * np.random.default_rng(4).integers(low, high, shape)
    return values.astype(dtype.numpy_dtype)


def wide(array):
    kind = {"f": np.float64, "V": np.float64, "c": np.complex128, "u": np.uint64}
    return array.astype(kind.get(array.dtype.kind, np.int64))


def tolerance(dtype):
    exact = not (dtype.is_floating_point or dtype.is_complex)
    return 0.0 if exact else float(dtype.to_real().finfo.eps) / 2 * 1.001


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_cumsum(dtype, shape):
    low = 0 if dtype.kind in ("bool", "unsigned integer") else -1
    array = sample(dtype, shape, low, 2)
    for dim in range(-1, len(shape)):
        got = al.tensor(array).cumsum(dim)
        want = np.cumsum(wide(array), dim)
        assert got.dtype == result_of(dtype) and got.shape == shape
        if dtype.name == "float8_e4m3fn":
            want = np.clip(want, -448, 448)
        want = want.astype(got.dtype.numpy_dtype)
        np.testing.assert_array_equal(wide(got.numpy()), wide(want))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_cumprod(dtype, shape):
    array = sample(dtype, shape, 1, 2 if dtype.kind == "bool" else 3)
    if array.size > 40:
        array = np.where(np.random.default_rng(2).random(shape) < 0.9, array.dtype.type(1), array)
        array = array.astype(dtype.numpy_dtype)
    for dim in range(-1, len(shape)):
        got = al.tensor(array).cumprod(dim)
        assert got.dtype == result_of(dtype) and got.shape == shape
        with np.errstate(over="ignore", invalid="ignore"):
            want = np.cumprod(wide(array), dim)
            if dtype.name == "float8_e4m3fn":
                want = np.clip(want, -448, 448)
            want = want.astype(got.dtype.numpy_dtype)
        if dtype.is_complex:
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-5)
        else:
            np.testing.assert_array_equal(wide(got.numpy()), wide(want))


@pytest.mark.parametrize("dtype", [al.int8, al.uint8, al.int16, al.uint16], ids=named)
def test_sums_of_narrow_integers_do_not_overflow(dtype):
    most = dtype.iinfo.max
    x = al.full((1000,), most, dtype=dtype)
    assert x.cumsum(0)[-1].item() == 1000 * most
    assert x.reshape(50, 20).cumsum(0)[-1, 0].item() == 50 * most
    assert x[:3].cumprod(0).tolist() == [most, most**2, most**3]
    assert x.cumsum(0, dtype=dtype)[1].item() == al.tensor(2 * most).to(dtype).item()


@pytest.mark.parametrize("dtype", [al.int64, al.uint64], ids=named)
def test_wide_integers_wrap(dtype):
    array = np.array([3**39, 5**27, 7**22] * 5000).astype(dtype.numpy_dtype)
    got = al.tensor(array)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(got.cumsum(0).numpy(), np.cumsum(array))
        np.testing.assert_array_equal(got.cumprod(0).numpy(), np.cumprod(array))


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits > 8], ids=named)
@pytest.mark.parametrize("shape", [(100_000,), (4, 25_000), (5_000, 20)], ids=str)
def test_every_prefix_is_rounded_once(dtype, shape):
    """Within half a unit of exact sums; float64 within that of its own additions."""
    array = np.random.default_rng(7).random(shape).astype(dtype.numpy_dtype)
    for dim in range(len(shape)):
        exact = np.cumsum(array.astype(np.longdouble), dim)
        got = al.tensor(array).cumsum(dim).numpy().astype(np.longdouble)
        bound = tolerance(dtype) if dtype != al.float64 else 1e-12
        assert (np.abs(got - exact) <= bound * exact).all()


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits == 8], ids=named)
def test_sums_of_8_bit_floats_are_rounded_from_the_exact_sum(dtype):
    """Float64 holds every such sum. Lines stay small, grow, come back, end in infinities and NaN."""
    generator = np.random.default_rng(3)
    scales = np.array([2.0**-9, 0.01, 1.0, 1.0, 30.0, 3000.0, 3000.0, 1.0])[:, None]
    array = (generator.standard_normal((8, 1003)) * scales).astype(np.float32)
    array[3, 500:510] = 57344.0
    array[3, 510:520] = -57344.0
    array[5, 900] = np.nan
    array[6, ::2] = 3000.0
    array[6, 1::2] = -3000.0
    array[7, :] = -0.0
    x = al.tensor(array).to(dtype)
    wide = x.to(al.float64).numpy()
    with np.errstate(invalid="ignore"):
        for dim in (0, 1):
            want = al.tensor(np.cumsum(wide, dim)).to(dtype)
            got = x.cumsum(dim)
            numbers = ~np.isnan(want.to(al.float64).numpy())
            np.testing.assert_array_equal(np.isnan(got.to(al.float64).numpy()), ~numbers)
            codes = [t.view(al.uint8).numpy()[numbers] for t in (got, want)]
            np.testing.assert_array_equal(*codes)


def test_halves_are_rounded_from_the_exact_sum():
    """1 + 2^-8 + 2^-40 lies just above the middle of two bfloat16: twice rounded it is below."""
    x = al.tensor([1.0, 2.0**-8, 2.0**-40]).to(al.bfloat16)
    assert x.cumsum(0).to(al.float64).tolist() == [1.0, 1.0, 1.0 + 2.0**-7]


LINES = {
    "around zero": lambda g, n: g.standard_normal(n),
    "far from zero": lambda g, n: 20.0 + g.standard_normal(n),
    "of many sizes": lambda g, n: g.choice([-1.0, 1.0], n) * 2.0 ** g.uniform(-22, 6, n),
    "whole numbers": lambda g, n: g.integers(-9, 10, n) * 1.0,
    "small": lambda g, n: g.integers(-3, 4, n) * 2.0**-24,
    "mostly zero": lambda g, n: np.where(g.random(n) < 0.01, g.standard_normal(n), 0.0),
    "zeros with a sign first": lambda g, n: np.where(np.arange(n) < 700, -0.0, 0.25),
    "below zero": lambda g, n: -g.random(n),
    "in zeros": lambda g, n: np.where(np.arange(n) // 600 % 2 == 0, 0.0, g.standard_normal(n)),
    "small, then large": lambda g, n: np.where(np.arange(n) < 900, 2.0**-20, 3.0),
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits == 16], ids=named)
def test_sums_of_halves_are_rounded_from_sums_of_integers(dtype, line):
    """Multiples of 2**-60, which all of these are, added in Python and rounded once."""
    numbers = line(np.random.default_rng(5), 3000)
    x = al.tensor(numbers.astype(np.float32)).to(dtype)
    items = x.to(al.float64).numpy()
    precision = round(-math.log2(float(dtype.finfo.eps))) + 1
    # No multiple of this has a place behind those of subnormal numbers.
    unit = 2.0**-24 if dtype == al.float16 else 2.0**-60
    sums, total = [], 0
    for item in items.tolist():
        count = item / unit
        assert count == int(count)
        total += int(count)
        sums.append(round_integer(total, precision) * unit)
    want = np.array(sums)
    want[np.logical_and.accumulate((items == 0) & np.signbit(items))] = -0.0
    got = x.cumsum(0).to(al.float64).numpy()
    np.testing.assert_array_equal(got, want)
    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))


def test_special_values_of_sums_and_products():
    x = al.tensor([-0.0, -0.0, 0.0])
    assert [math.copysign(1, v) for v in x.cumsum(0).tolist()] == [-1, -1, 1]
    x = al.tensor([1.0, math.nan, 2.0, math.inf, -math.inf])
    assert [math.isnan(v) for v in x.cumsum(0).tolist()] == [False, True, True, True, True]
    x = al.tensor([math.inf, 1.0, -math.inf, 3.0]).to(al.float16).cumsum(0).tolist()
    assert x[:2] == [math.inf] * 2 and math.isnan(x[2]) and math.isnan(x[3])
    # Windows that leave the range where the prefixes do not.
    big = [-1.5e308, 1.5e308, 1.5e308, -1.5e308, -1.5e308, 1.5e308, 0.5, 0.0]
    got = al.tensor(big, dtype=al.float64).cumsum(0).tolist()
    assert got[:6] == [-1.5e308, 0.0, 1.5e308, 0.0, -1.5e308, 0.0]
    line = np.zeros(100_000)
    line[0], line[40_000:40_002] = -1.5e308, 1.5e308
    assert al.tensor(line).cumsum(0)[-1].item() == 1.5e308
    zeros = al.full((100_000,), 1e30, dtype=al.float32)
    zeros[0] = 0.0
    assert zeros.cumprod(0).eq(0.0).all().item()
    assert al.tensor([1e-30, 1e30, 1e30, 1e-30]).cumprod(0).isfinite().all().item()


@pytest.mark.parametrize("dim", [0, 1, 2, -1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_layouts(name, dim):
    base = np.random.default_rng(3).integers(-2, 3, (6, 7, 20))
    x = al.tensor(base)
    for view, array in [
        (x.permute(2, 0, 1), base.transpose(2, 0, 1)),
        (x[::2, ::-1, 3:], base[::2, ::-1, 3:]),
        (x[:1].expand(3, 7, 20), np.broadcast_to(base[:1], (3, 7, 20))),
    ]:
        want = getattr(np, name)(array, dim)
        np.testing.assert_array_equal(getattr(al, name)(view, dim).numpy(), want)
        np.testing.assert_array_equal(getattr(view, name)(axis=dim).numpy(), want)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=30), st.integers(1, 3))
def test_scans_of_any_integers(values, columns):
    array = np.array(values[: len(values) // columns * columns], np.int64).reshape(-1, columns)
    x = al.tensor(array)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(x.cumsum(0).numpy(), np.cumsum(array, 0))
        np.testing.assert_array_equal(x.cumprod(1).numpy(), np.cumprod(array, 1))
        np.testing.assert_array_equal(x.diff(dim=0).numpy(), np.diff(array, axis=0))
    np.testing.assert_array_equal(x.cummax(0).values.numpy(), np.maximum.accumulate(array, 0))
    np.testing.assert_array_equal(x.sort(0).values.numpy(), np.sort(array, 0))


def test_cumulative_names_of_the_array_api():
    x = al.tensor([[1, 2], [3, 4]], dtype=al.int8)
    got = x.cumulative_sum(axis=1, include_initial=True)
    assert got.tolist() == [[0, 1, 3], [0, 3, 7]] and got.dtype == al.int64
    got = al.cumulative_prod(x, axis=0, include_initial=True, dtype=al.float32)
    assert got.tolist() == [[1, 1], [1, 2], [3, 8]] and got.dtype == al.float32
    assert al.tensor([2, 3]).cumulative_sum().tolist() == [2, 5]
    with pytest.raises(ValueError, match="cumulative_sum: wrong number of axes: 0"):
        x.cumulative_sum()


@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_running_extremes(name, dtype):
    rng = np.random.default_rng(11)
    if dtype.is_floating_point:
        codes = rng.integers(0, 2**dtype.bits, (20, 600), dtype=f"uint{dtype.bits}")
        array = codes.view(dtype.numpy_dtype).copy()
        array[:12][is_nan(array[:12])] = 1.0
        array[0, :4] = np.array([0.0, -0.0, 0.0, -0.0], dtype.numpy_dtype)
    else:
        array = sample(dtype, (20, 600), 0, 2 if dtype.kind == "bool" else 100)
    got = getattr(al.tensor(array), name)(1)
    greater = name == "cummax"
    for row, line in enumerate(array):
        plain = to_float64(line).tolist()
        best, at = plain[0], 0
        places = []
        for place, value in enumerate(plain):
            ahead = value >= best if greater else value <= best
            if value != value or (best == best and ahead):
                best, at = value, place
            places.append(at)
        assert got.indices[row].tolist() == places
        assert got.values.numpy()[row].tobytes() == line[places].tobytes()
    along = getattr(al, name)(al.tensor(array).t(), dim=0)
    assert along.indices.t().tolist() == got.indices.tolist()


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("shape", [(5,), (3, 40), (40, 20), (40_000,)], ids=str)
def test_logcumsumexp(dtype, shape):
    low = 0 if not dtype.is_signed else -2
    array = sample(dtype, shape, low, 2)
    for dim in range(-1, len(shape)):
        got = al.tensor(array).logcumsumexp(dim)
        result = dtype if dtype.is_floating_point else al.get_default_dtype()
        assert got.dtype == result
        want = np.logaddexp.accumulate(array.astype(np.float64), dim)
        error = np.abs(got.numpy().astype(np.float64) - want)
        least = float(result.finfo.smallest_subnormal)
        bound = max(float(result.finfo.eps), 1e-13) * np.abs(want) + max(least, 1e-13)
        assert (error <= bound).all()


def test_logcumsumexp_of_extremes():
    x = al.tensor([-math.inf, -math.inf, 1000.0, 1000.0, -math.inf, math.inf, 0.0])
    got = x.logcumsumexp(0).tolist()
    assert got[:2] == [-math.inf] * 2 and got[2] == 1000.0 and got[5:] == [math.inf] * 2
    assert got[3] == pytest.approx(1000 + math.log(2), rel=1e-6)
    got = al.tensor([1.0, math.nan, 2.0]).logcumsumexp(0).tolist()
    assert got[0] == 1.0 and math.isnan(got[1]) and math.isnan(got[2])


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_diff(dtype):
    array = sample(dtype, (5, 6), 0, 2)
    x = al.tensor(array)
    for n in (0, 1, 2):
        for dim in (0, 1, -1):
            got = x.diff(n, dim)
            plain = array if dtype.kind == "bool" else wide(array)
            want = np.diff(plain, n, dim)
            want = want.astype(dtype.numpy_dtype)
            assert got.dtype == dtype
            np.testing.assert_array_equal(wide(got.numpy()), wide(want))
    assert x.diff(9).shape == (5, 0)


def test_diff_with_ends():
    x = al.tensor([1, 4, 9], dtype=al.int8)
    got = al.diff(x, prepend=al.tensor([0.5]), append=al.tensor([10, 11], dtype=al.int16))
    assert got.tolist() == [0.5, 3.0, 5.0, 1.0, 1.0] and got.dtype == al.float32
    assert al.tensor([0, 1], dtype=al.uint8).flip(0).diff().tolist() == [255]
    with pytest.raises(ValueError, match="diff: shapes do not broadcast"):
        al.ones((2, 2)).diff(prepend=al.ones((3, 1)))
    with pytest.raises(IndexError, match="diff: axis out of range"):
        al.tensor(1).diff()


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_trapezoid(dtype):
    array = sample(dtype, (4, 5), 0, 2)
    x, plain = al.tensor(array), wide(array)
    points = np.array([0.0, 1.0, 3.0, 3.5, 4.0])
    exact = dtype.is_floating_point or dtype.is_complex
    result = dtype if exact else al.get_default_dtype()
    for dim in (0, 1):
        got = x.trapezoid(dim=dim, dx=0.5)
        assert got.dtype == result
        np.testing.assert_allclose(
            wide(got.numpy()), np.trapezoid(plain, dx=0.5, axis=dim), rtol=tolerance(result)
        )
    got = x.to(al.float64 if not dtype.is_complex else al.complex128).trapezoid(points)
    np.testing.assert_allclose(got.numpy(), np.trapezoid(plain, points), rtol=1e-15)
    steps = (plain[1:] + plain[:-1]) / 2
    got = x.cumulative_trapezoid(dim=0)
    np.testing.assert_allclose(
        wide(got.numpy()), np.cumsum(steps, 0), rtol=tolerance(result), atol=1e-300
    )


def test_trapezoid_over_points_of_every_row():
    y, x = np.arange(6.0).reshape(2, 3), np.array([[0.0, 1.0, 4.0], [1.0, 1.0, 2.0]])
    np.testing.assert_array_equal(
        al.trapezoid(al.tensor(y), al.tensor(x)).numpy(), np.trapezoid(y, x)
    )
    column = al.trapezoid(al.tensor(y), al.tensor([0.0, 3.0]), dim=0)
    np.testing.assert_array_equal(column.numpy(), np.trapezoid(y, [0.0, 3.0], axis=0))
    with pytest.raises(ValueError, match="trapezoid"):
        al.tensor(y).trapezoid(al.tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match="given twice"):
        al.tensor(y).trapezoid(al.tensor(x), dx=1.0)


def test_no_dimensions():
    assert al.tensor(3).cumsum(0).shape == () and al.tensor(3).cumprod(-1).item() == 3
    assert al.tensor(3).cummin(0).indices.item() == 0
    assert al.zeros((0, 4)).cumsum(0).shape == (0, 4)
    assert al.zeros((4, 0, 3)).cumsum(1).shape == (4, 0, 3)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda x: x.cumsum(), TypeError, "cumsum: dim is missing"),
        (lambda x: x.cumsum(2), IndexError, "cumsum: axis out of range: 2"),
        (lambda x: x.cumsum(0, dtype="float9"), TypeError, "unknown name"),
        (lambda x: x.to(al.complex64).cumsum(0, dtype=al.float32), TypeError, "complex to real"),
        (lambda x: x.to(al.complex64).cummax(0), TypeError, "cummax: wrong dtype: complex64"),
        (lambda x: x.diff(-1), ValueError, "diff: negative size"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(al.ones((2, 3)))


def test_integers_and_dtypes_of_results():
    for dtype in INTEGERS:
        assert al.tensor([1], dtype=dtype).cumsum(0).dtype == result_of(dtype)
    assert al.tensor([True, True]).cumsum(0).tolist() == [1, 2]
    assert al.ones(3, dtype=al.float16).cumsum(0, dtype=al.float64).dtype == al.float64
    assert [d.name for d in COMPLEX if al.ones(2, dtype=d).cumsum(0).dtype != d] == []


@pytest.mark.parametrize("axis", [0, 1])
def test_totals_that_are_larger_than_the_caches(axis):
    # 17 MB of results, which some CPUs write past the caches; rows begin at no cache line.
    x = np.random.default_rng(6).integers(-100, 100, (2100, 1027)).astype(np.int32)
    assert (al.cumsum(al.tensor(x), axis).numpy() == np.cumsum(x, axis, dtype=np.int64)).all()


def test_torch_name_of_integrands():
    y = al.tensor([1.0, 2.0, 3.0])
    for name in ("trapezoid", "trapz"):
        assert getattr(al, name)(y=y).item() == 4.0
        assert getattr(al, name)(input=y, dx=2.0).item() == 8.0
    assert al.cumulative_trapezoid(y=y).tolist() == [1.5, 4.0]
    with pytest.raises(TypeError, match="trapezoid: y is missing"):
        al.trapezoid()
    with pytest.raises(TypeError, match="trapezoid: an argument is given twice"):
        al.trapezoid(y, y=y)


def test_no_difference_is_the_tensor_itself():
    x, more = al.tensor([1, 4, 9]), al.tensor([7])
    assert al.diff(x, 0).tolist() == [1, 4, 9]
    assert al.diff(x, 0, prepend=more, append=more).tolist() == [1, 4, 9]
    assert np.diff(x.numpy(), 0, prepend=more.numpy()).tolist() == [1, 4, 9]


def test_a_spacing_for_each_dimension():
    x = al.arange(12.0).reshape(3, 4)
    assert [g[0, 0].item() for g in al.gradient(x, spacing=2.0)] == [2.0, 0.5]
    assert [g[0, 0].item() for g in al.gradient(x, spacing=[2.0], dim=0)] == [2.0]
    for wrong in ({"spacing": [2.0]}, {"spacing": [2.0], "dim": (0, 1)}, {"spacing": (al.arange(3.0),)}):
        with pytest.raises(ValueError, match="^gradient: number of spacings out of range: 1; .*one for each"):
            al.gradient(x, **wrong)
    for dims in ((0, 0), (1, -1)):
        with pytest.raises(ValueError, match="^gradient: .*twice|^gradient: repeated"):
            al.gradient(x, dim=dims)
