"""Products by the processor's bfloat16 units: a mode that is asked for, seen in traces, and forgotten after."""

import threading

import numpy as np
import pytest

import allotrope as al


def rand(*shape, dtype="bfloat16", seed=0):
    numbers = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return al.tensor(numbers.astype("float32")).to(dtype)


def uses_units():
    with al.precision(matmul="fast"), al.trace_dtypes() as trace:
        rand(4, 4) @ rand(4, 4)
    return "units" in trace[-1]["reason"]


def bits(x):
    return x.contiguous().view(al.uint8).numpy().tobytes()


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 300, 70), (33, 7, 5), (64, 1031, 40), (130, 512, 260)])
def test_sums_are_as_good_as_float32_has_them(dtype, shape):
    m, k, n = shape
    x, y = rand(m, k, dtype=dtype), rand(k, n, dtype=dtype, seed=1)
    a, b = (t.to(al.float64).numpy() for t in (x, y))
    with al.precision(matmul="fast"):
        got = al.matmul(x, y, dtype="float32").to(al.float64).numpy()
    bound = np.abs(a) @ np.abs(b) * 2.0**-24 * (k + 1)
    assert (np.abs(got - a @ b) <= bound).all()


def test_a_row_has_one_answer():
    x, y, bias = rand(37, 700), rand(90, 700, seed=1), rand(90, seed=2)
    with al.precision(matmul="fast"):
        whole = al.nn.functional.linear(x, y, bias)
        for row in (0, 5, 36):
            assert bits(whole[row : row + 1]) == bits(al.nn.functional.linear(x[row : row + 1], y, bias))
            assert bits(whole[row]) == bits(al.nn.functional.linear(x[row], y, bias))
        threads = al.get_num_threads()
        try:
            for count in (1, 2, 7):
                al.set_num_threads(count)
                assert bits(al.nn.functional.linear(x, y, bias)) == bits(whole)
        finally:
            al.set_num_threads(threads)


def test_only_what_is_asked_for():
    x, y = rand(40, 300), rand(300, 50, seed=1)
    before = x @ y
    with al.precision(matmul="fast"):
        fast = x @ y
        wide = x.float() @ y.float()
    assert bits(x @ y) == bits(before)
    assert bits(x.float() @ y.float()) == bits(wide)
    assert uses_units() or bits(fast) == bits(before)
    with al.trace_dtypes() as trace:
        x @ y
    assert "units" not in trace[-1]["reason"]


def test_scopes_belong_to_their_thread():
    seen = []
    with al.precision("fast"):
        thread = threading.Thread(target=lambda: seen.append(al.get_matmul_precision()))
        thread.start()
        thread.join()
        with al.precision(matmul="same"):
            seen.append(al.get_matmul_precision())
        al.set_matmul_precision("same")
        seen.append(al.get_matmul_precision())
    assert seen == ["same"] * 3 and al.get_matmul_precision() == "same"
    al.set_matmul_precision("fast")
    try:
        assert al.get_matmul_precision() == "fast"
    finally:
        al.set_matmul_precision("same")


def test_gradients_go_the_same_way():
    x = rand(20, 64).requires_grad_()
    w = rand(64, 30, seed=1).requires_grad_()
    with al.precision(matmul="fast"):
        (x @ w).sum().backward()
    ones = np.ones((20, 30))
    assert np.allclose(x.grad.float().numpy(), ones @ w.detach().float().numpy().T, rtol=2**-8, atol=1e-2)
    assert np.allclose(w.grad.float().numpy(), x.detach().float().numpy().T @ ones, rtol=2**-8, atol=1e-2)


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="precision.*'best'.*same"):
        al.precision(matmul="best")
    with pytest.raises(ValueError, match="set_matmul_precision"):
        al.set_matmul_precision("")
