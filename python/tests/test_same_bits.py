"""A row of a result has one answer: whatever the batch, its place, what is padded after it, the number of
threads and the layout of memory."""

import numpy as np
import pytest

import allotrope as al
from allotrope import nn
from allotrope.nn import functional as F

FLOATS = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn"]


def rand(*shape, dtype="float32", seed=0):
    generator = np.random.default_rng([seed, *shape])
    return al.tensor(generator.standard_normal(shape).astype("float32")).to(dtype)


def bits(x):
    return x.reshape(-1).contiguous().view(al.uint8).numpy().tobytes()


def layer(make, dtype):
    al.manual_seed(3)
    return make().to(al.dtype(dtype)).eval()


def recurrent(make, dtype):
    module = layer(make, dtype)
    return lambda x: module(x)[0]


def attend(x, dtype):
    q = x.reshape(x.shape[0], x.shape[1], 2, -1).transpose(1, 2)
    return F.scaled_dot_product_attention(q, q * 0.5, q + 1, is_causal=True)


#: Of a dtype: the shape of a row, and a function of a batch of rows.
WORKS = {
    "matmul": lambda d: ((48,), lambda x, w=rand(48, 70, dtype=d): x @ w),
    "matmul, deep": lambda d: ((1030,), lambda x, w=rand(1030, 33, dtype=d): x @ w),
    "matmul, turned": lambda d: ((300,), lambda x, w=rand(65, 300, dtype=d): x @ w.T),
    "matmul, a vector": lambda d: ((300,), lambda x, w=rand(300, dtype=d): x @ w),
    "bmm": lambda d: ((5, 40), lambda x, w=rand(40, 9, dtype=d): al.bmm(x, w.expand(x.shape[0], 40, 9))),
    "einsum": lambda d: ((24, 3), lambda x, w=rand(24, 7, dtype=d): al.einsum("bik,io->bko", x, w)),
    "dots": lambda d: ((90,), lambda x: (x.unsqueeze(1) @ x.unsqueeze(2)).flatten()),
    "linear": lambda d: ((64,), layer(lambda: nn.Linear(64, 10), d)),
    "linear, 1000": lambda d: ((1000,), layer(lambda: nn.Linear(1000, 40), d)),
    "conv1d": lambda d: ((6, 40), layer(lambda: nn.Conv1d(6, 8, 3, padding=1), d)),
    "conv2d": lambda d: ((3, 14, 14), layer(lambda: nn.Conv2d(3, 8, 3, padding=1), d)),
    "conv2d, strided": lambda d: ((8, 15, 15), layer(lambda: nn.Conv2d(8, 16, 3, stride=2), d)),
    "conv2d, 1 x 1": lambda d: ((16, 7, 7), layer(lambda: nn.Conv2d(16, 32, 1), d)),
    "conv2d, depthwise": lambda d: ((8, 12, 12), layer(lambda: nn.Conv2d(8, 8, 3, groups=8), d)),
    "conv_transpose2d": lambda d: ((4, 6, 6), layer(lambda: nn.ConvTranspose2d(4, 6, 3, stride=2), d)),
    "batch_norm": lambda d: ((6, 9), layer(lambda: nn.BatchNorm1d(6), d)),
    "layer_norm": lambda d: ((65,), layer(lambda: nn.LayerNorm(65), d)),
    "layer_norm, long": lambda d: ((3000,), layer(lambda: nn.LayerNorm(3000), d)),
    "rms_norm": lambda d: ((130,), layer(lambda: nn.RMSNorm(130), d)),
    "group_norm": lambda d: ((8, 5), layer(lambda: nn.GroupNorm(2, 8), d)),
    "softmax": lambda d: ((77,), lambda x: x.softmax(-1)),
    "log_softmax": lambda d: ((2500,), lambda x: x.log_softmax(-1)),
    "sum": lambda d: ((1000,), lambda x: x.sum(-1)),
    "attention": lambda d: ((20, 16), lambda x: attend(x, d)),
    "attention layer": lambda d: ((12, 16), lambda x, m=layer(lambda: nn.MultiheadAttention(16, 4, batch_first=True), d): m(x, x, x)[0]),
    "LSTM": lambda d: ((7, 10), recurrent(lambda: nn.LSTM(10, 12, batch_first=True), d)),
    "GRU": lambda d: ((7, 10), recurrent(lambda: nn.GRU(10, 12, batch_first=True), d)),
    "RNN": lambda d: ((7, 10), recurrent(lambda: nn.RNN(10, 12, batch_first=True), d)),
    "encoder layer": lambda d: ((9, 16), layer(lambda: nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0), d)),
}  # fmt: skip
COUNT = 19


@pytest.fixture(scope="module")
def whole():
    """A work, its rows and their results, computed once."""
    known = {}

    def get(name, dtype):
        if (name, dtype) not in known:
            shape, work = WORKS[name](dtype)
            x = rand(COUNT, *shape, dtype=dtype)
            known[name, dtype] = work, x, [bits(row) for row in work(x)]
        return known[name, dtype]

    return get


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", WORKS)
def test_rows_do_not_depend_on_the_batch(name, dtype, whole):
    work, x, rows = whole(name, dtype)
    for first, last in [(0, 1), (7, 8), (18, 19), (3, 5), (2, 6), (0, 8), (5, 18)]:
        assert [bits(row) for row in work(x[first:last])] == rows[first:last], (first, last)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", WORKS)
def test_rows_do_not_depend_on_their_place_and_neighbours(name, dtype, whole):
    work, x, rows = whole(name, dtype)
    order = np.random.default_rng(5).permutation(COUNT).tolist()
    assert [bits(row) for row in work(x[al.tensor(order)])] == [rows[i] for i in order]
    padded = al.cat([x[:4], al.zeros_like(x[:9])])
    assert [bits(row) for row in work(padded)][:4] == rows[:4]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", WORKS)
def test_rows_do_not_depend_on_threads_and_memory(name, dtype, whole):
    work, x, rows = whole(name, dtype)
    before = al.get_num_threads()
    try:
        for threads in (1, 2, 7):
            al.set_num_threads(threads)
            assert [bits(row) for row in work(x)] == rows, threads
    finally:
        al.set_num_threads(before)
    if name == "sum":
        return  # formed in the order of memory
    axes = tuple(range(x.ndim))
    turned = x.permute(axes[::-1]).contiguous().permute(axes[::-1])
    assert turned.stride() != x.stride() and [bits(row) for row in work(turned)] == rows
    wide = al.stack([x, x + 1], -1)[..., 0]
    assert [bits(row) for row in work(wide)] == rows


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_what_is_padded_after_a_sequence_does_not_matter(name, dtype, whole):
    work, x, rows = whole(name, dtype)
    for steps in (1, 3, 6):
        parts = [bits(row[:steps]) for row in work(x)]
        assert [bits(row) for row in work(x[:, :steps])] == parts


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [1, 17, 64, 250])
def test_decoding_with_a_cache_gives_the_bits_of_the_whole_sequence(length, dtype):
    q, k, v = (rand(2, 3, length, 16, dtype=dtype, seed=i) for i in range(3))
    whole = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    for i in {0, length // 2, length - 1}:
        one = F.scaled_dot_product_attention(q[:, :, i : i + 1], k[:, :, : i + 1], v[:, :, : i + 1])
        assert bits(one) == bits(whole[:, :, i : i + 1]), i


def test_the_report_tells_what_it_finds():
    found = al.reproducibility()
    assert found.holds and found.level == al.simd_level() and len(found) == 16
    assert str(found).count("same bits") == 48
    from allotrope.inspection.reproducibility import _try

    x = rand(11, 40)
    assert _try(lambda x: x + x.sum(), x)["batch"] is False
    assert _try(lambda x: x + x.stride(1), x) == {"batch": True, "threads": True, "memory": False}
    assert _try(lambda x: x * al.get_num_threads(), x)["threads"] is (al.get_num_threads() == 1)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("length", [7, 64, 77, 1500])
@pytest.mark.parametrize("work", ["softmax", "log_softmax", "layer_norm"])
def test_gradients_of_rows_have_one_answer(work, length, dtype):
    """Whatever the batch, and however the gradient of the result lies in memory."""
    numbers, gradient = rand(37, length, dtype=dtype), rand(37, length, dtype=dtype, seed=1)

    def back(numbers, gradient):
        x = numbers.detach().requires_grad_()
        y = F.layer_norm(x, (length,)) if work == "layer_norm" else getattr(x, work)(-1)
        return bits(al.autograd.grad(y, [x], gradient)[0])

    whole = back(numbers, gradient)
    assert back(numbers, gradient.T.contiguous().T) == whole
    assert back(numbers[5:18], gradient[5:18]) == whole[len(whole) // 37 * 5 : len(whole) // 37 * 18]
