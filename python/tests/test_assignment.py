"""Assignment and the other in-place spellings: writes that keep dtype and shape, seen by every view."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allotrope as al

from reference import DTYPES, INTEGERS, assert_same, named

KEYS = {
    "int": 1,
    "negative": -1,
    "pair": (1, 2),
    "full": (0, 1, 2),
    "slice": slice(0, 2),
    "step": slice(None, None, 2),
    "backwards": slice(None, None, -1),
    "inner step": (slice(None), slice(3, None, -2)),
    "ellipsis": ...,
    "last": (..., 0),
    "none": None,
    "middle none": (slice(None), None, 1),
    "empty slice": slice(2, 2),
    "list": [0, 2],
    "list of lists": [[0, 1], [2, 0]],
    "empty list": [],
    "two lists": ([0, 1, 2], [3, 0, 1]),
    "list and slice": ([0, 2], slice(1, 3)),
    "slice and list": (slice(None), [3, 0]),
    "apart": ([0, 1], slice(None), [4, 0]),
    "broadcast lists": ([[0], [2]], [1, 3]),
    "int and list": (1, [0, 2]),
    "mask of rows": np.array([True, False, True]),
    "mask of no rows": np.array([False, False, False]),
    "bool list": [True, False, True],
    "mask of a plane": np.arange(12).reshape(3, 4) % 3 == 0,
    "mask of everything": np.arange(60).reshape(3, 4, 5) % 7 == 0,
    "mask and int": (np.array([True, False, True]), 2),
    "slice and mask": (slice(None), np.array([True, False, False, True])),
    "true": True,
    "false": False,
    "numpy's true": np.True_,
    "mask of no dimensions": np.array(True),
    "true and int": (True, 1),
    "false and int": (False, 1),
    "int and true": (1, True),
    "slice and true": (slice(None), True),
    "slice and false": (slice(None), False),
    "true twice": (True, True),
    "true and false": (True, False),
    "true and list": (True, [0, 2]),
    "true and mask": (True, np.array([True, False, True])),
    "true apart from list": (True, slice(None), [0, 2]),
    "none and true": (None, True, slice(1, 3)),
    "ellipsis and true": (..., True),
    "true and ellipsis": (True, ..., [0, 1]),
    "range": range(2),
    "range and range": (range(2), range(3, 1, -1)),
    "empty range": range(0),
    "tuple in a tuple": ((0, 2), slice(1, 3)),
    "empty tuple": (),
}


def as_key(key):
    """The key with arrays as tensors."""
    if isinstance(key, tuple):
        return tuple(as_key(item) for item in key)
    return al.from_numpy(key.copy()) if isinstance(key, np.ndarray) else key


def fresh(dtype=al.int64):
    return np.arange(60).reshape(3, 4, 5).astype(dtype.numpy_dtype)


@pytest.mark.parametrize("name", list(KEYS))
def test_keys_as_in_numpy(name):
    key = KEYS[name]
    part = fresh()[key]
    values = [77, np.full(part.shape, 5), 100 + np.arange(part.size).reshape(part.shape)]
    if part.ndim:
        values.append(np.arange(part.shape[-1]) + 200)
    if part.ndim and name != "mask of everything":
        values.append(np.full((1,) * (part.ndim + 1), 9))
    for value in values:
        array = fresh()
        array[key] = value
        for spelled in (key, as_key(key)):
            x = al.from_numpy(fresh())
            x[spelled] = al.from_numpy(np.array(value)) if isinstance(value, np.ndarray) else value
            assert_same(x.numpy(), array)
            y = al.from_numpy(fresh())
            y[spelled] = value
            assert_same(y.numpy(), array)


@pytest.mark.parametrize("chosen", [True, False])
def test_a_single_truth_value_chooses_a_single_element(chosen):
    mask = al.tensor(chosen)
    for key in (mask, chosen, np.bool_(chosen), (..., mask), (mask, None)):
        array = np.array(5.0)
        numpy_key = tuple(np.asarray(k) if isinstance(k, al.Tensor) else k for k in key) \
            if isinstance(key, tuple) else np.bool_(chosen)
        x = al.tensor(5.0, requires_grad=True)
        assert_same(x[key].detach().numpy(), array[numpy_key].astype(np.float32))
        x[key].sum().backward()
        assert x.grad.item() == float(chosen)
        y = al.tensor(5.0)
        y[key] = 7.0
        assert y.item() == (7.0 if chosen else 5.0)


def test_gradients_through_a_single_truth_value():
    x = al.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    weights = al.tensor(np.arange(1.0, 7.0).reshape(1, 2, 3))
    (x[True] * weights).sum().backward()
    assert x.grad.tolist() == [[1, 2, 3], [4, 5, 6]]
    x.grad = None
    y = x * 1.0
    value = al.tensor([10.0, 20.0, 30.0], dtype=y.dtype, requires_grad=True)
    y[True, 1] = value
    (y * y).sum().backward()
    assert x.grad.tolist() == [[0, 2, 4], [0, 0, 0]]
    assert value.grad.tolist() == [20, 40, 60]


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_every_dtype(dtype):
    array = (fresh() % 7).astype(dtype.numpy_dtype)
    x = al.from_numpy(array.copy())
    one = np.ones((), dtype=dtype.numpy_dtype)
    for key in (0, (slice(None), 1), ([0, 2], slice(None), 3), np.arange(60).reshape(3, 4, 5) % 5 == 0):
        array[key] = one
        x[as_key(key)] = 1 if dtype != al.bool else True
        assert x.dtype == dtype
        assert_same(x.numpy(), array)


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_indices_of_every_integer_dtype(dtype):
    array = fresh()
    array[[2, 0]] = -1
    x = al.from_numpy(fresh())
    x[al.tensor([2, 0], dtype=dtype)] = -1
    assert_same(x.numpy(), array)
    y = al.from_numpy(fresh())
    y[al.tensor(1, dtype=dtype)] = -1
    array = fresh()
    array[1] = -1
    assert_same(y.numpy(), array)


@given(st.data())
def test_random_slices(data):
    bound = st.none() | st.integers(-8, 8)
    step = st.none() | st.integers(-3, 3).filter(bool)
    key = tuple(data.draw(st.builds(slice, bound, bound, step) | st.integers(-3, 2)) for _ in range(2))
    array, x = fresh(), al.from_numpy(fresh())
    array[key] = -7
    x[key] = -7
    assert_same(x.numpy(), array)
    layout = data.draw(st.sampled_from([(0, 1, 2), (2, 0, 1), (1, 0, 2)]))
    array, x = fresh().transpose(layout), al.from_numpy(fresh()).permute(*layout)
    key = tuple(k if isinstance(k, slice) else 0 for k in key)
    value = np.arange(array[key].size).reshape(array[key].shape)
    array[key] = value
    x[key] = value
    assert_same(x.numpy(), np.ascontiguousarray(array))


@st.composite
def keys_with_arrays(draw, sizes):
    """Slices, integers, and at least one array of indices, of shapes that broadcast together."""
    slices = st.builds(slice, *[st.none() | st.integers(-60, 60)] * 2, st.sampled_from([None, 1, 3, -1, -2]))
    shape = draw(st.sampled_from([(), (3,), (70,), (2, 3)]))
    key = [
        draw(st.sampled_from([":", "part", "int", "array"])) if dim else "array" for dim in range(len(sizes))
    ]
    for dim, (kind, size) in enumerate(zip(draw(st.permutations(key)), sizes)):
        if kind == "array":
            cut = draw(st.sampled_from([shape, shape[1:]]))
            generator = np.random.default_rng(draw(st.integers(0, 99)))
            key[dim] = generator.integers(-size, size, cut)
        elif kind == "int":
            key[dim] = draw(st.integers(-size, size - 1))
        else:
            key[dim] = slice(None) if kind == ":" else draw(slices)
    return tuple(key)


# The larger sizes are shared out over threads.
@pytest.mark.parametrize("sizes", [(3, 4, 5), (40, 30, 50)], ids=str)
@given(data=st.data())
def test_random_arrays(sizes, data):
    array = np.arange(np.prod(sizes)).reshape(sizes)
    x = al.from_numpy(array.copy())
    layout = data.draw(st.permutations(range(3)))
    array, x = array.transpose(layout), x.permute(*layout)
    if data.draw(st.booleans()):
        array, x = array[::-1], x.flip(0)
    key = data.draw(keys_with_arrays(array.shape))
    assert_same(x[as_key(key)].numpy(), np.array(array[key], order="C"))
    value = -np.arange(array[key].size).reshape(array[key].shape)
    for value in (value, value[..., :1] if value.ndim else value, -7):
        array = array.copy(order="K")
        y = x.clone()
        array[key] = value
        y[as_key(key)] = value
        assert_same(y.numpy(), np.ascontiguousarray(array))
        # `index_put` takes arrays alone.
        if not any(isinstance(item, slice) for item in key):
            np.add.at(array, key, value)
            sums = y.index_put([al.tensor(item) for item in key], al.tensor(value), accumulate=True)
            assert_same(sums.numpy(), np.ascontiguousarray(array))


def test_values_and_keys_of_the_same_memory():
    x = al.arange(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    x[x] = al.arange(6) * 10
    assert x.tolist() == [10, 20, 30, 40, 50, 4]
    x[[5, 4, 3, 2, 1, 0]] = x
    assert x.tolist() == [4, 50, 40, 30, 20, 10]
    x[x > 35] = x[x < 15]
    assert x.tolist() == [4, 4, 10, 30, 20, 10]


def test_the_last_of_repeated_indices_stays():
    x = al.zeros(3)
    x[[1, 1, 1]] = al.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [0.0, 3.0, 0.0]


class TestDtypes:
    def test_the_dtype_stays(self):
        x = al.tensor([1, 2])
        x[0] = 3.0
        assert x.dtype == al.int64 and x.tolist() == [3, 2]
        x = al.tensor([1, 2], dtype=al.int8)
        x[0] = al.tensor(300, dtype=al.int16)
        assert x.dtype == al.int8 and x.tolist() == [44, 2]
        x = al.tensor([1.0, 2.0], dtype=al.float16)
        x[0] = 3
        x[1] = al.tensor(0.1, dtype=al.float64)
        assert x.dtype == al.float16 and x.tolist() == [3.0, np.float16(0.1)]
        x = al.zeros(2, dtype=al.bool)
        x[0] = 1
        assert x.dtype == al.bool and x.tolist() == [True, False]
        y = al.tensor([1], dtype=al.uint64)
        y[0] = al.tensor(7)
        assert y.dtype == al.uint64 and y.tolist() == [7]

    def test_refusals_change_nothing(self):
        x = al.tensor([1, 2], dtype=al.uint8)
        with pytest.raises(OverflowError, match="^setitem: .*300"):
            x[0] = 300
        with pytest.raises(TypeError, match="^setitem: .*str"):
            x[0] = "x"
        with pytest.raises(TypeError):
            x[0] = None
        with pytest.raises(IndexError, match="2"):
            x[2] = 1
        with pytest.raises(IndexError):
            x[[0, 5]] = 1
        with pytest.raises(IndexError):
            x[0, 0] = 1
        with pytest.raises(ValueError, match="^setitem: "):
            x[:] = [1, 2, 3]
        with pytest.raises(IndexError):
            x[np.array([True, False, True])] = 1
        with pytest.raises(TypeError):
            x["x"] = 1
        with pytest.raises(TypeError):
            x[1.5] = 1
        for value in (1.5, 1j, al.tensor(1.0), al.tensor(1j), [0.5]):
            with pytest.raises(TypeError, match="^setitem: (scalar of )?a? ?higher kind"):
                x[0] = value
        with pytest.raises(TypeError, match="^delitem: "):
            del x[0]
        assert x.tolist() == [1, 2] and x.dtype == al.uint8


class TestValues:
    def test_views_see_writes_and_values_do_not(self):
        x = al.tensor([[1, 2], [3, 4]])
        row, turned, same, array = x[0], x.T, x[:], x.numpy()
        x[0] = 9
        assert x.tolist() == same.tolist() == [[9, 9], [3, 4]]
        assert row.tolist() == [9, 9]
        assert turned.tolist() == [[9, 3], [9, 4]]
        assert array.tolist() == [[1, 2], [3, 4]]
        row[0] = 7
        assert row.tolist() == [7, 9] and x.tolist() == [[7, 9], [3, 4]]

    def test_the_same_object_is_one_value(self):
        x = y = al.tensor([1, 2])
        x[0] = 5
        assert y.tolist() == [5, 2]
        y += 1
        assert x is y and x.tolist() == [6, 3]

    def test_memory_of_others_is_written_where_it_may_be(self):
        array = np.array([1.0, 2.0])
        x = al.from_numpy(array)
        x[0] = 5
        x += 1
        assert array.tolist() == x.tolist() == [6.0, 3.0]
        array.flags.writeable = False
        y = al.from_numpy(array)
        with pytest.warns(al.SharedMemoryWarning):
            y += 1
        assert array.tolist() == [6.0, 3.0] and y.tolist() == [7.0, 4.0]

    def test_expanded_elements_are_not_written_one_by_one(self):
        x = al.tensor([1, 2]).expand(3, 2)
        with pytest.raises(ValueError, match="^setitem: elements share memory"):
            x[0] = 7
        assert x.tolist() == [[1, 2]] * 3

    def test_assignment_from_itself(self):
        x = al.arange(5)
        x[1:] = x[:-1]
        assert x.tolist() == [0, 0, 1, 2, 3]
        x[:] = x[::-1]
        assert x.tolist() == [3, 2, 1, 0, 0]

    def test_arrays_taken_before_keep_their_values(self):
        x = al.ones(1000)
        before = x.numpy()
        x *= 3
        x.neg_()
        x[5] = 0
        x.to_(al.float16)
        assert (before == 1).all()
        assert x.numpy()[5] == 0 and x.numpy()[6] == -3 and x.dtype == al.float16

    def test_many_steps(self):
        x = al.zeros(50)
        for i in range(50):
            x[i] = i
        assert x.tolist() == list(range(50))


class TestOperators:
    @pytest.mark.parametrize(
        "name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift"]
    )
    def test_every_operator(self, name):
        x = al.tensor([7.0, 6.0, 5.0] if name == "truediv" else [7, 6, 5])
        want = getattr(x, f"__{name}__")(2)
        same, view, place = x, x[1:], x.data_ptr()
        scope = {"x": x}
        symbol = {
            "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%",
            "pow": "**", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
        }[name]
        exec(f"x {symbol}= 2", scope)
        assert scope["x"] is same
        assert_same(same.numpy(), want.numpy())
        assert view.tolist() == want.tolist()[1:]
        assert same.data_ptr() == place

    def test_dtype_stays(self):
        x = al.ones(2, dtype=al.float16)
        x *= np.ones(2)
        assert x.dtype == al.float16
        x = al.tensor([100, 2], dtype=al.int8)
        x += al.tensor([100, 1])
        assert x.dtype == al.int8 and x.tolist() == [-56, 3]

    def test_a_higher_kind_is_refused(self):
        x = al.tensor([1, 2])
        for change in (lambda: x.__iadd__(0.5), lambda: x.__itruediv__(2), lambda: x.add_(1j)):
            with pytest.raises(TypeError, match="a higher kind: "):
                change()
        assert x.dtype == al.int64 and x.tolist() == [1, 2]
        x = al.tensor([True, False])
        with pytest.raises(TypeError, match="^add: a higher kind: int64; in place bool takes"):
            x += 1

    def test_another_shape_is_refused(self):
        x = al.tensor([1, 2])
        with pytest.raises(ValueError, match=r"add: .*: \[3, 2\]; in place it is \[2\]$"):
            x += al.ones((3, 2), dtype=al.int64)
        x += al.ones(1, dtype=al.int64)
        assert x.tolist() == [2, 3]

    def test_lists_and_wrong_objects(self):
        x = al.tensor([1, 2])
        with pytest.raises(TypeError):
            x += "x"
        with pytest.raises(TypeError):
            x += None
        assert x.tolist() == [1, 2]


class TestMethods:
    def test_underscores_return_the_object(self):
        x = al.tensor([-1.0, 2.0])
        view = x[:1]
        assert x.relu_() is x and x.tolist() == [0.0, 2.0]
        assert x.add_(1, alpha=2) is x and x.tolist() == [2.0, 4.0]
        assert x.clamp_(0, 3).exp_().log_() is x
        assert view.tolist() == x[:1].tolist()

    def test_options_are_passed_on(self):
        x = al.tensor([1.0, 2.0])
        assert x.add_(al.ones(2), alpha=3).tolist() == [4.0, 5.0]
        assert x.div_(2, rounding_mode="floor").tolist() == [2.0, 2.0]
        assert x.where_(al.tensor([True, False]), 0).tolist() == [2.0, 0.0]
        with pytest.raises(ValueError):
            x.div_(2, rounding_mode="x")
        assert x.tolist() == [2.0, 0.0]

    @pytest.mark.parametrize(
        "name, arguments",
        [
            ("absolute", ()),
            ("addbmm", (al.ones(2, 3, 2), al.ones(2, 2, 3))),
            ("addmm", (al.ones(3, 2), al.ones(2, 3))),
            ("addr", (al.ones(3), al.ones(3))),
            *((f"arc{name}", ()) for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")),
            ("arctan2", (2.0,)),
            ("clamp_max", (0.5,)),
            ("clamp_min", (0.5,)),
            ("clip", (0.25, 0.5)),
            ("conj_physical", ()),
            ("cumprod", (0,)),
            ("cumsum", (1,)),
            ("divide", (2.0,)),
            ("fix", ()),
            ("float_power", (2,)),
            ("greater", (0.5,)),
            ("less_equal", (0.5,)),
            ("multiply", (2.0,)),
            ("negative", ()),
            ("not_equal", (0.5,)),
            ("renorm", (2, 0, 0.5)),
            ("sgn", ()),
            ("squeeze", ()),
            ("subtract", (2.0,)),
            ("swapaxes", (0, 1)),
            ("swapdims", (0, 1)),
            ("t", ()),
            ("transpose", (0, 1)),
            ("tril", (-1,)),
            ("triu", (1,)),
            ("true_divide", (2.0,)),
            ("unsqueeze", (0,)),
        ],
    )
    def test_torch_names(self, name, arguments):
        x = al.tensor(np.random.default_rng(0).random((3, 3)))
        want, view = getattr(x, name)(*arguments), x[:]
        before, place = x.tolist(), x.data_ptr()
        assert getattr(x, name + "_")(*arguments) is x
        np.testing.assert_array_equal(x.numpy(), want.numpy())
        # What turns an object turns no other view of the memory.
        turns = name in ("squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze")
        np.testing.assert_array_equal(view.tolist(), before if turns else x.tolist())
        assert x.dtype == al.float64 and x.data_ptr() == place

    def test_products_of_other_shapes_are_added_in_place(self):
        x = al.ones(3)
        assert x.addmv_(al.ones(3, 2), al.ones(2)) is x and x.tolist() == [3, 3, 3]
        x = al.ones(2, 3, 3)
        assert x.baddbmm_(al.ones(2, 3, 2), al.ones(2, 2, 3)) is x and x.sum().item() == 54

    @pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (7, 2), (3, 3, 3), (0, 2), (2, 0), (1, 1)])
    @pytest.mark.parametrize("wrap", [False, True])
    def test_fill_diagonal(self, shape, wrap):
        array = np.zeros(shape)
        x = al.tensor(array).requires_grad_(True)
        y = x * 1.0
        if array.size:
            np.fill_diagonal(array, 3.0, wrap=wrap)
        assert y.fill_diagonal_(3, wrap=wrap) is y and y.tolist() == array.tolist()
        y.sum().backward()
        assert x.grad.tolist() == (array == 0).astype(float).tolist()
        assert al.zeros(2, 2, dtype=al.int8).fill_diagonal_(1).dtype == al.int8

    def test_fill_diagonal_refuses(self):
        for shape in ((3,), (), (2, 3, 2)):
            with pytest.raises(ValueError, match="^fill_diagonal_: wrong shape of input"):
                al.zeros(shape).fill_diagonal_(1)
        with pytest.raises(OverflowError, match="^fill_diagonal_: "):
            al.zeros(2, 2, dtype=al.int8).fill_diagonal_(300)

    @pytest.mark.parametrize("dtype", DTYPES, ids=named)
    def test_to(self, dtype):
        x = al.tensor([0.0, 1.0])
        view = x[:]
        assert x.to_(dtype) is x
        assert x.dtype == dtype and x.tolist() == [0, 1]
        assert view.dtype == al.float32

    def test_to_refuses(self):
        x = al.tensor([1j])
        with pytest.raises(TypeError, match="complex to real"):
            x.to_(al.float32)
        with pytest.raises(TypeError, match="unknown name"):
            x.to_("nonsense")
        assert x.dtype == al.complex64

    @pytest.mark.parametrize(
        "call, op",
        [
            (lambda x: x.__iadd__(al.ones(3)), "add"),
            (lambda x: x.mul_(al.ones(2, 1)), "mul"),
            (lambda x: x.clamp_(al.zeros(3), 1), "clamp"),
            (lambda x: x.where_(al.tensor([[True], [False]]), 0), "where"),
            (lambda x: x.masked_fill_(al.tensor([True, False]), 0.0), "masked_fill"),
            (lambda x: x.__ipow__(al.ones(3)), "pow"),
        ],
    )
    def test_the_shape_stays(self, call, op):
        x = al.ones(1)
        with pytest.raises(ValueError, match=f"^{op}: the result has another shape: "):
            call(x)
        assert x.shape == (1,) and x.tolist() == [1.0]

    @pytest.mark.parametrize("dtype", DTYPES, ids=named)
    def test_truth_values_are_numbers_of_the_dtype(self, dtype):
        x = al.tensor([0, 1, 1]).to(dtype)
        assert x.eq_(1) is x and x.dtype is dtype and x.tolist() == [0, 1, 1]
        x.logical_not_()
        assert x.dtype is dtype and x.tolist() == [1, 0, 0]
        y = al.tensor([0.5, float("nan")]).isnan_()
        assert y.dtype is al.float32 and y.tolist() == [0.0, 1.0]

    def test_memory_is_kept_by_what_overwrites_everything(self):
        x = al.ones(1000)
        place = x.data_ptr()
        for change in (
            lambda: x.zero_(),
            lambda: x.fill_(3),
            lambda: x.copy_(al.arange(1000)),
            lambda: x.copy_(5),
        ):
            assert change() is x and x.data_ptr() == place and x.dtype is al.float32
        view, value = x[1:], x + 0
        x.zero_()
        assert x.data_ptr() == place and view.tolist() == [0.0] * 999 and value.tolist() == [5.0] * 1000
        x = al.arange(6).reshape(2, 3).T
        x.copy_(x.flip(0))
        assert x.tolist() == [[2, 5], [1, 4], [0, 3]]
        array = np.ones(3)
        al.from_numpy(array).zero_()
        assert array.tolist() == [0.0] * 3

    def test_overwriting_is_recorded(self):
        a, b = (al.ones(2, requires_grad=True) for _ in range(2))
        y = a * 2
        y.copy_(b * 3)
        y.sum().backward()
        assert b.grad.tolist() == [3.0, 3.0]
        assert a.grad is None or a.grad.tolist() == [0.0, 0.0]
        with pytest.raises(TypeError, match="fill_: scalar of a higher kind"):
            al.arange(2).fill_(1.5)
        with pytest.raises(ValueError, match="^copy_"):
            al.ones(2).copy_(al.ones(3))

    def test_documentation(self):
        for name in sum(map(list, al._core._in_place_methods()), []):
            update = getattr(al.Tensor, name + "_")
            assert update.__name__ == name + "_"
            assert "is written over the elements" in update.__doc__ or "becomes that view" in update.__doc__


def test_an_element_is_assigned_in_place():
    x = al.zeros(1000)
    place = x.data_ptr()
    x[3] = 1.0
    x[al.tensor([5, 7])] = 2.0
    assert x.data_ptr() == place
    assert x.sum().item() == 5.0
    # Views see it; whoever took the value keeps it.
    view, array = x[:4], x.numpy()
    x[0] = 9.0
    assert x.data_ptr() != place
    assert view.tolist() == [9.0, 0.0, 0.0, 1.0] and array[0] == 0.0
    x[1:3] = x[:2]
    assert x[:4].tolist() == [9.0, 9.0, 0.0, 1.0]
