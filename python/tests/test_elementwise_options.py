"""Operations of several operands and those with options: against NumPy and Python."""

import math

import numpy as np
import pytest

import allotrope as al

from elementwise import assert_near, floats_of, values_of, widen
from reference import DTYPES, FLOATS, INTEGERS, REALS, assert_same, is_nan, named

WIDE_FLOATS = [al.float32, al.float64]


class TestWhere:
    @pytest.mark.parametrize("dtype", DTYPES, ids=named)
    def test_every_dtype(self, dtype):
        array = values_of(dtype)[:120]
        other = array[::-1].copy()
        mask = np.arange(len(array)) % 3 == 0
        got = al.where(al.from_numpy(mask), al.from_numpy(array), al.from_numpy(other))
        assert_same(got.numpy(), np.where(mask, array, other))
        assert_same(al.from_numpy(array).where(al.from_numpy(mask), al.from_numpy(other)).numpy(), np.where(mask, array, other))

    def test_broadcasting_and_numbers(self):
        mask = al.tensor([[True], [False]])
        got = al.where(mask, al.tensor([1, 2, 3]), 0)
        assert got.tolist() == [[1, 2, 3], [0, 0, 0]] and got.dtype == al.int64
        assert al.where(mask, 1, 2.5).dtype == al.float32
        assert al.where(mask, True, False).dtype == al.bool
        assert al.where(True, 1, 2).item() == 1
        assert al.where(al.tensor([0, 3]), 1, 2).tolist() == [2, 1]
        assert al.where(al.tensor([0.0, math.nan]), 1, 2).tolist() == [2, 1]
        assert al.where([True, False], [1, 2], [3.0, 4.0]).tolist() == [1.0, 4.0]
        assert al.where(mask[:0], 1, 2).shape == (0, 1)

    def test_promotion(self):
        mask = al.tensor([True])
        got = al.where(mask, al.ones(1, dtype=al.int32), al.ones(1, dtype=al.float16))
        assert got.dtype == al.float16
        with pytest.raises(TypeError, match="^where: .*uint64"):
            al.where(mask, al.ones(1, dtype=al.int64), al.ones(1, dtype=al.uint64))
        with pytest.raises(OverflowError, match="^where: .*300"):
            al.where(mask, al.ones(1, dtype=al.uint8), 300)

    def test_wrong_arguments(self):
        with pytest.raises(TypeError, match="str"):
            al.where("x", 1, 2)
        with pytest.raises(TypeError, match="missing"):
            al.where(al.tensor([True]), 1)
        with pytest.raises(ValueError, match="^where: "):
            al.where(al.tensor([True, False]), al.ones(3), 0)


class TestClamp:
    @pytest.mark.parametrize("dtype", REALS, ids=named)
    def test_both_and_one(self, dtype):
        x = al.tensor([0, 1, 2, 3, 4]).to(dtype)
        if dtype == al.bool:
            assert x.clamp(True, True).tolist() == [True] * 5
            assert x.clamp().tolist() == [False] + [True] * 4
            return
        for name in ("clamp", "clip"):
            clamp = getattr(al, name)
            assert clamp(x, 1, 3).tolist() == [1, 1, 2, 3, 3]
            assert clamp(x, 1).tolist() == [1, 1, 2, 3, 4]
            assert clamp(x, min=1).tolist() == [1, 1, 2, 3, 4]
            assert clamp(x, max=1).tolist() == [0, 1, 1, 1, 1]
            assert clamp(x, 3, 1).tolist() == [1] * 5
            assert clamp(x).tolist() == [0, 1, 2, 3, 4]
            assert clamp(x, 1, 3).dtype == clamp(x, 1).dtype == dtype
        bounds = al.tensor([4, 3, 2, 1, 0], dtype=dtype)
        assert x.clamp(max=bounds).tolist() == [0, 1, 2, 1, 0]

    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_nan_goes_through(self, dtype):
        x = al.tensor([math.nan, 1.0], dtype=dtype)
        for got in (x.clamp(0, 2), x.clamp(0), x.clamp(max=2)):
            assert is_nan(got.numpy()).tolist() == [True, False]
        assert is_nan(x[1:].clamp(x[:1], 2).numpy()).all()

    def test_promotion_and_errors(self):
        assert al.tensor([1, 2]).clamp(1.5).dtype == al.float32
        for arguments in ((0,), (None, 0), (0, 1)):
            with pytest.raises(TypeError, match="^clamp: .*complex64"):
                al.tensor([1j]).clamp(*arguments)
        with pytest.raises(TypeError, match="^clamp: .*str"):
            al.ones(2).clamp("x")
        with pytest.raises(OverflowError, match="^clamp: "):
            al.tensor([1], dtype=al.uint8).clamp(min=-1)


class TestRound:
    @pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=named)
    @pytest.mark.parametrize("decimals", [-3, -1, 0, 1, 2, 5])
    def test_floats(self, dtype, decimals):
        x = np.random.default_rng(0).uniform(-1e4, 1e4, 300).astype(dtype.numpy_dtype)
        got = al.from_numpy(x).round(decimals=decimals).numpy()
        want = np.array([round(float(v), decimals) for v in x])
        assert_near(got, want, dtype, 0 if dtype == al.float32 else 1, [x])

    def test_ties_to_even(self):
        x = al.tensor([0.5, 1.5, 2.5, -0.5, -1.5, -2.5])
        assert x.round().tolist() == [0.0, 2.0, 2.0, -0.0, -2.0, -2.0]
        assert np.signbit(x.round().numpy()).tolist() == [False] * 3 + [True] * 3
        assert al.tensor([0.25, 0.75, -0.25]).round(decimals=1).tolist() == pytest.approx([0.2, 0.8, -0.2])
        assert al.tensor([5.0, 15.0, 25.0]).round(decimals=-1).tolist() == [0.0, 20.0, 20.0]

    def test_scaling_never_overflows(self):
        for dtype, value in [(al.float16, 700.0), (al.float32, 3e38), (al.float64, 1e308), (al.bfloat16, 2e38)]:
            x = al.tensor([value, -value, math.inf, -math.inf, 0.0], dtype=dtype)
            for decimals in (2, 20, 400):
                assert_same(x.round(decimals=decimals).numpy(), x.numpy())
            assert x.round(decimals=-400).tolist() == [0.0, -0.0, math.inf, -math.inf, 0.0]
        assert al.tensor([math.nan]).round(decimals=2).isnan().item()

    @pytest.mark.parametrize("dtype", INTEGERS, ids=named)
    def test_integers_stay_integers(self, dtype):
        values = [0, 4, 5, 6, 14, 15, 25, 44, 45, 55, 99, 100]
        x = al.tensor(values, dtype=dtype)
        for decimals in (3, 0, -1, -2, -30):
            got = x.round(decimals=decimals)
            assert got.dtype == dtype
            assert got.tolist() == [round(v, decimals) for v in values]
        if dtype.is_signed:
            assert (-x).round(decimals=-1).tolist() == [round(-v, -1) for v in values]
        if dtype.bits == 64:
            assert al.tensor([2**62 + 1], dtype=dtype).round(decimals=-1).item() == round(2**62 + 1, -1)

    def test_complex(self):
        assert al.tensor([1.25 + 2.75j]).round(decimals=1).numpy() == pytest.approx([1.2 + 2.8j])


class TestDivision:
    @pytest.mark.parametrize("dtype", WIDE_FLOATS + [al.float16, al.int32], ids=named)
    def test_rounding_modes(self, dtype):
        a, b = [7, -7, 7, -7, 6], [2, 2, -2, -2, 3]
        x, y = al.tensor(a, dtype=dtype), al.tensor(b, dtype=dtype)
        assert al.div(x, y).tolist() == [p / q for p, q in zip(a, b)]
        assert al.div(x, y, rounding_mode="floor").tolist() == [p // q for p, q in zip(a, b)]
        assert al.div(x, y, rounding_mode="trunc").tolist() == [int(p / q) for p, q in zip(a, b)]
        assert al.div(x, y, rounding_mode=None).tolist() == [p / q for p, q in zip(a, b)]
        assert al.div(x, y, rounding_mode="floor").dtype == dtype

    def test_wrong_modes(self):
        with pytest.raises(ValueError, match="^div: unknown rounding_mode: 'ceil'; accepted are trunc, floor"):
            al.div(al.ones(2), 2, rounding_mode="ceil")
        with pytest.raises(TypeError, match="int"):
            al.div(al.ones(2), 2, rounding_mode=3)


class TestNanToNum:
    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_defaults(self, dtype):
        array = floats_of(dtype, 20)
        got = al.nan_to_num(al.from_numpy(array)).numpy()
        largest = al.finfo(dtype).max
        want = widen(array)
        want = np.where(np.isnan(want), 0, np.clip(want, -largest, largest))
        assert_same(got, want.astype(np.float64).astype(dtype.numpy_dtype), array)

    def test_options(self):
        x = al.tensor([math.nan, math.inf, -math.inf, 1.0])
        assert x.nan_to_num(nan=5.0).tolist()[0] == 5.0
        assert al.nan_to_num(x, 1.0, 2.0, 3.0).tolist() == [1.0, 2.0, 3.0, 1.0]
        assert al.nan_to_num(x, posinf=7, neginf=-7).tolist() == [0.0, 7.0, -7.0, 1.0]
        with pytest.raises(TypeError, match="str"):
            x.nan_to_num(nan="x")

    @pytest.mark.parametrize("dtype", [*INTEGERS, al.bool], ids=named)
    def test_integers_are_left_alone(self, dtype):
        x = al.from_numpy(values_of(dtype))
        assert_same(al.nan_to_num(x, nan=3.0).numpy(), x.numpy())
        assert al.nan_to_num(1).dtype == al.int64

    def test_complex(self):
        x = al.tensor([complex(math.inf, math.nan), complex(1, -math.inf)])
        largest = al.finfo(al.float32).max
        assert al.nan_to_num(x).tolist() == [complex(largest, 0), complex(1, -largest)]


class TestClose:
    @pytest.mark.parametrize("dtype", [al.float32, al.float64, al.float16], ids=named)
    def test_as_numpy(self, dtype):
        x = np.array([1.0, 1.001, 1.1, math.inf, -math.inf, math.nan, 0.0, 1e-9], dtype=dtype.numpy_dtype)
        a, b = (grid.ravel() for grid in np.meshgrid(x, x))
        for options in ({}, {"rtol": 0.01}, {"atol": 0.2, "rtol": 0.0}, {"equal_nan": True}):
            # In float64 on both sides, so that the tolerance is no matter of the dtype.
            want = np.isclose(a.astype(np.float64), b.astype(np.float64), **options)
            got = al.isclose(al.from_numpy(a.copy()), al.from_numpy(b.copy()), **options)
            assert got.dtype == al.bool
            assert got.numpy().tolist() == want.tolist()
            assert al.allclose(al.from_numpy(a.copy()), al.from_numpy(b.copy()), **options) is bool(want.all())

    def test_kinds(self):
        assert al.allclose([1.0, 2.0], [1.0, 2.0]) is True
        assert al.isclose(al.tensor([1, 2]), al.tensor([1, 3])).tolist() == [True, False]
        assert al.isclose(al.tensor([1 + 1j]), al.tensor([1 + 1.1j]), atol=0.2).tolist() == [True]
        assert al.isclose(al.tensor([1 + 1j]), al.tensor([1 + 1.1j])).tolist() == [False]
        assert al.ones(2).allclose(al.ones(3, 2)) is True
        with pytest.raises(ValueError):
            al.ones(2).allclose(al.ones(3))
        with pytest.raises(TypeError, match="str"):
            al.ones(2).isclose("x")


class TestMultiplyAndAdd:
    @pytest.mark.parametrize("dtype", [d for d in DTYPES if d != al.bool], ids=named)
    def test_alpha_and_value(self, dtype):
        x, y, z = (al.tensor(v, dtype=dtype) for v in ([1, 2], [3, 4], [2, 1]))
        assert al.add(x, y, alpha=2).tolist() == [7, 10]
        assert x.sub(y, alpha=0).tolist() == [1, 2]
        assert al.addcmul(x, y, z).tolist() == [7, 6]
        if not (dtype.is_floating_point and dtype.bits == 8):
            assert al.addcmul(x, y, z, value=3).tolist() == [19, 14]
        assert al.addcmul(x, y, z).dtype == al.add(x, y, alpha=2).dtype == dtype
        quotient = al.addcdiv(x, y, z, value=2)
        assert quotient.tolist() == [4, 10]
        assert quotient.dtype == (al.float32 if dtype.is_integer else dtype)

    def test_bool(self):
        x, y = al.tensor([True, False, False]), al.tensor([False, True, False])
        assert al.addcmul(x, y, y).tolist() == [True, True, False]

    def test_wrong_arguments(self):
        with pytest.raises(TypeError, match="^add: .*str"):
            al.add(al.ones(2), 1, alpha="x")
        with pytest.raises(TypeError, match="^addcmul: .*str"):
            al.addcmul(al.ones(2), 1, "x")
        with pytest.raises(OverflowError):
            al.add(al.ones(2, dtype=al.int8), al.ones(2, dtype=al.int8), alpha=300)


class TestLerp:
    @pytest.mark.parametrize("dtype", FLOATS, ids=named)
    def test_ends_are_exact(self, dtype):
        x, y = al.tensor([0.5, -3.0, 0.1], dtype=dtype), al.tensor([2.0, 1.0, 0.7], dtype=dtype)
        assert_same(al.lerp(x, y, 0.0).numpy(), x.numpy())
        assert_same(al.lerp(x, y, 1.0).numpy(), y.numpy())
        a, b = widen(x.numpy()), widen(y.numpy())
        for weight in (0.25, 0.5, 0.75, -1.0, 2.0):
            got = al.lerp(x, y, weight)
            assert_near(got.numpy(), a + weight * (b - a), dtype, 4, absolute=8)

    def test_weights_and_kinds(self):
        assert al.lerp(al.tensor([0.0, 0.0]), al.tensor([10.0, 10.0]), al.tensor([0.1, 0.5])).numpy() == pytest.approx([1, 5])
        assert al.lerp(al.tensor([0]), al.tensor([10]), 0.5).dtype == al.float32
        assert al.lerp(al.tensor([0j]), al.tensor([10 + 4j]), 0.5).tolist() == [5 + 2j]


class TestActivationOptions:
    @pytest.mark.parametrize("dtype", WIDE_FLOATS, ids=named)
    def test_against_numpy(self, dtype):
        array = np.random.default_rng(0).uniform(-5, 5, 200).astype(dtype.numpy_dtype)
        x, w = al.from_numpy(array), widen(array)
        eps = 64
        for got, want in [
            (al.leaky_relu(x, 0.2), np.where(w < 0, w * 0.2, w)),
            (al.prelu(x, al.tensor(0.25, dtype=dtype)), np.where(w < 0, w * 0.25, w)),
            (al.elu(x, alpha=2.0), np.where(w > 0, w, 2 * np.expm1(w))),
            (al.celu(x, alpha=2.0), np.where(w > 0, w, 2 * np.expm1(w / 2))),
            (al.softplus(x, beta=2.0, threshold=5.0), np.where(2 * w > 5, w, np.log1p(np.exp(2 * w)) / 2)),
            (al.softshrink(x, 1.0), np.where(w > 1, w - 1, np.where(w < -1, w + 1, 0))),
            (al.hardshrink(x, 1.0), np.where(np.abs(w) <= 1, 0, w)),
            (al.threshold(x, 1.0, -7.0), np.where(w > 1, w, -7)),
            (al.hardtanh(x, -2.0, 3.0), np.clip(w, -2, 3)),
            (al.hardtanh(x), np.clip(w, -1, 1)),
            (al.gelu(x, approximate="tanh"), 0.5 * w * (1 + np.tanh(np.sqrt(2 / np.pi) * (w + 0.044715 * w**3)))),
        ]:
            assert_near(got.numpy(), want.astype(np.longdouble), dtype, 2, [array], absolute=eps)

    def test_logit_eps(self):
        x = al.tensor([-1.0, 0.0, 0.25, 1.0, 2.0], dtype=al.float64)
        got = x.logit(eps=0.1).tolist()
        ends = math.log(0.1 / 0.9)
        assert got == pytest.approx([ends, ends, math.log(1 / 3), -ends, -ends])
        plain = x.logit().tolist()
        assert math.isnan(plain[0]) and plain[1] == -math.inf and plain[3] == math.inf

    def test_wrong_options(self):
        x = al.ones(2)
        with pytest.raises(ValueError, match="^gelu: unknown approximate: 'fast'; accepted are none, tanh"):
            x.gelu(approximate="fast")
        for call in (
            lambda: x.elu("x"),
            lambda: x.softplus(beta="x"),
            lambda: x.logit(eps="x"),
            lambda: x.gelu(approximate=1),
            lambda: x.round(decimals="x"),
        ):
            with pytest.raises(TypeError, match="str|int"):
                call()

    @pytest.mark.parametrize("dtype", REALS, ids=named)
    def test_threshold(self, dtype):
        x = al.tensor([0, 1, 0, 1]).to(dtype)
        want = [5, 1, 5, 1]
        assert al.threshold(x, 0, 5).tolist() == want
        assert al.threshold(x, 0, 5).dtype == (al.int64 if dtype == al.bool else dtype)


class TestKeywords:
    """torch's names of operands: `input`, `other`, and those of a few rows."""

    def test_one_operand(self):
        x = al.tensor([0.25, 4.0])
        for name in ("sqrt", "exp", "relu", "abs", "isnan", "sigmoid", "neg"):
            function = getattr(al, name)
            assert function(input=x).tolist() == function(x).tolist()

    def test_two_operands(self):
        x = al.tensor([3, 4])
        for name in ("mul", "eq", "maximum", "logical_and", "remainder", "bitwise_and", "multiply"):
            function = getattr(al, name)
            want = function(x, 2).tolist()
            assert function(x, other=2).tolist() == want
            assert function(input=x, other=2).tolist() == want
            assert getattr(x, name)(other=2).tolist() == want

    def test_other_names(self):
        x = al.tensor([2.0, 0.0])
        assert al.pow(x, exponent=2).tolist() == x.pow(exponent=2).tolist() == [4.0, 0.0]
        assert al.power(input=x, exponent=3).tolist() == [8.0, 0.0]
        assert al.heaviside(x, values=0.5).tolist() == x.heaviside(values=0.5).tolist() == [1.0, 0.5]
        assert x.pow_(exponent=2).tolist() == [4.0, 0.0]
        with pytest.raises(TypeError):
            al.sqrt(other=x)


class TestRefusals:
    def test_tolerances(self):
        x = al.ones(2)
        for options in ({"rtol": -1.0}, {"atol": -1e-9}, {"rtol": math.nan}, {"atol": math.nan}):
            (name,) = options
            with pytest.raises(ValueError, match=f"^isclose: {name} out of range: .*; 0 and above"):
                al.isclose(x, x, **options)
            with pytest.raises(ValueError, match=f"^allclose: {name} out of range"):
                al.allclose(x, x, **options)

    def test_bounds_of_hardtanh(self):
        x = al.tensor([-3.0, 3.0])
        for call in (x.hardtanh, lambda *bounds: al.nn.functional.hardtanh(x, *bounds)):
            with pytest.raises(ValueError, match="^hardtanh: min_val out of range: 2; .*max_val"):
                call(2.0, 1.0)
            assert call(1.0, 1.0).tolist() == [1.0, 1.0]

    def test_softshrink(self):
        x = al.tensor([-3.0, 3.0])
        for call in (x.softshrink, lambda lambd: al.nn.functional.softshrink(x, lambd)):
            for wrong in (-0.5, math.nan):
                with pytest.raises(ValueError, match="^softshrink: lambd out of range"):
                    call(wrong)
            assert call(0.0).tolist() == [-3.0, 3.0]


class TestGradients:
    def slopes(self, function, *numbers):
        leaves = [al.tensor(values, dtype=al.float32, requires_grad=True) for values in numbers]
        return leaves, al.autograd.grad(function(*leaves).sum(), leaves, create_graph=True)

    @pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
    def test_shares_of_large_numbers(self, name):
        inf = math.inf
        x = [1e5, 1e7, 1e17, inf, inf, -inf, -inf, 3.0, -1e30]
        y = [1e5, 1e7, 1e17, -inf, inf, -inf, inf, 3.0, 1e30]
        _, (dx, dy) = self.slopes(getattr(al, name), x, y)
        assert dx.tolist() == [0.5, 0.5, 0.5, 1.0, 0.5, 0.5, 0.0, 0.5, 0.0]
        assert dy.tolist() == [0.5, 0.5, 0.5, 0.0, 0.5, 0.5, 1.0, 0.5, 1.0]

    def test_second_slopes_of_equal_numbers(self):
        (x, _), (dx, _) = self.slopes(al.logaddexp, [1e5, 0.0], [1e5, 0.0])
        assert al.autograd.grad(dx.sum(), x)[0].tolist() == [0.25, 0.25]

    def test_the_angle_of_the_origin(self):
        leaves, (dy, dx) = self.slopes(al.atan2, [0.0, 0.0], [0.0, 1.0])
        assert dy.tolist() == [0.0, 1.0] and dx.tolist() == [0.0, 0.0]
        second = al.autograd.grad(dy.sum() + dx.sum(), leaves)
        assert [slope.tolist() for slope in second] == [[0.0, -1.0], [0.0, -1.0]]

    def test_angles_of_small_and_large_numbers(self):
        _, (dy, dx) = self.slopes(al.atan2, [3e-30, 3e30], [4e-30, 4e30])
        assert dy.tolist() == pytest.approx([1.6e29, 1.6e-31])
        assert dx.tolist() == pytest.approx([-1.2e29, -1.2e-31])

    @pytest.mark.parametrize("decimals", [0, 3, -2, 400, -400])
    def test_rounding_has_no_slope(self, decimals):
        values = [math.inf, math.nan, 1e308, 1.23456]
        x = al.tensor(values, dtype=al.float64, requires_grad=True)
        (slope,) = al.autograd.grad(x.round(decimals=decimals).sum(), x)
        assert slope.tolist() == [0.0] * 4
