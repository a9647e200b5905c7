"""Batches from worker processes: every dtype and form, small and large, as they were."""

import os
import pickle

import numpy as np
import pytest
from reference import DTYPES

import allotrope as al
from allotrope.data import transport


class Large(al.data.Dataset):
    """Tensors of every dtype, beside arrays and other things."""

    def __len__(self):
        return 3

    def __getitem__(self, index):
        generator = al.Generator().manual_seed(index)
        bits = al.randint(0, 2, (100_000,), dtype="uint8", generator=generator)
        tensors = {dtype.name: bits[: 1 << 16].view(dtype).reshape(2, -1) for dtype in DTYPES}
        big = np.arange(20_000, dtype=np.float64) + index
        return {
            **tensors,
            "array": big,
            "fortran": np.asfortranarray(big.reshape(100, 200)),
            "strided": big[::2],
            "turned": bits.reshape(100, -1).T,
            "small": al.tensor([index]),
            "same": [bits, bits, (bits[1:], "text", None)],
            "gradient": al.ones(50_000, requires_grad=True),
            "bytes": bytes(100_000),
        }


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, al.Tensor):
        assert (one.dtype, one.shape, one.requires_grad) == (
            other.dtype,
            other.shape,
            other.requires_grad,
        )
        one, other = one.detach(), other.detach()
        assert one.contiguous().numpy().tobytes() == other.contiguous().numpy().tobytes()
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
    elif isinstance(one, dict):
        assert list(one) == list(other)
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other)
        for first, second in zip(one, other, strict=True):
            assert_same(first, second)
    else:
        assert one == other


def itself(sample):
    return sample


@pytest.mark.parametrize("shares", [True, False])
def test_batches_are_as_they_were(shares, monkeypatch):
    if not shares:
        monkeypatch.setattr("allotrope.data.processes.can_share", lambda: False)
    elif not transport.can_share():
        pytest.skip("no shared memory")
    # Forks have it, too.
    monkeypatch.setattr(transport, "LEAST", 1 << 16)
    options = {"num_workers": 2, "workers": "processes"}
    loader = al.data.DataLoader(Large(), None, collate_fn=itself, **options)
    before = len(os.listdir("/proc/self/fd"))
    batches = list(loader)
    for index, batch in enumerate(batches):
        assert_same(batch, Large()[index])
        # Whoever has a batch may write to it, without a word.
        batch["float32"].mul_(0.5)
        batch["array"][0] = -1.0
    # Memory lives as long as what is in it.
    kept = batches[1]["float64"]
    del batches, batch
    assert_same(kept, Large()[1]["float64"])
    del kept
    assert len(os.listdir("/proc/self/fd")) == before and transport._kept == 0


def test_many_batches_are_kept(monkeypatch):
    monkeypatch.setattr(transport, "MOST", 2)
    options = {"num_workers": 1, "workers": "processes"}
    before = len(os.listdir("/proc/self/fd"))
    batches = list(al.data.DataLoader(range(9), 1, collate_fn=many, **options))
    assert [batch[0].item() for batch in batches] == list(range(9))
    assert len(os.listdir("/proc/self/fd")) <= before + 2
    batches[-1].add_(1)
    assert batches[-1].sum().item() == 9 << 20


def many(numbers):
    return al.full((1 << 20,), numbers[0])


def test_what_is_large_is_shared():
    if not transport.can_share():
        pytest.skip("no shared memory")
    message, descriptor = transport.pack([al.ones(1 << 20), np.ones(1 << 20)])
    assert descriptor is not None and len(message) < 1000
    first, second = transport.unpack(message, descriptor)
    assert first.sum().item() == second.sum() == 1 << 20
    message, descriptor = transport.pack(al.ones(10))
    assert descriptor is None and transport.unpack(message, None).tolist() == [1.0] * 10
    with pytest.raises((pickle.PicklingError, AttributeError)):
        transport.pack([al.ones(1 << 20), lambda: 0])
