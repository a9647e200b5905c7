"""DLPack in both directions: with NumPy, with ourselves, and with capsules made by hand."""

import gc
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from dlpack_capsules import NEW, Producer, name_of
from reference import DTYPES, named
from sharing import (
    BY_DLPACK,
    address,
    every_dtype,
    every_layout,
    is_shared,
    needs_dlpack_1,
    same,
    sample,
)

import allotrope as al


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
    ]:
        with pytest.raises(BufferError) as caught:
            x.__dlpack__(**keywords)
        assert str(caught.value) == message
    with pytest.raises(TypeError):
        x.__dlpack__(max_version=1)
    # Whoever forbids a copy in the old form has the memory of the variable.
    assert address(al.from_dlpack(x.__dlpack__(copy=False))) == address(x)
    array = np.arange(3)
    array.flags.writeable = False
    with pytest.raises(BufferError) as caught:
        al.from_numpy(array).__dlpack__(copy=False)
    assert str(caught.value) == (
        "__dlpack__: a copy is needed: DLPack before 1.0 cannot say read-only; "
        "copy=False forbids it (hint: max_version=(1, 0))"
    )


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
    name = b"something.else"
    for capsule in (NEW(1, name, None), NEW(1, None, None)):
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
