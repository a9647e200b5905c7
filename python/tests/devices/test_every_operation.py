"""Every operation on a device that has primitives alone: the CPU's answers, where the operands are."""

import os
import zlib

import pytest

import allotrope as al
from allotrope import _core
from allotrope._probes import CALLS, MAKERS

NAMES = _core._structured_operations()
DTYPES = [dtype.name for dtype in al.dtypes()]
GPU = os.environ.get("ALLOTROPE_TEST_DEVICE") == "gpu"
# How many of the dtype's last digits a composition may be off, beside the largest element.
FACTOR = 16


def flat(made):
    if isinstance(made, (tuple, list)):
        return [y for each in made for y in flat(each)]
    return [made] if isinstance(made, al.Tensor) else []


def on(device, monkeypatch):
    """Makes tensors on a device, whatever makes them."""
    for name in MAKERS:
        make = getattr(al, name)

        def there(*arguments, _make=make, **options):
            return _make(*arguments, **{"device": device, **options})

        monkeypatch.setattr(al, name, there)


def call(name, dtype, device="cpu"):
    """The results of an operation, or the error that it raises, at the call or at the next reading."""
    al.manual_seed(0)
    try:
        made = flat(CALLS[name](al.dtype(dtype)))
        al.synchronize(device)
        return made
    except Exception as error:  # noqa: BLE001
        return error


def check(name, want, got, device):
    if isinstance(want, Exception):
        assert isinstance(got, type(want)), f"{name}: {got!r} instead of {want!r}"
        return
    assert not isinstance(got, Exception), f"{name}: {got!r}"
    assert len(got) == len(want)
    for here, there in zip(want, got):
        assert str(there.device) == device, f"{name}: a result is on {there.device}"
        assert there.dtype == here.dtype
        assert there.shape == here.shape
        back = there.detach().cpu()
        here = here.detach()
        if not (here.dtype.is_floating_point or here.dtype.is_complex):
            assert al.equal(back, here), f"{name}: {back} instead of {here}"
            continue
        eps = al.finfo(here.dtype.to_real() if here.dtype.is_complex else here.dtype).eps
        if there.storage_dtype != there.dtype:
            eps = max(eps, al.finfo(al.float32).eps)
        wide = al.complex128 if here.dtype.is_complex else al.float64
        here, back = here.to(wide), back.to(wide)
        finite = here.abs()
        finite = finite.where(finite.isfinite(), al.zeros_like(finite))
        most = max(1.0, float(finite.max())) if finite.numel() else 1.0
        close = al.allclose(back, here, rtol=0.0, atol=FACTOR * eps * most, equal_nan=True)
        assert close, f"{name}: {back} instead of {here}"


# A GPU has a shader to compile for most of them: where that takes long, one dtype of so many is enough.
EVERY = int(os.environ.get("ALLOTROPE_TEST_EVERY", 1))


def sampled():
    """Every dtype of every operation, or float32 and one of every few others."""
    for name in NAMES:
        for place, dtype in enumerate(DTYPES):
            chosen = (zlib.crc32(name.encode()) + place) % EVERY == 0
            if chosen or dtype == "float32":
                yield name, dtype


@pytest.mark.parametrize("name, dtype", list(sampled()))
def test_the_same_answer(name, dtype, device, monkeypatch):
    want = call(name, dtype)
    on(device, monkeypatch)
    check(name, want, call(name, dtype, device), device)


def gradients(name, dtype, monkeypatch, device="cpu"):
    leaves = []
    original = al.Tensor.to

    def to(tensor, *arguments, **options):
        made = original(tensor, *arguments, **options)
        if made.dtype != al.dtype(dtype) or made.numel() == 0:
            return made
        leaf = made.detach().requires_grad_()
        leaves.append(leaf)
        return leaf

    with monkeypatch.context() as patch:
        patch.setattr(al.Tensor, "to", to)
        made = call(name, dtype, device)
    if isinstance(made, Exception):
        return made
    made = [y for y in made if y.requires_grad]
    if not made:
        return []
    parts = [part for y in made for part in ([y.real, y.imag] if y.dtype.is_complex else [y])]
    found = al.autograd.grad([part.sum() for part in parts], leaves, allow_unused=True)
    return [gradient for gradient in found if gradient is not None]


# Their vectors are known but for a sign or a phase, or their slope has two sides.
TWO_SIDED = {"linalg.eig", "linalg.eigh", "linalg.svd", "linalg.qr"}


@pytest.mark.parametrize("dtype", ["float32"] if GPU else ["float32", "complex64", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_the_same_gradient(name, dtype, plain, monkeypatch):
    if al.support(name, dtype) == "undefined" or name in _core._without_gradient():
        pytest.skip("no gradient")
    if name in TWO_SIDED:
        pytest.skip("compared by the Rust tests")
    want = gradients(name, dtype, monkeypatch)
    on(plain, monkeypatch)
    check(name, want, gradients(name, dtype, monkeypatch, plain), plain)
