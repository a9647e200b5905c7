"""Special functions that are compositions, against values with 50 digits (mpmath 1.3), and by their definitions."""

import math

import numpy as np
import pytest

import allotrope as al
from allotrope import _special, special

POLYNOMIALS = [name for name in _special.__all__ if "polynomial" in name]

ZETA = [
    (2, 1, 1.6449340668482264),
    (3, 0.5, 8.41439832211716),
    (1.5, 10, 0.6486616319415704),
    (20, 0.25, 1099511627776.0115),
    (4, -2.5, 32.4579793698646),
    (3, -0.5, 0.41439832211716),
    (1.0625, 3, 15.102946006305734),
    (2, 1000, 0.0010005001666666333),
]
POLYGAMMA = [
    (1, 0.5, 4.934802200544679),
    (1, 10, 0.10516633568168575),
    (2, 2.5, -0.2362040516417274),
    (5, 0.75, 678.7533428745797),
    (3, 100, 2.030199990001333e-06),
    (1, -0.5, 8.934802200544679),
    (2, -3.25, 123.95521103942203),
]
GAMMAINC = [
    (1, 2, 0.8646647167633873, 0.1353352832366127),
    (0.5, 0.25, 0.5204998778130465, 0.4795001221869535),
    (10, 3, 0.0011024881301154798, 0.9988975118698845),
    (10, 30, 0.9999928782491372, 7.121750862815577e-06),
    (100, 100, 0.5132987982791487, 0.48670120172085135),
    (0.001, 2, 0.999951023082169, 4.897691783098148e-05),
    (1000, 900, 0.0005499022657117829, 0.9994500977342882),
    (3, 1e-08, 1.666666654166667e-25, 1.0),
    (50, 20, 1.245892607971938e-08, 0.9999999875410739),
]
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


def test_zeta():
    x, q, expected = columns(ZETA)
    same(special.zeta(x, q), expected.numpy())
    same(special.zeta(x.float(), q.float()), expected.numpy(), 1e-6)
    special_values = special.zeta(al.tensor([1.0, 0.5, 2.0, 2.0, 2.5]), al.tensor([2.0, 2.0, 0.0, math.inf, -0.5]))
    np.testing.assert_array_equal(special_values.numpy(), [math.inf, math.nan, math.inf, 0.0, math.nan])


@pytest.mark.parametrize("n, x, expected", POLYGAMMA)
def test_polygamma(n, x, expected):
    same(special.polygamma(n, al.tensor(x, dtype=al.float64)), expected, 1e-12)
    same(al.tensor(x).polygamma(n), expected, 1e-5)
    if x > 0:
        y = al.tensor(x, dtype=al.float64, requires_grad=True)
        special.polygamma(n, y).backward()
        same(y.grad, special.polygamma(n + 1, y.detach()).numpy(), 1e-10)


def test_polygamma_of_order_zero_is_digamma():
    x = al.tensor([0.5, 3.0])
    assert al.equal(al.polygamma(0, x), al.digamma(x))
    with pytest.raises(ValueError, match="out of range"):
        al.polygamma(-1, x)


def test_gammainc():
    a, x, low, high = columns(GAMMAINC)
    same(special.gammainc(a, x), low.numpy(), 1e-12)
    same(special.gammaincc(a, x), high.numpy(), 1e-12)
    same(al.igamma(a.float(), x.float()), low.numpy(), 1e-4)
    # Wilson and Hilferty, and the middle of great distributions.
    great = al.tensor([1e7, 1e12], dtype=al.float64)
    same(special.gammainc(great, great), 0.5 + 1 / (3 * (2 * math.pi * great.numpy()) ** 0.5), 1e-9)
    assert special.gammaincc(al.tensor(1e15), al.tensor(1e15)).item() == 0.5
    for call in (lambda: special.polygamma(2**70, x), lambda: special.multigammaln(x, 2**70)):
        with pytest.raises(ValueError, match="out of range"):
            call()
    ends = special.gammainc(al.tensor([1.0, 1.0, 0.0, -1.0, math.inf]), al.tensor([0.0, math.inf, 1.0, 1.0, 2.0]))
    np.testing.assert_array_equal(ends.numpy(), [0.0, 1.0, 1.0, math.nan, 0.0])
    x = al.tensor(2.0, dtype=al.float64, requires_grad=True)
    special.gammainc(al.tensor(3.0, dtype=al.float64), x).backward()
    same(x.grad, 2.0**2 * math.exp(-2) / 2)
    with pytest.raises(NotImplementedError, match="first argument"):
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
def test_polynomials_are_numpys(name):
    module = {
        "chebyshev_polynomial_t": np.polynomial.chebyshev.chebval,
        "hermite_polynomial_h": np.polynomial.hermite.hermval,
        "hermite_polynomial_he": np.polynomial.hermite_e.hermeval,
        "laguerre_polynomial_l": np.polynomial.laguerre.lagval,
        "legendre_polynomial_p": np.polynomial.legendre.legval,
    }
    x = np.array([-0.9, -0.25, 0.0, 0.5, 0.99])
    for n in range(9):
        if name in module:
            expected = module[name](x, np.eye(n + 1)[n])
        else:
            angle = np.arccos(x)
            expected = {
                "chebyshev_polynomial_u": np.sin((n + 1) * angle) / np.sin(angle),
                "chebyshev_polynomial_v": np.cos((n + 0.5) * angle) / np.cos(angle / 2),
                "chebyshev_polynomial_w": np.sin((n + 0.5) * angle) / np.sin(angle / 2),
            }[name]
        found = getattr(special, name)(al.tensor(x), al.full((5,), n))
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-11, atol=1e-12)
    orders = getattr(special, name)(al.tensor([0.5, 0.5, 0.5]), al.tensor([0, 1, -1]))
    assert (orders[0].item(), orders[2].item()) == (1.0, 0.0)


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
