"""`to` and its kin: dtypes of parameters and buffers, and the objects that they stay."""

import numpy
import pytest

import allotrope as al
from allotrope import nn


def dtypes(module):
    return {name: value.dtype.name for name, value in module.state_dict().items()}


def test_parameters_stay_the_objects_they_are():
    """An optimizer that was made before keeps what it trains."""
    layer = nn.Linear(2, 2)
    kept = list(layer.parameters())
    layer(al.ones(1, 2)).sum().backward()
    for convert in (
        lambda: layer.to(al.bfloat16),
        lambda: layer.half(),
        lambda: layer.double(),
        lambda: layer.float(),
        lambda: layer.to(al.ones(1, dtype=al.float16)),
        lambda: layer.to("cpu", al.float64),
        lambda: layer.type("float32"),
        lambda: layer.to(dtype="bfloat16"),
        lambda: layer.cpu(),
    ):
        assert convert() is layer
        assert all(a is b for a, b in zip(kept, layer.parameters(), strict=True))
        assert all(p.requires_grad and p.is_leaf for p in kept)
        assert all(p.grad is not None and p.grad.dtype == p.dtype for p in kept)
    # A step by hand, of what was kept: the layer sees it.
    layer.to(al.float32)
    before = layer(al.ones(1, 2)).detach()
    layer.zero_grad()
    layer(al.ones(1, 2)).sum().backward()
    with al.no_grad():
        for parameter in kept:
            parameter -= parameter.grad
    assert bool((layer(al.ones(1, 2)) != before).all())


def test_tied_parameters_stay_tied():
    net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    net[1].weight = net[0].weight
    net.to(al.float16)
    assert net[1].weight is net[0].weight and net[0].weight.dtype == al.float16


def test_only_floats_and_complex_numbers_are_converted():
    module = nn.Module()
    module.register_buffer("count", al.zeros(2, dtype=al.int64))
    module.register_buffer("mask", al.ones(2, dtype=al.bool))
    module.register_buffer("wave", al.ones(2, dtype=al.complex64))
    module.register_buffer("level", al.ones(2))
    module.to(al.float64)
    assert dtypes(module) == {"count": "int64", "mask": "bool", "wave": "complex128", "level": "float64"}
    module.half()
    assert dtypes(module) == {"count": "int64", "mask": "bool", "wave": "complex64", "level": "float16"}
    module.to(al.complex128)
    assert dtypes(module)["level"] == "complex128"
    for wrong in (al.int32, al.bool, al.Int, "uint8"):
        with pytest.raises(TypeError, match="float and complex dtypes"):
            module.to(wrong)
    with pytest.raises(RuntimeError, match="no such dtype or device: 'moon'"):
        module.to("moon")
    with pytest.raises(RuntimeError, match="gpu"):
        module.to(device="cuda")
    assert dtypes(module)["level"] == "complex128", "nothing was converted"


def test_families():
    layer = nn.Linear(2, 2, dtype=al.bfloat16)
    assert layer.to(al.Float).weight.dtype == al.bfloat16
    assert layer.to(al.Complex).weight.dtype == al.complex64
    assert layer.to(al.Float).weight.dtype == al.complex64, "complex numbers stay complex"


def test_families_stay_open():
    layer = al.nn.Linear(2, 3, dtype=al.float64).to(al.Float)
    layer(al.ones(1, 2)).sum().backward()
    assert [p.numeric for p in layer.parameters()] == [al.Float] * 2
    assert layer.weight.dtype == al.float64 and layer.to("cpu").weight.numeric is al.Float
    assert layer.weight.grad.dtype == al.float64
    assert layer.to_empty().weight.numeric is al.Float
    other = al.nn.Linear(2, 3).to(layer.weight)
    assert other.weight.numeric is al.Float
    assert layer.to(al.float32).weight.numeric == al.float32
    pair = al.nn.Linear(2, 3, dtype=al.complex128).to(al.Float)
    assert pair.weight.numeric is al.Complex and pair.weight.dtype == al.complex128
    norm = al.nn.BatchNorm1d(2).to(al.Float)
    assert norm.running_mean.numeric is norm.to("cpu").running_mean.numeric is al.Float
    assert norm.half().running_mean.numeric == al.float32


def test_buffers_that_keep_their_dtype():
    module = nn.Module()
    value = 1.0 + 2.0**-20
    module.register_buffer("exact", al.tensor([value]), keep_dtype=True)
    module.register_buffer("rounded", al.tensor([value]))
    module.register_buffer("made", al.tensor([1, 2]), dtype=al.float64, keep_dtype=True)
    module.marked = nn.Buffer(al.tensor([value]), keep_dtype=True)
    outer = nn.Sequential(module)
    outer.to(al.bfloat16)
    assert module.exact.dtype == al.float32 and module.exact.item() == value
    assert module.marked.dtype == al.float32 and module.made.dtype == al.float64
    assert module.rounded.dtype == al.bfloat16 and module.rounded.item() == 1.0
    outer.half().double()
    assert module.exact.dtype == al.float32
    module.exact = al.tensor([2.0])
    outer.to(al.bfloat16)
    assert module.exact.dtype == al.float32, "another value is kept as well"
    module.register_buffer("family", al.ones(1, dtype=al.int64), dtype=al.Float)
    assert module.family.dtype == al.float32


def test_modules_that_stay_in_a_dtype():
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.LayerNorm(2)).keep_in(al.float32))
    net.to(al.bfloat16)
    assert set(dtypes(net[0]).values()) == {"bfloat16"} and set(dtypes(net[1]).values()) == {"float32"}
    y = net(al.ones(3, 2, dtype=al.bfloat16))
    assert y.dtype == al.float32
    # Asked of the module itself, it is converted, and stays there.
    net[1].to(al.float64)
    net.half()
    assert set(dtypes(net[1]).values()) == {"float64"}
    net[1].keep_in(None)
    net.half()
    assert set(dtypes(net[1]).values()) == {"float16"}
    with pytest.raises(TypeError, match="keep_in"):
        net.keep_in(al.int8)


def test_a_parameter_shared_with_a_kept_module_is_kept():
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    other.weight = one.weight
    net = nn.Sequential(one, nn.Sequential(other).keep_in(al.float32)).to(al.bfloat16)
    assert net[0].weight.dtype == al.float32 and net[0].bias.dtype == al.bfloat16


def test_autocast_leaves_kept_modules():
    plain, kept = nn.Linear(2, 2), nn.Linear(2, 2).keep_in(al.float32)
    with al.autocast("cpu", al.bfloat16):
        assert plain(al.ones(1, 2)).dtype == al.bfloat16
        assert kept(al.ones(1, 2)).dtype == al.float32
        assert plain(al.ones(1, 2)).dtype == al.bfloat16


@pytest.mark.parametrize("dtype", [al.float16, al.bfloat16], ids=str)
@pytest.mark.parametrize("make", [lambda d: nn.BatchNorm1d(2, dtype=d), lambda d: nn.BatchNorm1d(2).to(d)])
def test_statistics_of_halves(make, dtype):
    """Running statistics are float32: in halves they would stop moving long before the mean."""
    layer = make(dtype)
    assert layer.running_mean.dtype == layer.running_var.dtype == al.float32
    assert layer.num_batches_tracked.dtype == al.int64
    x = numpy.random.RandomState(0).uniform(250, 260, (64, 2)).astype("float32")
    given = al.tensor(x).to(dtype)
    for _ in range(200):
        assert layer(given).dtype == dtype
    exact = given.to(al.float64).numpy()
    numpy.testing.assert_allclose(layer.running_mean.numpy(), exact.mean(0), rtol=1e-5)
    numpy.testing.assert_allclose(layer.running_var.numpy(), exact.var(0, ddof=1), rtol=1e-4)
    assert layer.eval()(given).dtype == dtype
    layer.double()
    assert layer.running_mean.dtype == al.float64


def test_to_empty_and_memory_formats():
    layer = nn.Conv2d(2, 3, 2, dtype=al.float16)
    weight = layer.weight
    assert layer.to_empty(device="cpu") is layer
    assert layer.weight is weight and layer.weight.dtype == al.float16
    layer.to(memory_format=al.channels_last)
    assert layer.weight.is_contiguous(memory_format=al.channels_last)
    with pytest.raises(RuntimeError, match="share_memory"):
        layer.share_memory()


def test_views_of_parameters_keep_the_old_value():
    layer = nn.Linear(2, 2)
    view = layer.weight.detach()
    layer.to(al.bfloat16)
    assert view.dtype == al.float32 and layer.weight.dtype == al.bfloat16
