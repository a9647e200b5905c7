"""The device of constructors that are given none: a scope of threads and tasks, and what it leaves alone."""

import asyncio
import threading

import numpy as np
import pytest

import allotrope as al
from allotrope import _probes

#: Every constructor and random function, called without a device.
MAKERS = {
    "tensor": lambda: al.tensor([1, 2]),
    "tensor of an array": lambda: al.tensor(np.ones(2)),
    "as_tensor": lambda: al.as_tensor([1.0]),
    "as_tensor of an array": lambda: al.as_tensor(np.ones(2, dtype="float32")),
    "asarray": lambda: al.asarray(3),
    "array": lambda: al.array([1]),
    "scalar_tensor": lambda: al.scalar_tensor(2),
    "zeros": lambda: al.zeros(2),
    "ones": lambda: al.ones(2),
    "empty": lambda: al.empty(2),
    "empty_strided": lambda: al.empty_strided((2,), (1,)),
    "full": lambda: al.full((2,), 3.0),
    "eye": lambda: al.eye(2),
    "arange": lambda: al.arange(3),
    "linspace": lambda: al.linspace(0, 1, 3),
    "logspace": lambda: al.logspace(0, 1, 3),
    "tril_indices": lambda: al.tril_indices(2, 2),
    "triu_indices": lambda: al.triu_indices(2, 2),
    "hann_window": lambda: al.hann_window(4),
    "signal.windows": lambda: al.signal.windows.hann(4),
    "fftfreq": lambda: al.fft.fftfreq(4),
    "rfftfreq": lambda: al.fft.rfftfreq(4),
    "rand": lambda: al.rand(2),
    "randn": lambda: al.randn(2),
    "randint": lambda: al.randint(0, 5, (2,)),
    "randperm": lambda: al.randperm(4),
    "normal": lambda: al.normal(0.0, 1.0, (2,)),
    "uniform": lambda: al.random.uniform(0.0, 1.0, (2,)),
    "exponential": lambda: al.random.exponential(size=(2,)),
    "poisson": lambda: al.random.poisson(2.0, size=(2,)),
    "choice": lambda: al.random.choice(5, 2),
    "permutation": lambda: al.random.permutation(5),
    "a layer": lambda: al.nn.Linear(2, 3).weight,
    "a buffer": lambda: al.nn.BatchNorm1d(2).running_mean,
    "array_api": lambda: al.array_api.zeros(2),
    "array_api.asarray": lambda: al.array_api.asarray([1.0]),
}


@pytest.mark.parametrize("name", MAKERS)
def test_constructors_without_a_device(name, device):
    make = MAKERS[name]
    assert make().device == "cpu"
    with al.device(device) as entered:
        assert entered == device == al.get_default_device()
        assert make().device == device
        with al.device("cpu"):
            assert make().device == "cpu"
        assert make().device == device
    assert make().device == "cpu"


def test_what_is_given_wins(device):
    x = al.ones(2)
    with al.device(device):
        assert al.zeros(1, device="cpu").device == "cpu"
        for made in (al.zeros_like(x), al.rand_like(x), x.new_zeros(2), x.new_tensor([1]), x + 1, x + [1, 2]):
            assert made.device == "cpu"
        # A tensor has a device of its own, and arrays that share their memory are where it is.
        assert al.as_tensor(x).device == al.tensor(x).device == al.asarray(x).device == "cpu"
        assert al.from_numpy(np.ones(2)).device == al.from_dlpack(np.ones(2)).device == "cpu"
        assert al.random.exponential(x).device == "cpu"
        assert al.special.zeta(x + 1, 2.0).device == "cpu"
        assert np.add(x, [1, 2]).device == "cpu"


def test_the_process_and_the_scope(device):
    try:
        al.set_default_device(device)
        assert al.zeros(1).device == al.get_default_device() == device
        heard = []
        thread = threading.Thread(target=lambda: heard.append(al.zeros(1).device))
        thread.start()
        thread.join()
        assert heard == [device]
        with al.device("cpu"):
            assert al.zeros(1).device == "cpu"
            al.set_default_device(device)
            assert al.zeros(1).device == device
            al.set_default_device(None)
            assert al.zeros(1).device == "cpu"
        assert al.zeros(1).device == device
    finally:
        al.set_default_device(None)
    assert al.get_default_device() == "cpu"


def test_threads_and_tasks_have_their_own(device):
    wrong = []

    def work(place):
        for _ in range(50):
            with al.device(place):
                if al.zeros(1).device != place:
                    wrong.append(place)
            if al.zeros(1).device != "cpu":
                wrong.append("outside")

    threads = [threading.Thread(target=work, args=(place,)) for place in (device, "cpu") * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    async def task(place):
        with al.device(place):
            for _ in range(20):
                await asyncio.sleep(0)
                if al.zeros(1).device != place:
                    wrong.append(place)

    async def main():
        await asyncio.gather(*(task(place) for place in (device, "cpu") * 10))

    asyncio.run(main())
    assert not wrong and al.zeros(1).device == "cpu"


def test_crossed_scopes_of_devices(device):
    one, other = al.device(device), al.device("cpu")
    one.__enter__()
    other.__enter__()
    one.__exit__()
    assert al.zeros(1).device == "cpu"
    one.__enter__()
    other.__exit__()
    assert al.zeros(1).device == device
    one.__exit__()
    assert al.get_default_device() == "cpu"


CALLS = _probes._calls_on("cpu")


@pytest.mark.parametrize("name", CALLS)
def test_operations_on_tensors_stay_where_they_are(name, device):
    """Constants inside of an operation are made beside its operands, whatever the default device is."""
    dtype = next((d for d in (al.float32, al.int64, al.bool, al.complex64) if works(name, d)), None)
    assert dtype is not None
    al.manual_seed(3)
    want = CALLS[name](dtype)
    al.manual_seed(3)
    with al.device(device):
        found = CALLS[name](dtype)
    want, found = (x if isinstance(x, (list, tuple)) else (x,) for x in (want, found))
    for one, other in zip(want, found, strict=True):
        if isinstance(one, al.Tensor):
            assert other.device == "cpu" and one.dtype == other.dtype
            if name not in ("empty_like", "new_empty"):
                np.testing.assert_array_equal(one.numpy(), other.numpy())


def works(name, dtype):
    try:
        CALLS[name](dtype)
    except TypeError:
        return False
    return True
