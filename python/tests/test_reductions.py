"""Reductions of every dtype, along every axis and layout: against NumPy and Python's exact sums."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al

from elementwise import assert_near, narrow, widen
from reference import DTYPES, FLOATS, INTEGERS, REALS, assert_same, is_nan, named, wrap_to_integer

TOTALS = ["sum", "prod"]
AVERAGES = ["mean", "var", "std", "norm", "logsumexp"]
EXTREMES = ["amax", "amin"]
PLACES = ["argmax", "argmin"]
TRUTHS = ["any", "all"]
AXES = [None, 0, 1, 2, -1, (0,), (0, 2), (1, 0), (-1, -2), (0, 1, 2)]


def whole_numbers(dtype, shape=(3, 4, 5), seed=0):
    """Small whole numbers, which every dtype adds exactly."""
    random = np.random.default_rng(seed)
    low = -3 if dtype.is_signed else 0
    values = random.integers(low, 4, shape)
    if dtype.is_complex:
        return (values + 1j * random.integers(low, 4, shape)).astype(dtype.numpy_dtype)
    return values.astype(dtype.numpy_dtype)


def wide_values(array):
    if array.dtype.kind == "c":
        return array.astype(np.clongdouble)
    return widen(array)


def result_of(name, dtype):
    """The dtype of a result, None for a TypeError."""
    is_whole = not (dtype.is_floating_point or dtype.is_complex)
    if name in TOTALS:
        return (al.int64 if dtype.is_signed or dtype == al.bool else al.uint64) if is_whole else dtype
    if name in AVERAGES:
        if is_whole:
            return al.float32
        return dtype if name in ("mean", "logsumexp") else dtype.to_real()
    if name in TRUTHS:
        return al.bool
    if name == "count_nonzero":
        return al.int64
    if dtype.is_complex:
        return None
    return dtype if name in EXTREMES else al.int64


def numpy_reduce(name, array, axis):
    """What NumPy gives, in long doubles."""
    wide = wide_values(array)
    if name in ("any", "all"):
        return getattr(np, name)(wide != 0, axis=axis)
    if name == "count_nonzero":
        return np.count_nonzero(wide != 0, axis=axis)
    if name in ("var", "std"):
        return getattr(np, name)(wide, axis=axis, ddof=1)
    if name == "norm":
        return np.sqrt(np.sum(np.abs(wide) ** 2, axis=axis))
    if name == "logsumexp":
        return np.log(np.sum(np.exp(wide), axis=axis))
    return getattr(np, name)(wide, axis=axis)


def layouts(array):
    """The same elements in different memory."""
    x = al.from_numpy(array)
    yield "contiguous", x
    yield "reversed", al.from_numpy(np.ascontiguousarray(array[::-1, :, ::-1]))[::-1, :, ::-1]
    yield "transposed", al.from_numpy(np.ascontiguousarray(array.transpose(2, 0, 1))).permute(1, 2, 0)
    spaced = np.zeros((3, 8, 5), dtype=array.dtype)
    spaced[:, ::2] = array
    yield "stepped", al.from_numpy(spaced)[:, ::2]


ALL = TOTALS + AVERAGES + EXTREMES + PLACES + TRUTHS + ["count_nonzero"]


def check(name, got, array, axis, out):
    assert got.dtype == out
    want = numpy_reduce(name, array, axis)
    got = got.numpy()
    if out.is_complex:
        assert got.shape == np.shape(want)
        assert np.allclose(got.astype(np.complex128), want.astype(np.complex128), rtol=1e-6)
    elif out.is_floating_point:
        ulp = 0 if name in EXTREMES or name == "sum" and out.bits > 8 else 2
        # float64 has no wider dtype to be computed in.
        ulp = 12 if out == al.float64 and name in ("var", "std", "logsumexp") else ulp
        assert_near(got, np.asarray(want), out, ulp)
    else:
        if out.is_integer and np.asarray(want).dtype.kind == "f":
            want = np.asarray(want).astype(np.int64)
        assert_same(got, np.asarray(want).astype(out.numpy_dtype))


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_values(name, dtype):
    out = result_of(name, dtype)
    array = whole_numbers(dtype)
    if name == "prod":
        # Few factors, so that the product is exact or nearly so.
        array = np.where(array == 0, array.dtype.type(1), array)[:, :2, :2]
    x = al.from_numpy(np.ascontiguousarray(array))
    if out is None:
        for call in (lambda: getattr(al, name)(x), lambda: getattr(x, name)(0)):
            with pytest.raises(TypeError, match=rf"^{name}: .*{dtype.name}"):
                call()
        return
    for axis in AXES:
        if name in PLACES and isinstance(axis, tuple):
            continue
        for keep in (False, True):
            got = getattr(al, name)(x, dim=axis, keepdim=keep)
            assert_same(getattr(x, name)(axis=axis, keepdims=keep).numpy(), got.numpy())
            if keep:
                shape = np.sum(np.zeros(array.shape), axis=axis, keepdims=True).shape
                assert got.shape == shape
                got = got.reshape(np.sum(np.zeros(array.shape), axis=axis).shape)
            check(name, got, array, axis, out)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.int8], ids=named)
def test_layouts(name, dtype):
    array = whole_numbers(dtype, seed=3)
    if name == "prod":
        array = np.where(array == 0, array.dtype.type(1), array)
    for axis in AXES:
        if name in PLACES and isinstance(axis, tuple):
            continue
        first = None
        for layout, x in layouts(array):
            got = getattr(al, name)(x, dim=axis).numpy()
            if first is None:
                first = got
            elif name in AVERAGES + ["prod"]:
                # The order of addition is that of memory.
                assert np.allclose(got.astype(np.float64), first.astype(np.float64), rtol=0.02), layout
            else:
                assert_same(got, first)
    expanded = al.from_numpy(array[0, 0]).expand(4, 5)
    if name not in ("prod",):
        want = getattr(al, name)(expanded.contiguous(), dim=0).numpy()
        assert_same(getattr(al, name)(expanded, dim=0).numpy(), want)


class TestSums:
    @pytest.mark.parametrize("dtype", [*INTEGERS, al.bool], ids=named)
    def test_integers_accumulate_in_64_bits(self, dtype):
        most = True if dtype == al.bool else al.iinfo(dtype).max
        x = al.full(1000, most, dtype=dtype)
        out = al.uint64 if dtype.is_integer and not dtype.is_signed else al.int64
        assert x.sum().dtype == out
        assert x.sum().item() == wrap_to_integer(1000 * int(most), out)
        assert x[:3].prod().item() == wrap_to_integer(int(most) ** 3, out)

    def test_facts(self):
        assert al.tensor([2**63, 5], dtype=al.uint64).sum().item() == 2**63 + 5
        assert al.tensor([True] * 300).sum().item() == 300
        assert al.tensor([2**31 - 1] * 3, dtype=al.int32).mean().item() == np.float32(2**31 - 1)
        with al.set_default_dtype(al.float64):
            assert al.tensor([2**31 - 1] * 3, dtype=al.int32).mean().item() == 2**31 - 1
            assert al.tensor([2**64 - 1] * 4, dtype=al.uint64).mean().item() == 2.0**64
        assert al.full(1000, 60000.0, dtype=al.float16).mean().item() == 60000 - 60000 % 32
        assert al.ones(70000, dtype=al.float16).mean().item() == 1.0
        assert al.ones(70000, dtype=al.float16).sum().item() == math.inf
        assert al.ones(70000, dtype=al.float16).sum(dtype=al.float32).item() == 70000
        assert al.ones(1000, dtype=al.bfloat16).sum().item() == 1000
        assert al.full(100, 200, dtype=al.uint8).sum(dtype=al.uint8).item() == 20000 % 256
        assert al.tensor([1.9, 1.9]).sum(dtype=al.int32).item() == 2

    @given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=400))
    def test_float32_is_near_the_exact_sum(self, values):
        x = al.tensor(values, dtype=al.float32)
        exact = sum((Fraction(v) for v in values), Fraction(0))
        size = sum((abs(Fraction(v)) for v in values), Fraction(0))
        got = x.sum().item()
        if size >= 2**127:
            return
        assert abs(Fraction(got) - exact) <= size * Fraction(32, 2**24)

    @given(st.lists(st.floats(-1e300, 1e300), max_size=200))
    def test_float64_is_near_the_exact_sum(self, values):
        got = al.tensor(values, dtype=al.float64).sum().item()
        size = math.fsum(abs(v) for v in values)
        assert abs(got - math.fsum(values)) <= 16 * 2.0**-53 * size

    def test_many_small_numbers(self):
        x = al.full(1 << 20, 0.1, dtype=al.float32)
        want = float(np.float32(0.1)) * (1 << 20)
        assert x.sum().item() == pytest.approx(want, rel=3e-7)
        assert x.mean().item() == pytest.approx(float(np.float32(0.1)), rel=3e-7)

    def test_dtype_of_complex(self):
        x = al.tensor([1 + 1j, -1 - 1j])
        assert x.sum(dtype=al.complex128).dtype == al.complex128
        for name in ("sum", "prod", "mean"):
            with pytest.raises(TypeError, match=f"^{name}: complex to real"):
                getattr(x, name)(dtype=al.float32)
        assert x.sum(dtype=al.bool).tolist() is True
        with pytest.raises(TypeError, match="^mean: .*int32"):
            al.ones(2).mean(dtype=al.int32)
        assert al.tensor([1, 2]).mean(dtype=al.float64).dtype == al.float64

    @pytest.mark.parametrize("dtype", DTYPES, ids=named)
    def test_nothing(self, dtype):
        x = al.zeros((0, 3), dtype=dtype)
        assert x.sum().item() == 0 and x.prod().item() == 1
        assert x.sum(0).shape == (3,) and x.sum(1).shape == (0,)
        assert x.sum(0, keepdim=True).shape == (1, 3)
        assert x.any().item() is False and x.all().item() is True
        assert x.count_nonzero().item() == 0
        assert x.norm().item() == 0
        for got in (x.mean(0), x.var(0), x.std(0)):
            assert got.shape == (3,) and is_nan(got.numpy()).all()
        assert x.mean(1).shape == (0,)
        if not dtype.is_complex:
            low = x.logsumexp()
            want = narrow(np.array(-np.inf, dtype=np.longdouble), low.dtype)
            assert_same(low.numpy(), want)


class TestVariance:
    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_corrections(self, dtype):
        x = al.tensor([1.0, 2.0, 4.0, 8.0], dtype=dtype)
        wide = np.array([1.0, 2.0, 4.0, 8.0], dtype=np.longdouble)
        for correction in (0, 1, 2):
            assert_near(x.var(correction=correction).numpy(), np.asarray(wide.var(ddof=correction)), dtype, 1)
            assert_near(x.std(correction=correction).numpy(), np.asarray(wide.std(ddof=correction)), dtype, 1)
        assert_same(x.var(unbiased=False).numpy(), x.var(correction=0).numpy())
        assert_same(x.var(unbiased=True).numpy(), x.var().numpy())
        assert is_nan(x[:1].var().numpy()).all()
        for pair, one in ((al.var_mean(x), x.var()), (al.std_mean(x), x.std())):
            assert_same(pair[0].numpy(), one.numpy())
            assert_same(pair[1].numpy(), x.mean().numpy())
        both = al.var_mean(x.reshape(2, 2), 1, correction=0, keepdim=True)
        assert both[0].shape == both[1].shape == (2, 1)

    def test_far_from_zero(self):
        x = np.random.default_rng(0).normal(1e4, 1.0, 10000).astype(np.float32)
        want = x.astype(np.longdouble).var(ddof=1)
        assert al.from_numpy(x).var().item() == pytest.approx(float(want), rel=1e-6)

    def test_complex_is_real(self):
        x = np.array([1 + 2j, 3 - 1j, 0.5j], dtype=np.complex64)
        got = al.from_numpy(x).var()
        assert got.dtype == al.float32
        assert got.item() == pytest.approx(np.var(x.astype(np.complex128), ddof=1), rel=1e-6)


class TestExtremes:
    @pytest.mark.parametrize("dtype", REALS, ids=named)
    def test_places_and_pairs(self, dtype):
        array = np.array([[0, 1, 1, 0], [1, 0, 1, 1]]).astype(dtype.numpy_dtype)
        x = al.from_numpy(array)
        for name, wanted in (("max", np.argmax), ("min", np.argmin)):
            assert getattr(x, name)().item() == getattr(array.astype(np.float64), name)()
            for axis in (0, 1, -1):
                pair = getattr(al, name)(x, axis)
                assert pair._fields == ("values", "indices")
                indices = wanted(array.astype(np.float64), axis=axis)
                assert pair.indices.dtype == al.int64 and pair.values.dtype == dtype
                assert pair.indices.tolist() == indices.tolist()
                picked = np.take_along_axis(array, np.expand_dims(indices, axis), axis).squeeze(axis)
                assert_same(pair.values.numpy(), picked)
                kept = getattr(x, name)(dim=axis, keepdim=True)
                assert kept.values.ndim == kept.indices.ndim == 2
            assert getattr(al, "arg" + name)(x).item() == wanted(array.astype(np.float64))
        both = x.aminmax(dim=1)
        assert both._fields == ("min", "max")
        assert both.min.tolist() == [0, 0] and both.max.tolist() == [1, 1]

    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_nan(self, dtype):
        x = al.tensor([[1.0, math.nan, 3.0, math.nan], [4.0, 2.0, 4.0, 2.0]], dtype=dtype)
        for name in ("amax", "amin"):
            assert is_nan(getattr(x, name)(1).numpy()).tolist() == [True, False]
            assert is_nan(getattr(x, name)().numpy()).all()
        assert x.argmax(1).tolist() == [1, 0] and x.argmin(1).tolist() == [1, 1]
        assert x.argmax().item() == 1
        assert x.max(0).indices.tolist() == [1, 0, 1, 0]

    @pytest.mark.parametrize("dtype", INTEGERS, ids=named)
    def test_ends_of_the_range(self, dtype):
        info = al.iinfo(dtype)
        x = al.tensor([info.max - 1, info.min, info.max, info.min + 1, info.max, info.min], dtype=dtype)
        assert x.amax().item() == info.max and x.amin().item() == info.min
        assert x.argmax().item() == 2 and x.argmin().item() == 1

    def test_infinities_and_zeros(self):
        x = al.tensor([-math.inf, -math.inf])
        assert x.amax().item() == -math.inf and x.argmax().item() == 0
        y = al.tensor([-0.0, 0.0])
        assert y.amax().item() == y.amin().item() == 0
        assert y.argmax().item() == y.argmin().item() == 0

    def test_of_two(self):
        x, y = al.tensor([1, 5]), al.tensor([2.0, 3.0])
        assert al.max(x, y).tolist() == [2.0, 5.0] and x.min(y).tolist() == [1.0, 3.0]
        with pytest.raises(TypeError, match="^max: .*complex64"):
            al.max(al.tensor([1j]), x)

    @pytest.mark.parametrize("size", [1, 7, 8, 63, 64, 65, 1000, 4097, 100_003])
    def test_long_rows(self, size):
        array = np.random.default_rng(size).permutation(size).astype(np.float32)
        x = al.from_numpy(array)
        assert x.argmax().item() == array.argmax() and x.argmin().item() == array.argmin()
        assert x.amax().item() == size - 1 and x.amin().item() == 0
        assert x.sum().item() == pytest.approx(size * (size - 1) / 2, rel=1e-6)


class TestNorm:
    @pytest.mark.parametrize("p", [0, 0.5, 1, 2, 3, -1, -2, math.inf, -math.inf])
    @pytest.mark.parametrize("dtype", [al.float32, al.float64, al.float16, al.int32, al.complex64], ids=named)
    def test_orders(self, p, dtype):
        array = np.array([[1, 2, 3], [4, 1, 2]]).astype(dtype.numpy_dtype)
        if dtype.is_complex:
            array = array * (1 - 2j)
        array = array.astype(dtype.numpy_dtype)
        sizes = np.abs(wide_values(array))
        for axis in (None, 0, 1, (0, 1)):
            if p == 0:
                want = np.sum(sizes != 0, axis=axis)
            elif math.isinf(p):
                want = (np.max if p > 0 else np.min)(sizes, axis=axis)
            else:
                want = np.sum(sizes ** np.longdouble(p), axis=axis) ** (1 / np.longdouble(p))
            got = al.norm(al.from_numpy(array), p, axis)
            out = al.float32 if dtype.is_integer else dtype.to_real()
            assert got.dtype == out
            assert_near(got.numpy(), np.asarray(want).astype(np.longdouble), out, 1)

    def test_no_overflow(self):
        assert al.tensor([300.0, 400.0], dtype=al.float16).norm().item() == 500
        assert al.tensor([3e30, 4e30]).norm().item() == pytest.approx(5e30)
        assert al.full(4, 3e-30).norm().item() == pytest.approx(6e-30)
        with pytest.raises(ValueError, match="^norm: no elements"):
            al.ones(0).norm(math.inf)

    def test_keepdim(self):
        assert al.ones((2, 3)).norm(dim=1, keepdim=True).shape == (2, 1)
        assert al.ones((2, 3)).norm(p=1, axis=0).tolist() == [2, 2, 2]


class TestLogsumexp:
    def test_large_and_small(self):
        assert al.tensor([1000.0, 1000.0]).logsumexp().item() == pytest.approx(1000 + math.log(2))
        assert al.tensor([-1000.0, -1000.0]).logsumexp().item() == pytest.approx(-1000 + math.log(2))
        assert al.tensor([-math.inf, -math.inf]).logsumexp().item() == -math.inf
        assert al.tensor([math.inf, 1.0]).logsumexp().item() == math.inf
        assert math.isnan(al.tensor([math.nan, 1.0]).logsumexp().item())
        assert al.tensor([-math.inf, 0.0]).logsumexp().item() == 0.0


class TestErrors:
    @pytest.mark.parametrize("name", ALL + ["max", "min"])
    def test_axes(self, name):
        x = al.ones((2, 3))
        for axis in (2, -3, 100):
            with pytest.raises(IndexError, match=f"^{name}: "):
                getattr(x, name)(dim=axis)
        with pytest.raises(OverflowError, match="out of range: 1180591620717411303424"):
            getattr(x, name)(dim=2**70)
        if name not in PLACES + ["max", "min"]:
            with pytest.raises(IndexError, match=f"^{name}: "):
                getattr(x, name)(dim=(0, 5))
            for axes in ((0, 0), (0, -2)):
                with pytest.raises(ValueError, match=f"^{name}: axis named twice"):
                    getattr(x, name)(dim=axes)
        for axis in ("x", 1.5, [None]):
            with pytest.raises(TypeError, match=f"^{name}: .*(str|float|list)"):
                getattr(x, name)(dim=axis)
        with pytest.raises(TypeError, match="twice"):
            getattr(x, name)(dim=0, axis=0)
        with pytest.raises(TypeError, match=f"^{name}: .*str"):
            getattr(al, name)("x")

    @pytest.mark.parametrize("name", EXTREMES + PLACES + ["max", "min"])
    def test_nothing(self, name):
        with pytest.raises(ValueError, match=f"^{name}: no elements"):
            getattr(al.ones(0), name)()
        with pytest.raises(ValueError, match=rf"^{name}: no elements: \[0, 3\]"):
            getattr(al.ones((0, 3)), name)(dim=0)
        got = getattr(al.ones((0, 3)), name)(dim=1)
        shape = got.values.shape if name in ("max", "min") else got.shape
        assert shape == (0,)

    @pytest.mark.parametrize("name", [*ALL, "max", "min", "nansum", "nanmean", "aminmax", "var_mean"])
    def test_scalars_have_one_axis(self, name):
        x = al.tensor(3.0, requires_grad=True)
        line = al.tensor([3.0], requires_grad=True)
        for dim, keepdim in itertools.product((0, -1), (False, True)):
            got, want = (getattr(y, name)(dim=dim, keepdim=keepdim) for y in (x, line))
            several = isinstance(want, tuple)
            for one, other in zip(*((r if several else (r,)) for r in (got, want))):
                assert one.shape == () and one.dtype == other.dtype
                np.testing.assert_array_equal(one.tolist(), other.reshape(()).tolist())
                if other.requires_grad:
                    x.grad = line.grad = None
                    one.backward()
                    other.backward(al.ones_like(other))
                    np.testing.assert_array_equal(x.grad.tolist(), line.grad[0].tolist())
        for dim in (1, -2):
            with pytest.raises(IndexError, match="axis out of range"):
                getattr(x, name)(dim=dim)


def test_lists_and_numpy_arrays_are_reduced():
    assert al.sum([1, 2, 3]).item() == 6
    assert al.amax(np.array([1.5, 2.5])).item() == 2.5
    assert al.mean([[1.0, 2.0], [3.0, 4.0]], dim=0).tolist() == [2.0, 3.0]


def test_every_axis_of_many_dimensions():
    array = np.arange(2 * 3 * 4 * 5, dtype=np.int64).reshape(2, 3, 4, 5)
    x = al.from_numpy(array)
    for count in range(5):
        for axes in itertools.combinations(range(4), count):
            if axes:
                assert x.sum(axes).tolist() == array.sum(axis=axes).tolist()
                assert x.amax(axes, keepdim=True).tolist() == array.max(axis=axes, keepdims=True).tolist()


class TestUnbiased:
    """torch's older arguments of variances: a bool in the first place is no dimension."""

    array = np.arange(12.0).reshape(3, 4) ** 2

    @pytest.mark.parametrize("name", ["var", "std"])
    @pytest.mark.parametrize("unbiased", [False, True])
    def test_positions_and_names(self, name, unbiased):
        x = al.tensor(self.array)
        whole = getattr(np, name)(self.array, ddof=int(unbiased))
        rows = getattr(np, name)(self.array, axis=1, ddof=int(unbiased), keepdims=True)
        method, function = getattr(x, name), getattr(al, name)
        for got in (method(unbiased), method(unbiased=unbiased), function(x, unbiased)):
            assert got.shape == () and math.isclose(got.item(), whole, rel_tol=1e-12)
        for got in (
            method(1, unbiased, True),
            function(x, (1,), unbiased, keepdim=True),
            method(axis=1, unbiased=unbiased, keepdims=True),
        ):
            np.testing.assert_allclose(got.numpy(), rows, rtol=1e-12)
        values, means = getattr(al, name + "_mean")(x, 1, unbiased, True)
        np.testing.assert_allclose(values.numpy(), rows, rtol=1e-12)
        np.testing.assert_allclose(means.numpy(), self.array.mean(1, keepdims=True), rtol=1e-12)
        assert getattr(x, name + "_mean")(unbiased)[0].item() == method(unbiased).item()

    def test_given_twice(self):
        for call in (
            lambda x: x.var(True, False),
            lambda x: x.std(0, True, correction=0),
            lambda x: al.var_mean(x, False, unbiased=True),
        ):
            with pytest.raises(TypeError, match="twice"):
                call(al.ones(3))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.sum(True),
        lambda x: x.mean(dim=False),
        lambda x: x.sum((True,)),
        lambda x: x.amax(False),
        lambda x: x.argmax(True),
        lambda x: x.softmax(True),
        lambda x: x.cumsum(True),
        lambda x: x.size(False),
        lambda x: x.unsqueeze(True),
        lambda x: x.flatten(False),
        lambda x: al.ones(True, 2),
        lambda x: al.zeros((2, False)),
        lambda x: al.eye(True),
    ],
)
def test_a_bool_is_no_dimension_and_no_size(call):
    with pytest.raises(TypeError, match="not an integer"):
        call(al.ones(2, 2))


class TestNames:
    """Norms by name, of another dtype, and extremes of two tensors by a keyword."""

    def test_norms(self):
        array = np.array([[1.0, -2.0], [3.0, 4.0]])
        x = al.tensor(array)
        assert x.norm("fro").item() == pytest.approx(np.linalg.norm(array))
        assert al.norm(x, p="nuc").item() == pytest.approx(np.linalg.norm(array, "nuc"))
        assert x.norm("nuc", dim=(0, 1), keepdim=True).shape == (1, 1)
        np.testing.assert_allclose(x.norm("fro", 1).numpy(), np.linalg.norm(array, axis=1))
        assert x.norm(p=None).item() == x.norm().item() == x.norm(2).item()
        half = al.full((70000,), 1.0, dtype="float16")
        assert half.norm(1, dtype=al.float32).item() == 70000.0
        with pytest.raises(ValueError, match="norm"):
            x.norm("x")
        with pytest.raises(TypeError, match="norm: not an order"):
            x.norm([1])

    def test_extremes_of_two(self):
        x, y = al.tensor([1, 5]), al.tensor([3, 2])
        assert al.max(x, other=y).tolist() == x.max(other=y).tolist() == [3, 5]
        assert al.min(x, other=y).tolist() == [1, 2]
        with pytest.raises(TypeError, match="twice"):
            al.max(x, 0, other=y)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_questions_have_truth_values(dtype):
    """PyTorch keeps uint8; every dtype has the same answer here."""
    x = al.tensor([[0, 1], [1, 1]]).to(dtype)
    for got, want in [(x.any(), True), (x.all(), False), (x.any(0), [True, True]), (x.all(1), [False, True])]:
        assert got.dtype == al.bool and got.tolist() == want


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("ddof", [0, 1, 2, 0.5])
def test_variances_take_numpys_ddof(name, ddof):
    x = np.random.default_rng(6).normal(size=(5, 4))
    found = getattr(al, name)(al.tensor(x), axis=0, ddof=ddof)
    np.testing.assert_allclose(found.numpy(), getattr(np, name)(x, axis=0, ddof=ddof), rtol=1e-12)
    with pytest.raises(TypeError):
        getattr(al.tensor(x), name)(ddof=ddof, correction=1)
