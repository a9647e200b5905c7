"""Bessel's and Airy's functions against answers of mpmath with 60 digits, and derivatives by the same."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from reference import FLOATS, named

import allotrope as al

RECORDED = json.loads((Path(__file__).parent / "data_bessel.json").read_text())
OURS = [name for name in RECORDED if hasattr(al._bessel, name)]
#: What is lost where a function crosses zero: numbers as great as the waves have their last digit there.
WAVES = {"bessel_j0": 1.0, "bessel_j1": 0.6, "bessel_y0": 0.6, "bessel_y1": 0.6, "spherical_bessel_j0": 1.0}


@pytest.mark.parametrize("name", RECORDED)
def test_values(name):
    x, want = (np.asarray(numbers) for numbers in RECORDED[name])
    found = getattr(al.special, name)(al.tensor(x)).numpy()
    # An argument has a last digit too, which waves and exponentials of its power of 3/2 show.
    digits = 4e-15 if name != "airy_ai" else 1e-15 * (4 + np.abs(x) ** 1.5)
    assert (np.abs(found - want) <= digits * (np.abs(want) + WAVES.get(name, 0.0) * 0.25)).all()
    if name == "airy_ai":
        great = (np.pi * np.sqrt(np.maximum(-x, 1.0))) ** -0.5
        low = x < 0
        assert (np.abs(found - want)[low] <= (digits * great)[low]).all()


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_every_dtype_is_rounded_once(name, dtype):
    x = al.tensor(RECORDED[name][0]).clamp(-200, 200).to(dtype)
    function = getattr(al.special, name)
    found, wide = function(x), function(x.to(al.float64))
    assert found.dtype == dtype
    if name in OURS or dtype == al.float64:
        np.testing.assert_array_equal(found.double().numpy(), wide.to(dtype).double().numpy())
    if name in OURS:
        assert function(al.tensor([1, 2])).dtype == al.float32
        with al.set_default_dtype("float64"):
            assert function(al.tensor([1, 2])).dtype == al.float64
        assert function(2.0).shape == () and function([1.0, 2.0]).shape == (2,)
        with pytest.raises(TypeError, match=f"{name}: a tensor of complex64"):
            function(al.ones(1, dtype="complex64"))


def test_ends():
    """The values of SciPy's at zero, below it and at infinity."""
    inf, nan = math.inf, math.nan
    x = al.tensor([0.0, -0.0, inf, -inf, nan, -1.0])
    ends = {
        "bessel_j0": [1.0, 1.0, 0.0, 0.0, nan, 0.7651976865579666],
        "bessel_j1": [0.0, 0.0, 0.0, 0.0, nan, -0.4400505857449335],
        "bessel_y0": [-inf, -inf, 0.0, nan, nan, nan],
        "bessel_y1": [-inf, -inf, 0.0, nan, nan, nan],
        "modified_bessel_k0": [inf, inf, 0.0, nan, nan, nan],
        "modified_bessel_k1": [inf, inf, 0.0, nan, nan, nan],
        "scaled_modified_bessel_k0": [inf, inf, 0.0, nan, nan, nan],
        "scaled_modified_bessel_k1": [inf, inf, 0.0, nan, nan, nan],
        "airy_ai": [0.355028053887817239, 0.355028053887817239, 0.0, 0.0, nan, 0.5355608832923522],
    }
    assert set(ends) == set(OURS)
    for name, want in ends.items():
        np.testing.assert_allclose(getattr(al.special, name)(x.double()).numpy(), want, rtol=1e-14, err_msg=name)


@pytest.mark.parametrize("name", OURS)
def test_derivatives(name):
    """Of first and second order, against differences, in both halves of what is computed differently."""
    points = [0.3, 1.1, 1.9, 2.4, 5.0, 7.5, 9.5, 14.0]
    if name in ("bessel_j0", "bessel_j1", "airy_ai"):
        points = [-12.0, -9.0, -6.5, -2.9, -0.7, 0.0, *points[:-3]]
    x = al.tensor(points, dtype=al.float64, requires_grad=True)
    function = getattr(al.special, name)
    assert al.autograd.gradcheck(function, (x,))
    assert al.autograd.gradgradcheck(function, (x,))
    narrow = x.detach().to(al.bfloat16).requires_grad_(True)
    function(narrow).sum().backward()
    assert narrow.grad.dtype == al.bfloat16


def test_equations():
    """What holds between them, which no coefficient was made from."""
    x = al.linspace(0.5, 30.0, 400, dtype=al.float64)
    s = al.special
    wronskian = s.bessel_j1(x) * s.bessel_y0(x) - s.bessel_j0(x) * s.bessel_y1(x)
    np.testing.assert_allclose((wronskian * x * math.pi / 2).numpy(), 1.0, rtol=2e-14)
    modified = s.modified_bessel_i0(x) * s.modified_bessel_k1(x) + s.modified_bessel_i1(x) * s.modified_bessel_k0(x)
    np.testing.assert_allclose((modified * x).numpy(), 1.0, rtol=4e-15)
    scaled = s.modified_bessel_k0(x) * x.exp()
    np.testing.assert_allclose(s.scaled_modified_bessel_k0(x).numpy(), scaled.numpy(), rtol=1e-14)
    # Airy's equation, by its own second derivative.
    y = al.linspace(-12.0, 6.0, 200, dtype=al.float64).requires_grad_(True)
    (slope,) = al.autograd.grad(s.airy_ai(y).sum(), y, create_graph=True)
    (bend,) = al.autograd.grad(slope.sum(), y)
    np.testing.assert_allclose(bend.numpy(), (y * s.airy_ai(y)).detach().numpy(), rtol=1e-12, atol=1e-14)
