"""Memory shared with other libraries: NumPy's arrays, DLPack in both directions, buffers."""

import array as python_array
import ctypes
import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from dlpack_capsules import Producer, name_of
from hypothesis import given
from hypothesis import strategies as st
from reference import DTYPES, named

import allotrope as al

# NumPy's own dtypes; its DLPack has no names for the others.
BY_DLPACK = [d for d in DTYPES if d.numpy_dtype.isbuiltin == 1]

# Before that, NumPy's DLPack has neither copies nor capsules that say read-only.
needs_dlpack_1 = pytest.mark.skipif(
    np.lib.NumpyVersion(np.__version__) < "2.1.0", reason="DLPack 1.0 came with NumPy 2.1"
)

LAYOUTS = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "negative step": lambda a: a[::-1, ::-2],
    "sliced": lambda a: a[1:, 1::2],
    "column": lambda a: a[:, 1],
    "0-d": lambda a: a[1, 2, ...],
    "empty": lambda a: a[:, 3:3],
    "broadcast": lambda a: np.broadcast_to(a[0], (5, 4)),
    "new axis": lambda a: a[:, None, ::2],
}


def sample(dtype, layout="contiguous"):
    """Small whole numbers of a dtype in a layout."""
    return LAYOUTS[layout]((np.arange(12) % 7).reshape(3, 4).astype(dtype.numpy_dtype))


def address(array):
    array = array.numpy() if isinstance(array, al.Tensor) else array
    return array.__array_interface__["data"][0]


def same(tensor, array):
    """Whether a tensor has the dtype, shape and bits of an array."""
    return (
        tensor.dtype.numpy_dtype == array.dtype
        and tensor.shape == array.shape
        and np.ascontiguousarray(tensor.numpy()).tobytes() == np.ascontiguousarray(array).tobytes()
    )


def is_shared(tensor, array):
    """Whether a tensor sees the elements of an array in their own place."""
    strides = [s * tensor.dtype.itemsize for s in tensor.stride()]
    moves = [n > 1 for n in array.shape]
    return address(tensor) == address(array) and all(
        a == b for a, b, is_moving in zip(strides, array.strides, moves) if is_moving
    )


every_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)
every_layout = pytest.mark.parametrize("layout", LAYOUTS)


@every_dtype
@every_layout
class TestNumPy:
    @pytest.mark.parametrize("function", [al.from_numpy, al.from_dlpack, al.asarray, al.as_tensor])
    def test_memory_is_shared(self, dtype, layout, function):
        array = sample(dtype, layout)
        x = function(array)
        assert same(x, array)
        assert is_shared(x, array) or array.size == 0
        assert not x.numpy().flags.writeable

    def test_tensor_copies(self, dtype, layout):
        array = sample(dtype, layout)
        for x in (al.tensor(array), al.asarray(array, copy=True), al.from_dlpack(array, copy=True)):
            assert same(x, array) and x.is_contiguous()
            assert not np.shares_memory(x.numpy(), array)

    def test_the_array_lives_as_long_as_a_view(self, dtype, layout):
        array = sample(dtype, layout).copy() if layout == "0-d" else sample(dtype, layout)
        want, ended = array.copy(), weakref.ref(array)
        views = [al.from_numpy(array)[...] for _ in range(2)]
        del array
        gc.collect()
        assert all(same(view, want) for view in views)
        is_empty = want.size == 0
        assert (ended() is None) == is_empty
        del views
        gc.collect()
        assert ended() is None

    def test_addresses_and_strides_that_do_not_fit_are_copied(self, dtype, layout):
        record = np.dtype([("byte", "u1"), ("value", dtype.numpy_dtype)])
        array = np.zeros((3, 4), record)["value"]
        array[...] = sample(dtype)
        array = LAYOUTS[layout](array)
        moving = [stride for stride, size in zip(array.strides, array.shape) if size > 1]
        is_whole = all(stride % array.itemsize == 0 for stride in moving)
        is_fitting = is_whole and address(array) % array.dtype.alignment == 0
        x = al.from_numpy(array)
        assert same(x, array)
        assert (address(x) == address(array)) == (is_fitting and array.size > 0)
        if not is_fitting and array.size > 0:
            with pytest.raises(ValueError, match="a copy is needed"):
                al.asarray(array, copy=False)
        else:
            assert same(al.asarray(array, copy=False), array)


@every_layout
class TestDLPack:
    @needs_dlpack_1
    @pytest.mark.parametrize("dtype", BY_DLPACK, ids=named)
    def test_numpy_reads_ours(self, dtype, layout):
        x = al.from_numpy(sample(dtype, layout))
        array = np.from_dlpack(x)
        assert same(x, array)
        assert is_shared(x, array) or array.size == 0
        assert not array.flags.writeable
        copy = np.from_dlpack(x, copy=True)
        assert same(x, copy) and copy.flags.writeable
        assert not np.shares_memory(copy, array)

    @pytest.mark.parametrize("dtype", BY_DLPACK, ids=named)
    @pytest.mark.parametrize(
        "keywords", [{}, pytest.param({"max_version": (1, 0)}, marks=needs_dlpack_1)]
    )
    def test_we_read_numpys(self, dtype, layout, keywords):
        array = sample(dtype, layout)
        if not array.flags.writeable:
            array = array.copy()
        x = al.from_dlpack(array.__dlpack__(**keywords))
        assert same(x, array)
        assert is_shared(x, array) or array.size == 0

    @pytest.mark.parametrize("dtype", DTYPES, ids=named)
    @pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (1, 3), (2, 0)])
    def test_we_read_ours(self, dtype, layout, max_version):
        x = al.from_numpy(sample(dtype, layout))
        capsule = x.__dlpack__(max_version=max_version)
        is_versioned = max_version is not None and max_version[0] >= 1
        assert name_of(capsule) == (b"dltensor_versioned" if is_versioned else b"dltensor")
        y = al.from_dlpack(capsule)
        assert name_of(capsule) == b"used_" + (
            b"dltensor_versioned" if is_versioned else b"dltensor"
        )
        assert same(y, sample(dtype, layout))
        # Only the new form can say read-only, so that only it shares.
        assert (address(x) == address(y)) == is_versioned or y.numel() == 0


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in BY_DLPACK], ids=named)
def test_numpy_refuses_what_it_has_no_name_for(dtype):
    x = al.from_numpy(sample(dtype))
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(x)
    # Both ways round it: the array itself, and its bits.
    assert same(al.from_dlpack(x.numpy()), sample(dtype))
    bits = np.from_dlpack(x.view(f"uint{dtype.bits}"))
    assert np.array_equal(bits, sample(dtype).view(f"uint{dtype.bits}"))


@every_dtype
def test_capsules_say_what_the_table_says(dtype):
    x = al.zeros(2, 3, dtype=dtype).T
    view = Producer.describe(x.__dlpack__(max_version=(1, 0)))
    assert (view.code, view.bits, view.lanes) == (*dtype.dlpack_code, 1)
    assert (view.device_type, view.device_id) == x.__dlpack_device__() == (1, 0)
    assert (view.sizes, view.strides, view.byte_offset) == ([3, 2], [1, 3], 0)
    assert view.data == address(x)
    assert view.version == (1, 1) and view.flags == 1
    assert Producer.describe(x.__dlpack__(max_version=(1, 0), copy=True)).flags == 2


def test_what_a_consumer_may_ask_for():
    x = al.arange(3)
    assert name_of(x.__dlpack__(stream=-1, dl_device=(1, 0))) == b"dltensor"
    for keywords, message in [
        ({"stream": 1}, "__dlpack__: no such stream: 1; None is accepted on the cpu"),
        ({"dl_device": (2, 1)}, "__dlpack__: no such device: CUDA 1; available are cpu"),
        ({"dl_device": (99, 0)},
         "__dlpack__: no such device: device type 99, index 0; available are cpu"),
        ({"copy": False},
         "__dlpack__: a copy is needed: DLPack before 1.0 cannot say read-only; "
         "copy=False forbids it (hint: max_version=(1, 0))"),
    ]:
        with pytest.raises(BufferError) as caught:
            x.__dlpack__(**keywords)
        assert str(caught.value) == message
    with pytest.raises(TypeError):
        x.__dlpack__(max_version=1)


@needs_dlpack_1
def test_values_cannot_be_changed_through_a_capsule():
    x = al.arange(3)
    copy = np.from_dlpack(x, copy=True)
    copy[0] = 9
    with pytest.raises(ValueError):
        np.from_dlpack(x)[0] = 9
    assert x.tolist() == [0, 1, 2]


class TestProducers:
    """Capsules made by hand, as other libraries make them."""

    @pytest.mark.parametrize("versioned", [False, True])
    def test_the_deleter_runs_once_with_the_last_view(self, versioned):
        producer = Producer(np.arange(6.0), versioned=versioned)
        x = al.from_dlpack(producer)
        assert name_of(producer.capsule).startswith(b"used_")
        view = x[2:].reshape(2, 2)
        del x
        gc.collect()
        assert producer.deleted == 0
        assert view.tolist() == [[2, 3], [4, 5]]
        del view
        assert producer.deleted == 1
        del producer.capsule
        gc.collect()
        assert producer.deleted == 1

    @pytest.mark.parametrize("versioned", [False, True])
    def test_a_copy_deletes_at_once_and_without_the_interpreter_lock(self, versioned):
        # The copy is made, and its source dropped, while other threads may run Python.
        producer = Producer(np.arange(100_000.0), versioned=versioned)
        x = al.from_dlpack(producer, copy=True)
        assert producer.deleted == 1
        assert x[-1].item() == 99_999

    def test_a_copy_by_the_producer_is_not_copied_again(self):
        producer = Producer(np.arange(3), flags=2)
        x = al.from_dlpack(producer, copy=True)
        assert address(x) == address(producer.array)
        assert producer.asked == {"max_version": (1, 1), "copy": True}

    def test_read_only_tensors_are_welcome(self):
        producer = Producer(np.arange(3), flags=1)
        assert al.from_dlpack(producer).tolist() == [0, 1, 2]

    def test_no_strides_mean_row_major_order(self):
        producer = Producer(np.arange(6).reshape(2, 3), strides=None)
        assert al.from_dlpack(producer).tolist() == [[0, 1, 2], [3, 4, 5]]

    def test_offsets_are_bytes(self):
        producer = Producer(np.arange(6), sizes=[3], byte_offset=16)
        x = al.from_dlpack(producer)
        assert x.tolist() == [2, 3, 4]
        assert address(x) == address(producer.array) + 16

    def test_an_address_that_does_not_fit_is_copied(self):
        array = np.arange(100, dtype=np.uint8)
        view = dict(code=2, bits=32, sizes=[3], strides=[1], byte_offset=1)
        producer = Producer(array, **view)
        x = al.from_dlpack(producer)
        assert producer.deleted == 1
        assert np.array_equal(x.numpy(), np.frombuffer(array[1:13].tobytes(), np.float32))
        producer = Producer(array, **view)
        with pytest.raises(ValueError, match="the address is not a multiple of 4"):
            al.from_dlpack(producer, copy=False)
        assert producer.deleted == 1

    def test_empty_tensors_need_no_address(self):
        producer = Producer(np.zeros((0, 3)), data=None)
        assert al.from_dlpack(producer).shape == (0, 3)
        assert producer.deleted == 1

    def test_pinned_host_memory_is_host_memory(self):
        for device_type in (3, 11):
            producer = Producer(np.arange(3), device=(device_type, 0))
            assert al.from_dlpack(producer).tolist() == [0, 1, 2]

    def test_a_missing_deleter_is_none(self):
        assert al.from_dlpack(Producer(np.arange(3), deleter=None)).tolist() == [0, 1, 2]

    def test_producers_without_keywords(self):
        for copy in (None, True, False):
            producer = Producer(np.arange(3), versioned=False, takes_keywords=False)
            x = al.from_dlpack(producer, copy=copy)
            assert x.tolist() == [0, 1, 2]
            assert (address(x) == address(producer.array)) == (copy is not True)

    def test_elements_elsewhere_are_brought_here_on_demand(self):
        producer = Producer(np.arange(3), device=(2, 1), moves=True)
        message = (
            "from_dlpack: memory of another device: CUDA 1; available are cpu "
            '(hint: device="cpu")'
        )
        with pytest.raises(RuntimeError) as caught:
            al.from_dlpack(producer)
        assert str(caught.value) == message
        assert al.from_dlpack(producer, device="cpu").tolist() == [0, 1, 2]
        assert producer.asked["dl_device"] == (1, 0)

    @pytest.mark.parametrize("versioned", [False, True])
    @pytest.mark.parametrize(
        "view, error, message",
        [
            ({"lanes": 4}, TypeError, "elements are vectors: 4 lanes; 1 is accepted"),
            ({"code": 17, "bits": 4}, TypeError,
             "no such dtype: DLPack type code 17 of 4 bits; accepted are bool, int8, "),
            ({"code": 3}, TypeError, "no such dtype: DLPack type code 3 of 64 bits; accepted"),
            ({"capsule_device": (8, 0)}, RuntimeError,
             "memory of another device: Metal 0; available are cpu"),
            ({"rank": -1}, ValueError, "malformed tensor: the rank is negative"),
            ({"rank": 65}, ValueError, "malformed tensor: more than 64 dimensions"),
            ({"sizes": [-1]}, ValueError, "malformed tensor: a size is negative"),
            ({"sizes": None, "rank": 1}, ValueError, "malformed tensor: there are no sizes"),
            ({"data": None}, ValueError, "malformed tensor: there is no address"),
            ({"sizes": [2], "strides": [2**62]}, ValueError,
             "malformed tensor: a stride is beyond every address"),
            ({"sizes": [2, 2], "strides": [2**59, 2**59]}, ValueError,
             "malformed tensor: elements beyond every address"),
            ({"sizes": [2**40, 2**40], "strides": [0, 0]}, ValueError, "too many elements: "),
            ({"sizes": [2**40, 2**40], "strides": None}, ValueError, "too many elements: "),
        ],
    )
    def test_malformed_tensors_are_refused_and_deleted(self, versioned, view, error, message):
        producer = Producer(np.arange(3), versioned=versioned, **view)
        with pytest.raises(error) as caught:
            al.from_dlpack(producer)
        assert str(caught.value).startswith("from_dlpack: " + message)
        assert producer.deleted == 1

    def test_other_versions_are_left_to_their_capsule(self):
        producer = Producer(np.arange(3), version=(2, 5))
        with pytest.raises(ValueError) as caught:
            al.from_dlpack(producer)
        assert str(caught.value) == (
            "from_dlpack: unknown version of DLPack: 2.5; 1.x is accepted"
        )
        assert name_of(producer.capsule) == b"dltensor_versioned"
        assert producer.deleted == 0

    def test_errors_of_a_producer_are_its_own(self):
        class Refuses:
            def __dlpack_device__(self):
                return (1, 0)

            def __dlpack__(self, **keywords):
                raise BufferError("not today")

        with pytest.raises(BufferError, match="not today"):
            al.from_dlpack(Refuses())


def test_a_capsule_is_read_once():
    x = al.arange(3)
    for max_version in (None, (1, 0)):
        capsule = x.__dlpack__(max_version=max_version)
        al.from_dlpack(capsule)
        for consumer in (al.from_dlpack, al.tensor, al.asarray):
            with pytest.raises(ValueError, match="the capsule was read before: <capsule object"):
                consumer(capsule)


def test_capsules_of_other_kinds():
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    name = b"something.else"
    for capsule in (new(1, name, None), new(1, None, None)):
        with pytest.raises(ValueError, match="from_dlpack: not a DLPack capsule: <capsule object"):
            al.from_dlpack(capsule)

    class Wrong:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **keywords):
            return 7

    with pytest.raises(ValueError, match="__dlpack__ gave no capsule: 7; a capsule is accepted"):
        al.from_dlpack(Wrong())


def test_what_is_left_at_the_end_of_the_interpreter_is_no_harm():
    program = """
import numpy as np, allotrope as al
a = np.arange(10.0)
kept = [al.from_numpy(a), al.from_dlpack(a.__dlpack__()), a.__dlpack__(), al.arange(3).__dlpack__()]
cycle = [al.from_dlpack(a.__dlpack__())]
cycle.append(cycle)
print(kept[1][3].item())
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "3.0\n", "")


def test_unread_capsules_release_the_tensor():
    array = np.arange(3.0)
    ended = weakref.ref(array)
    for max_version in (None, (1, 0)):
        capsule = al.from_numpy(array).__dlpack__(max_version=max_version)
        del capsule
    del array
    gc.collect()
    assert ended() is None


def test_exports_outlive_their_tensor():
    array = np.arange(1000.0)
    ended = weakref.ref(array)
    x = al.from_numpy(array)
    again = np.from_dlpack(x[::2])
    del array, x
    gc.collect()
    assert np.array_equal(again, np.arange(0, 1000.0, 2))
    del again
    gc.collect()
    assert ended() is None


def test_threads_share_and_release():
    producers = [Producer(np.full(10_000, float(i))) for i in range(20)]
    tensors = [al.from_dlpack(producer) for producer in producers]
    failures = []

    def work(seed):
        try:
            for i in np.random.default_rng(seed).permutation(20):
                value = float(i)
                assert al.tensor(tensors[i]).tolist()[::5000] == [value, value]
                assert np.from_dlpack(tensors[i].reshape(100, 100))[3, 4] == value
                assert al.from_numpy(tensors[i].numpy())[-1].item() == value
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    last = threading.Thread(target=tensors.clear)
    last.start()
    last.join()
    gc.collect()
    assert [producer.deleted for producer in producers] == [1] * 20


@given(
    st.lists(st.integers(0, 4), max_size=4),
    st.data(),
    st.sampled_from([d for d in DTYPES if d.itemsize > 1]),
)
def test_any_strides_are_read_as_numpy_reads_them(sizes, data, dtype):
    memory = np.arange(2048, dtype=np.uint8)
    strides = [data.draw(st.integers(-40, 40)) for _ in sizes]
    array = np.ndarray(
        sizes, dtype.numpy_dtype, memory, offset=data.draw(st.integers(900, 1000)), strides=strides
    )
    for x in (al.from_numpy(array), al.tensor(array)):
        assert same(x, array)


class TestNumPyObjects:
    def test_writes_show_through(self):
        array = np.zeros(3)
        x, y = al.from_numpy(array), al.tensor(array)
        array[1] = 5
        assert x.tolist() == [0, 5, 0] and y.tolist() == [0, 0, 0]

    def test_references_are_given_back(self):
        array = np.arange(100_000.0)
        before = sys.getrefcount(array)
        for call in (al.tensor, al.from_numpy, lambda a: al.asarray(a[::2], dtype="float16")):
            for _ in range(10):
                call(array)
        assert sys.getrefcount(array) == before

    def test_scalars_are_arrays_of_one_element(self):
        for dtype in DTYPES:
            scalar = sample(dtype)[1, 1]
            assert same(al.from_numpy(scalar), np.asarray(scalar))

    def test_subclasses_are_seen_as_arrays(self, tmp_path):
        class Liar(np.ndarray):
            @property
            def __array_interface__(self):
                return {"data": (8, False), "shape": (10**9,), "typestr": "<f8", "version": 3}

        array = np.arange(3.0).view(Liar)
        array.shape_was = array.shape
        assert al.from_numpy(array).tolist() == [0, 1, 2]
        file = np.memmap(tmp_path / "numbers", np.float32, "w+", shape=(4,))
        file[:] = [1, 2, 3, 4]
        x = al.from_numpy(file)
        assert address(x) == address(np.asarray(file))
        del file
        assert x.tolist() == [1, 2, 3, 4]

    def test_bools_of_any_byte_are_true(self):
        array = np.array([0, 1, 2, 255], np.uint8).view(bool)
        assert al.from_numpy(array).tolist() == [False, True, True, True]

    @pytest.mark.parametrize(
        "array, error, message",
        [
            (np.array([1], dtype=">i4"), TypeError, "from_numpy: byte order is not the machine's"),
            (np.array(["a"]), TypeError, "from_numpy: unknown name: 'str32'"),
            (np.array([None]), TypeError, "from_numpy: unknown name: 'object'"),
            (np.zeros(2, "M8[s]"), TypeError, "from_numpy: unknown name: 'datetime64[s]'"),
            (np.ma.array([1.0], mask=[True]), TypeError, "from_numpy: a masked array"),
            ([1, 2], TypeError,
             "from_numpy: not an array: [1, 2] of type list; accepted are NumPy arrays and scalars"),
            (al.arange(2), TypeError, "from_numpy: not an array: tensor([0, 1]) of type Tensor"),
        ],
    )
    def test_what_is_refused(self, array, error, message):
        with pytest.raises(error) as caught:
            al.from_numpy(array)
        assert str(caught.value).startswith(message)


class TestAsArray:
    @pytest.mark.parametrize("function", [al.asarray, al.as_tensor])
    def test_copy_says_when_to_copy(self, function):
        array, x = np.arange(3.0), al.arange(3)
        assert np.shares_memory(function(array, copy=False).numpy(), array)
        assert np.shares_memory(function(x, copy=False).numpy(), x.numpy())
        assert np.shares_memory(function(x).numpy(), x.numpy())
        assert not np.shares_memory(function(array, copy=True).numpy(), array)
        assert not np.shares_memory(function(x, copy=True).numpy(), x.numpy())
        assert function(array, dtype="float32").dtype is al.float32
        assert function([1, 2], dtype="int8").tolist() == [1, 2]

    @pytest.mark.parametrize(
        "call, message",
        [
            (lambda: al.asarray(np.zeros(2), dtype="float32", copy=False),
             "asarray: a copy is needed: float64 to float32; copy=False forbids it "
             "(hint: copy=None)"),
            (lambda: al.as_tensor(al.arange(2), dtype=al.Float, copy=False),
             "as_tensor: a copy is needed: int64 to float32; copy=False forbids it "
             "(hint: copy=None)"),
            (lambda: al.from_dlpack(np.float32(1), copy=False),
             "from_dlpack: a copy is needed: a scalar is not memory; copy=False forbids it"),
            (lambda: al.asarray([1, 2], copy=False),
             "asarray: a copy is needed: numbers and lists are not memory; copy=False forbids it "
             "(hint: copy=None)"),
        ],
    )
    def test_a_forbidden_copy_is_an_error(self, call, message):
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value) == message

    def test_inference_applies(self):
        al.set_inference(float64="default")
        array = np.zeros(2)
        assert al.asarray(array).dtype is al.float32
        assert al.tensor(array).dtype is al.float32
        assert al.asarray(al.from_numpy(array)).dtype is al.float64
        assert al.from_numpy(array).dtype is al.float64

    def test_other_libraries(self):
        producer = Producer(np.arange(3, dtype=np.int16))
        x = al.asarray(producer)
        assert address(x) == address(producer.array)
        assert al.tensor(producer, dtype="bfloat16").tolist() == [0, 1, 2]

        class HasArray:
            def __array__(self, dtype=None, copy=None):
                return np.array([1.5, 2.5], dtype)

        assert al.tensor(HasArray()).tolist() == [1.5, 2.5]

    def test_buffers(self):
        numbers = python_array.array("h", [1, -2, 3])
        x = al.asarray(numbers)
        assert x.dtype is al.int16 and x.tolist() == [1, -2, 3]
        assert address(x) == numbers.buffer_info()[0]
        with pytest.raises(BufferError):
            numbers.append(4)
        assert al.tensor(bytearray(b"ab")).tolist() == [97, 98]
        assert al.asarray(memoryview(b"abcd").cast("B", (2, 2))).tolist() == [[97, 98], [99, 100]]

    def test_what_is_no_data(self):
        for data in ("text", {1: 2}, object(), None):
            with pytest.raises(TypeError, match="infer_dtype: not data"):
                al.asarray(data)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="PEP 688 came with Python 3.12")
class TestMemoryView:
    @pytest.mark.parametrize(
        "dtype", [d for d in BY_DLPACK if not d.is_complex], ids=named
    )
    def test_elements(self, dtype):
        array = sample(dtype)
        view = memoryview(al.tensor(array))
        gc.collect()
        assert view.readonly and view.shape == (3, 4) and view.itemsize == dtype.itemsize
        assert np.array_equal(np.asarray(view), array) and np.asarray(view).dtype == array.dtype
        scalar = memoryview(al.tensor(array[1, 1]))
        assert scalar.shape == () and np.asarray(scalar) == array[1, 1]

    def test_every_way_to_ask(self):
        x = al.arange(6, dtype="int16").reshape(2, 3)
        assert memoryview(x).tolist() == x.tolist()
        assert memoryview(x).tobytes() == x.numpy().tobytes()
        views = [memoryview(x), x.__buffer__(0)]
        del x
        gc.collect()
        assert all(view.tolist() == [[0, 1, 2], [3, 4, 5]] for view in views)

    def test_numpy_finds_another_way_where_there_is_no_buffer(self):
        for layout in LAYOUTS:
            for dtype in DTYPES:
                y = al.from_numpy(sample(dtype, layout))
                assert same(y, np.asarray(y))

    @pytest.mark.parametrize(
        "tensor, flags, message",
        [
            (al.zeros(2), 1,
             "memoryview: not writable: a tensor is a value; a read-only view is accepted "
             "(hint: x.numpy().copy())"),
            (al.zeros(2, 3).T, 0,
             "memoryview: not contiguous: strides [1, 3]; row-major order is accepted "
             "(hint: x.contiguous())"),
            (al.zeros(0, 3), 0,
             "memoryview: no elements: [0, 3]; at least one is accepted (hint: x.numpy())"),
            (al.zeros(2, dtype="bf16"), 0,
             "memoryview: wrong dtype: bfloat16; bool, integers and float16 to float64 are "
             "accepted (hint: x.numpy())"),
        ],
    )
    def test_what_is_refused(self, tensor, flags, message):
        with pytest.raises(BufferError) as caught:
            tensor.__buffer__(flags)
        assert str(caught.value) == message


@every_dtype
def test_views_of_other_dtypes_at_odd_addresses(dtype):
    memory = np.arange(64, dtype=np.uint8)
    for start in range(9):
        x = al.from_numpy(memory[start : start + 32]).view(dtype)
        assert x.numpy().tobytes() == memory[start : start + 32].tobytes()
        assert al.tensor(x).numpy().tobytes() == x.numpy().tobytes()


def test_a_view_may_end_before_its_storage():
    x = al.arange(6, dtype="uint8")[:4].view(al.float32)
    assert x.expand(2, 1).contiguous().numpy().tobytes() == bytes([0, 1, 2, 3] * 2)
