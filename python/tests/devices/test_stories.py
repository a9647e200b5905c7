"""What users who mind their dtypes do with a GPU, with and without native float64 and int64."""

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import allotrope as al

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import convnet  # noqa: E402
import digits  # noqa: E402
import gpt  # noqa: E402
import lstm  # noqa: E402
from precision import of_all  # noqa: E402

HAS_FLOAT64 = al.gpu.is_available() and al.supports("float64", "gpu") == "native"
FINE = 1.0 + 2.0**-40


def heard(function):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        made = function()
    return made, [one for one in found if issubclass(one.category, al.DemotionWarning)]


@pytest.mark.parametrize("policy", ["warn", "silent", "error"])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_wide_data_there_and_back(policy, dtype):
    x = al.tensor([FINE, 2.0, -0.0, float("inf")], dtype=dtype)
    with al.demotion(policy):
        if policy == "error" and not HAS_FLOAT64:
            with pytest.raises(RuntimeError, match=f"gpu stores {dtype} as .*demotion"):
                x.to("gpu")
            return
        y, warned = heard(lambda: x.to("gpu"))
        assert len(warned) == (policy == "warn" and not HAS_FLOAT64)
        if warned:
            assert f"gpu stores {dtype} as" in str(warned[0].message)
        assert y.dtype == dtype and (y.storage_dtype == dtype) == HAS_FLOAT64
        z, warned = heard(lambda: (y * 2 + 1).cpu())
        assert z.dtype == al.dtype(dtype) and not warned
        first = complex(z[0].item()).real
        assert first == (FINE if HAS_FLOAT64 else 1.0) * 2 + 1
        assert y.cpu()[1:].tolist() == x[1:].tolist()


def test_free_floats_take_the_width_of_the_device():
    x = al.tensor(np.array([FINE, 2.0])).to(al.Float)
    assert (x.dtype, x.numeric) == (al.float64, al.Float)
    with al.demotion("error"):
        y = x.to("gpu")
    assert y.numeric is al.Float and y.dtype == (al.float64 if HAS_FLOAT64 else al.float32)
    assert y.storage_dtype == y.dtype
    z = (y.exp().sum() / 2).cpu()
    assert z.numeric is al.Float
    assert z.item() == pytest.approx((np.exp(FINE) + np.exp(2.0)) / 2, rel=1e-6)


def test_integers_beyond_32_bits():
    values = [2**62 + 1, -(2**62) - 3, 2**33 + 5, -1, 7, 2**53 + 1]
    x, y = al.tensor(values), al.tensor(values, device="gpu")
    assert y.dtype == y.storage_dtype == al.int64 and y.tolist() == values
    for work in (
        lambda x: x + x, lambda x: x * 3, lambda x: x // 7, lambda x: x % 1000, lambda x: -x,
        lambda x: x << 3, lambda x: x >> 5, lambda x: x & 0xFFFFFFFFF, lambda x: x.abs(),
        lambda x: x.sum(), lambda x: x.cumsum(0), lambda x: x.max(), lambda x: x.sort().values,
        lambda x: x > 2**33, lambda x: x == 2**53 + 1, lambda x: x.clamp(-(2**40), 2**40),
        lambda x: x.to(al.float32), lambda x: x.to(al.int8), lambda x: x.to(al.uint64), lambda x: x.flip(0),
        lambda x: x.to(al.uint64) // 3, lambda x: al.where(x > 0, x, 2**61),
    ):
        here, there = work(x), work(y)
        assert there.dtype == here.dtype and there.tolist() == here.tolist()


def test_one_hot_in_float16():
    labels = al.tensor([2, 0, 1], device="gpu")
    made = al.nn.functional.one_hot(labels, 3, dtype=al.float16)
    assert made.device == "gpu" and made.dtype == al.float16
    assert made.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize("dtype", ["int16", "int64", "uint8", "float32"])
def test_permutations(dtype):
    al.manual_seed(4)
    there = al.random.permutation(10, dtype=al.dtype(dtype), device="gpu")
    al.manual_seed(4)
    here = al.random.permutation(10, dtype=al.dtype(dtype))
    assert there.device == "gpu" and there.dtype == dtype
    assert there.tolist() == here.tolist() and sorted(there.tolist()) == list(range(10))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "int64", "complex64", "bool"])
def test_masks_and_lists_as_indices(dtype):
    here = al.arange(24).reshape(4, 6).to(dtype)
    there = here.to("gpu")
    mask = al.arange(24).reshape(4, 6) % 5 == 0
    for key in ([0, 2], mask, mask.tolist(), [True, False, True, False], ([0, 3], [1, 1]), (slice(None), [5, 0])):
        assert there[key].device == "gpu" and there[key].tolist() == here[key].tolist()
    assert there[mask.to("gpu")].tolist() == here[mask].tolist()
    one, other = here.clone(), there.clone()
    one[mask], other[mask.to("gpu")] = 1, 1
    one[[1, 2]], other[[1, 2]] = one[[0, 3]], other[[0, 3]]
    assert other.tolist() == one.tolist()


def test_a_dataset_of_a_family_moves_as_a_whole():
    images, labels = np.linspace(0, 1, 24).reshape(6, 4), np.arange(6) % 3
    data = al.data.TensorDataset(images, labels, dtype=al.Float)
    assert data.tensors[0].dtype == al.float64
    with al.demotion("error"):
        moved = data.to("gpu")
    assert moved.tensors[0].numeric is al.Float and moved.tensors[1].dtype == al.int64
    assert moved.tensors[0].dtype == (al.float64 if HAS_FLOAT64 else al.float32)
    batches = list(al.data.DataLoader(moved, batch_size=4, shuffle=True))
    assert [len(batch[1]) for batch in batches] == [4, 2]
    assert all(part.device == "gpu" for batch in batches for part in batch)
    assert sorted(label for batch in batches for label in batch[1].tolist()) == [0, 0, 1, 1, 2, 2]


SETTINGS = {
    "float32": {},
    "bfloat16": {"compute": "bfloat16"},
    "float16": {"compute": "float16"},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_digits_are_read_as_well_as_on_the_cpu(name):
    steps = 44 * 4
    with al.random.fork_rng():
        there = digits.train(of_all(**SETTINGS[name], device="gpu"), steps)
        here = digits.train(of_all(**SETTINGS[name]), steps)
    # The same draws: what differs is rounding.
    assert there.losses == pytest.approx(here.losses, rel=0.05)
    assert here.accuracies[-1] > 0.9
    assert there.accuracies[-1] >= here.accuracies[-1] - 0.015


def test_the_other_examples_run(monkeypatch):
    def few(*arguments):
        return [al.data.TensorDataset(*(x[:64] for x in part.tensors)) for part in load(*arguments)]

    load = digits.load
    monkeypatch.setattr(digits, "load", few)
    how = of_all(device="gpu")
    with al.random.fork_rng():
        convnet.train(how, 2)
        lstm.train(how, 2)
        sizes = gpt.Sizes(context=8, width=16, heads=2, layers=1)
        model, text, losses = gpt.train(how, 3, batch=2, sizes=sizes)
        written = model.eval().write(text.encode("Mr. ")[None], 3)
    assert len(losses) == 3 and len(text.decode(written[0])) == 7
