"""Structured operations of complex numbers, where the mathematics has an answer: against NumPy, and
against numbers that PyTorch gave."""

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES, named

F = al.nn.functional
COMPLEX = [dtype for dtype in DTYPES if dtype.is_complex]
each_dtype = pytest.mark.parametrize("dtype", COMPLEX, ids=named)
X = [1 + 2j, -0.5 + 0.3j, 3 - 10j]
Y = [0.5 - 1j, 2 + 1j, 3 + 4j]


def sample(shape, dtype, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(0, 2, shape) + 1j * random.normal(0, 2, shape)
    return x.astype(dtype.numpy_dtype)


def assert_close(got, want, dtype):
    assert got.dtype == dtype and got.shape == np.shape(want)
    unit = 2e-5 if dtype.bits <= 64 and dtype != al.float64 else 1e-12
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=unit, atol=unit)


def check_gradient(function, *arrays):
    """The gradient of Re(conj(w) f) by differences along both axes, of every operand."""
    leaves = [al.tensor(array, requires_grad=True) for array in arrays]
    result = function(*leaves)
    random = np.random.default_rng(5)
    weight = random.normal(size=result.shape)
    if result.is_complex():
        weight = weight + 1j * random.normal(size=result.shape)
    got = al.autograd.grad(result, leaves, al.tensor(weight), allow_unused=True)

    def loss(*arrays):
        value = function(*[al.tensor(array) for array in arrays]).detach().numpy()
        return (np.conj(weight) * value).real.sum()

    step = 1e-6
    for place, array in enumerate(arrays):
        want = np.zeros_like(array)
        for index in np.ndindex(array.shape):
            for unit in (1, 1j) if np.iscomplexobj(array) else (1,):
                moved = [[other.copy() for other in arrays] for _ in range(2)]
                moved[0][place][index] += step * unit
                moved[1][place][index] -= step * unit
                want[index] += unit * (loss(*moved[0]) - loss(*moved[1])) / (2 * step)
        slope = 0 * want if got[place] is None else got[place].numpy()
        np.testing.assert_allclose(slope, want, rtol=1e-5, atol=1e-7)


def wide(shape, seed=0):
    return sample(shape, al.complex128, seed)


@each_dtype
@pytest.mark.parametrize("dims", [None, 0, -1, (0, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_logsumexp(dims, keepdim, dtype):
    x = sample((3, 4, 5), dtype)
    want = np.log(np.exp(x.astype(np.complex128)).sum(dims, keepdims=keepdim))
    assert_close(al.logsumexp(al.tensor(x), dims, keepdim), want, dtype)


def test_logsumexp_does_not_overflow():
    x = al.tensor([1000 + 1j, 1000 - 1j, -1000 + 3j], dtype=al.complex128)
    want = 1000 + np.log(np.exp(1j) + np.exp(-1j))
    assert al.logsumexp(x, 0).item() == pytest.approx(want)
    # The principal value, as PyTorch's.
    got = al.logsumexp(al.tensor([10j, 10j]), 0).item()
    assert got == pytest.approx(0.69314718 - 2.56637049j)
    assert al.logsumexp(al.tensor([1 + 0j])[:0], 0).item().real == -np.inf


@each_dtype
@pytest.mark.parametrize("shape, dim", [((7,), 0), ((3, 5), 0), ((3, 5), 1), ((2, 9, 40), 1), ((3000,), 0)])
def test_logcumsumexp(shape, dim, dtype):
    x = sample(shape, dtype)
    want = np.log(np.cumsum(np.exp(x.astype(np.complex128)), dim))
    got = al.logcumsumexp(al.tensor(x), dim)
    assert got.dtype == dtype
    got = got.numpy().astype(np.complex128)
    # The imaginary part goes on from that of the larger number: turns apart from the principal one.
    turns = (got.imag - want.imag) / (2 * np.pi)
    unit = 1e-4 if dtype == al.complex64 else 1e-10
    np.testing.assert_allclose(got.real, want.real, rtol=unit, atol=unit)
    np.testing.assert_allclose(turns, np.rint(turns), atol=unit * 100)


def test_logcumsumexp_is_torchs():
    got = al.logcumsumexp(al.tensor(X, dtype=al.complex128), 0)
    want = [1 + 2j, 0.99612950 + 1.77600312j, 3.09443266 - 10.08727754j]
    np.testing.assert_allclose(got.numpy(), want, atol=1e-8)
    assert al.logcumsumexp(al.tensor([10j, 10j]), 0).tolist()[1] == pytest.approx(0.69314718 + 10j)
    start = al.tensor([-np.inf + 0j, 2 + 1j, 900 + 0j])
    assert al.logcumsumexp(start, 0).tolist()[1:] == pytest.approx([2 + 1j, 900 + 0j])


@each_dtype
def test_losses(dtype):
    x, y = sample((3, 4), dtype), sample((3, 4), dtype, 1)
    a, b = al.tensor(x), al.tensor(y)
    away = np.abs(x.astype(np.complex128) - y)
    assert_close(F.l1_loss(a, b), away.mean(), dtype.to_real())
    assert_close(F.l1_loss(a, b, reduction="sum"), away.sum(), dtype.to_real())
    assert_close(F.l1_loss(a, b, reduction="none"), away, dtype.to_real())
    assert_close(F.l1_loss(a, b.real), np.abs(x - y.real).mean(), dtype.to_real())
    margins = np.log1p(np.exp(-x.astype(np.complex128) * y))
    assert_close(F.soft_margin_loss(a, b, reduction="none"), margins, dtype)
    assert_close(F.soft_margin_loss(a, b), margins.mean(), dtype)


def test_soft_margins_do_not_overflow():
    x = al.tensor([-1e4 + 1j, 1e4 + 1j], dtype=al.complex64, requires_grad=True)
    loss = F.soft_margin_loss(x, al.ones(2), reduction="none")
    assert loss.tolist() == pytest.approx([1e4 - 1j, 0j])
    loss.real.sum().backward()
    assert x.grad.tolist() == pytest.approx([-1, 0])


@each_dtype
@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, np.inf])
def test_distances(p, dtype):
    x, y, z = (sample((4, 5), dtype, seed) for seed in range(3))
    a, b, c = al.tensor(x), al.tensor(y), al.tensor(z)

    def apart(x, y):
        return np.linalg.norm(np.abs(x.astype(np.complex128) - y + 1e-6), p, -1)

    assert_close(F.pairwise_distance(a, b, p), apart(x, y), dtype.to_real())
    want = np.maximum(apart(x, y) - apart(x, z) + 1, 0).mean()
    assert_close(F.triplet_margin_loss(a, b, c, p=p), want, dtype.to_real())
    assert_close(a.dist(b, p), np.linalg.norm(np.abs((x - y).ravel()), p), dtype.to_real())


@each_dtype
@pytest.mark.parametrize("p", [1.0, 2.0, 3.0])
def test_normalize(p, dtype):
    x = sample((4, 5), dtype)
    want = x / np.linalg.norm(np.abs(x.astype(np.complex128)), p, 1, keepdims=True)
    assert_close(F.normalize(al.tensor(x), p), want, dtype)


@each_dtype
def test_rms_norm(dtype):
    """The squares are complex ones, as PyTorch's are."""
    x, w = sample((4, 5), dtype), sample((5,), dtype, 1)
    wide = x.astype(np.complex128)
    want = wide / np.sqrt((wide**2).mean(1, keepdims=True) + 0.5)
    assert_close(F.rms_norm(al.tensor(x), (5,), eps=0.5), want, dtype)
    assert_close(F.rms_norm(al.tensor(x), (5,), al.tensor(w), 0.5), want * w, dtype)
    got = F.rms_norm(al.tensor(X, dtype=al.complex128), (3,))
    want = [-0.27493500 + 0.24795283j, -0.06996644 - 0.06652404j, 1.72822806 + 0.03675236j]
    np.testing.assert_allclose(got.numpy(), want, atol=1e-8)
    with pytest.raises(ValueError, match="^rms_norm: wrong shape of weight"):
        F.rms_norm(al.tensor(x), (5,), al.tensor(w[:4]))


@each_dtype
@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout(name, dtype):
    al.manual_seed(3)
    x = sample((40, 50), dtype)
    got = getattr(F, name)(al.tensor(x), 0.5, True).numpy()
    scale = 1 / np.sqrt(0.5 * (1 + 0.5 * 1.7580993408473766**2))
    shift = scale * 1.7580993408473766 * 0.5
    dropped = np.isclose(got, -1.7580993408473766 * scale + shift)
    assert 0.4 < dropped.mean() < 0.6
    np.testing.assert_allclose(got[~dropped], (x * scale + shift)[~dropped], rtol=1e-5, atol=1e-5)


@each_dtype
@pytest.mark.parametrize("edge_order", [1, 2])
def test_slopes_over_complex_spacing(edge_order, dtype):
    x = sample((4, 5), dtype)
    for array in (x, x.real.copy()):
        got = al.gradient(al.tensor(array), spacing=2j, edge_order=edge_order)
        want = [g / 2j for g in np.gradient(array.astype(np.complex128), edge_order=edge_order)]
        for one, other in zip(got, want, strict=True):
            assert_close(one, other, dtype)


def test_slopes_over_complex_places():
    x = al.tensor([1.0, 2j, 4.0, 8.0])
    got = al.gradient(x, spacing=(al.tensor([0, 1j, 3, 4j]),))[0]
    want = [2 + 1j, 2.4 + 0.8j, 1.5867 + 1.8267j, -0.48 - 0.64j]
    np.testing.assert_allclose(got.numpy(), want, atol=1e-4)
    real = al.gradient(al.tensor([1.0, 2, 4, 8]), spacing=(al.tensor([0, 1j, 3j, 4j]),))[0]
    assert real.dtype == al.complex64
    np.testing.assert_allclose(real.numpy(), [-1j, -1j, -3j, -4j], atol=1e-5)


GRADIENTS = {
    "sinc": (al.sinc, 1),
    "silu": (F.silu, 1),
    "softsign": (F.softsign, 1),
    "tanhshrink": (F.tanhshrink, 1),
    "logaddexp": (al.logaddexp, 2),
    "ldexp": (al.ldexp, 2),
    "logsumexp": (lambda x: al.logsumexp(x, 1), 1),
    "logcumsumexp": (lambda x: al.logcumsumexp(x, 1), 1),
    "l1_loss": (F.l1_loss, 2),
    "soft_margin_loss": (F.soft_margin_loss, 2),
    "normalize": (F.normalize, 1),
    "rms_norm": (lambda x, w: F.rms_norm(x, (3,), w[0]), 2),
    "pairwise_distance": (F.pairwise_distance, 2),
    "pairwise_distance of order 3": (lambda x, y: F.pairwise_distance(x, y, 3.0), 2),
    "triplet_margin_loss": (lambda x, y: F.triplet_margin_loss(x, y, x * 0 + 1, margin=5.0), 2),
    "gradient": (lambda x: al.gradient(x, spacing=[1j, 2.0])[0], 1),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    function, operands = GRADIENTS[name]
    check_gradient(function, *[wide((2, 3), seed) / 2 for seed in range(operands)])


@pytest.mark.parametrize("name", [name for name in GRADIENTS if name != "gradient"])
def test_gradients_of_gradients(name):
    """Of all but those that are linear in everything."""
    function, operands = GRADIENTS[name]

    def gradient(*arrays):
        leaves = [x if x.requires_grad else x.requires_grad_() for x in arrays]
        result = function(*leaves)
        total = (result * (2 - 1j if result.is_complex() else 2)).sum()
        total = total.real if result.is_complex() else total
        return al.autograd.grad(total, leaves[0], create_graph=True)[0]

    check_gradient(gradient, *[wide((2, 3), seed) / 2 for seed in range(operands)])


def test_torchs_gradients():
    """Of the losses that weigh three results by these numbers."""
    weights = al.tensor([1 + 0.5j, -2 + 1j, 0.3 - 0.7j], dtype=al.complex128)
    want = {
        "softsign": [0.2236068 - 0.0163119j, -0.81855297 + 0.36479699j, 0.00887865 - 0.00337244j],
        "tanhshrink": [1.01795009 + 1.21910382j, -0.61534089 - 0.28380907j, 0.30508700 - 0.69444032j],
        "sinc": [8.52258467 - 116.82821139j, -3.60248049 + 0.85230508j],
    }
    for name, numbers in want.items():
        x = al.tensor(X, dtype=al.complex128, requires_grad=True)
        (got,) = al.autograd.grad(getattr(x, name)(), x, weights)
        np.testing.assert_allclose(got.numpy()[: len(numbers)], numbers, atol=1e-7)


def test_torchs_numbers():
    x, y = al.tensor(X, dtype=al.complex128), al.tensor(Y, dtype=al.complex128)
    want = {
        "sinc": [-34.0903387 - 17.0451693j, 0.691854386 + 0.415112632j],
        "silu": [0.21453795 + 2.44626943j, -0.20873867 + 0.07700572j, 3.42303668 - 10.33920572j],
        "softsign": [0.30901699 + 0.61803399j, -0.31583698 + 0.18950219j, 0.26223074 - 0.87410245j],
        "tanhshrink": [-0.16673626 + 2.24345820j, -0.00380293 + 0.06159492j, 2.00203124 - 9.99548324j],
    }
    for name, numbers in want.items():
        np.testing.assert_allclose(getattr(x, name)().numpy()[: len(numbers)], numbers, atol=1e-7)
    sums = [0.10499301 + 1.78895915j, 2.06212640 + 0.95028423j, 3.41065463 - 9.28318531j]
    np.testing.assert_allclose(x.logaddexp(y).numpy(), sums, atol=1e-8)
    assert al.logaddexp(al.tensor(10j), al.tensor(10j)).item() == pytest.approx(0.69314718 + 10j)
    scaled = [2.89512349 + 1.27210847j, -2.30523133 - 0.35483587j, 6.47043741 + 83.27144432j]
    np.testing.assert_allclose(x.ldexp(y).numpy(), scaled, atol=1e-8)
    assert x.ldexp(al.tensor([1, 2, 3])).tolist() == [2 + 4j, -2 + 1.2j, 24 - 80j]
