"""Tensors against NumPy: creation, views, indexing, casts and the way back, for every dtype."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import DTYPES, INTEGERS, bits_of, named

import allotrope as al



def sample(dtype, shape=(2, 3, 4)):
    """Small whole numbers as a NumPy array of the dtype."""
    return (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype.numpy_dtype)


def same(tensor, array):
    """Whether a tensor has the dtype, shape and bits of an array."""
    result = tensor.numpy()
    return (
        tensor.dtype.numpy_dtype == array.dtype
        and tensor.shape == array.shape
        and np.ascontiguousarray(result).tobytes() == np.ascontiguousarray(array).tobytes()
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
class TestEveryDType:
    def test_there_and_back(self, dtype):
        array = sample(dtype)
        for source in (array, array.T, array[:, ::-1, 1:], array[0, 0, 0], array[:0]):
            source = np.asarray(source)
            assert same(al.tensor(source), source)

    def test_numpy_shares_memory_and_is_read_only(self, dtype):
        x = al.tensor(sample(dtype))
        array = x.numpy()
        assert not array.flags.writeable
        view = x.T[1:, ::2].numpy()
        assert np.shares_memory(array, view)
        assert np.array_equal(bits_of_any(view), bits_of_any(array.T[1:, ::2]))
        del x
        assert same(al.tensor(array), sample(dtype))

    def test_views(self, dtype):
        array, x = sample(dtype), al.tensor(sample(dtype))
        assert same(x.reshape(4, -1), array.reshape(4, -1))
        assert same(x.permute(2, 0, 1), array.transpose(2, 0, 1))
        assert same(x.transpose(0, -1).reshape(-1), array.transpose(2, 1, 0).reshape(-1))
        assert same(x.flatten(1), array.reshape(2, 12))
        assert same(x.unsqueeze(-1).squeeze(-1), array)
        assert same(x.flip(0, 2), array[::-1, :, ::-1])
        assert same(x[:1].expand(5, -1, -1), np.broadcast_to(array[:1], (5, 3, 4)))
        windows = np.stack([array[:, :, i : i + 2] for i in range(3)], axis=2)
        assert same(x.unfold(2, 2, 1), windows)
        assert same(x.mT, np.swapaxes(array, 1, 2))

    def test_values(self, dtype):
        x = al.tensor(sample(dtype))
        assert x.tolist() == sample(dtype).astype(complex if dtype.is_complex else float).tolist()
        assert type(x[0, 0, 1].item()) is kind_of(dtype)
        assert x[1, 2, 3].item() == sample(dtype)[1, 2, 3]

    def test_constructors(self, dtype):
        assert same(al.zeros(2, 3, dtype=dtype), np.zeros((2, 3), dtype.numpy_dtype))
        assert same(al.ones((4,), dtype=dtype), np.ones(4, dtype.numpy_dtype))
        assert same(al.full((2, 2), True, dtype=dtype), np.ones((2, 2), dtype.numpy_dtype))
        stop = 2 if dtype == "bool" else 5
        assert same(al.arange(stop, dtype=dtype), np.arange(stop).astype(dtype.numpy_dtype))

    def test_pickle_and_copy(self, dtype):
        x = al.tensor(sample(dtype)).transpose(0, 2)
        for other in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
            assert same(other, sample(dtype).transpose(2, 1, 0))

    def test_casts_equal_those_of_arrays(self, dtype):
        array = sample(dtype)
        for target in DTYPES:
            if al.can_cast(dtype, target, "any"):
                assert same(al.tensor(array).to(target), al.cast(array, target)), target

    def test_bits(self, dtype):
        array = sample(dtype)
        assert same(al.tensor(array).view(al.uint8), array.view(np.uint8))
        assert same(al.tensor(array).view("uint8").view(dtype), array)


def bits_of_any(array):
    array = np.ascontiguousarray(array)
    return array.view(np.uint8) if array.dtype.kind == "c" else bits_of(array)


def kind_of(dtype):
    if dtype == "bool":
        return bool
    if dtype.is_integer:
        return int
    return complex if dtype.is_complex else float


bounds = st.one_of(st.none(), st.integers(-6, 6))
steps = st.one_of(st.none(), st.integers(-3, 3).filter(bool))
items = st.one_of(
    st.integers(-3, 2),
    st.builds(slice, bounds, bounds, steps),
    st.none(),
    st.just(...),
)


@given(st.lists(items, max_size=5).map(tuple))
def test_indexing_equals_numpy(key):
    array = np.arange(3 * 3 * 4).reshape(3, 3, 4)
    try:
        want = array[key]
    except IndexError:
        with pytest.raises(IndexError):
            al.tensor(array)[key]
        return
    assert same(al.tensor(array)[key], np.asarray(want))


@st.composite
def keys_with_arrays(draw):
    """Keys for a shape of [3, 4, 5] with arrays of indices of any integer dtype, and masks."""
    shape, key = [3, 4, 5], []
    size = draw(st.sampled_from([(2,), (3, 1), (1, 2), ()]))
    while shape and len(key) < 5:
        dim = shape[0]
        kinds = ["array", "array", "slice", "int", "new", "mask", "list", "truth"]
        kind = draw(st.sampled_from(kinds))
        if kind == "array":
            dtype = draw(st.sampled_from(INTEGERS)).numpy_dtype
            low = 0 if dtype.kind == "u" else -dim
            count = int(np.prod(size))
            numbers = draw(st.lists(st.integers(low, dim - 1), min_size=count, max_size=count))
            key.append(np.array(numbers, dtype).reshape(size))
        elif kind == "list":
            key.append(draw(st.lists(st.integers(-dim, dim - 1), min_size=2, max_size=2)))
        elif kind == "mask":
            key.append(np.array(draw(st.lists(st.booleans(), min_size=dim, max_size=dim))))
        elif kind == "slice":
            key.append(slice(None, None, draw(st.sampled_from([1, 2, -1]))))
        elif kind == "int":
            key.append(draw(st.integers(-dim, dim - 1)))
        else:
            truth = st.sampled_from([True, False, np.True_, np.array(True)])
            key.append(None if kind == "new" else draw(truth))
            continue
        shape.pop(0)
    if draw(st.booleans()):
        key = key[: draw(st.integers(0, len(key)))]
        key.append(...)
    return tuple(key)


@given(keys_with_arrays())
def test_array_indexing_equals_numpy(key):
    array = np.arange(3 * 4 * 5).reshape(3, 4, 5)
    try:
        want = array[key]
    except IndexError:
        with pytest.raises((IndexError, ValueError)):
            al.tensor(array)[key]
        return
    assert same(al.tensor(array)[key], np.asarray(want))
    tensors = tuple(al.tensor(k) if isinstance(k, np.ndarray) else k for k in key)
    assert same(al.tensor(array)[tensors], np.asarray(want))


def test_indices_are_never_masks_and_never_wrap():
    x = al.tensor([10, 20, 30])
    assert x[al.tensor([1, 0, 1], dtype="uint8")].tolist() == [20, 10, 20]
    assert x[[True, False, True]].tolist() == [10, 30]
    assert x[[]].tolist() == []
    assert x[al.tensor([[2], [-1]])].shape == (2, 1)
    with pytest.raises(IndexError):
        x[al.tensor([2**64 - 1], dtype="uint64")]
    with pytest.raises(IndexError):
        x[al.tensor([[True, False, True]])]
    with pytest.raises(TypeError):
        x[al.tensor([0.0])]


@given(
    st.recursive(
        st.floats(width=32) | st.integers(-100, 100) | st.booleans(),
        lambda inner: st.lists(inner, min_size=1, max_size=3),
        max_leaves=12,
    )
)
def test_nested_lists_equal_numpy_or_are_refused(data):
    try:
        want = np.array(data, dtype=np.float64)
    except ValueError:
        with pytest.raises((ValueError, TypeError)):
            al.tensor(data)
        return
    got = al.tensor(data, dtype=al.float64)
    assert got.shape == want.shape
    assert np.array_equal(got.numpy(), want, equal_nan=True)


def test_families_and_inference():
    assert al.tensor([1, 2]).dtype is al.int64
    assert al.tensor([1.5, 2]).dtype is al.float32
    assert al.tensor(True).dtype is al.bool
    assert al.tensor(1j).dtype is al.complex64
    assert al.tensor([]).dtype is al.float32
    assert al.tensor(np.float64(1)).dtype is al.float64
    assert al.tensor([1, 2], dtype=al.Float).dtype is al.float32
    assert al.tensor(np.ones(2, np.float16), dtype="Float").dtype is al.float16
    assert al.zeros(2, dtype=al.Complex).dtype is al.complex64
    assert al.arange(3.0).dtype is al.float32
    assert al.full((1,), 2.5, dtype="bf16").item() == 2.5
    with al.set_default_dtype("bfloat16"):
        assert al.zeros(1).dtype is al.bfloat16
        assert al.tensor(1.5).dtype is al.bfloat16
    with al.promotion("torch"):
        assert al.result_type(al.zeros(2, dtype="int8"), al.tensor(3)) is al.int8


def test_tensors_and_arrays_inside_lists():
    rows = [al.tensor([1, 2]), np.array([3, 4])]
    assert al.tensor(rows).tolist() == [[1, 2], [3, 4]]
    assert al.tensor([al.tensor(5), 6]).tolist() == [5, 6]
    x = al.tensor([1.0, 2.0])
    assert al.asarray(x) is not None and np.shares_memory(al.asarray(x).numpy(), x.numpy())
    assert not np.shares_memory(al.tensor(x).numpy(), x.numpy())


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 3, 4), (0,), (2, 0), (0, 2), (1, 1)])
def test_lists_equal_numpy(dtype, shape):
    array = sample(dtype, shape)
    x = al.from_numpy(array)
    wide = array.astype({"b": bool, "i": int, "u": "uint64", "c": complex}.get(array.dtype.kind, float))
    if array.dtype.kind == "V":
        wide = x.to("float64").numpy()
    for got, want in [(x, wide), (x.T, wide.T)]:
        assert got.tolist() == want.tolist()
        assert repr(got.tolist()) == repr(want.tolist())
        assert repr(al.tensor(got.tolist(), dtype=dtype).tolist()) == repr(want.tolist())


def test_lists_of_extremes():
    for dtype in INTEGERS:
        info = al.iinfo(dtype)
        ends = [info.min, info.max, info.max - 1]
        assert al.tensor(ends, dtype=dtype).tolist() == ends
        for beyond in (info.max + 1, info.min - 1, 2**200):
            with pytest.raises(OverflowError):
                al.tensor([0, beyond], dtype=dtype)
    specials = [float("nan"), float("inf"), -0.0, 5e-324, 0.1]
    assert repr(al.tensor(specials, dtype="float64").tolist()) == repr(specials)
    narrow = al.tensor([0.1, 2**24 + 1, 2**62 + 2**37, 2**100]).tolist()
    assert narrow == np.array([0.1, 2**24 + 1, 2**62 + 2**37, 2.0**100], np.float32).tolist()


def test_ranges_are_lists():
    assert al.tensor(range(2, 8, 3)).tolist() == [2, 5]
    assert al.tensor([range(2), (2, 3)]).tolist() == [[0, 1], [2, 3]]
    assert al.tensor(range(0)).shape == (0,) and al.tensor(range(3)).dtype is al.int64
    with pytest.raises(MemoryError):
        al.tensor(range(2**62))


def test_iteration_gives_rows():
    array = np.arange(6).reshape(3, 2)
    x = al.from_numpy(array)
    assert [row.tolist() for row in x] == array.tolist()
    assert list(al.zeros(0, 2)) == [] and [a.item() for a in al.arange(3)] == [0, 1, 2]
    first, *rest = x
    assert first.tolist() == [0, 1] and len(rest) == 2
    for empty in (al.tensor(3), al.tensor(2.5)):
        with pytest.raises(TypeError, match="iter: a tensor of 0 dimensions"):
            list(empty)
    assert np.zeros(al.tensor(3)).shape == (3,)
    assert np.zeros(tuple(al.tensor([2, 3]))).shape == (2, 3)


def test_formats():
    loss = al.tensor(0.123456)
    assert f"{loss:.3f}" == "0.123" and "{:>8.2e}".format(loss) == "1.23e-01"
    assert f"{al.tensor([7]):03d}" == "007" and f"{al.tensor(True):d}" == "1"
    assert f"{al.tensor(1 + 2j):.1f}" == "1.0+2.0j"
    assert f"{al.tensor(0.5, requires_grad=True):.1f}" == "0.5"
    assert f"{al.tensor(5)}" == "5" and str(al.tensor(5)) == "tensor(5)"
    for x in (al.tensor([5]), al.ones(2)):
        assert f"{x}" == str(x)
    with pytest.raises(ValueError, match="format: not a single element"):
        f"{al.ones(2):.3f}"


def test_constants():
    assert (al.pi, al.e, al.inf, al.newaxis) == (np.pi, np.e, np.inf, None)
    assert al.nan != al.nan and al.ones(2)[:, al.newaxis].shape == (2, 1)


def test_torch_names_of_arguments():
    x = al.arange(6).reshape(2, 3)
    assert x.stride() == (3, 1) and x.stride(0) == 3 and x.T.stride(dim=-1) == 3
    with pytest.raises(IndexError, match="stride"):
        x.stride(2)
    assert al.arange(end=3).tolist() == [0, 1, 2] and al.arange(start=1, end=3).tolist() == [1, 2]
    with pytest.raises(TypeError, match="arange: end is missing"):
        al.arange()
    assert x.view(size=(3, 2)).tolist() == x.view(3, 2).tolist()
    with pytest.raises(ValueError, match="^view: wrong number of elements"):
        x.view(7)
    assert x.to(al.float32, True).dtype is al.float32
    assert x.to("cpu", al.float64, False, True).dtype is al.float64
    same, copied = x.to(al.int64, False), x.to(al.int64, False, True)
    assert same.data_ptr() == x.data_ptr() != copied.data_ptr()
    for wrong in ((True,), (al.int8, True, True, True), (al.int8, True, "cpu")):
        with pytest.raises(TypeError):
            x.to(*wrong)
    w = al.ones(2, requires_grad=True)
    assert w.numpy(force=True).tolist() == [1.0, 1.0]
    assert x.type(al.float16).dtype is al.float16
    assert al.promote_types(type1="int8", type2="uint8") is al.int16


def test_numbers_out_of_a_tensor():
    assert int(al.tensor([7], dtype="uint8")) == 7
    assert float(al.tensor(0.5, dtype="float8_e5m2")) == 0.5
    assert bool(al.tensor([0.0])) is False
    assert [10, 20, 30][al.tensor(1, dtype="uint16")] == 20
    assert len(al.zeros(3, 0)) == 3
    assert al.full((), 2**64 - 1, dtype="uint64").item() == 2**64 - 1


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: al.tensor(300, dtype="int8"), OverflowError,
         "tensor: scalar out of range: 300; int8 holds -128 to 127"),
        (lambda: al.tensor([1.5], dtype="int64"), TypeError,
         "tensor: scalar of a higher kind: 1.5; "
         "int64 holds -9223372036854775808 to 9223372036854775807"),
        (lambda: al.tensor([[1, 2], [3]]), ValueError,
         "tensor: lists of different lengths: 2 and 1; all must be equal"),
        (lambda: al.tensor([1, [2]]), TypeError,
         "tensor: numbers and lists side by side; one or the other is accepted"),
        (lambda: al.zeros(-1), ValueError, "zeros: negative size: -1; sizes start at 0"),
        (lambda: al.zeros(2**62, 4), ValueError,
         "zeros: too many elements: [4611686018427387904, 4]; at most 9223372036854775807 fit"),
        (lambda: al.zeros(2**58), MemoryError, "zeros: out of memory: 1152921504606846976 bytes"),
        (lambda: al.zeros(2, device="tpu"), RuntimeError,
         f"zeros: no such device: 'tpu'; available are {', '.join(al.devices())}"),
        (lambda: al.arange(6)[6], IndexError,
         "index: index out of range: 6; dimension 0 has size 6"),
        (lambda: al.arange(6)[0, 0], IndexError,
         "index: too many indices: 2; the tensor has 1 dimensions"),
        (lambda: al.arange(6)[::0], ValueError,
         "index: the step is zero; any other step is accepted"),
        (lambda: al.arange(6)["a"], TypeError,
         "index: not an index: 'a' of type str; "
         "accepted are integers, slices, None, ... and arrays of integers or bools"),
        (lambda: al.arange(6).item(), ValueError,
         "item: not a single element: [6]; exactly one is accepted"),
        (lambda: al.arange(6).reshape(4, -1), ValueError,
         "reshape: wrong number of elements: [6] to [4, -1]; sizes must multiply to the same"),
        (lambda: al.arange(6).reshape(-1, -1), ValueError,
         "reshape: number of sizes of -1 out of range: 2; 0 and 1 are accepted"),
        (lambda: bool(al.ones(2)), ValueError,
         "bool: not a single element: [2]; exactly one is accepted (hint: x.any() or x.all())"),
        (lambda: int(al.ones(2)), ValueError,
         "int: not a single element: [2]; exactly one is accepted"),
        (lambda: al.ones(2).fill_(al.ones(2)), ValueError,
         "fill_: not a single element: [2]; exactly one is accepted"),
        (lambda: al.ones(2).exponential_(lambd=al.ones(2)), ValueError,
         "exponential_: not a single element: [2]; exactly one is accepted"),
        (lambda: al.einsum(al.ones(2), [52]), ValueError,
         "einsum: index out of range: 52; 0 to 51 are accepted"),
        (lambda: len(al.tensor(1)), TypeError, "len: a tensor of 0 dimensions has no length"),
        (lambda: [1][al.tensor(0.0)], TypeError,
         "index: wrong dtype: float32; integers are accepted"),
        (lambda: al.tensor([300.0]).to("uint8", overflow="raise"), OverflowError,
         "to: value out of range at index 0: 300.0 of float32; uint8 holds 0 to 255 "
         '(hint: overflow="saturate")'),
        (lambda: al.tensor([1j]).to("float32"), TypeError,
         "to: complex to real: complex64 to float32; complex64, complex128 and bool are accepted "
         "(hint: use .real, .imag or .abs())"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


def test_unknown_targets_name_devices_too():
    with pytest.raises(TypeError, match="to: unknown name: 'nope'; .*; devices are cpu$"):
        al.ones(2).to("nope")


def test_masked_arrays_are_refused_wherever_arrays_are_read():
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    for call in (al.tensor, al.asarray, lambda x: al.tensor([x]), lambda x: al.cast(x, "int8")):
        with pytest.raises(TypeError, match="a masked array"):
            call(masked)


def test_self_referential_lists_end():
    loop = []
    loop.append(loop)
    with pytest.raises(ValueError, match="nested too deeply"):
        al.tensor(loop)


def test_printing():
    assert repr(al.tensor([[1.5, float("nan")], [-2.25, 1.0]], dtype="float16")) == (
        "tensor([[ 1.5000,     nan],\n        [-2.2500,  1.0000]], dtype=float16)"
    )
    assert repr(al.arange(3)) == "tensor([0, 1, 2])"
