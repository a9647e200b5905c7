"""Bit-free tensors: what was made with a family, and what is computed of it."""

import copy
import pickle

import pytest

import allotrope as al


def test_a_family_stays_a_family():
    x = al.tensor([1.5, 2.5], dtype=al.Float)
    assert (x.numeric, x.dtype) == (al.Float, al.float32)
    assert al.tensor([1.5]).numeric == al.float32
    assert al.zeros(2, dtype=al.Int).numeric is al.Int
    for made in (
        x + x, 2 * x, x.exp(), x.sum(), x @ x, x.reshape(2, 1), x[0], x.clone(), x.softmax(0),
        al.zeros_like(x), x.new_ones(2), al.cat([x, x]), x.mean(), x.cumsum(0), x.sort().values,
        x.detach(), x.T, al.where(x > 1, x, 0), x.max(), x.clamp(0, 1), x[[0, 1]], x.requires_grad_(),
        copy.deepcopy(x.detach()), pickle.loads(pickle.dumps(x)),
    ):
        assert made.numeric is al.Float, made
    assert (x > 1).numeric == al.bool and x.argmax().numeric == al.int64


def test_one_exact_operand_makes_it_exact():
    x, exact = al.ones(2, dtype=al.Float), al.ones(2)
    for made in (x + exact, exact * x, x @ exact, al.cat([x, exact]), x.to("float32"), x.double()):
        assert not isinstance(made.numeric, al.Family)
    assert x.numeric is al.Float
    assert exact.to(al.Float).numeric is al.Float and exact.numeric == al.float32
    assert x.to(x.dtype) is not x and x.to(al.Float) is x


def test_writes_keep_what_the_target_is():
    x, exact = al.ones(2, dtype=al.Float), al.ones(2)
    view = x[:1]
    x += exact
    view *= 2
    assert x.numeric is al.Float and view.numeric is al.Float
    exact += x
    assert exact.numeric == al.float32


@pytest.mark.skipif("apart" not in al.devices(), reason="about the devices of the tests")
def test_devices_choose_the_width():
    x = al.tensor([1.0, 2.0], dtype="float64").to(al.Float)
    with al.demotion("error"):
        y = x.to("apart:1")
        assert (y.dtype, y.numeric) == (al.float32, al.Float)
        assert x.to("apart").dtype == al.float64
        assert al.full((2,), 1.0, dtype=al.Float, device="apart:1").dtype == al.float32
        with al.set_default_dtype("float64"):
            assert al.ones(2, dtype=al.Float, device="apart:1").dtype == al.float32
            assert al.ones(2, dtype=al.Float, device="apart").dtype == al.float64
    assert al.Float.resolve("float64", "apart:1") == al.float32


@pytest.mark.parametrize(
    ("name", "family"),
    [("float64", al.Float), ("complex128", al.Complex), ("float16", al.Float), ("int64", al.Int)],
)
def test_what_comes_home_has_its_width_again(device, name, family):
    x = al.tensor([1.5, -2.0]).to(name).to(family)
    away = x.to(device)
    made = [away, away + away, 2 * away, away[:1], away.clone(), away.reshape(2, 1), al.cat([away, away]),
            al.zeros_like(away), pickle.loads(pickle.dumps(away)), away.to(away)]
    for home in (one.to("cpu") for one in made):
        assert (home.dtype, home.numeric) == (x.dtype, x.numeric)
    assert away.to("cpu").tolist() == x.tolist()
    # What is read is what is there.
    assert away.numpy(force=True).dtype == away.dtype and len(bytes(away)) == away.nbytes
    exact = away.to(away.dtype).to("cpu")
    assert exact.dtype == away.dtype and exact.numeric == away.dtype


def test_what_was_made_there_comes_home_in_the_width_of_its_data(device):
    data = al.tensor([1.5], dtype="float64").numpy()
    for made in (al.tensor(data, dtype=al.Float, device=device), al.asarray(data, dtype=al.Float, device=device)):
        assert made.to("cpu").dtype == al.float64
    assert al.ones(1, dtype=al.Float, device=device).to("cpu").dtype == al.float32
    with al.set_default_dtype("float64"):
        made = al.ones(1, dtype=al.Float, device=device)
    assert made.to("cpu").dtype == al.float64
    assert al.zeros_like(made).to("cpu").dtype == al.float64


def test_gradients_of_families():
    x = al.tensor([1.0, 2.0], dtype=al.Float, requires_grad=True)
    y = (x * x).sum()
    assert y.numeric is al.Float
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_modules_take_families(device):
    layer = al.nn.Linear(2, 3, dtype=al.Float, device=device)
    assert layer.weight.numeric is al.Float
    assert layer(al.ones(1, 2, dtype=al.Float, device=device)).numeric is al.Float
