"""Attributes of the package and its modules: a setting acts or is refused, a patch is taken, and an error says where a
name is."""

import importlib
import inspect
import pkgutil
import subprocess
import sys
import types
from unittest import mock

import pytest

import allotrope as al


def public_modules(package=al):
    for found in pkgutil.iter_modules(getattr(package, "__path__", ())):
        if not found.name.startswith("_"):
            module = importlib.import_module(f"{package.__name__}.{found.name}")
            # A file with a function of its name is not reached.
            if getattr(package, found.name) is module:
                yield module
                yield from public_modules(module)


MODULES = [al, *public_modules()]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
@pytest.mark.parametrize("value", [True, "strict", 3, 0.5, None, al.float16, [1]], ids=repr)
def test_what_is_no_setting_is_refused(module, value):
    with pytest.raises(AttributeError, match=r"no such setting"):
        module.no_such_setting = value
    assert not hasattr(module, "no_such_setting")


@pytest.mark.parametrize(
    ("place", "name", "value", "hint"),
    [
        (al, "default_dtype", al.float16, "al.set_default_dtype(value)"),
        (al, "dtype", al.float16, "al.set_default_dtype(value)"),
        (al, "default_device", "cpu", "al.set_default_device(value)"),
        (al, "device", "cpu", "al.set_default_device(value)"),
        (al, "promotion", "strict", "al.set_promotion(value)"),
        (al, "demotion", "error", "al.set_demotion(value)"),
        (al, "overflow", "raise", "al.set_overflow(value)"),
        (al, "fallback", "error", "al.set_fallback(value)"),
        (al, "inference", "default", "al.set_inference(value)"),
        (al, "grad_enabled", False, "al.set_grad_enabled(value)"),
        (al, "num_threads", 2, "al.set_num_threads(value)"),
        (al, "autocast", True, "al.enable_autocast = True"),
        (al, "autocast_enabled", True, "al.set_autocast_enabled(value)"),
        (al, "enable_autocst", True, "al.enable_autocast = True"),
        (al, "seed", 3, "al.manual_seed(value)"),
        (al.random, "seed", 3, "al.manual_seed(value)"),
        (al.amp, "autocast", True, "al.amp.set_autocast_"),
        (al.amp, "dtype", al.float16, "al.amp.set_autocast_dtype(value)"),
    ],
)
def test_the_setter_is_named(place, name, value, hint):
    before = getattr(place, name, None)
    with pytest.raises(AttributeError) as caught:
        setattr(place, name, value)
    assert f"(hint: {hint}" in str(caught.value) and f".{name}: " in str(caught.value)
    assert getattr(place, name, None) is before


def test_every_setter_of_the_package_is_found():
    setters = [name for name in dir(al) if name.startswith("set_") and name != "set_printoptions"]
    assert len(setters) > 10
    for setter in setters:
        with pytest.raises(AttributeError) as caught:
            setattr(al, setter.removeprefix("set_"), object())
        assert f"al.{setter}(value)" in str(caught.value)


def test_what_is_no_setting_but_a_function_stays():
    for module, name, kind in ((al, "matmul", "function"), (al, "Tensor", "class"), (al, "nn", "module")):
        former = getattr(module, name)
        with pytest.raises(AttributeError, match=f"a {kind}, not a setting: False"):
            setattr(module, name, False)
        assert getattr(module, name) is former


def test_enable_autocast():
    """Genesis's switch, which holds for the whole program."""
    layer, x = al.nn.Linear(2, 2), al.ones(1, 2)
    assert al.enable_autocast is False and layer(x).dtype == al.float32
    al.enable_autocast = True
    try:
        assert al.enable_autocast is True and al.is_autocast_enabled()
        assert layer(x).dtype == al.get_autocast_dtype()
        with al.autocast(enabled=False):
            assert al.enable_autocast is False
    finally:
        al.enable_autocast = False
    assert layer(x).dtype == al.float32 and not al.is_autocast_enabled()
    for wrong in (1, None, "yes"):
        with pytest.raises(TypeError, match="enable_autocast: not a bool"):
            al.enable_autocast = wrong
    assert "enable_autocast" in dir(al)


def test_patches_are_taken(monkeypatch):
    for name, value in (("matmul", lambda *a: "patched"), ("pi", 3), ("vmap", print), ("Tensor", int)):
        former = getattr(al, name)
        with monkeypatch.context() as patch:
            patch.setattr(al, name, value)
            assert getattr(al, name) is value
        assert getattr(al, name) is former
    with mock.patch.object(al, "add") as add, mock.patch("allotrope.nn.functional.relu") as relu:
        assert al.add is add and al.nn.functional.relu is relu
    assert al.add is not add and al.nn.functional.relu is not relu
    # What a program adds to a library is its own.
    for added in (print, int, types.ModuleType("compatible")):
        al.added = added
        assert al.added is added
        del al.added
    al._private = 3
    del al._private


def test_modules_that_are_imported_later_are_seen():
    program = """
import allotrope as al, sys
assert "allotrope.optim" not in sys.modules
al.optim, al.gpu
from allotrope.data import dataset
import allotrope.func as func
assert al.func is func and al.data.dataset is dataset
for module in (al.optim, al.optim.lr_scheduler, al.data, func, al.nn.functional):
    try:
        module.setting = True
    except AttributeError:
        continue
    raise SystemExit(module.__name__)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("Adam", "optim"),
        ("SGD", "optim"),
        ("StepLR", "optim.lr_scheduler"),
        ("Linear", "nn"),
        ("Module", "nn"),
        ("CrossEntropyLoss", "nn"),
        ("cross_entropy", "nn.functional"),
        ("DataLoader", "data"),
        ("TensorDataset", "data"),
        ("GradScaler", "amp"),
        ("svdvals", "linalg"),
        ("grad", "autograd"),
        ("xavier_uniform_", "nn.init"),
        ("clip_grad_norm_", "nn.utils"),
        ("assert_close", "testing"),
    ],
)
def test_names_that_people_reach_for(name, place):
    if hasattr(al, name):
        pytest.skip(f"al has {name}")
    with pytest.raises(AttributeError) as caught:
        getattr(al, name)
    assert str(caught.value).endswith(f"(hint: al.{place}.{name})")
    module = importlib.import_module(f"allotrope.{place}")
    assert hasattr(module, name)


def test_names_that_are_nowhere():
    for name in ("no_such_name", "_Adam", "__wrapped__"):
        with pytest.raises(AttributeError) as caught:
            getattr(al, name)
        assert str(caught.value) == f"module 'allotrope' has no attribute {name!r}"
        assert caught.value.name == name and caught.value.obj is al


def test_the_module_of_dtypes():
    import allotrope.dtypes as dtypes

    assert dtypes is al.dtypes and dtypes() == list(al.all_dtypes)
    for dtype in dtypes():
        assert all(getattr(dtypes, name) is dtype for name in (dtype.name, *dtype.aliases))
    assert dtypes.Float is al.Float and dtypes.DType is al.dtype
    for name in dtypes.__all__:
        # From the first subclass of Tensor on, al's functions ask the classes of what they are given.
        assert name == "DType" or getattr(dtypes, name) is inspect.unwrap(getattr(al, name))
    for name in ("matmul", "float33", "_amp"):
        with pytest.raises(AttributeError):
            getattr(dtypes, name)
