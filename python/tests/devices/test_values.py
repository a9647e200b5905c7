"""Where tensors are: creation, moves, printing, files, what other libraries see."""

import copy
import io
import pickle

import numpy as np
import pytest

import allotrope as al

MAKERS = {
    "zeros": lambda **o: al.zeros(2, 3, **o),
    "ones": lambda **o: al.ones(2, 3, **o),
    "empty": lambda **o: al.empty(2, 3, **o),
    "full": lambda **o: al.full((2,), 7, **o),
    "eye": lambda **o: al.eye(3, **o),
    "arange": lambda **o: al.arange(5, **o),
    "linspace": lambda **o: al.linspace(0, 1, 5, **o),
    "logspace": lambda **o: al.logspace(0, 1, 5, **o),
    "tensor": lambda **o: al.tensor([[1.5, 2.0], [3.0, 4.0]], **o),
    "asarray": lambda **o: al.asarray([1, 2], **o),
    "as_tensor": lambda **o: al.as_tensor(np.ones(3, "float32"), **o),
    "scalar_tensor": lambda **o: al.scalar_tensor(3, **o),
    "from_dlpack": lambda **o: al.from_dlpack(np.arange(3), **o),
    "rand": lambda **o: al.rand(3, generator=al.Generator().manual_seed(1), **o),
    "randn": lambda **o: al.randn(3, generator=al.Generator().manual_seed(1), **o),
    "randint": lambda **o: al.randint(0, 9, (5,), generator=al.Generator().manual_seed(1), **o),
    "randperm": lambda **o: al.randperm(5, generator=al.Generator().manual_seed(1), **o),
    "uniform": lambda **o: al.uniform(-1, 1, (3,), generator=al.Generator().manual_seed(1), **o),
    "normal": lambda **o: al.normal(0.0, 1.0, (3,), generator=al.Generator().manual_seed(1), **o),
    "gamma": lambda **o: al.random.gamma(2.0, 1.0, (3,), generator=al.Generator().manual_seed(1), **o),
    "hann_window": lambda **o: al.hann_window(5, **o),
    "tril_indices": lambda **o: al.tril_indices(3, 3, **o),
    "fftfreq": lambda **o: al.fft.fftfreq(4, **o),
}


@pytest.mark.parametrize("name", MAKERS)
def test_whatever_is_made_is_where_it_was_asked_for(name, device):
    made, here = MAKERS[name](device=device), MAKERS[name]()
    assert made.device == device and isinstance(made.device, al.device)
    assert made.dtype == here.dtype and made.shape == here.shape
    if name != "empty":
        assert made.tolist() == here.tolist()


def test_likes_are_where_their_tensor_is(device):
    x = al.ones(2, 3, device=device)
    for like in (al.zeros_like, al.ones_like, al.empty_like, al.rand_like, al.randn_like):
        assert like(x).device == device
        assert like(x, device="cpu").device == "cpu"
        assert like(x.cpu(), device=device).device == device
    assert al.full_like(x, 2).tolist() == [[2.0] * 3] * 2
    assert al.randint_like(x, 5).device == device
    assert x.new_zeros(2).device == device and x.new_ones(2).device == device
    assert x.new_full((2,), 3).device == device and x.new_empty(2).device == device
    assert x.new_tensor([1, 2]).device == device
    assert x.new_zeros(2, device="cpu").device == "cpu"


def test_moves_keep_values_and_gradients(device):
    x = al.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = x.to(device)
    assert (y.device, y.cpu().tolist()) == (device, x.tolist())
    (y * y).sum().backward()
    assert x.grad.device == "cpu" and x.grad.tolist() == [[2.0, 4.0], [6.0, 8.0]]
    assert y.to(device) is y and x.cpu() is x
    assert y.to(x).device == "cpu" and x.to(y).device == device
    assert x.to(device, al.bfloat16).dtype == al.bfloat16
    assert y.to(device, copy=True) is not y
    assert x.to(device=device).device == device
    assert y.is_cpu is False and x.is_cpu and x.get_device() == -1
    assert y.get_device() == (y.device.index or 0)


@pytest.mark.skipif("apart" not in al.devices(), reason="about the devices of the tests")
def test_devices_and_their_table():
    assert list(al.devices()) == ["cpu", "apart", "apart:1"]
    assert "apart:1" in al.devices() and "apart:7" not in al.devices()
    rows = {line.split()[0]: line for line in repr(al.devices()).splitlines()}
    assert rows["float64"].endswith("demoted to float32")
    assert al.supports("float64", "apart") == "native" and al.supports("float64", "apart:1") == "demoted"
    assert al.is_dtype_supported("float64", "apart") and not al.is_dtype_supported("float64", "apart:1")
    assert al.device("apart", 1) == "apart:1" and al.device("apart", 1).index == 1
    with pytest.raises(RuntimeError, match="zeros: no such device: 'cuda'; .*gpu"):
        al.zeros(1, device="cuda")
    with pytest.raises(RuntimeError, match="no such device: 'apart:7'"):
        al.zeros(1, device="apart:7")


def test_two_fixed_tensors_on_two_devices_are_an_error(device):
    x, y = al.ones(3), al.ones(3, device=device)
    with pytest.raises(RuntimeError, match=f"add: operands on two devices: cpu and {device}"):
        x + y
    with pytest.raises(RuntimeError, match="two devices"):
        x @ y


def test_free_tensors_lists_and_numbers_follow(device):
    y = al.arange(3.0, device=device)
    for x in (al.ones(3).free(), 1, 1.0, np.float32(1)):
        assert (y + x).device == device and (y + x).tolist() == [1.0, 2.0, 3.0]
    assert al.add(y, [1.0, 1.0, 1.0]).tolist() == [1.0, 2.0, 3.0]
    free = al.ones(3, requires_grad=True).free()
    (free * y).sum().backward()
    assert free.grad.tolist() == [0.0, 1.0, 2.0] and free.grad.device == "cpu"
    z = al.where(y > 0, y, 7)
    assert z.device == device and z.tolist() == [7.0, 1.0, 2.0]


def test_printing_reading_and_copies(device):
    x = al.tensor([[1.0, 2.5], [3.0, 4.0]], device=device)
    assert repr(x) == f"tensor([[1.0000, 2.5000],\n        [3.0000, 4.0000]], device='{device}')"
    assert x[0, 1].item() == 2.5 and x.tolist() == [[1.0, 2.5], [3.0, 4.0]]
    assert f"{x[0, 1]:.1f}" == "2.5" and float(x[0, 0]) == 1.0 and bool(x[0, 0] == 1)
    with pytest.raises(RuntimeError, match=r"numpy: .*x\.cpu\(\)"):
        x.numpy()
    with pytest.raises(RuntimeError, match=r"x\.cpu\(\)"):
        np.asarray(x)
    with pytest.raises(RuntimeError, match=r"x\.cpu\(\)"):
        memoryview(x)
    assert x.cpu().numpy().tolist() == x.tolist() == x.numpy(force=True).tolist()
    with pytest.raises(RuntimeError, match=r"x\.cpu\(\)"):
        x.__dlpack__()
    assert x.__dlpack_device__()[0] != 1
    for other in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x), copy.copy(x), x.clone()):
        assert other.device == device and other.tolist() == x.tolist()
    assert bytes(x) == bytes(x.cpu())
    assert x.eval() is x
    al.synchronize(device)


def test_files(tmp_path, device):
    x = al.tensor([1.0, 2.0], device=device)
    path = tmp_path / "x.safetensors"
    al.save({"x": x, "y": [x, 3]}, path)
    assert al.load(path)["x"].device == "cpu"
    loaded = al.load(path, device=device)
    assert loaded["x"].device == device and loaded["y"][0].tolist() == [1.0, 2.0]
    file = io.BytesIO()
    al.save(x, file)
    assert al.load(io.BytesIO(file.getvalue()), map_location=device).device == device


def test_indexing_and_writing(device):
    x = al.arange(12.0, device=device).reshape(3, 4)
    here = x.cpu()
    keys = [
        0, slice(1, None), (slice(None), 1), [0, 2], ([0, 2], [1, 3]), np.array([2, 0]),
        al.tensor([True, False, True]), al.tensor([2, 0], device=device), here > 5, (..., None),
    ]
    for key in keys:
        own = key.cpu() if isinstance(key, al.Tensor) else key
        assert x[key].device == device and x[key].tolist() == here[own].tolist(), key
    assert x[x > 5].tolist() == here[here > 5].tolist()
    for key, value in (([0, 2], 5), (here > 5, -1.0), (slice(0, 2), [1, 2, 3, 4]), (1, al.ones(4))):
        y, z = x.clone(), here.clone()
        y[key], z[key] = value, value
        assert y.device == device and y.tolist() == z.tolist()
    y = x.clone()
    row = y[1]
    row += 10
    y.mul_(2)
    y.copy_(here)
    assert y.tolist() == here.tolist() and row.tolist() == here[1].tolist()


def test_generators(device):
    g = al.Generator(device=device)
    assert g.device == device
    g.manual_seed(3)
    drawn = al.rand(5, generator=g, device=device)
    assert drawn.tolist() == al.rand(5, generator=al.Generator().manual_seed(3)).tolist()


def test_indices_and_masks_of_the_cpu_are_moved(device):
    here = al.arange(12, dtype=al.float32).reshape(3, 4)
    x, rows, mask = here.to(device), al.tensor([2, 0]), here > 5
    columns = al.tensor([[0, 1], [3, 3], [2, 0]])
    for choose in (
        lambda x: x[rows],
        lambda x: x[:, rows],
        lambda x: x[mask],
        lambda x: x[rows, rows],
        lambda x: x.index_select(0, rows),
        lambda x: x.gather(1, columns),
        lambda x: x.take(rows),
        lambda x: x.masked_select(mask),
        lambda x: x.masked_fill(mask, 0),
        lambda x: x.scatter(1, columns, 7.0),
        lambda x: x.index_fill(0, rows, 1),
        lambda x: al.nn.functional.embedding(rows, x),
    ):
        made = choose(x)
        assert made.device == device and made.tolist() == choose(here).tolist()
    x[rows] = 0
    x[mask] = 1
    here[rows] = 0
    here[mask] = 1
    assert x.tolist() == here.tolist()
    # Values are operands, and indices elsewhere do not choose from the CPU.
    for refused in (lambda: x.index_add(0, rows, here[:2]), lambda: here[rows.to(device)]):
        with pytest.raises(RuntimeError, match="two devices"):
            refused()


def test_free_tensors_follow_their_partners(device):
    here = al.arange(6, dtype=al.float32).reshape(2, 3)
    rows, columns = al.tensor([1, 0]), al.tensor([[0, 1], [2, 2]])
    for work in (
        lambda x, y, i, j: al.cat([x, y]),
        lambda x, y, i, j: al.stack([x, y, x]),
        lambda x, y, i, j: al.hstack([y, x]),
        lambda x, y, i, j: x.scatter(1, j, y),
        lambda x, y, i, j: x.scatter_add(1, j, y),
        lambda x, y, i, j: x.scatter_reduce(1, j, y, "amax"),
        lambda x, y, i, j: x.index_add(0, i, y),
        lambda x, y, i, j: x.index_copy(0, i, y),
        lambda x, y, i, j: x.index_put((i,), y),
        lambda x, y, i, j: x[i] + y,
        lambda x, y, i, j: x.gather(1, j),
    ):
        want = work(here, here + 1, rows, columns)
        there = [here.to(device), (here + 1).to(device), rows.to(device), columns.to(device)]
        for place in range(4):
            operands = list(there)
            operands[place] = [here, here + 1, rows, columns][place].clone().free()
            made = work(*operands)
            assert made.device == device and made.tolist() == want.tolist()
    y = there[0].clone()
    y[0] = here[1].clone().free()
    assert y.tolist()[0] == here.tolist()[1]
    with pytest.raises(RuntimeError, match="two devices"):
        al.cat([here, there[0]])


@pytest.mark.skipif("apart" not in al.devices(), reason="about the devices of the tests")
def test_faults_are_raised_by_the_next_reading():
    x, rows = al.arange(3, device="apart"), al.tensor([0, 3], device="apart")
    for read in (
        lambda y: y.tolist(),
        lambda y: y.eval(),
        lambda y: y.numpy(force=True),
        lambda y: y[0].item(),
        lambda y: al.synchronize("apart"),
    ):
        y = x[rows]
        with pytest.raises(IndexError, match="3"):
            read(y)
        al.synchronize("apart")
        y = x // (x - 1)
        with pytest.raises(ZeroDivisionError, match="floor_divide"):
            read(y)
    with pytest.raises(TypeError):
        x[al.tensor([0.5], device="apart")]
    with pytest.raises(IndexError):
        al.arange(3)[al.tensor([3])]


@pytest.mark.skipif("apart" not in al.devices(), reason="about the devices of the tests")
def test_faults_keep_their_name_and_are_not_swallowed():
    x, rows = al.arange(3, device="apart"), al.tensor([0, 3], device="apart")
    one, number = al.tensor([1], device="apart"), al.tensor(1, device="apart")

    def refused():
        return x.index_select(0, rows)

    # A key of one element is no number: nothing is read for it, and nothing is lost by it.
    y = refused()
    z = x[one]
    x[one] = 5
    with pytest.raises(IndexError, match="^index_select: .*3"):
        y.tolist()
    assert z.tolist() == [1]
    # Whoever needs a number of the device raises the fault as it is.
    for read in (
        lambda: x[number],
        lambda: x[:number],
        lambda: x.reshape(number, 3),
        lambda: al.zeros(number),
        lambda: x.sum(dim=number),
        lambda: range(number),
        lambda: [1, 2][number],
        lambda: x.narrow(0, 0, number),
        lambda: bool(number),
        lambda: int(number),
        lambda: float(number),
        lambda: f"{number}",
        lambda: repr(x),
        lambda: al.synchronize(),
    ):
        refused()
        with pytest.raises(IndexError, match=r"^index_select: .*3; dimension 0 has size 3(\nwhile processing.*)?$"):
            read()
        al.synchronize()


@pytest.mark.parametrize("name, numbers", [
    ("polygamma", (2,)), ("zeta", (2.5,)), ("gammainc", (1.5,)), ("gammaincc", (1.5,)),
])
def test_numbers_of_special_functions_stand_beside_the_tensor(name, numbers, device):
    x = al.tensor([0.5, 1.5, 3.0])
    function = getattr(al.special, name)
    there = function(*numbers, x.to(device))
    assert str(there.device) == device
    assert al.allclose(there.cpu(), function(*numbers, x), rtol=1e-5)
