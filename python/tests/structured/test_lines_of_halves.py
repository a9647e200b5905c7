"""Lines of float16 and bfloat16 have kernels of their own: against float64, for every way to end."""

import numpy as np
import pytest

import allotrope as al

F = al.nn.functional
HALVES = ["float16", "bfloat16"]
# Within a block of 64, whole blocks, one more, and more than are added up at once.
LENGTHS = [1, 2, 5, 63, 64, 65, 127, 200, 1024, 2048, 2049, 5000]
DIGITS = {"float16": (11, -14), "bfloat16": (8, -126)}


def spacing(values, dtype):
    """The distance between neighbours of a dtype at some values."""
    digits, least = DIGITS[dtype]
    exponents = np.frexp(values)[1] - 1
    return np.ldexp(1.0, np.maximum(exponents, least) - digits + 1)


def check(got, exact, dtype, slack=2e-5):
    got = got.to(al.float64).numpy()
    allowed = 0.505 * spacing(exact, dtype) + slack
    worst = np.max(np.abs(got - exact) / allowed)
    assert worst <= 1, worst


def make(shape, dtype, seed=0, scale=2.0, offset=0.0):
    numbers = np.random.default_rng(seed).standard_normal(shape) * scale + offset
    x = al.tensor(numbers.astype(np.float32)).to(dtype)
    return x, x.to(al.float64).numpy()


def normalize(x, eps=1e-5):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + eps)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_layer_norm(dtype, length):
    x, exact = make((7, length), dtype)
    check(F.layer_norm(x, (length,)), normalize(exact), dtype)
    w, w_exact = make(length, dtype, seed=1)
    b, b_exact = make(length, dtype, seed=2)
    check(F.layer_norm(x, (length,), w, b), normalize(exact) * w_exact + b_exact, dtype)
    check(F.layer_norm(x, (length,), w), normalize(exact) * w_exact, dtype)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_rms_norm(dtype, length):
    x, exact = make((7, length), dtype)
    w, w_exact = make(length, dtype, seed=1)
    expected = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5)
    check(F.rms_norm(x, (length,), eps=1e-5), expected, dtype)
    check(F.rms_norm(x, (length,), w, eps=1e-5), expected * w_exact, dtype)


@pytest.mark.parametrize("inside", [(), (3,), (7, 7), (64,), (10, 130)])
@pytest.mark.parametrize("dtype", HALVES)
def test_group_norm(dtype, inside):
    x, exact = make((3, 6, *inside), dtype)
    w, w_exact = make(6, dtype, seed=1)
    b, b_exact = make(6, dtype, seed=2)
    groups = normalize(exact.reshape(3, 3, -1)).reshape(exact.shape)
    ones = (1,) * len(inside)
    expected = groups * w_exact.reshape(6, *ones) + b_exact.reshape(6, *ones)
    check(F.group_norm(x, 3), groups, dtype)
    check(F.group_norm(x, 3, w, b), expected, dtype)


@pytest.mark.parametrize("length", [1000, 1024, 3000])
@pytest.mark.parametrize("dtype", HALVES)
def test_lines_that_are_hard_to_sum(dtype, length):
    # Far from zero, where differences have few digits.
    x, exact = make((4, length), dtype, scale=0.7, offset=100.0)
    check(F.layer_norm(x, (length,)), normalize(exact), dtype)
    # One number far from all others, first in its lane or not.
    for place in (0, 5, 64, length - 1):
        numbers = np.random.default_rng(3).standard_normal((2, length)).astype(np.float32)
        numbers[:, place] = 1000.0
        x = al.tensor(numbers).to(dtype)
        exact = normalize(x.to(al.float64).numpy())
        check(F.layer_norm(x, (length,)), exact, dtype, slack=1e-4)
    # All the same.
    x = al.full((2, length), 3.0, dtype=dtype)
    assert bool((F.layer_norm(x, (length,)) == 0).all())


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", HALVES)
def test_softmax(dtype, length):
    x, exact = make((7, length), dtype, scale=4.0)
    below = exact - exact.max(-1, keepdims=True)
    total = np.exp(below).sum(-1, keepdims=True)
    check(al.softmax(x, -1), np.exp(below) / total, dtype, slack=1e-7)
    check(al.log_softmax(x, -1), below - np.log(total), dtype)


@pytest.mark.parametrize("length", [3, 64, 100, 2100])
@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_that_are_none(dtype, length):
    for bad in (float("nan"), float("inf")):
        for place in (0, length - 1):
            x, _ = make((3, length), dtype)
            numbers = x.to(al.float32).numpy().copy()
            numbers[1, place] = bad
            x = al.tensor(numbers).to(dtype)
            for result in (F.layer_norm(x, (length,)), al.softmax(x, -1), al.log_softmax(x, -1)):
                is_nan = al.isnan(result).numpy()
                assert not is_nan[[0, 2]].any()
                assert is_nan[1, place]
                if np.isnan(bad):
                    assert is_nan[1].all()
    # A line of nothing but minus infinity has no shares; beside a number it has none.
    x = al.full((2, length), float("-inf"), dtype=dtype)
    assert bool(al.isnan(al.softmax(x, -1)).all())
    numbers = np.full((2, length), -np.inf, np.float32)
    numbers[:, -1] = 1.0
    x = al.tensor(numbers).to(dtype)
    assert al.softmax(x, -1).tolist() == [[0.0] * (length - 1) + [1.0]] * 2
    assert al.log_softmax(x, -1).tolist() == [[float("-inf")] * (length - 1) + [0.0]] * 2
