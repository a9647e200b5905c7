"""Special functions against values with 60 digits (mpmath 1.3), and by their definitions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import allotrope as al
from allotrope import special

# Written by `write_special.py`, which needs mpmath.
RECORDED = json.loads(Path(__file__).with_name("data_special.json").read_text())
POLYNOMIALS = [name for name in RECORDED if "polynomial" in name]
NDTRI = [
    (0.5, 5.9263259702583684e-58),
    (0.975, 1.9599639845400538),
    (0.001, -3.0902323061678136),
    (1e-10, -6.361340902404057),
    (1e-100, -21.273453560965326),
    (1e-300, -37.0470962993612),
    (0.02, -2.053748910631823),
    (0.07, -1.4757910281791706),
    (0.9999999999990905, 7.047700256664409),
    (0.3, -0.5244005127080408),
]
MULTIGAMMALN = [
    (2, 2, 0.4515827052894549),
    (5.5, 3, 11.306699197583205),
    (20, 4, 151.97392133861865),
]


def same(found, expected, rtol=2e-14):
    np.testing.assert_allclose(found.double().numpy(), np.array(expected), rtol=rtol)


def columns(table):
    return [al.tensor(column, dtype=al.float64) for column in zip(*table)]


def within(found, expected, units, scale=0.0):
    """Within so many units in the last place, of the scale where a result is smaller."""
    eps = al.finfo(found.dtype).eps
    expected = np.array(expected)
    away = np.abs(found.double().numpy() - expected)
    limit = np.maximum(np.abs(expected) * eps, al.finfo(found.dtype).smallest_subnormal) + scale * eps
    worst = np.argmax(away / limit)
    assert away[worst] <= units * limit[worst], (worst, away[worst] / limit[worst])


# Of numbers that float32 holds: what rounding takes from an argument is no error of the function.
def rounded(table, columns):
    held = [[float(np.float32(x)) for x in row[:columns]] == list(row[:columns]) for row in table]
    return [row for row, is_held in zip(table, held) if is_held]


@pytest.mark.parametrize("name, units", [("gammainc", 8), ("gammaincc", 10), ("zeta", 8)])
def test_functions_of_two_numbers(name, units):
    x, y, expected = columns(RECORDED[name])
    within(getattr(special, name)(x, y), expected.numpy(), units)
    # float32 of the same numbers, against float64.
    x, y = x.float(), y.float()
    normal = (x > 1e-30) & (y.abs() > 1e-30)
    wide = getattr(special, name)(x.double(), y.double())
    normal &= wide.abs() > 1e-37
    within(getattr(special, name)(x[normal], y[normal]), wide[normal].numpy(), units)


def test_special_values_of_zeta():
    found = special.zeta(al.tensor([1.0, 0.5, 2.0, 2.0, 2.5, 3.0]), al.tensor([2.0, 2.0, 0.0, math.inf, -0.5, -0.5]))
    np.testing.assert_array_equal(found[:5].numpy(), [math.inf, math.nan, math.inf, 0.0, math.nan])
    same(found[5], 0.41439832211716, 1e-6)
    q = al.tensor(1.5, dtype=al.float64, requires_grad=True)
    special.zeta(3.0, q).backward()
    same(q.grad, -3 * special.zeta(4.0, q.detach()).numpy())
    with pytest.raises(RuntimeError, match="no derivative by x"):
        special.zeta(al.tensor(3.0, requires_grad=True), 1.0).backward()


@pytest.mark.parametrize("n", sorted({row[0] for row in RECORDED["polygamma"]}))
def test_polygamma(n):
    x, expected = columns([row[1:] for row in RECORDED["polygamma"] if row[0] == n])
    same(special.polygamma(n, x), expected.numpy(), 2e-14)
    assert special.polygamma(n, x.float()).dtype == al.float32
    held = expected.abs() < 1e38
    near = (x.float().double() == x) & held & (expected.abs() > 1e-37)
    same(x.float().polygamma(n)[near], expected[near].numpy(), 3e-6)
    y = x[x > 0].requires_grad_()
    special.polygamma(n, y).sum().backward()
    same(y.grad, special.polygamma(n + 1, y.detach()).numpy(), 1e-13)


def test_polygamma_of_order_zero_is_digamma():
    x = al.tensor([0.5, 3.0])
    assert al.equal(al.polygamma(0, x), al.digamma(x))
    for order in (-1, 171, 2**70):
        with pytest.raises(ValueError, match="out of range"):
            al.polygamma(order, x)


def test_gammainc():
    # Wilson and Hilferty, and the middle of great distributions.
    great = al.tensor([1e7, 1e12], dtype=al.float64)
    same(special.gammainc(great, great), 0.5 + 1 / (3 * (2 * math.pi * great.numpy()) ** 0.5), 1e-13)
    assert special.gammaincc(al.tensor(1e15), al.tensor(1e15)).item() == pytest.approx(0.5)
    with pytest.raises(ValueError, match="out of range"):
        special.multigammaln(great, 2**70)
    ends = special.gammainc(al.tensor([1.0, 1.0, 0.0, -1.0, math.inf]), al.tensor([0.0, math.inf, 1.0, 1.0, 2.0]))
    np.testing.assert_array_equal(ends.numpy(), [0.0, 1.0, 1.0, math.nan, 0.0])
    assert al.igamma(2.0, al.tensor(3.0)).item() + al.igammac(2.0, al.tensor(3.0)).item() == pytest.approx(1.0)
    for a, x in [(3.0, 2.0), (300.0, 280.0)]:
        leaf = al.tensor(x, dtype=al.float64, requires_grad=True)
        special.gammainc(al.tensor(a, dtype=al.float64), leaf).backward()
        same(leaf.grad, math.exp((a - 1) * math.log(x) - x - math.lgamma(a)), 1e-12)
    with pytest.raises(RuntimeError, match="no derivative by a"):
        special.gammaincc(al.tensor(3.0, requires_grad=True), al.tensor(1.0)).backward()


def test_ndtri():
    p, expected = columns(NDTRI)
    found = special.ndtri(p)
    same(found[1:], expected.numpy()[1:], 1e-13)
    assert abs(found[0].item()) < 1e-16
    np.testing.assert_array_equal(special.ndtri(al.tensor([0.0, 1.0, -0.1, 1.1])).numpy(), [-math.inf, math.inf, math.nan, math.nan])
    same(special.ndtr(special.ndtri(al.tensor([0.1, 0.9], dtype=al.float64))), [0.1, 0.9])
    p = al.tensor(0.3, dtype=al.float64, requires_grad=True)
    special.ndtri(p).backward()
    x = special.ndtri(al.tensor(0.3, dtype=al.float64)).item()
    same(p.grad, math.sqrt(2 * math.pi) * math.exp(x * x / 2))


@pytest.mark.parametrize("x, p, expected", MULTIGAMMALN)
def test_multigammaln(x, p, expected):
    same(al.mvlgamma(al.tensor(x, dtype=al.float64), p), expected)


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    function = getattr(special, name)
    x, n, expected = columns(RECORDED[name])
    for dtype, units in ((al.float64, 400), (al.float32, 400)):
        # Sums of terms of both signs: the greatest among the neighbours says how large they are.
        scale = np.array([max(abs(row[2]) for row in RECORDED[name] if row[1] == m) for m in n.numpy()])
        found = function(x.to(dtype), n.long())
        is_held = (x.to(dtype).double() == x).numpy() & (scale < 1e30)
        away = np.abs(found.double().numpy() - expected.numpy())[is_held]
        assert (away <= units * al.finfo(dtype).eps * scale[is_held]).all(), (dtype, away / scale[is_held])
        for degree in (0, 1, 7, 30):
            assert al.equal(function(x.to(dtype), degree), function(x.to(dtype), al.full(x.shape, degree)))
    assert al.equal(function(x, 3.9), function(x, 3)), "degrees are cut, as in torch"
    assert al.equal(function(x, al.tensor(2.9)), function(x, 2))
    orders = function(al.tensor([0.5, 0.5, 0.5]), al.tensor([0, 1, -1]))
    assert (orders[0].item(), orders[2].item()) == (1.0, 0.0)
    for degree in (10_001, al.tensor(10_001)):
        with pytest.raises(ValueError, match="out of range"):
            function(x, degree)


@pytest.mark.parametrize("name", POLYNOMIALS)
@pytest.mark.parametrize("degree", [1, 4, 40, [4, 0, 40]])
def test_slopes_of_polynomials(name, degree):
    function, step = getattr(special, name), 1e-6
    degree = al.tensor(degree) if isinstance(degree, list) else degree
    x = al.tensor([0.1, 0.4, 0.9], dtype=al.float64, requires_grad=True)
    (slope,) = al.autograd.grad(function(x, degree).sum(), x)
    above, below = (function(x.detach() + away, degree) for away in (step, -step))
    same(slope, ((above - below) / (2 * step)).numpy(), 1e-5)


@pytest.mark.parametrize("name", special.__all__)
def test_every_dtype(name):
    function = getattr(special, name)
    more = {"multigammaln": (1,), "softmax": (0,), "log_softmax": (0,), "logsumexp": (0,)}.get(name, ())
    if name in ("zeta", "gammainc", "gammaincc", "xlogy", "xlog1py", *POLYNOMIALS):
        more = (2,)
    for dtype in al.dtypes():
        if dtype.is_complex or (name, dtype) == ("round", al.bool):
            continue
        x = al.tensor([2, 1]).to(dtype) if name not in ("ndtri", "logit", "erfinv") else al.tensor([1, 0]).to(dtype)
        found = function(1, x) if name == "polygamma" else function(x, *more)
        floats = dtype.is_floating_point or name == "round"
        assert found.dtype == (dtype if floats else al.get_default_dtype()), dtype


def test_complex_numbers_are_refused():
    with pytest.raises(TypeError, match="complex64"):
        special.zeta(al.ones(1, dtype=al.complex64), 1.0)
