"""Training code written for torch gives torch's numbers."""

import json
from pathlib import Path

import numpy as np
import pytest

from .idioms import IDIOMS, LAYERS, data, loss_of, parameters
from .library import IS_TORCH, lib

RECORDED = json.loads(Path(__file__).with_name("data_torch_idioms.json").read_text())


@pytest.mark.parametrize("name", IDIOMS)
def test_an_idiom_gives_torchs_numbers(name):
    results = IDIOMS[name](lib)
    assert len(results) == len(RECORDED[name])
    for i, (got, want) in enumerate(zip(results, RECORDED[name])):
        got = got.detach().numpy()
        np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-13, err_msg=f"result {i}")


class TestGradientsOfLeaves:
    def test_there_is_one_object(self):
        (p,) = parameters(lib, (3,))
        assert p.grad is None
        (p * p).sum().backward()
        held = p.grad
        assert p.grad is p.grad is held

    def test_it_accumulates_what_follows(self):
        (p,) = parameters(lib, (3,))
        (p * 2).sum().backward()
        held, part, values = p.grad, p.grad[1:], p.grad.clone()
        (p * 3).sum().backward()
        assert held is p.grad and held.tolist() == [5.0] * 3 and part.tolist() == [5.0] * 2
        assert values.tolist() == [2.0] * 3

    def test_zeros_are_seen_by_all(self):
        (p,) = parameters(lib, (3,))
        (p * 2).sum().backward()
        held = p.grad
        p.grad.zero_()
        assert held.tolist() == [0.0] * 3
        (p * 3).sum().backward()
        assert held.tolist() == p.grad.tolist() == [3.0] * 3

    def test_none_ends_it(self):
        (p,) = parameters(lib, (3,))
        (p * 2).sum().backward()
        held = p.grad
        p.grad = None
        assert p.grad is None
        (p * 3).sum().backward()
        assert held.tolist() == [2.0] * 3 and p.grad.tolist() == [3.0] * 3 and p.grad is not held

    def test_an_assigned_one_is_written(self):
        (p,) = parameters(lib, (3,))
        buffer = lib.zeros(5, dtype=lib.float64)
        p.grad = buffer[1:4]
        (p * 2).sum().backward()
        assert buffer.tolist() == [0.0, 2.0, 2.0, 2.0, 0.0]

    def test_an_assigned_one_is_the_object(self):
        (p,) = parameters(lib, (3,))
        gradient = lib.ones(3, dtype=lib.float64)
        p.grad = gradient
        assert p.grad is gradient
        gradient.mul_(4)
        assert p.grad.tolist() == [4.0] * 3

    @pytest.mark.parametrize("line", [
        "p.grad.detach().mul_(0.5)", "p.grad.mul_(0.5)", "p.grad.data.mul_(0.5)", "p.grad *= 0.5",
        "p.grad[:] = p.grad * 0.5", "p.grad.view(-1).div_(2)", "p.grad.copy_(p.grad / 2)",
    ])
    def test_it_is_scaled_in_every_spelling(self, line):
        (p,) = parameters(lib, (2, 3))
        (p * 2).sum().backward()
        exec(line, {"p": p})
        assert p.grad.tolist() == [[1.0] * 3] * 2

    def test_hooks_see_each_pass(self):
        (p,) = parameters(lib, (3,))
        seen = []
        p.register_hook(lambda gradient: seen.append(gradient.tolist()))
        for factor in (2, 3):
            (p * factor).sum().backward()
            p.grad.zero_()
            with lib.no_grad():
                p.add_(1)
        assert seen == [[2.0] * 3, [3.0] * 3]


class TestLeaves:
    def test_they_stay_what_they_are_over_steps(self):
        weights = parameters(lib, *LAYERS)
        views = [p.detach() for p in weights]
        for step in range(2):
            loss_of(lib, weights, step).backward()
            with lib.no_grad():
                for p in weights:
                    p.sub_(0.1 * p.grad)
                    p.grad.zero_()
        for p, view in zip(weights, views):
            assert p.is_leaf and p.requires_grad and p.grad_fn is None
            assert view.tolist() == p.tolist()

    def test_loading_a_state_is_seen_by_all(self):
        weights = parameters(lib, *LAYERS)
        state = {i: p.detach() for i, p in enumerate(weights)}
        with lib.no_grad():
            for p, shape in zip(weights, LAYERS):
                p.copy_(data(lib, *shape, seed=77))
        for i, shape in enumerate(LAYERS):
            assert state[i].tolist() == data(lib, *shape, seed=77).tolist()

    def test_half_of_a_weight_is_frozen_by_its_gradient(self):
        (p,) = parameters(lib, (2, 3))
        before = p.tolist()
        (p**2).sum().backward()
        p.grad[0] = 0
        p.data.sub_(p.grad)
        assert p.tolist()[0] == before[0] and p.tolist()[1] != before[1]


def test_a_cache_in_the_graph_has_the_gradients_of_cat():
    def attend(is_cached):
        keys = data(lib, 4, 3).requires_grad_(True)
        cache, total = lib.zeros(4, 3, dtype=lib.float64), 0.0
        for t in range(4):
            key = lib.tanh(keys[t])
            if is_cached:
                cache[t] = key
                seen = cache[: t + 1].clone()
            else:
                seen = lib.tanh(keys[: t + 1])
            weights = lib.softmax(seen @ data(lib, 3, seed=t), 0)
            total = total + (weights @ seen).sum()
        total.backward()
        return keys.grad

    np.testing.assert_allclose(attend(True).numpy(), attend(False).numpy(), rtol=1e-12)


@pytest.mark.skipif(IS_TORCH, reason="torch keeps the casts of leaves")
@pytest.mark.parametrize("line", [
    "w.mul_(2)", "w.data.mul_(2)", "w.detach().mul_(2)", "flat.mul_(2)", "w[:] = w * 2", "w.T[0:].mul_(2)",
])
def test_casts_of_weights_follow_their_values(line):
    flat = lib.ones(4, requires_grad=False)
    w = flat.view(2, 2).detach().requires_grad_(True)
    x = lib.ones(2, 2)
    with lib.autocast("cpu", dtype=lib.bfloat16):
        before = x @ w
        with lib.no_grad():
            exec(line, {"w": w, "flat": flat})
        after = x @ w
    assert before.tolist() == [[2.0, 2.0]] * 2 and after.tolist() == [[4.0, 4.0]] * 2


def test_data_that_is_replaced():
    (p,) = parameters(lib, (3,))
    view, before = p.detach(), p.tolist()
    try:
        p.data = lib.ones(3, dtype=lib.float64)
    except AttributeError:
        assert p.tolist() == before
        return
    assert p.tolist() == [1.0] * 3 and view.tolist() == before and p.is_leaf and p.requires_grad
