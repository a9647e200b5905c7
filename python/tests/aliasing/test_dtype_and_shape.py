"""A write keeps the dtype and the shape of its target, or is refused and changes nothing."""

import numpy as np
import pytest
from reference import DTYPES, named

import allotrope as al

SYMBOLS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}


def rank(dtype):
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    return 0 if dtype == al.bool else 1 if dtype.is_integer else 2 if dtype.is_floating_point else 3


def ones(dtype):
    return al.tensor([1, 1, 1]).to(dtype)


def result_or_none(function):
    """The value, or None where the operation itself does not exist for these dtypes."""
    try:
        return function()
    except TypeError:
        return None


@pytest.mark.parametrize("target", DTYPES, ids=named)
@pytest.mark.parametrize("name", SYMBOLS)
def test_every_operator_between_all_dtypes(target, name):
    for other in DTYPES:
        x, y = ones(target), ones(other)
        view, before = x[1:], x.tolist()
        want = result_or_none(lambda: getattr(x, f"__{name}__")(y))
        scope = {"x": x, "y": y}
        case = f"{target} {SYMBOLS[name]}= {other}"
        if want is None or rank(want.dtype) > rank(target):
            with pytest.raises(TypeError):
                exec(f"x {SYMBOLS[name]}= y", scope)
            assert x.tolist() == before, case
        else:
            exec(f"x {SYMBOLS[name]}= y", scope)
            assert x.tolist() == want.to(target).tolist(), case
        assert scope["x"] is x and x.dtype == target and x.shape == (3,), case
        assert view.tolist() == x.tolist()[1:], case


@pytest.mark.parametrize("target", DTYPES, ids=named)
@pytest.mark.parametrize("spelling", [
    "x[0] = y[0]", "x[:] = y", "x[[0, 1]] = y[:2]", "x[mask] = y[mask]", "x.copy_(y)",
    "x.index_copy_(0, index, y[:1])", "x.masked_scatter_(mask, y)", "x.scatter_(0, index, y)",
    "x.index_put_((index,), y[:1])", "x.put_(index, y[:1])", "x[1:].copy_(y[1:])",
])
def test_every_assignment_between_all_dtypes(target, spelling):
    for other in DTYPES:
        # No integer dtype holds both: refused or converted is for the promotion table to say.
        if al.uint64 in (target, other) and rank(target) == rank(other) == 1 and target != other:
            continue
        x, y = ones(target), al.tensor([0, 0, 0]).to(other)
        scope = {"x": x, "y": y, "mask": al.tensor([True, False, True]), "index": al.tensor([0])}
        if rank(other) > rank(target):
            with pytest.raises(TypeError):
                exec(spelling, scope)
            assert x.tolist() == ones(target).tolist(), f"{target} of {other}"
        else:
            exec(spelling, scope)
            assert 0 in x.tolist(), f"{target} of {other}"
        assert x.dtype == target and x.shape == (3,)


class TestKinds:
    def test_floats_keep_their_width(self):
        x = al.tensor([1.0, 2.0])
        x += al.tensor([0.1, 0.2], dtype=al.float64)
        assert x.dtype == al.float32
        np.testing.assert_array_equal(x.numpy(), np.array([1.1, 2.2]).astype(np.float32))
        y = al.ones(2, dtype=al.bfloat16)
        y.mul_(al.tensor([1.0, 3.0], dtype=al.float64))
        assert y.dtype == al.bfloat16 and y.tolist() == [1.0, 3.0]

    def test_integers_wrap(self):
        x = al.tensor([100, -100], dtype=al.int8)
        x += al.tensor([100, -100])
        assert x.dtype == al.int8 and x.tolist() == [-56, 56]
        x.copy_(al.tensor([300, -300]))
        assert x.tolist() == [44, -44]
        x[0] = al.tensor(200)
        assert x.tolist() == [-56, -44]

    @pytest.mark.parametrize("line", [
        "x += 0.5", "x -= 1.0j", "x /= 2", "x /= x", "x *= 1.5", "x **= 0.5", "x += al.ones(2)", "x.sqrt_()",
        "x.exp_()", "x.div_(2)", "x.add_(1.5)", "x.copy_(al.ones(2))", "x.sigmoid_()", "x.lerp_(x, 0.5)",
        "x.addcdiv_(x, x)",
    ])
    def test_integers_take_no_floats(self, line):
        x = al.tensor([1, 2])
        view = x[:1]
        with pytest.raises(TypeError):
            exec(line, {"x": x, "al": al})
        assert x.dtype == al.int64 and x.tolist() == [1, 2] and view.tolist() == [1]

    def test_the_refusal_names_the_cast(self):
        x = al.tensor([1, 2])
        with pytest.raises(TypeError, match="int64"):
            x += 0.5
        with pytest.raises(TypeError, match="float32.*int64|int64.*float32"):
            x += al.ones(2)

    @pytest.mark.parametrize("line", [
        "x += 1j", "x *= al.tensor(1j)", "x[0] = 1j", "x[0] = al.tensor(1j)", "x.fill_(1j)",
        "x.copy_(al.tensor([1j, 2j]))", "x.masked_fill_(x > 0, 1j)", "x.index_fill_(0, al.tensor([0]), 1j)",
    ])
    def test_real_numbers_take_no_complex_ones(self, line):
        x = al.tensor([1.0, 2.0])
        with pytest.raises(TypeError):
            exec(line, {"x": x, "al": al})
        assert x.dtype == al.float32 and x.tolist() == [1.0, 2.0]

    def test_complex_numbers_take_real_ones(self):
        x = al.tensor([1j, 2j])
        x += 1
        x *= al.tensor([2.0, 3.0], dtype=al.float64)
        x[0] = 5
        assert x.dtype == al.complex64 and x.tolist() == [5, 3 + 6j]

    def test_bool(self):
        x = al.tensor([True, False])
        x |= al.tensor([False, True])
        assert x.dtype == al.bool and x.tolist() == [True, True]
        x &= False
        x ^= True
        x += al.tensor([True, False])
        assert x.dtype == al.bool and x.tolist() == [True, True]
        for line in ("x += 1", "x *= 2.0", "x += al.tensor([1, 1])", "x[0] = al.tensor(2)", "x[:] = y"):
            with pytest.raises(TypeError):
                exec(line, {"x": x, "al": al, "y": al.ones(2)})
            assert x.dtype == al.bool and x.tolist() == [True, True]

    @pytest.mark.parametrize("dtype", [al.float32, al.int64, al.uint8, al.complex64], ids=named)
    def test_comparisons_leave_ones_and_zeros(self, dtype):
        x = al.tensor([1, 2, 3]).to(dtype)
        assert x.eq_(al.tensor([1, 0, 3]).to(dtype)) is x
        assert x.dtype == dtype and x.tolist() == [1, 0, 1]
        assert x.logical_not_().dtype == dtype


class TestNumbers:
    """Python's numbers must be representable."""

    def test_integers_take_whole_floats(self):
        x = al.tensor([1, 2])
        x[0] = 7.0
        assert x.dtype == al.int64 and x.tolist() == [7, 2]

    def test_a_fraction_is_named(self):
        x = al.tensor([1, 2])
        view = x[1:]
        for assign in (
            lambda: x.__setitem__(0, 1.5),
            lambda: x.__setitem__(slice(None), 1.5),
            lambda: x.__setitem__([0, 1], 1.5),
            lambda: x.__setitem__(x > 0, 1.5),
        ):
            with pytest.raises(TypeError, match=r"1\.5"):
                assign()
        assert x.tolist() == [1, 2] and view.tolist() == [2] and x.dtype == al.int64

    @pytest.mark.parametrize("value", [300, -1, 2**70, 256])
    @pytest.mark.parametrize("line", [
        "x[0] = value", "x[:] = value", "x[[0]] = value", "x[x > 0] = value", "x.fill_(value)",
        "x.masked_fill_(x > 0, value)", "x.index_fill_(0, al.tensor([0]), value)", "x += value",
        "x.scatter_(0, al.tensor([0]), value)", "x.clone()[0] = value",
    ])
    def test_a_number_out_of_range(self, line, value):
        x = al.tensor([1, 2], dtype=al.uint8)
        with pytest.raises(OverflowError, match=str(value)):
            exec(line, {"x": x, "al": al, "value": value})
        assert x.tolist() == [1, 2] and x.dtype == al.uint8

    @pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e30])
    def test_integers_take_no_numbers_they_have_not(self, value):
        x = al.tensor([1, 2])
        with pytest.raises((TypeError, OverflowError, ValueError)):
            x[0] = value
        assert x.tolist() == [1, 2]

    def test_lists_are_as_their_numbers(self):
        x = al.tensor([1, 2, 3])
        x[:2] = [8, 9]
        assert x.tolist() == [8, 9, 3]
        with pytest.raises(TypeError):
            x[:2] = [1.5, 2.5]
        assert x.tolist() == [8, 9, 3] and x.dtype == al.int64

    def test_floats_take_every_number(self):
        x = al.zeros(3, dtype=al.float16)
        x[0], x[1], x[2] = 1, True, 2.5
        assert x.dtype == al.float16 and x.tolist() == [1.0, 1.0, 2.5]


class TestNumPysNumbers:
    """They are weak in operators, as Python's."""

    @pytest.mark.parametrize("number", [np.float64(2), np.float32(2), np.int64(2), np.float16(2), np.sqrt(4)])
    def test_floats(self, number):
        x = al.ones(2)
        assert (x / number).dtype == al.float32 and (number * x).dtype == al.float32
        x *= number
        x[0] = number
        assert x.dtype == al.float32 and x.tolist() == [2.0, 2.0]

    def test_integers(self):
        x = al.tensor([1, 2], dtype=al.int8)
        x += np.int64(3)
        assert x.dtype == al.int8 and x.tolist() == [4, 5]
        assert (x + np.int64(1)).dtype == al.int8
        with pytest.raises(TypeError):
            x += np.float64(0.5)
        with pytest.raises(OverflowError):
            x += np.int64(300)
        assert x.tolist() == [4, 5]

    def test_strong_under_numpys_policy(self):
        with al.promotion("numpy"):
            assert (al.ones(2) / np.float64(2)).dtype == al.float64
        assert al.tensor(np.float64(1)).dtype == al.float64


class TestShapes:
    @pytest.mark.parametrize("line", [
        "x += y", "x.mul_(y)", "x.copy_(y)", "x[:] = y", "x.add_(y, alpha=2)", "x.eq_(y)", "x.maximum_(y)",
        "x.addcmul_(y, y)", "x.lerp_(y, 0.5)", "x.clamp_(y, y)", "x.where_(y > 0, 0)",
        "x.masked_fill_(y > 0, 0.0)",
        "x[0:1].add_(y)",
    ])
    @pytest.mark.parametrize("shape", [(3, 2), (3,), (1, 1, 3, 2)])
    def test_another_shape_is_refused(self, line, shape):
        x, y = al.tensor([1.0, 2.0]), al.ones(shape)
        view = x[1:]
        with pytest.raises(ValueError):
            exec(line, {"x": x, "y": y})
        assert x.shape == (2,) and x.tolist() == [1.0, 2.0] and view.tolist() == [2.0]

    def test_smaller_shapes_are_broadcast(self):
        x = al.zeros(2, 3)
        x += al.tensor([1.0, 2.0, 3.0])
        x[:, :2] = al.tensor([[5.0], [6.0]])
        x.copy_(x[0])
        assert x.tolist() == [[5.0, 5.0, 3.0]] * 2


class TestAnotherDtype:
    def test_views_keep_the_old_value(self):
        x = al.tensor([1.5, 2.5])
        row, same = x[:1], x[...]
        assert x.to_(al.int64) is x and x.tolist() == [1, 2]
        x += 5
        assert row.tolist() == [1.5] and same.tolist() == [1.5, 2.5]
        same.zero_()
        assert row.tolist() == [0.0] and x.tolist() == [6, 7]

    def test_a_view_goes_its_own_way(self):
        x = al.tensor([[1.5, 2.5], [3.5, 4.5]])
        row = x[0]
        row.to_(al.float64)
        row.fill_(9)
        assert x.tolist() == [[1.5, 2.5], [3.5, 4.5]] and row.dtype == al.float64


class TestRefusals:
    """Whatever is refused, at whichever element, has written nothing."""

    @pytest.mark.parametrize("line, error", [
        ("x //= y", ZeroDivisionError),
        ("x %= y", ZeroDivisionError),
        ("x.floor_divide_(y)", ZeroDivisionError),
        ("x.fmod_(y)", ZeroDivisionError),
        ("x //= 0", ZeroDivisionError),
        ("x[1:] //= y[1:]", ZeroDivisionError),
        ("x.T.remainder_(y)", ZeroDivisionError),
        ("x **= negative", ValueError),
        ("x.pow_(negative)", ValueError),
        ("x[[0, 1, size]] = 7", IndexError),
        ("x[[0, 1, size]] += 7", IndexError),
        ("x.index_fill_(0, places, 7)", IndexError),
        ("x.index_copy_(0, places, x[:3])", IndexError),
        ("x.index_add_(0, places, x[:3])", IndexError),
        ("x.scatter_(0, places, 7)", IndexError),
        ("x.scatter_add_(0, places, x)", IndexError),
        ("x.put_(places, x[:3])", IndexError),
        ("x.index_put_((places,), x[:3])", IndexError),
        ("x.masked_scatter_(x == x, x[:2])", ValueError),
        ("x[x > 0] = x[:2]", ValueError),
        ("x[size] = 1", IndexError),
        ("x[0, 0] = 1", IndexError),
        ("x.fill_('a')", TypeError),
        ("x.copy_('a')", TypeError),
        ("x[0] = None", TypeError),
        ("x[:] = [1] * (size - 1) + ['a']", (TypeError, ValueError)),
        ("x[:] = [1] * (size - 1) + [2**70]", OverflowError),
        ("x[:] = [1] * (size - 1) + [0.5]", TypeError),
    ])
    @pytest.mark.parametrize("size", [5, 60_000])
    def test_nothing_is_written(self, line, error, size):
        x = al.arange(1, size + 1)
        view, before = x[1:], x.clone()
        y = al.ones(size, dtype=al.int64)
        y[size - 1] = 0
        places = al.tensor([0, 1, size])
        scope = {"x": x, "y": y, "negative": y - 1 - al.ones_like(y), "places": places, "size": size}
        place = x.data_ptr()
        with pytest.raises(error):
            exec(line, scope)
        assert al.equal(x, before) and al.equal(view, before[1:])
        assert x.dtype == al.int64 and x.shape == (size,) and x.data_ptr() == place
        x += 1
        assert al.equal(view, before[1:] + 1)
