"""Files that `torch.save` wrote, read as data (`tests/torch/make.py` says what is in them)."""

import pathlib

import numpy as np
import pytest

import allotrope as al
from allotrope import nn

FOLDER = pathlib.Path(__file__).parents[2] / "tests" / "torch"


def numbers(*shape):
    return (np.arange(np.prod(shape)) % 5).reshape(shape)


@pytest.mark.parametrize("mmap", [False, True])
def test_every_dtype(mmap):
    found = al.load(FOLDER / "dtypes.pt", mmap=mmap)
    assert list(found) and len(found) == 19
    for name, x in found.items():
        assert x.dtype == name and x.shape == (2, 3)
        want = numbers(2, 3) != 0 if name == "bool" else numbers(2, 3)
        assert (x.to(al.complex128).numpy() == want).all()


@pytest.mark.parametrize("name", ["mixed.pt", "mixed_legacy.pt", "protocol_4.pt"])
def test_views_and_what_stands_beside_them(name):
    with open(FOLDER / name, "rb") as file:
        found = al.load(file)
    base = numbers(6, 4).astype("float32")
    for key, want in {"base": base, "turned": base.T, "row": base[2], "steps": base[::2, 1:3]}.items():
        assert (found[key].numpy() == want).all()
    assert found["same"].stride() == (0, 4, 1) and found["empty"].shape == (0, 3)
    assert found["parameter"].requires_grad and not found["base"].requires_grad
    assert found["pair"] == (1, [2, {3: -4}]) and found["large"] == 2**80 and found["name"] == "résumé"
    assert (found["epoch"], found["rate"], found["done"], found["none"]) == (12, 0.125, False, None)


@pytest.mark.parametrize("name", ["checkpoint.pt", "checkpoint_legacy.pt"])
def test_a_checkpoint_goes_into_our_own_modules(name):
    found = al.load(FOLDER / name)
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    model.load_state_dict(found["model"])
    assert al.equal(model[0].weight, found["model"]["0.weight"])
    optimizer = al.optim.AdamW(model.parameters(), lr=1.0)
    optimizer.load_state_dict(found["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.5
    state = optimizer.state_dict()["state"][0]["exp_avg"]
    assert al.equal(state, found["optimizer"]["state"][0]["exp_avg"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("danger.pt", "posix.system"),
        ("danger_legacy.pt", "posix.system"),
        ("module.pt", "torch.nn.modules.container.Sequential"),
    ],
)
def test_nothing_runs(name, words, capfd):
    with pytest.raises(OSError, match=words):
        al.load(FOLDER / name)
    assert "must not run" not in capfd.readouterr().out
