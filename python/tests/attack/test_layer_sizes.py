"""Sizes of layers: huge ones are answered at once, and none leaves memory that nobody has written."""

import importlib
import inspect
import json
import math
import os
import pathlib
import pkgutil
import subprocess
import sys

import pytest

import allotrope as al
from attack import layer_sizes

HERE = pathlib.Path(__file__).parent
PARTS = 2


@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("part", range(PARTS))
def test_huge_sizes_are_answered_at_once(part):
    command = [sys.executable, HERE / "layer_sizes.py", str(part), str(PARTS)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert run.returncode == 0, run.stderr[-2000:]
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert rows.pop()["done"] > 800
    assert not rows, rows


@pytest.fixture
def unwritten_is_nan(monkeypatch):
    """Memory of layers that nobody has written is NaN, wherever it can be."""
    empty = al.empty

    def poisoned(*sizes, **options):
        made = empty(*sizes, **options)
        return made.fill_(math.nan) if made.is_floating_point() else made

    for info in pkgutil.walk_packages(al.nn.__path__, "allotrope.nn."):
        module = importlib.import_module(info.name)
        for name in ("empty", "empty_like"):
            if getattr(module, name, None) is getattr(al, name):
                monkeypatch.setattr(module, name, poisoned)


def with_zeros(kind, arguments, options):
    """Arguments of a layer, each integer among which is a zero once."""
    yield arguments, options
    bound = inspect.signature(kind).bind(*arguments, **options)
    for name, value in bound.arguments.items():
        if isinstance(value, int) and not isinstance(value, bool):
            yield (), {**bound.arguments, name: 0}


def is_written(layer):
    tensors = [*layer.parameters(), *layer.buffers()]
    return all(
        bool(one.isfinite().all()) for one in tensors if one.is_floating_point() and one.numel()
    )


LAYERS = {name: rest for name, *rest in layer_sizes.layers()}


@pytest.mark.parametrize("name", LAYERS)
def test_what_a_layer_holds_was_written(name, unwritten_is_nan):
    kind, arguments, options = LAYERS[name]
    arguments = [layer_sizes.made(one) for one in arguments]
    options = {key: layer_sizes.made(one) for key, one in options.items()}
    made = 0
    for positional, named in with_zeros(kind, arguments, options):
        try:
            layer = kind(*positional, **named)
        except (TypeError, ValueError):
            continue
        made += 1
        assert is_written(layer), (positional, named)
        if hasattr(layer, "reset_parameters"):
            layer.reset_parameters()
            assert is_written(layer), (positional, named)
    assert made


LAZY = {
    "LazyLinear": ((2,), (3,)),
    **{
        f"Lazy{kind}{rank}d": ((2, 1), (4,) * rank)
        for kind in ("Conv", "ConvTranspose")
        for rank in (1, 2, 3)
    },
    **{
        f"Lazy{kind}{rank}d": ((), (4,) * rank)
        for kind in ("BatchNorm", "InstanceNorm")
        for rank in (1, 2, 3)
    },
}


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("channels", [0, 3])
def test_what_a_lazy_layer_holds_was_written(name, channels, unwritten_is_nan):
    arguments, sizes = LAZY[name]
    options = {} if arguments else {"affine": True}
    layer = getattr(al.nn, name)(*arguments, **options)
    shape = (2, channels) if name == "LazyLinear" else (2, channels, *sizes)
    try:
        layer(al.ones(shape))
    except (TypeError, ValueError):
        # What it cannot compute with, it may refuse.
        pass
    assert not layer.has_uninitialized_params() if hasattr(layer, "has_uninitialized_params") else True
    assert is_written(layer)


def test_all_lazy_layers_are_here():
    lazy = {name for name in dir(al.nn) if name.startswith("Lazy") and name != "LazyModuleMixin"}
    assert lazy == set(LAZY)


def test_a_shape_of_ones_own_comes_with_zeros(unwritten_is_nan):
    weight = al.nn.UninitializedParameter()
    weight.materialize((2, 3))
    assert weight.tolist() == [[0.0] * 3] * 2
