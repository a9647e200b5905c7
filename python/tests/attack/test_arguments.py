"""Hostile arguments to every public function: an answer or an exception, soon and in few words."""

import json
import os
import pathlib
import struct
import subprocess
import sys
import time

import numpy as np
import pytest

import allotrope as al

HERE = pathlib.Path(__file__).parent
LONG = os.environ.get("ALLOTROPE_ATTACK") == "long"
WORKERS = 2
# No call here has a second of work to do; a busy machine may take longer.
LONGEST_CALL = 20.0

F = al.nn.functional


class Worker:
    """A process that makes every so many calls; another one goes on behind what it dies of."""

    def __init__(self, folder, number):
        self.place = folder / f"place{number}"
        self.lines = folder / f"lines{number}"
        self.errors = folder / f"errors{number}"
        self.found, self.last, self.changed = [], -1, time.monotonic()
        self.begin(number)

    def begin(self, number):
        self.place.write_bytes(struct.pack("q", number))
        command = [sys.executable, HERE / "calls.py", self.place, str(number), str(WORKERS)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])}
        with self.lines.open("ab") as lines, self.errors.open("ab") as errors:
            self.process = subprocess.Popen(command, stdout=lines, stderr=errors, env=environment)
        self.changed = time.monotonic()

    def number(self):
        return struct.unpack("q", self.place.read_bytes())[0]

    def is_done(self):
        """Looks after the process, and starts another where it did not end by itself."""
        code, number = self.process.poll(), self.number()
        if code == 0:
            return True
        if number != self.last:
            self.last, self.changed = number, time.monotonic()
        if code is None and time.monotonic() - self.changed < LONGEST_CALL:
            return False
        if code is None:
            self.process.kill()
            self.process.wait()
        self.found.append((number, "hangs" if code is None else f"ends with {code}"))
        self.begin(number + WORKERS)
        return False

    def wrongs(self):
        lines = [json.loads(line) for line in self.lines.read_text().splitlines()]
        return [line for line in lines if "wrong" in line]


def test_every_function(tmp_path):
    """No abort, no panic, no hang, and no text that nobody reads."""
    sys.path.insert(0, str(HERE))
    try:
        import calls
    finally:
        sys.path.remove(str(HERE))
    workers = [Worker(tmp_path, number) for number in range(WORKERS)]
    left = list(workers)
    try:
        while left:
            time.sleep(0.05)
            left = [worker for worker in left if not worker.is_done()]
    finally:
        for worker in workers:
            worker.process.kill()
    ends = {number: end for worker in workers for number, end in worker.found}
    wrongs = [wrong for worker in workers for wrong in worker.wrongs()]
    for number, (function, changes) in enumerate(calls.calls()):
        if number in ends:
            wrongs.append({"call": f"{function.path}({changes})", "wrong": ends[number]})
    count = number + 1
    panics = [line for worker in workers for line in worker.errors.read_text().splitlines()
              if "panicked at" in line]
    report = "\n".join(f"{wrong['wrong']}: {wrong['call']}" for wrong in wrongs)
    assert not wrongs, f"{len(wrongs)} of {count} calls:\n{report[:20_000]}"
    assert not panics, panics[:10]
    print(f"{count} calls with hostile arguments")
    assert count > (1_500_000 if LONG else 150_000)


LARGE = [2**63, 2**64, 2**65, 2**65 + 7, 10**30, 10**400]
EITHER_SIGN = [sign * number for number in LARGE for sign in (1, -1)]


def named(number):
    return f"an int of {number.bit_length()} bits" if abs(number) >= 2**256 else str(number)


@pytest.mark.parametrize("shift", EITHER_SIGN, ids=lambda n: f"{n.bit_length()} bits")
def test_whole_turns_do_not_count(shift):
    x = al.arange(60).reshape(3, 4, 5)
    array = np.arange(60).reshape(3, 4, 5)
    assert x.roll(shift).tolist() == np.roll(array, shift % 60).tolist()
    for dim, size in enumerate(x.shape):
        assert x.roll(shift, dim).tolist() == np.roll(array, shift % size, dim).tolist()
        assert al.roll(x, [shift], dims=[dim - 3]).tolist() == x.roll(shift, dim).tolist()
    both = np.roll(array, (shift % 3, -shift % 5), (0, 2))
    assert x.roll((shift, -shift), (0, 2)).tolist() == both.tolist()
    assert x.rot90(shift, (0, 2)).tolist() == np.rot90(array, shift % 4, (0, 2)).tolist()
    assert al.zeros(0, 3).roll(shift, 0).shape == (0, 3)
    with pytest.raises(ValueError, match="^roll: lengths differ"):
        x.roll((shift, 1), 0)
    with pytest.raises(IndexError, match="^roll: axis out of range: 7"):
        x.roll(shift, 7)


def test_a_rolled_gradient_goes_back():
    x = al.arange(5.0).requires_grad_()
    (x.roll(2**65) * al.arange(5.0)).sum().backward()
    assert x.grad.tolist() == np.roll(np.arange(5.0), -(2**65 % 5)).tolist()


@pytest.mark.parametrize("bound", EITHER_SIGN, ids=lambda n: f"{n.bit_length()} bits")
def test_bounds_beyond_the_ends_are_exact(bound):
    items = list(range(5))
    x, array = al.arange(5), np.arange(12).reshape(3, 4)
    assert x[:bound].tolist() == items[:bound]
    assert x[bound:].tolist() == items[bound:]
    if bound > 0:
        assert x[1::bound].tolist() == items[1::bound]
    y = al.tensor(array)
    assert y.tril(bound).tolist() == (array if bound > 0 else 0 * array).tolist()
    assert y.triu(bound).tolist() == (array if bound < 0 else 0 * array).tolist()
    parts = [part.tolist() for part in x.tensor_split([2, bound] if bound > 0 else [bound, 2])]
    assert parts == ([[0, 1], [2, 3, 4], []] if bound > 0 else [[], [0, 1], [2, 3, 4]])
    decimals = al.tensor([1.25, 7.0]).round(decimals=bound).tolist()
    assert decimals == ([1.25, 7.0] if bound > 0 else [0.0, 0.0])


@pytest.mark.parametrize("number", EITHER_SIGN, ids=lambda n: f"{n.bit_length()} bits")
@pytest.mark.parametrize(
    "call",
    [
        lambda n: al.zeros(n),
        lambda n: al.zeros([0, n]),
        lambda n: al.full((n,), 1),
        lambda n: al.ones(2, 3).sum(n),
        lambda n: al.ones(2, 3).sum((0, n)),
        lambda n: al.ones(2, 3).reshape(n, 1),
        lambda n: al.ones(2, 3).view(n),
        lambda n: al.ones(2, 3).permute(0, n),
        lambda n: al.ones(2, 3).expand(n, 2, 3),
        lambda n: al.ones(2, 3).split(n),
        lambda n: al.ones(2, 3).select(0, n),
        lambda n: al.ones(2, 3).softmax(n),
        lambda n: al.ones(2, 3).topk(n),
        lambda n: al.ones(2, 3).tile(n),
        lambda n: al.ones(2, 3).repeat_interleave(n),
        lambda n: al.tensordot(al.ones(2), al.ones(2), n),
        lambda n: al.linalg.matrix_power(al.eye(2), n),
        lambda n: al.fft.fft(al.ones(4), n),
        lambda n: al.rand(n),
        lambda n: al.randperm(n),
        lambda n: al.random.normal(0.0, 1.0, (n,)),
        lambda n: F.conv1d(al.ones(1, 1, 4), al.ones(1, 1, 2), stride=n),
        lambda n: F.conv1d(al.ones(1, 1, 4), al.ones(1, 1, 2), groups=n),
        lambda n: F.max_pool1d(al.ones(1, 1, 4), [n]),
        lambda n: F.pad(al.ones(4), (0, n)),
        lambda n: al.broadcast_shapes((n,), (1,)),
        lambda n: al.eye(n),
    ],
)
def test_other_integers_beyond_64_bits_are_named(call, number):
    if number in (-(2**63), 2**63):
        return
    with pytest.raises(OverflowError) as caught:
        call(number)
    assert f"integer out of range: {named(number)};" in str(caught.value)


@pytest.mark.parametrize("number", [2**200, -(2**200), 10**400], ids=["+", "-", "long"])
@pytest.mark.parametrize("write", [
    lambda n: al.full((2,), n, dtype="int64"),
    lambda n: al.tensor([n], dtype="int8"),
    lambda n: al.zeros(2, dtype="int64").__setitem__(0, n),
    lambda n: al.tensor(n),
    lambda n: al.randint(0, n, (2,)),
])
def test_values_beyond_128_bits_are_named(write, number):
    if number < 0 and "randint" in write.__code__.co_names:
        number = -number
    with pytest.raises(OverflowError) as caught:
        write(number)
    assert named(number) in str(caught.value)


@pytest.mark.parametrize("call", [
    lambda items: al.zeros(items),
    lambda items: al.ones(2, 3).sum(dim=items),
    lambda items: al.ones(2, 3).permute(items),
    lambda items: al.full(items, 1),
    lambda items: al.rand(items),
    lambda items: al.ones(2, 3).split(items),
    lambda items: al.einsum(al.ones(2), items),
    lambda items: al.ones(3).quantile(items),
    lambda items: al.broadcast_shapes(items),
    lambda items: al.conv2d(al.ones(1, 1, 4, 4), al.ones(1, 1, 2, 2), stride=items),
    lambda items: al.ones(2, 3).reshape(items),
    lambda items: al.ones(2, 3).tile(items),
    lambda items: al.random.normal(0.0, 1.0, items),
    lambda items: al.multi_dot(items),
    lambda items: al.cat(items),
])
@pytest.mark.parametrize("length", [2**40, 2**62])
def test_long_sequences_are_refused_at_once(call, length):
    with pytest.raises(ValueError, match=f"too many items: {length}; at most [0-9]+ are accepted"):
        call(range(length))


def test_what_objects_raise_is_what_is_raised():
    class Index:
        def __index__(self):
            raise RuntimeError("of its own")

    x = al.ones(2, 3)
    for call in (al.zeros, x.sum, x.roll, lambda n: x.reshape([n])):
        with pytest.raises(RuntimeError, match="of its own"):
            call(Index())


def test_no_work_before_there_is_memory():
    """These went through all elements, or all places of a window, before they asked for memory."""
    one = al.ones(1)
    for draw in (
        lambda size: al.random.cauchy(sigma=one, size=size),
        lambda size: al.random.exponential(one, size=size),
        lambda size: al.random.laplace(0.0, one, size=size),
        lambda size: al.random.poisson(one, size=size),
        lambda size: al.random.dirichlet(one.expand(size)),
        lambda size: al.normal(one.expand(size), 1.0),
        lambda size: al.bernoulli(one.expand(size)),
    ):
        before = al.get_rng_state().tolist()
        with pytest.raises(MemoryError):
            draw(2**50)
        assert al.get_rng_state().tolist() == before


@pytest.mark.parametrize("power", [20, 32, 50])
def test_windows_larger_than_their_grid(power):
    x = al.tensor([[3.0, 1.0, 7.0, 5.0]])
    values, places = F.max_pool1d_with_indices(x, [2**power], padding=2 ** (power - 1))
    assert (values.tolist(), places.tolist()) == ([[7.0]], [[2]])
    values, places = F.max_pool1d_with_indices(x, 2**power + 1, 1, padding=2 ** (power - 1))
    assert values.tolist() == [[7.0, 7.0, 7.0, 7.0]]
    assert places.tolist() == [[2, 2, 2, 2]]
    image = x.reshape(1, 2, 2)
    values, places = F.max_pool2d_with_indices(image, 2**power, padding=2 ** (power - 1))
    assert (values.tolist(), places.tolist()) == ([[[7.0]]], [[[2]]])
    x.requires_grad_()
    F.max_pool1d(x, 2**power, padding=2 ** (power - 1), dilation=1).sum().backward()
    assert x.grad.tolist() == [[0.0, 0.0, 1.0, 0.0]]


def test_sequences_of_every_kind():
    """What was accepted is accepted: lists, tuples, ranges, arrays, tensors, objects with items."""

    class Items:
        def __len__(self):
            return 2

        def __getitem__(self, index):
            return (2, 3)[index]

    for sizes in ([2, 3], (2, 3), range(2, 4), np.array([2, 3]), al.tensor([2, 3]), Items(),
                  (np.int8(2), al.tensor(3)), al.tensor([2, 3], dtype="uint64")):
        assert al.zeros(sizes).shape == (2, 3)
    with pytest.raises(OverflowError, match="9223372036854775808"):
        al.zeros(al.tensor([2**63], dtype="uint64"))
    for wrong in ("23", {2: 3}, {2, 3}, iter([2, 3]), [2.0], [[2]], [True], ["2"]):
        with pytest.raises(TypeError, match="^zeros: not an integer"):
            al.zeros(wrong)


def test_new_tensor_copies_once():
    array = np.arange(4.0)
    x = al.ones(1, dtype="float64").new_tensor(array)
    array[:] = 9
    assert x.tolist() == [0, 1, 2, 3]
    y = x.new_tensor(x)
    x.zero_()
    assert y.tolist() == [0, 1, 2, 3]
    assert al.ones(1, dtype="int8").new_tensor(np.array([1.5])).tolist() == [1]
