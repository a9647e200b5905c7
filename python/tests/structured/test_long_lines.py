"""Long lines that are converted or gathered are normalised a piece at a time: against float64."""

import numpy as np
import pytest

import allotrope as al
from reference import REALS
from test_lines_of_halves import HALVES, normalize

F = al.nn.functional
# One more than a piece, a few pieces, and a line that is too long to be kept.
LENGTHS = [2049, 5000, 66_000]
# What is worked on in float32, but float32 itself and halves, whose lines are read as they are.
DTYPES = [d.name for d in REALS if d.bits <= 32 and d.name not in ("float32", *HALVES)]


def make(dtype, *shape, seed=0):
    numbers = np.random.default_rng(seed).standard_normal(shape) * 3
    if dtype == "bool":
        numbers = numbers > 1
    elif "int" in dtype:
        far = 0 if dtype in ("int8", "uint8") else 20_000
        numbers = np.round(numbers * 10 + 50 + far).astype(np.int64).clip(0, 40_000)
        numbers = numbers.clip(0, 127) if far == 0 else numbers
    x = al.tensor(numbers).to(getattr(al, dtype))
    return x, x.to(al.float64).numpy()


def check(got, exact):
    """Within half a step of the dtype and what float32 may lose on the way."""
    want = al.tensor(exact).to(got.dtype).to(al.float64).numpy()
    slack = 3e-5
    if got.dtype.bits == 8:
        # Either neighbour of a number that is nearly in the middle.
        low = al.tensor(exact - slack).to(got.dtype).to(al.float64).numpy()
        high = al.tensor(exact + slack).to(got.dtype).to(al.float64).numpy()
        values = got.to(al.float64).numpy()
        assert ((low <= values) & (values <= high)).all()
    else:
        np.testing.assert_allclose(got.to(al.float64).numpy(), want, atol=slack, rtol=1e-5)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_layer_norm_and_rms_norm(dtype, length):
    x, exact = make(dtype, 3, length)
    check(F.layer_norm(x, (length,)), normalize(exact))
    squares = exact / np.sqrt((exact**2).mean(-1, keepdims=True) + 1e-5)
    check(F.rms_norm(x, (length,), eps=1e-5), squares)
    w = np.random.default_rng(1).standard_normal(length).astype(np.float32)
    b = np.random.default_rng(2).standard_normal(length).astype(np.float32)
    got = F.layer_norm(x.to(al.float32).T.clone().T, (length,), al.tensor(w), al.tensor(b))
    check(got, normalize(exact) * w + b)


@pytest.mark.parametrize("inside", [(500,), (33, 31), (30_000,)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_group_norm(dtype, inside):
    x, exact = make(dtype, 2, 6, *inside)
    groups = normalize(exact.reshape(2, 2, -1)).reshape(exact.shape)
    check(F.group_norm(x, 2), groups)
    w = np.random.default_rng(1).standard_normal(6).astype(np.float32)
    b = np.random.default_rng(2).standard_normal(6).astype(np.float32)
    ones = (1,) * len(inside)
    got = F.group_norm(x.to(al.float32).to(x.dtype), 2, al.tensor(w), al.tensor(b))
    check(got, groups * w.reshape(6, *ones) + b.reshape(6, *ones))


@pytest.mark.parametrize("length", [3000, 65_000, 100_000])
def test_one_number_far_from_all_others(length):
    """In float32 it costs the others nothing, wherever it is and however lines lie in memory."""
    for place in (0, 40, length - 1):
        numbers = np.random.default_rng(5).standard_normal((2, length)).astype(np.float32)
        numbers[:, place] = 1000.0
        exact = normalize(numbers.astype(np.float64))
        for x in (al.tensor(numbers), al.tensor(np.ascontiguousarray(numbers.T)).T):
            got = F.layer_norm(x, (length,)).to(al.float64).numpy()
            np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-6)
        whole = np.round(numbers * 100).astype(np.int32)
        got = F.layer_norm(al.tensor(whole), (length,)).to(al.float64).numpy()
        np.testing.assert_allclose(got, normalize(whole.astype(np.float64)), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("length", [3000, 70_000])
def test_numbers_that_are_none(length):
    numbers = np.random.default_rng(3).standard_normal((3, length)).astype(np.float32)
    numbers[1, length - 1] = np.nan
    result = F.layer_norm(al.tensor(numbers).to(al.float8_e5m2), (length,))
    is_nan = al.isnan(result).numpy()
    assert is_nan[1].all() and not is_nan[[0, 2]].any()
    same = F.layer_norm(al.full((2, length), 3, dtype=al.int8), (length,))
    assert bool((same == 0).all())
