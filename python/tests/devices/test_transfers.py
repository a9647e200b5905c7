"""Nothing of an operation is on the CPU: no constant, intermediate or gradient is moved between the CPU and
the device of the operands, but by hosted operations. Counted where elements are moved."""

import importlib
import os

import pytest

import allotrope as al
from allotrope import _core, _probes
from allotrope._probes import CALLS, MAKERS

from test_every_operation import NAMES, gradients

GPU = os.environ.get("ALLOTROPE_TEST_DEVICE") == "gpu"
DTYPES = ["float32", "int64", "bool", "complex64"]

# What is moved by right, and why.
FROM_SIZES = "a table that follows from sizes alone"
FROM_LISTS = "a table of lengths that are given as lists"
GIVEN = "fractions that are given as numbers"
SHAPE = "the shape of the result depends on values"
BOUNDS = "the bounds of the bins are those of the data, and edges follow from them"
BRANCH = "one truth value: without an inverse it takes singular values, which take long"
UPLOADS = {
    "combinations": FROM_SIZES,
    "ctc_loss": FROM_LISTS,
    "histogram": BOUNDS,
    "quantile": GIVEN,
    "nanquantile": GIVEN,
}
DOWNLOADS = {
    "bincount": SHAPE,
    "one_hot": SHAPE,
    "histc": BOUNDS,
    "histogram": BOUNDS,
}
# And what gradients move beside.
GRADIENT_UPLOADS = {
    "adaptive_avg_pool1d": FROM_SIZES,
    "adaptive_avg_pool2d": FROM_SIZES,
    "adaptive_avg_pool3d": FROM_SIZES,
    "interpolate": FROM_SIZES,
}
GRADIENT_DOWNLOADS = {"linalg.det": BRANCH}
# Numbers that are read are few.
MOST_BYTES = 8

ROWS = [line.split()[0] for line in str(al.support()).splitlines()[1:]]
ROWS = [name for name in ROWS if name not in NAMES]
# Rows that other functions lead to.
FORMS = {
    "trunc_divide": lambda x, y: al.div(x, y, rounding_mode="trunc"),
    "gelu_tanh": lambda x: al.nn.functional.gelu(x, approximate="tanh"),
    "log_sigmoid": lambda x: al.nn.functional.logsigmoid(x),
    "nextafter_in": lambda x, y: al.nextafter(x.to(al.bfloat16), y.to(al.bfloat16)),
    "where": lambda x, y: al.where(x == y, x, y),
    "clamp": lambda x, y: al.clamp(x, y, y),
    "norm": lambda x: al.linalg.vector_norm(x),
    "logsumexp": lambda x: al.logsumexp(x, 0),
    "var": lambda x: al.var(x, dim=0),
}


class Counted:
    """What is moved while operations work, and not while their operands are made."""

    def __init__(self, device, monkeypatch):
        self.moved = []
        _core._take_transfers()
        for name in MAKERS:
            monkeypatch.setattr(al, name, self.made_by(getattr(al, name), device))
        # Operands that the calls have made once.
        for family in _probes._FAMILIES:
            module = importlib.import_module(f"allotrope._probes.{family}")
            for name, value in vars(module).items():
                if isinstance(value, al.Tensor):
                    monkeypatch.setattr(module, name, value.to(device))
        _core._take_transfers()

    def made_by(self, make, device):
        def there(*arguments, **options):
            self.take()
            try:
                return make(*arguments, **{"device": device, **options})
            finally:
                _core._take_transfers()

        return there

    def take(self):
        self.moved += _core._take_transfers()
        return self.moved


def unchecked(moved):
    """Without what is read at the call for a device that has no kernels for checks of values."""
    if not GPU:
        return moved
    return [(way, op, size) for way, op, size in moved if way == "upload" or size > MOST_BYTES and way != "check"]


def check(moved, name, uploads, downloads):
    """Only what is listed is moved."""
    for way, op, size in unchecked(moved):
        listed = uploads if way == "upload" else downloads
        assert name in listed, f"{name}: {way} of {size} bytes for {op}"
        assert way == "upload" or size <= MOST_BYTES, f"{name}: {way} of {size} bytes for {op}"


def answered(name):
    return [dtype for dtype in DTYPES if al.support(name, dtype) != "undefined"]


@pytest.mark.parametrize("name", NAMES)
def test_structured_operations(name, plain, monkeypatch):
    counted = Counted(plain, monkeypatch)
    for dtype in answered(name):
        CALLS[name](al.dtype(dtype))
    moved = counted.take()
    check(moved, name, UPLOADS, DOWNLOADS)
    if not GPU:
        # No line of the lists is one too many.
        ways = {way for way, _, _ in moved}
        assert ("upload" in ways) == (name in UPLOADS)
        assert ("download" in ways) == (name in DOWNLOADS)


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name, plain, monkeypatch):
    if al.support(name, "float32") == "undefined" or name in _core._without_gradient():
        pytest.skip("no gradient")
    counted = Counted(plain, monkeypatch)
    made = gradients(name, "float32", monkeypatch, plain)
    if isinstance(made, Exception):
        raise made
    moved = counted.take()
    check(moved, name, {**UPLOADS, **GRADIENT_UPLOADS}, {**DOWNLOADS, **GRADIENT_DOWNLOADS})
    if not GPU:
        ways = {way for way, _, _ in moved}
        assert name not in GRADIENT_UPLOADS or "upload" in ways
        assert name not in GRADIENT_DOWNLOADS or "download" in ways


def function(name):
    if name in FORMS:
        return FORMS[name]
    for place in (al, al.nn.functional, al.special, _core.functional):
        if hasattr(place, name):
            return getattr(place, name)
    raise AttributeError(name)


def results(name, operand):
    """What a row or a reduction makes of as many operands as it takes."""
    call = function(name)
    for count in (1, 2, 3):
        try:
            return call(*[operand] * count)
        except TypeError as error:
            # A dtype that has no answer is told by the operation.
            if str(error).startswith(f"{name}:"):
                raise
    raise AssertionError(f"{name} takes neither one, two nor three operands")


#: Refused by their first operand.
NO_DERIVATIVE = {"igamma", "igammac", "zeta"}


@pytest.mark.parametrize("name", ROWS)
def test_rows_and_reductions(name, plain, monkeypatch):
    counted = Counted(plain, monkeypatch)
    for dtype in answered(name):
        operand = al.tensor([[1, 2, 1], [1, 1, 2]], dtype=dtype)
        results(name, operand)
        if dtype != "float32":
            continue
        operand.requires_grad_()
        made = results(name, operand)
        if made.requires_grad and name not in NO_DERIVATIVE:
            made.sum().backward()
            assert operand.grad.device == plain
    assert unchecked(counted.take()) == []


def test_what_is_moved_is_counted(plain):
    x = al.arange(6.0, device=plain)
    _core._take_transfers()
    assert (x + 1).cpu().numpy().tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    y = al.tensor([1.0, 2.0]).to(plain)
    assert _core._take_transfers() == [("download", "to", 24), ("upload", "to", 8)]
    if not GPU:
        # What is hosted is counted by `al.support(device=)` and by traces.
        y.reshape(1, 2).matmul(y.reshape(2, 1))
        assert _core._take_transfers() == []
