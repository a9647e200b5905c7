"""Views and named casts against NumPy: as methods, as functions, and with NumPy's names."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import DTYPES, assert_same, named

import allotrope as al

ARRAY = np.arange(24, dtype=np.int16).reshape(2, 3, 4)


def check(view, want):
    """The elements of a view, or of several."""
    if isinstance(view, tuple):
        assert len(view) == len(want)
        for one, other in zip(view, want):
            check(one, other)
    else:
        assert_same(view.numpy(), np.asarray(want))


def both(name, *arguments, **keywords):
    """What the method and the function of one name give, which must be one and the same."""
    x = al.tensor(ARRAY)
    method = getattr(x, name)(*arguments, **keywords)
    function = getattr(al, name)(x, *arguments, **keywords)
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in (method, function))):
        assert_same(one.numpy(), other.numpy())
        assert np.shares_memory(one.numpy(), x.numpy()) or one.numel() == 0
    return method


@pytest.mark.parametrize(
    "name, arguments, keywords, want",
    [
        ("reshape", (4, -1), {}, ARRAY.reshape(4, -1)),
        ("reshape", ((4, 6),), {}, ARRAY.reshape(4, 6)),
        ("reshape", (), {"shape": (4, 6)}, ARRAY.reshape(4, 6)),
        ("flatten", (1,), {}, ARRAY.reshape(2, 12)),
        ("flatten", (), {"start_dim": 0, "end_dim": 1}, ARRAY.reshape(6, 4)),
        ("ravel", (), {}, ARRAY.ravel()),
        ("unflatten", (2, (2, -1)), {}, ARRAY.reshape(2, 3, 2, 2)),
        ("unflatten", (), {"axis": -1, "sizes": (4, 1)}, ARRAY.reshape(2, 3, 4, 1)),
        ("transpose", (0, -1), {}, np.swapaxes(ARRAY, 0, -1)),
        ("swapdims", (0, 1), {}, np.swapaxes(ARRAY, 0, 1)),
        ("swapaxes", (), {"axis0": 0, "axis1": 2}, np.swapaxes(ARRAY, 0, 2)),
        ("permute", (2, 0, 1), {}, ARRAY.transpose(2, 0, 1)),
        ("permute", ((2, 0, 1),), {}, ARRAY.transpose(2, 0, 1)),
        ("permute", (), {"dims": (1, 0, 2)}, ARRAY.transpose(1, 0, 2)),
        ("permute", (), {"axes": (1, 0, 2)}, ARRAY.transpose(1, 0, 2)),
        ("movedim", (0, -1), {}, np.moveaxis(ARRAY, 0, -1)),
        ("movedim", ((0, 1), (2, 0)), {}, np.moveaxis(ARRAY, (0, 1), (2, 0))),
        ("moveaxis", (), {"source": 2, "destination": 0}, np.moveaxis(ARRAY, 2, 0)),
        ("broadcast_to", ((5, 2, 3, 4),), {}, np.broadcast_to(ARRAY, (5, 2, 3, 4))),
        ("broadcast_to", ((5, -1, -1, -1),), {}, np.broadcast_to(ARRAY, (5, 2, 3, 4))),
        ("squeeze", (), {}, ARRAY),
        ("unsqueeze", (1,), {}, np.expand_dims(ARRAY, 1)),
        ("unsqueeze", (), {"axis": -1}, np.expand_dims(ARRAY, -1)),
        ("expand_dims", ((0, 2),), {}, np.expand_dims(ARRAY, (0, 2))),
        ("expand_dims", (), {"axis": -2}, np.expand_dims(ARRAY, -2)),
        ("select", (1, -1), {}, ARRAY[:, -1]),
        ("select", (), {"axis": 2, "index": 0}, ARRAY[:, :, 0]),
        ("narrow", (2, 1, 2), {}, ARRAY[:, :, 1:3]),
        ("narrow", (), {"axis": 2, "start": -3, "length": 2}, ARRAY[:, :, 1:3]),
        ("diagonal", (), {}, np.diagonal(ARRAY)),
        ("diagonal", (-1, 1, 2), {}, np.diagonal(ARRAY, -1, 1, 2)),
        ("diagonal", (), {"offset": 2, "axis1": 0, "axis2": 2}, np.diagonal(ARRAY, 2, 0, 2)),
        ("diagonal", (99,), {}, np.diagonal(ARRAY, 99)),
        ("split", (3, 2), {}, (ARRAY[..., :3], ARRAY[..., 3:])),
        ("split", ([1, 0, 3],), {"axis": -1}, (ARRAY[..., :1], ARRAY[..., :0], ARRAY[..., 1:])),
        ("chunk", (3,), {"dim": 2}, (ARRAY[..., :2], ARRAY[..., 2:])),
        ("chunk", (2,), {}, (ARRAY[:1], ARRAY[1:])),
        ("tensor_split", (3, 2), {}, tuple(np.array_split(ARRAY, 3, 2))),
        ("tensor_split", (6,), {"axis": 2}, tuple(np.array_split(ARRAY, 6, 2))),
        ("tensor_split", ((1, -1), 2), {}, tuple(np.array_split(ARRAY, (1, -1), 2))),
        ("tensor_split", (al.tensor([1, 2]), 1), {}, tuple(np.array_split(ARRAY, (1, 2), 1))),
        ("tensor_split", (al.tensor([1]), 2), {}, tuple(np.array_split(ARRAY, (1,), 2))),
        ("tensor_split", (al.tensor(3), 2), {}, tuple(np.array_split(ARRAY, 3, 2))),
        ("unbind", (), {}, tuple(ARRAY)),
        ("unbind", (), {"axis": 2}, tuple(np.moveaxis(ARRAY, 2, 0))),
    ],
)
def test_views_equal_numpy(name, arguments, keywords, want):
    check(both(name, *arguments, **keywords), want)


@pytest.mark.parametrize(
    "arguments, keywords, dims",
    [((0, 2), {}, (0, 2)), (((0, 2),), {}, (0, 2)), ((), {"dims": (1,)}, 1), ((), {"axis": 1}, 1)],
)
def test_flip_copies(arguments, keywords, dims):
    x = al.tensor(ARRAY)
    y = x.flip(*arguments, **keywords)
    assert y.is_contiguous()
    x.zero_()
    assert_same(y.numpy(), np.ascontiguousarray(np.flip(ARRAY, dims)))


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_views_of_every_dtype(dtype):
    array = ARRAY.astype(bool if dtype == "bool" else np.int8).astype(dtype.numpy_dtype)
    x = al.tensor(array)
    check(x.movedim(0, 2), np.moveaxis(array, 0, 2))
    check(x.diagonal(1, 2, 1), np.diagonal(array, 1, 2, 1))
    check(x.split(2, 1), (array[:, :2], array[:, 2:]))
    check(x.narrow(0, 1, 1).ravel(), array[1].ravel())
    check(x[0].t(), array[0].T)
    check(x.T.unflatten(0, (2, 2)).ravel(), array.T.ravel())


def test_views_as_others():
    x, other = al.tensor(ARRAY), np.zeros((4, 6))
    check(x.view_as(other), ARRAY.reshape(4, 6))
    check(x.reshape_as(al.tensor(other)), ARRAY.reshape(4, 6))
    check(x[:1].expand_as(al.zeros(5, 3, 4)), np.broadcast_to(ARRAY[:1], (5, 3, 4)))
    check(x[:1].expand(5, -1, -1), np.broadcast_to(ARRAY[:1], (5, 3, 4)))
    check(x[:1].expand(size=(5, 3, 4)), np.broadcast_to(ARRAY[:1], (5, 3, 4)))
    check(x[:1].squeeze(), ARRAY[0])
    check(x[:1, :, :1].squeeze((0, 1)), ARRAY[0, :, :1])
    check(x[:1, :, :1].squeeze(axis=-1), ARRAY[:1, :, 0])
    check(al.t(x[0, 0]), ARRAY[0, 0])
    a, b = al.broadcast_tensors(x[:, :1], al.arange(3).reshape(3, 1))
    check(a, np.broadcast_to(ARRAY[:, :1], (2, 3, 4)))
    assert b.shape == (2, 3, 4) and b.dtype is al.int64
    assert al.broadcast_tensors() == ()
    check(al.ravel([[1, 2], [3, 4]]), np.arange(1, 5))
    check(al.flip(np.array([1.5, 2.5]), 0), np.array([2.5, 1.5]))


def test_torch_names_of_arguments():
    x = al.tensor(ARRAY)
    want = tuple(np.array_split(ARRAY, 2))
    check(al.tensor_split(x, sections=2), want)
    check(x.tensor_split(indices=(1,)), want)
    check(x.tensor_split(tensor_indices_or_sections=al.tensor([1])), want)
    check(x.tensor_split(indices_or_sections=2), want)
    check(x.hsplit(sections=3), np.hsplit(ARRAY, 3))
    check(al.vsplit(x, indices=[1]), np.vsplit(ARRAY, [1]))
    check(x.dsplit(indices=(1, 3)), np.dsplit(ARRAY, (1, 3)))
    check(al.broadcast_to(x, size=(5, 2, 3, 4)), np.broadcast_to(ARRAY, (5, 2, 3, 4)))
    check(x.repeat(repeats=(2, 1, 1)), np.tile(ARRAY, (2, 1, 1)))
    for call in (
        lambda: x.tensor_split(),
        lambda: x.tensor_split(2, sections=2),
        lambda: x.hsplit(sections=3, indices=[1]),
        lambda: x.broadcast_to((2, 3, 4), size=(2, 3, 4)),
        lambda: x.repeat(2, repeats=(2,)),
    ):
        with pytest.raises(TypeError, match="is missing|given twice"):
            call()


@given(st.integers(0, 12), st.integers(1, 15))
def test_parts_equal_numpy(size, n):
    array = np.arange(size)
    x = al.tensor(array)
    check(x.tensor_split(n), tuple(np.array_split(array, n)))
    parts = tuple(array[i : i + n] for i in range(0, size, n)) or (array,)
    check(x.split(n), parts)
    per_chunk = -(-size // n)
    if size:
        check(x.chunk(n), tuple(array[i : i + per_chunk] for i in range(0, size, per_chunk)))
    else:
        assert len(x.chunk(n)) == n


def test_a_single_element_takes_the_first_and_the_last_dimension():
    x = al.tensor(5.0, requires_grad=True)
    for dim in (0, -1, (0,)):
        for view in (x.flip(dim), x.squeeze(dim), al.squeeze(x, dim)):
            assert view.shape == () and view.item() == 5.0
            x.grad = None
            view.backward()
            assert x.grad.item() == 1.0
    for call in (x.flip, x.squeeze):
        with pytest.raises(IndexError, match="axis out of range: 1"):
            call(1)
    with pytest.raises(ValueError, match="named twice"):
        x.flip(0, -1)


@given(st.data())
def test_diagonals_and_moves_equal_numpy(data):
    rank = data.draw(st.integers(2, 4))
    shape = data.draw(st.lists(st.integers(0, 4), min_size=rank, max_size=rank))
    array = np.arange(np.prod(shape)).reshape(shape)
    a, b = data.draw(st.permutations(range(-rank, 0)))[:2]
    offset = data.draw(st.integers(-5, 5))
    check(al.tensor(array).diagonal(offset, a, b), np.diagonal(array, offset, a, b))
    count = data.draw(st.integers(0, rank))
    source = data.draw(st.permutations(range(rank)))[:count]
    target = data.draw(st.permutations(range(-rank, 0)))[:count]
    check(al.tensor(array).movedim(source, target), np.moveaxis(array, source, target))


CASTS = {
    "half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64",
    "byte": "uint8", "char": "int8", "short": "int16", "int": "int32", "long": "int64",
    "bool": "bool", "cfloat": "complex64", "cdouble": "complex128",
}


@pytest.mark.parametrize("name", CASTS)
def test_named_casts(name):
    for dtype in (d for d in DTYPES if al.can_cast(d, CASTS[name], "any")):
        x = al.tensor(ARRAY % 2).to(dtype)
        assert_same(getattr(x, name)().numpy(), x.to(CASTS[name]).numpy())
    x = al.zeros(2, dtype=CASTS[name])
    assert np.shares_memory(getattr(x, name)().numpy(), x.numpy())


def test_to_reads_its_arguments_as_torch():
    x, other = al.tensor([1.5, 2.5]), al.zeros(1, dtype="float16")
    for y in (
        x.to("float16"), x.to(al.float16), x.to(np.float16), x.to(dtype="half"),
        x.to("cpu", "float16"), x.to("cpu", dtype=al.float16), x.to(device="cpu", dtype="half"),
        x.to(other), x.to(other=other), x.type_as(other), x.to(al.float16, device="cpu"),
        x.to(al.float16, copy=True, non_blocking=True),
    ):
        assert y.dtype is al.float16 and y.tolist() == [1.5, 2.5]
    for y in (x.to("cpu"), x.to(device="cpu"), x.to("cpu", None), x.to(al.Float), x.to(x)):
        assert y.dtype is al.float32 and np.shares_memory(y.numpy(), x.numpy())
    assert not np.shares_memory(x.to("cpu", copy=True).numpy(), x.numpy())
    assert x.to(int).dtype is al.int64 and x.to(None).dtype is al.float32
    assert al.arange(3).to(al.Float, rounding="zero").dtype is al.float32


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda x: x.to("tpu"), RuntimeError,
         f"to: no such device: 'tpu'; available are {', '.join(al.devices())}"),
        (lambda x: x.to("cuda:0", "half"), RuntimeError,
         f"to: no such device: 'cuda:0'; available are {', '.join(al.devices())} "
         "(hint: devices of every maker are called \"gpu\")"),
        (lambda x: x.to(), TypeError,
         "to: nothing to convert to; a dtype, a device or a tensor is accepted"),
        (lambda x: x.to("half", "cpu"), TypeError,
         "to: arguments do not go together: ('half', 'cpu'); "
         "a dtype, a device, a device and a dtype, or a tensor is accepted"),
        (lambda x: x.to("half", "float"), TypeError, None),
        (lambda x: x.to("half", dtype="float"), TypeError,
         "to: an argument is given twice; one spelling of it is accepted"),
        (lambda x: x.to(object()), TypeError, None),
        (lambda x: x.narrow(2, 2, 3), IndexError,
         "narrow: part out of range: 3 from index 2; dimension 2 has size 4"),
        (lambda x: x.narrow(2, 0, -1), ValueError, "narrow: negative size: -1; sizes start at 0"),
        (lambda x: x.narrow(2, 0), TypeError, "narrow: length is missing"),
        (lambda x: x.narrow(0, 0, 1, axis=1), TypeError,
         "narrow: an argument is given twice; one spelling of it is accepted"),
        (lambda x: x.unsqueeze(), TypeError, "unsqueeze: dim is missing"),
        (lambda x: x.split(0), ValueError,
         "split: size of a part out of range: 0; 1 and above are accepted"),
        (lambda x: x.split([1, 2], 2), ValueError,
         "split: sizes do not add up: [1, 2]; dimension 2 has size 4"),
        (lambda x: x.split(1.5), TypeError,
         "split: not an integer: 1.5 of type float; accepted are integers and sequences of them"),
        (lambda x: x.split(-1), ValueError, "split: negative size: -1; sizes start at 0"),
        (lambda x: x.chunk(0), ValueError,
         "chunk: number of chunks out of range: 0; 1 and above are accepted"),
        (lambda x: x.tensor_split(0), ValueError,
         "tensor_split: number of sections out of range: 0; 1 and above are accepted"),
        (lambda x: x.tensor_split(2**62), MemoryError, None),
        (lambda x: x.unbind(3), IndexError,
         "unbind: axis out of range: 3; a tensor of 3 dimensions has axes -3 to 2"),
        (lambda x: x.movedim((0, 1), 2), ValueError,
         "movedim: wrong number of axes: 1; 2 are needed"),
        (lambda x: x.moveaxis(0, 9), IndexError,
         "moveaxis: axis out of range: 9; a tensor of 3 dimensions has axes -3 to 2"),
        (lambda x: x.swapaxes(0, 9), IndexError,
         "swapaxes: axis out of range: 9; a tensor of 3 dimensions has axes -3 to 2"),
        (lambda x: x.t(), ValueError,
         "t: too many dimensions: 3; at most 2 are accepted (hint: x.mT)"),
        (lambda x: x.diagonal(0, 1, 1), ValueError, "diagonal: axis named twice: 1"),
        (lambda x: x.unflatten(2, (3, -1)), ValueError,
         "unflatten: wrong number of elements: [4] to [3, -1]; sizes must multiply to the same"),
        (lambda x: x.broadcast_to((3, 3, 4)), ValueError,
         "broadcast_to: shapes do not broadcast: [2, 3, 4] and [3, 3, 4]; "
         "sizes must be equal or 1"),
        (lambda x: x.narrow(2**70, 0, 1), OverflowError,
         "integer out of range: 1180591620717411303424; "
         "integers from -2**63 to 2**63 - 1 are accepted"),
        (lambda x: x.narrow(0, -(2**70), 2**70), OverflowError, None),
        (lambda x: x.select(0, 2**70), OverflowError, None),
        (lambda x: x.reshape(2**70), OverflowError,
         "reshape: integer out of range: 1180591620717411303424; "
         "integers from -2**63 to 2**63 - 1 are accepted"),
        (lambda x: x.reshape("a"), TypeError,
         "reshape: not an integer: 'a' of type str; accepted are integers and sequences of them"),
        (lambda x: x.broadcast_to((-1, 2, 3, 4)), ValueError,
         "broadcast_to: negative size: -1; sizes start at 0"),
        (lambda x: x.expand_dims((0, 0)), ValueError, "expand_dims: axis named twice: 0"),
        (lambda x: x.unfold(0, -1, 1), ValueError, "unfold: negative size: -1; sizes start at 0"),
        (lambda x: x.view_as(al.zeros(5)), ValueError,
         "view_as: wrong number of elements: [2, 3, 4] to [5]; sizes must multiply to the same"),
        (lambda x: al.broadcast_tensors(x, al.zeros(5)), ValueError,
         "broadcast_tensors: shapes do not broadcast: [2, 3, 4] and [5]; "
         "sizes must be equal or 1"),
        (lambda x: al.narrow("a", 0, 0, 1), TypeError, None),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call(al.tensor(ARRAY))
    assert message is None or str(caught.value) == message


def test_copies_of_views():
    x = al.tensor(ARRAY)
    for name, arguments, want in (
        ("narrow", (1, 1, 2), ARRAY[:, 1:3]),
        ("diagonal", (1, 0, 2), np.diagonal(ARRAY, 1, 0, 2)),
        ("expand", ((5, -1, -1, -1),), np.broadcast_to(ARRAY, (5, 2, 3, 4))),
    ):
        for copy in (getattr(al, name + "_copy")(x, *arguments), getattr(x, name + "_copy")(*arguments)):
            assert_same(copy.numpy(), np.ascontiguousarray(want))
            assert not np.shares_memory(copy.numpy(), x.numpy())
    with pytest.raises(IndexError, match="^narrow: "):
        x.narrow_copy(3, 0, 1)


def test_as_strided_equals_numpy():
    array = np.arange(24.0)
    x = al.tensor(array)
    strided = np.lib.stride_tricks.as_strided
    for sizes, strides, offset in (
        ((2, 3), (1, 2), 0),
        ((3, 4), (2, 2), 1),
        ((4,), (0,), 23),
        ((2, 2, 2), (12, 3, 1), 7),
        ((), (), 5),
        ((0, 3), (1, 1), 0),
    ):
        want = strided(array[offset:], sizes, [8 * stride for stride in strides])
        for got in (x.as_strided(sizes, strides, offset), al.as_strided(x, sizes, strides, offset)):
            assert_same(got.numpy(), want)
            assert np.shares_memory(got.numpy(), x.numpy()) or got.numel() == 0
    # Without an offset, from where a view begins; the memory around it is there, too.
    assert x[4:6].as_strided((3,), (2,)).tolist() == [4, 6, 8]
    assert x[4:6].as_strided((3,), (2,), 0).tolist() == [0, 2, 4]


def test_gradients_of_as_strided():
    x = al.tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    windows = x.as_strided((4, 3), (1, 1))
    (windows * windows).sum().backward()
    # Each element as often as windows hold it.
    assert x.grad.tolist() == [[0, 4, 12], [18, 16, 10]]
    x.grad = None
    x.T.as_strided((2, 2), (3, 1), 1).sum().backward()
    assert x.grad.tolist() == [[0, 1, 1], [0, 1, 1]]
    y = al.tensor([2.0], requires_grad=True)
    y.expand(4).as_strided((3,), (0,)).sum().backward()
    assert y.grad.tolist() == [3.0]
    cubes = x.as_strided((4, 3), (1, 1)) ** 3
    first, = al.autograd.grad(cubes.sum(), x, create_graph=True)
    second, = al.autograd.grad(first.sum(), x)
    assert second.tolist() == [[0, 12, 36], [54, 48, 30]]


@pytest.mark.parametrize(
    "arguments, message",
    [
        (((2,), (1, 1)), r"wrong shape of stride: \[2\]; accepted is one for each size, \[1\]"),
        (((2,), (-1,)), "stride out of range at index 0: -1; strides from 0 on"),
        (((2,), (5,)), "last place out of range: 5; places in the memory"),
        (((1,), (1,), 5), "last place out of range: 5"),
        (((2**40, 2**20), (2**50, 2**60)), "last place out of range"),
        (((2,), (1,), -1), "negative size: -1"),
    ],
)
def test_as_strided_stays_within_the_memory(arguments, message):
    with pytest.raises(ValueError, match=f"^as_strided: {message}"):
        al.zeros(5).as_strided(*arguments)
