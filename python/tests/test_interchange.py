"""Memory shared with other libraries: NumPy's arrays, buffers, and what asarray accepts."""

import array as python_array
import contextlib
import ctypes
import gc
import hashlib
import struct
import sys
import weakref
import zlib

import numpy as np
import pytest
from dlpack_capsules import Producer
from hypothesis import given
from hypothesis import strategies as st
from reference import DTYPES, named
from sharing import BY_DLPACK, LAYOUTS, address, every_dtype, every_layout, is_shared, same, sample

import allotrope as al


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
        for call in (al.tensor, al.from_numpy, lambda a: al.asarray(a[::2], dtype="bfloat16")):
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
             "from_numpy: not an array: [1, 2] of type list; accepted are NumPy arrays"),
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
            with pytest.raises(TypeError, match="asarray: not data"):
                al.asarray(data)


# The dtypes whose letters memoryview knows.
WITH_LETTER = [d for d in BY_DLPACK if not d.is_complex]

# What consumers ask for, as in CPython's pybuffer.h.
SIMPLE, WRITABLE, FORMAT, ND, STRIDES, C, F, ANY, FULL_RO = (
    0, 0x1, 0x4, 0x8, 0x18, 0x38, 0x58, 0x98, 0x11C
)


class PyBuffer(ctypes.Structure):
    """CPython's struct, filled by the class's slot as for any consumer in C."""

    _fields_ = [
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_char_p),
        ("shape", ctypes.POINTER(ctypes.c_ssize_t)),
        ("strides", ctypes.POINTER(ctypes.c_ssize_t)),
        ("suboffsets", ctypes.POINTER(ctypes.c_ssize_t)),
        ("internal", ctypes.c_void_p),
    ]


@contextlib.contextmanager
def buffer_of(tensor, flags):
    """The struct of a tensor, until the end of the block."""
    view = PyBuffer(obj=1)
    try:
        ctypes.pythonapi.PyObject_GetBuffer(
            ctypes.py_object(tensor), ctypes.byref(view), ctypes.c_int(flags)
        )
    except BaseException:
        # For methods, CPython leaves the struct as it is.
        assert view.obj is None or sys.version_info >= (3, 12)
        raise
    yield view
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(view))
    assert not view.obj


class TestMemoryView:
    @pytest.mark.parametrize("dtype", WITH_LETTER, ids=named)
    def test_elements(self, dtype):
        array = sample(dtype)
        view = memoryview(al.tensor(array))
        gc.collect()
        assert view.readonly and view.shape == (3, 4) and view.itemsize == dtype.itemsize
        assert view.strides == array.strides and view.c_contiguous
        assert view.format == memoryview(array).format
        assert np.array_equal(np.asarray(view), array)
        scalar = memoryview(al.tensor(array[1, 1]))
        assert scalar.shape == () and np.asarray(scalar) == array[1, 1]

    @pytest.mark.parametrize("dtype", WITH_LETTER, ids=named)
    def test_consumers_read_the_bytes(self, dtype, tmp_path):
        array = sample(dtype)
        x, want = al.tensor(array), array.tobytes()
        assert bytes(x) == bytearray(x) == memoryview(x).tobytes() == want
        assert hashlib.sha256(x).digest() == hashlib.sha256(want).digest()
        assert zlib.crc32(x) == zlib.crc32(want)
        assert struct.unpack_from(f"{len(want)}B", x) == tuple(want)
        path = tmp_path / "elements"
        with path.open("wb") as file:
            assert file.write(x) == len(want)
        assert path.read_bytes() == want
        seen = np.frombuffer(x, array.dtype)
        assert np.array_equal(seen, array.ravel()) and not seen.flags.writeable
        assert address(seen) == address(x)
        for other in (al.asarray(memoryview(x)), al.tensor(memoryview(x))):
            assert same(other, array)
        assert address(al.asarray(memoryview(x))) == address(x)

    @pytest.mark.parametrize("dtype", al.dtypes(), ids=str)
    def test_bytes_of_every_dtype(self, dtype):
        x = al.arange(6).reshape(2, 3).to(dtype)
        for tensor in (x, x.t(), x[1, 1:2], x[1, 2], x[:0]):
            assert bytes(tensor) == tensor.contiguous().numpy().tobytes()

    def test_the_value_lives_as_long_as_a_view(self):
        array = np.arange(6, dtype=np.int16).reshape(2, 3)
        ended = weakref.ref(array)
        x = al.from_numpy(array)
        del array
        views = [memoryview(x), x.__buffer__(0), np.frombuffer(x, np.int16), np.asarray(x)]
        assert len({address(np.asarray(view)) for view in views}) == 1
        del x
        gc.collect()
        assert ended() is not None
        assert all(bytes(view) == np.arange(6, dtype=np.int16).tobytes() for view in views)
        views.clear()
        gc.collect()
        assert ended() is None

    def test_references_are_given_back(self):
        x = al.zeros(2, 3)
        before = sys.getrefcount(x)
        for flags in (SIMPLE, FULL_RO):
            with buffer_of(x, flags), memoryview(x), memoryview(x)[1:]:
                pass
        for refused in (WRITABLE, F):
            with pytest.raises(BufferError), buffer_of(x, refused):
                pass
        gc.collect()
        assert sys.getrefcount(x) == before

    def test_refusals_keep_no_memory(self):
        def ask():
            for _ in range(1000):
                with pytest.raises(BufferError):
                    memoryview(x)

        x = al.zeros(2, 3).T
        ask()
        gc.collect()
        before = sys.getallocatedblocks()
        ask()
        gc.collect()
        assert sys.getallocatedblocks() < before + 500

    def test_a_view_keeps_its_value_when_the_tensor_gets_another(self):
        x = al.arange(3)
        view = memoryview(x)
        x += 1
        x[0] = 7
        assert view.tolist() == [0, 1, 2] and memoryview(x).tolist() == [7, 2, 3]

    @pytest.mark.parametrize("flags", [SIMPLE, ND, ND | FORMAT, STRIDES, C, ANY, FULL_RO])
    @pytest.mark.parametrize("shape", [(), (6,), (2, 3), (1, 6, 1)], ids=str)
    def test_consumers_get_what_they_ask_for(self, flags, shape):
        array = np.ones(shape, np.float32)
        with buffer_of(al.tensor(array), flags) as view:
            assert (view.len, view.itemsize, view.readonly) == (array.nbytes, 4, 1)
            assert not view.suboffsets
            assert view.ndim == (len(shape) if flags & ND else 1)
            assert view.format == (b"f" if flags & FORMAT else None)
            has_shape, has_strides = shape and flags & ND, shape and flags & STRIDES == STRIDES
            assert bool(view.shape) == bool(has_shape)
            assert bool(view.strides) == bool(has_strides)
            assert not has_shape or tuple(view.shape[: len(shape)]) == shape
            moving = [axis for axis, size in enumerate(shape) if size > 1]
            for axis in moving if has_strides else []:
                assert view.strides[axis] == array.strides[axis]
            assert ctypes.string_at(view.buf, view.len) == array.tobytes()

    def test_a_row_is_in_column_major_order_too(self):
        for shape in ((), (3,), (1, 3), (3, 1)):
            with buffer_of(al.zeros(shape), F) as view:
                assert view.ndim == len(shape)

    @pytest.mark.parametrize(
        "tensor, flags, message",
        [
            (al.zeros(2), WRITABLE,
             "memoryview: not writable: a tensor is a value; a read-only view is accepted "
             "(hint: x.numpy().copy())"),
            (al.zeros(2, 3).T, SIMPLE,
             "memoryview: not contiguous: strides [1, 3]; row-major order is accepted "
             "(hint: x.contiguous())"),
            (al.zeros(2, 3), F,
             "memoryview: not column-major: [2, 3]; row-major order is accepted "
             "(hint: x.numpy())"),
            (al.zeros(0, 3), SIMPLE,
             "memoryview: no elements: [0, 3]; at least one is accepted (hint: x.numpy())"),
            *[(al.zeros(2, dtype=d), SIMPLE,
               f"memoryview: wrong dtype: {d}; bool, integers and float16 to float64 are "
               "accepted (hint: x.numpy())") for d in DTYPES if d not in WITH_LETTER],
        ],
    )
    def test_what_is_refused(self, tensor, flags, message):
        with pytest.raises(BufferError) as by_method:
            tensor.__buffer__(flags)
        with pytest.raises(BufferError) as by_slot, buffer_of(tensor, flags):
            pass
        assert str(by_method.value) == str(by_slot.value) == message

    def test_a_history_is_not_lost(self):
        x = al.zeros(2, requires_grad=True)
        for call in (memoryview, bytes, np.asarray, hashlib.sha256):
            with pytest.raises(RuntimeError, match="requires a gradient, which would be lost"):
                call(x)
        assert memoryview(x.detach()).tolist() == [0, 0]


@every_dtype
@every_layout
def test_numpy_gets_the_same_array_with_and_without_a_buffer(dtype, layout):
    array = sample(dtype, layout)
    x = al.from_numpy(array)
    want = x.numpy()
    own = np.asarray(x, dtype=want.dtype)
    for seen in (np.asarray(x), np.asanyarray(x), np.array(x, copy=False), own):
        assert same(x, seen) and seen.dtype.num == want.dtype.num and seen.strides == want.strides
        assert address(seen) == address(want) and not seen.flags.writeable
    for copied in (np.array(x), np.array(x, dtype=want.dtype)):
        assert same(x, copied) and copied.flags.writeable and not np.shares_memory(copied, array)
    assert np.asarray(x, dtype=object).tolist() == array.astype(object).tolist()


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
