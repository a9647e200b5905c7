"""Memory that others hold: arrays share both ways, what cannot be written is copied by a write."""

import copy
import warnings

import numpy as np
import pytest
from dlpack_capsules import Producer
from sharing import BY_DLPACK, LAYOUTS, every_dtype, same, sample

import allotrope as al

from .methods import DTYPES, ROWS, numbers, with_itself

WRITABLE = [name for name in LAYOUTS if name != "broadcast"]

every_writable_layout = pytest.mark.parametrize("layout", WRITABLE)


@pytest.fixture(autouse=True)
def warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", al.SharedMemoryWarning)
        yield


@every_dtype
@every_writable_layout
class TestWritableArrays:
    def test_writes_reach_the_array(self, dtype, layout):
        array = sample(dtype, layout)
        x = al.from_numpy(array)
        one = np.ones((), array.dtype)
        want = array.copy()
        want[...] = one
        x.fill_(1)
        assert array.tobytes() == want.tobytes() and same(x, array)
        x[...] = 0
        assert not array.astype(bool).any()

    def test_writes_to_the_array_are_seen(self, dtype, layout):
        array = sample(dtype, layout)
        x = al.from_numpy(array)
        view = x[..., None]
        array[...] = np.ones((), array.dtype)
        assert same(x, array) and same(view, array[..., None])

    def test_views_share_as_well(self, dtype, layout):
        array = sample(dtype, layout)
        x = al.from_numpy(array)
        one = np.ones((), array.dtype)
        x.T.unsqueeze(0).fill_(1)
        assert (array == one).all() and same(x, array)
        if array.ndim and array.shape[0]:
            array[...] = np.zeros((), array.dtype)
            x[0].fill_(1)
            assert (array[0] == one).all() and same(x, array)


@pytest.mark.parametrize("name", sorted(name for name in ROWS if hasattr(al.Tensor, name)))
def test_every_method_reaches_the_array(name):
    row = ROWS[name]
    shape = {1: (4,), 2: (4, 4), 3: (2, 2, 2)}[row.ndim]
    for letter in row.dtypes:
        # The arguments as they are, then the tensor itself as one of them, and a view of it.
        for case in range(3):
            array = np.ascontiguousarray(numbers(shape, DTYPES[letter]))
            x = al.from_numpy(array)
            cases = [row.arguments(x), *with_itself(x, row.arguments(x))]
            if case < len(cases):
                getattr(x, name)(*cases[case])
                assert same(x, array)
                x.zero_()
                assert not array.any()


class TestBothWays:
    def test_in_turns(self):
        array = np.arange(6.0).reshape(2, 3)
        x = al.from_numpy(array)
        row, column = x[1], x[:, 0]
        x += 1
        assert array.tolist() == [[1, 2, 3], [4, 5, 6]]
        array *= 10
        assert row.tolist() == [40, 50, 60] and column.tolist() == [10, 40]
        row[0] = -1
        column.mul_(2)
        assert array.tolist() == [[20, 20, 30], [-2, 50, 60]]
        assert x.tolist() == array.tolist()

    def test_backwards(self):
        array = np.arange(6.0)
        x = al.from_numpy(array[::-2])
        assert x.tolist() == [5, 3, 1]
        x[0] = 50
        x[1:].neg_()
        assert array.tolist() == [0, -1, 2, -3, 4, 50]

    def test_other_arrays_of_the_memory_see_it(self):
        array = np.zeros((3, 4))
        x = al.from_numpy(array[1:, ::2])
        x.copy_(al.tensor([[1.0, 2.0], [3.0, 4.0]]))
        assert array.tolist() == [[0, 0, 0, 0], [1, 0, 2, 0], [3, 0, 4, 0]]

    def test_two_tensors_of_one_array(self):
        array = np.zeros(3)
        x, y = al.from_numpy(array), al.from_numpy(array[1:])
        x[1] = 5
        y[1] = 6
        assert array.tolist() == [0, 5, 6] and x.tolist() == [0, 5, 6] and y.tolist() == [5, 6]

    @pytest.mark.parametrize("function", [al.from_numpy, al.as_tensor, al.asarray])
    def test_every_function_that_shares(self, function):
        array = np.zeros(3)
        x = function(array)
        x[0] = 1
        assert array.tolist() == [1, 0, 0]

    def test_numpy_of_such_a_tensor_is_the_array(self):
        array = np.zeros(3)
        x = al.from_numpy(array)
        taken = x.numpy()
        x[0] = 1
        assert taken.tolist() == [1, 0, 0] and np.shares_memory(taken, array)

    def test_what_was_saved_for_gradients_stays(self):
        array = np.array([1.0, 2.0])
        weight = al.tensor([3.0, 4.0], dtype=al.float64, requires_grad=True)
        x = al.from_numpy(array)
        loss = (weight * x).sum()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            x.mul_(100)
        loss.backward()
        assert weight.grad.tolist() == [1.0, 2.0] and x.tolist() == [100.0, 200.0]
        # The array is written, or a warning says that it is not.
        assert array.tolist() == ([1.0, 2.0] if caught else [100.0, 200.0])

    @pytest.mark.parametrize("line", [
        "x.clone()", "x + 0", "x.flip(0)", "x.roll(1, 0)", "x.roll(0, 0)", "x.to(al.float32)", "x.sum()",
        "x.tolist()", "x.numpy()", "x.contiguous()", "x[[0, 1]]", "x[x > 0]", "x.expand(2, 3)", "repr(x)",
        "copy.deepcopy(x)", "al.cat([x])", "x.repeat(1)", "x.narrow_copy(0, 0, 2)", "x == x", "x.T", "iter(x)",
        "x.sort()", "x.diag()", "x.view(3, 1).T.reshape(-1)", "al.einsum('i->i', x)", "al.stack([x])",
        "x.positive()", "al.as_tensor(x)",
    ])
    def test_nothing_that_is_read_ends_it(self, line):
        array = np.zeros(3)
        x = al.from_numpy(array)
        held = eval(line, {"x": x, "al": al, "copy": copy})
        x += 1
        x[0] = 5
        assert array.tolist() == [5, 1, 1]
        array[1] = 7
        assert x.tolist() == [5, 7, 1]
        del held

    def test_clones_do_not_share(self):
        array = np.zeros(3)
        x = al.from_numpy(array)
        y = x.clone()
        z = x + 0
        x[0] = 1
        y[1] = 2
        assert array.tolist() == [1, 0, 0] and y.tolist() == [0, 2, 0] and z.tolist() == [0, 0, 0]

    def test_another_dtype_ends_it(self):
        array = np.zeros(3)
        x = al.from_numpy(array)
        x.to_(al.float32)
        x[0] = 1
        assert array.tolist() == [0, 0, 0]

    def test_an_address_that_does_not_fit_is_copied_and_says_so(self):
        record = np.dtype([("byte", "u1"), ("value", np.float64)])
        array = np.zeros(3, record)["value"]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            x = al.from_numpy(array)
            x.fill_(1)
        assert x.tolist() == [1, 1, 1]


def test_tensor_copies():
    array = np.zeros(3)
    x, y = al.tensor(array), al.asarray(array, copy=True)
    x[0], y[1] = 1, 2
    array[2] = 3
    assert array.tolist() == [0, 0, 3] and x.tolist() == [1, 0, 0] and y.tolist() == [0, 2, 0]


class TestHandedOutArrays:
    def test_they_are_read_only(self):
        x = al.zeros(3)
        for array in (x.numpy(), x[1:].numpy(), np.asarray(x), al.from_numpy(np.zeros(3)).numpy()):
            assert not array.flags.writeable

    @pytest.mark.parametrize("line", [
        "x += 1", "x[0] = 5", "x.fill_(2)", "x.exp_()", "x[0].zero_()", "x.T.neg_()", "x.detach().mul_(2)",
        "x.view(-1)[3] = 1", "x.copy_(x.flip(0))", "x[x > 0] = 0", "x.index_fill_(0, index, 7.0)", "x.t_()",
        "x.normal_()", "x.diagonal().fill_(8)", "x.to_(al.int64)",
    ])
    def test_they_keep_their_values(self, line):
        x = al.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]])
        arrays = [x.numpy(), x[1:].numpy(), x.T.numpy(), np.asarray(x), np.from_dlpack(x)]
        before = [array.copy() for array in arrays]
        exec(line, {"x": x, "al": al, "index": al.tensor([1])})
        for array, want in zip(arrays, before):
            np.testing.assert_array_equal(array, want)

    def test_many_writes_beside_one_array(self):
        x = al.zeros(4)
        row = x[:2]
        array = x.numpy()
        for i in range(10):
            x[i % 4] += 1
            row += 1
        assert not array.any() and row.tolist() == [13.0, 13.0] and x.tolist() == [13.0, 13.0, 2.0, 2.0]


def read_only(array):
    array.flags.writeable = False
    return array


def from_bytes():
    held = np.arange(4.0).tobytes()
    return np.frombuffer(held), al.from_numpy(np.frombuffer(held))


def from_read_only_array():
    array = read_only(np.arange(4.0))
    return array, al.from_numpy(array)


def from_read_only_part():
    array = np.arange(8.0)
    part = read_only(array[::2] / 2)
    return part, al.from_numpy(part)


def from_broadcast_array():
    array = np.broadcast_to(np.arange(4.0), (1, 4))[0]
    return array, al.from_numpy(array)


PRODUCERS = []


def by_dlpack(array):
    """A tensor of a producer that is no array; it has to outlive its capsules."""
    PRODUCERS.append(Producer(array))
    return al.from_dlpack(PRODUCERS[-1])


def from_a_producer():
    array = np.arange(4.0)
    return array, by_dlpack(array)


SOURCES = [from_bytes, from_read_only_array, from_read_only_part, from_broadcast_array, from_a_producer]
WRITES = ["x[0] = 5", "x += 1", "x.fill_(7)", "x[1:].zero_()", "x.view(2, 2)[0].neg_()", "x.detach().mul_(3)"]


class TestMemoryThatIsNotWritten:
    """The first write copies, and says so once."""

    @pytest.mark.parametrize("make", SOURCES, ids=lambda make: make.__name__)
    @pytest.mark.parametrize("line", WRITES)
    def test_the_first_write_copies(self, make, line):
        array, x = make()
        before, view, want = array.copy(), x[:2], array.copy()
        with pytest.warns(al.SharedMemoryWarning) as caught:
            exec(line, {"x": x})
        assert len(caught) == 1
        exec(line.replace("view(2, 2)", "reshape(2, 2)").replace("x.detach().mul_(3)", "x *= 3")
             .replace("x[1:].zero_()", "x[1:] = 0").replace("x.fill_(7)", "x[:] = 7")
             .replace("x.reshape(2, 2)[0].neg_()", "x[:2] *= -1"), {"x": want})
        np.testing.assert_array_equal(array, before)
        assert x.tolist() == want.tolist() and view.tolist() == want[:2].tolist()
        # The copy is the tensor's own: no more warnings, and memory that stays.
        x[3] = 9
        view[0] = 8
        assert x.tolist()[0] == 8 and x.tolist()[3] == 9
        np.testing.assert_array_equal(array, before)

    @pytest.mark.parametrize("save", ["npy", "safetensors"])
    def test_mapped_files(self, save, tmp_path):
        path = tmp_path / f"x.{save}"
        if save == "npy":
            np.save(path, np.arange(4.0))
        else:
            al.save(al.arange(4.0), path)
        content = path.read_bytes()
        x = al.load(path, mmap=True)
        view = x[2:]
        with pytest.warns(al.SharedMemoryWarning) as caught:
            view += 1
        assert len(caught) == 1
        x[0] = 5
        assert x.tolist() == [5, 1, 3, 4] and view.tolist() == [3, 4]
        assert path.read_bytes() == content
        assert al.load(path, mmap=True).tolist() == [0, 1, 2, 3]

    def test_a_file_that_was_read_is_ones_own(self, tmp_path):
        np.save(tmp_path / "x.npy", np.arange(4.0))
        x = al.load(tmp_path / "x.npy")
        x[0] = 5
        assert x.tolist() == [5, 1, 2, 3]

    def test_reading_says_nothing(self):
        array, x = from_read_only_array()
        assert (x + 1).tolist() == [1, 2, 3, 4] and x[1:].sum().item() == 6
        y = x.clone()
        y[0] = 9
        assert array.tolist() == [0, 1, 2, 3] and x.tolist() == [0, 1, 2, 3]

    @pytest.mark.parametrize("dtype", BY_DLPACK, ids=str)
    def test_every_dtype_of_dlpack(self, dtype):
        array = sample(dtype)
        before, x = array.copy(), by_dlpack(array)
        with pytest.warns(al.SharedMemoryWarning):
            x.zero_()
        assert array.tobytes() == before.tobytes() and not x.to(al.bool).any()

    def test_arrays_by_dlpack_are_foreign_as_well(self):
        array = np.arange(4.0)
        x = al.from_dlpack(array)
        with pytest.warns(al.SharedMemoryWarning) as caught:
            x[0] = 5
        assert len(caught) == 1 and array.tolist() == [0, 1, 2, 3] and x.tolist() == [5, 1, 2, 3]
