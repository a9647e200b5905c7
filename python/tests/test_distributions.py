"""Distributions against their closed forms, a Philox of a few lines, and what may not be drawn.

Seeds are fixed: a test that passes will pass again. Limits are such that one draw in ten thousand
would fail by chance.
"""

import math

import numpy as np
import pytest
from reference import DTYPES, FLOATS, named
from test_random import seeded, values, wide

import allotrope as al

N = 200_000
R = al.random
RNG_LAWS = {
    "exponential": (R.exponential, (2.0,)),
    "laplace": (R.laplace, (1.0, 2.0)),
    "cauchy": (R.cauchy, (1.0, 2.0)),
    "log_normal": (R.log_normal, (0.5, 0.7)),
    "gamma": (R.gamma, (2.5, 2.0)),
    "beta": (R.beta, (2.0, 3.0)),
    "chi2": (R.chi2, (3.0,)),
    "student_t": (R.student_t, (4.0,)),
    "truncated_normal": (R.truncated_normal, (0.0, 1.0, -1.0, 2.0)),
    "geometric": (R.geometric, (0.3,)),
    "poisson": (R.poisson, (4.0,)),
    "binomial": (R.binomial, (20, 0.4)),
}
WHOLE = ["geometric", "poisson", "binomial"]
REAL = [name for name in RNG_LAWS if name not in WHOLE]


@pytest.fixture(autouse=True)
def same_start():
    al.manual_seed(20240501)


def phi(x):
    return 0.5 * math.erfc(-x / math.sqrt(2))


def integral(density, low, high, steps=2_000):
    """Simpson's rule."""
    x = np.linspace(low, high, 2 * steps + 1)
    y = density(x)
    return (high - low) / (6 * steps) * (y[0] + y[-1] + 4 * y[1::2].sum() + 2 * y[2:-1:2].sum())


def by_integral(density, low):
    """A distribution function from a density that is smooth above low."""
    return lambda x: integral(density, low, x) if x > low else 0.0


def gamma_density(shape, rate):
    scale = shape * math.log(rate) - math.lgamma(shape)
    return lambda x: np.exp(scale + (shape - 1) * np.log(np.maximum(x, 1e-300)) - rate * x)


def beta_density(a, b):
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    tiny = 1e-300
    return lambda x: np.exp(
        scale + (a - 1) * np.log(np.maximum(x, tiny)) + (b - 1) * np.log(np.maximum(1 - x, tiny))
    )


def truncated(mean, std, a, b):
    low, high = phi((a - mean) / std), phi((b - mean) / std)
    return lambda x: (phi((x - mean) / std) - low) / (high - low)


def tail(a, b):
    """Beyond a, where differences of phi lose their digits."""
    q = lambda x: math.erfc(x / math.sqrt(2))
    return lambda x: (q(a) - q(x)) / (q(a) - q(b))


def t3(x):
    return 0.5 + (math.atan(x / 3**0.5) + (x / 3**0.5) / (1 + x * x / 3)) / math.pi


CONTINUOUS = {
    "exponential": (lambda: R.exponential(2.5, N), lambda x: -math.expm1(-2.5 * x)),
    "laplace": (
        lambda: R.laplace(1.0, 2.0, N),
        lambda x: math.exp((x - 1) / 2) / 2 if x < 1 else 1 - math.exp((1 - x) / 2) / 2,
    ),
    "cauchy": (lambda: R.cauchy(1.0, 2.0, N), lambda x: 0.5 + math.atan((x - 1) / 2) / math.pi),
    "log_normal": (
        lambda: R.log_normal(0.5, 0.7, N),
        lambda x: phi((math.log(x) - 0.5) / 0.7),
    ),
    "gamma 1": (lambda: R.gamma(1.0, 2.0, N), lambda x: -math.expm1(-2 * x)),
    "gamma 2.5": (lambda: R.gamma(2.5, 2.0, N), by_integral(gamma_density(2.5, 2.0), 0.0)),
    "gamma 40": (lambda: R.gamma(40.0, 1.0, N), by_integral(gamma_density(40.0, 1.0), 0.0)),
    # A square of a normal number, and the square root of its distribution function.
    "gamma 0.5": (lambda: R.gamma(0.5, 1.0, N), lambda x: math.erf(math.sqrt(x))),
    "chi2 1": (lambda: R.chi2(1.0, N), lambda x: math.erf(math.sqrt(x / 2))),
    "chi2 2": (lambda: R.chi2(2, N), lambda x: -math.expm1(-x / 2)),
    "beta arcsine": (
        lambda: R.beta(0.5, 0.5, N),
        lambda x: 2 / math.pi * math.asin(math.sqrt(x)),
    ),
    "beta 2 3": (lambda: R.beta(2.0, 3.0, N), by_integral(beta_density(2.0, 3.0), 0.0)),
    "beta 1 5": (lambda: R.beta(1, 5, N), lambda x: 1 - (1 - x) ** 5),
    "student 1": (lambda: R.student_t(1.0, N), lambda x: 0.5 + math.atan(x) / math.pi),
    "student 3": (lambda: R.student_t(3.0, N), t3),
    "truncated": (
        lambda: R.truncated_normal(1.0, 2.0, -1.0, 4.0, N),
        truncated(1.0, 2.0, -1.0, 4.0),
    ),
    "truncated to one side": (
        lambda: R.truncated_normal(0.0, 1.0, 0.3, math.inf, N),
        truncated(0.0, 1.0, 0.3, math.inf),
    ),
    "truncated beyond": (lambda: R.truncated_normal(0.0, 1.0, 3.0, 5.0, N), tail(3.0, 5.0)),
    "truncated far out": (lambda: R.truncated_normal(0.0, 1.0, 12.0, math.inf, N), tail(12, 39.0)),
    "truncated below": (
        lambda: -R.truncated_normal(0.0, 1.0, -math.inf, -1.0, N),
        tail(1.0, math.inf),
    ),
    "dirichlet": (
        lambda: R.dirichlet(al.tensor([[2.0, 1.0, 2.0]]).expand(N, 3))[:, 0],
        by_integral(beta_density(2.0, 3.0), 0.0),
    ),
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_numbers_follow_the_distribution_function(name):
    draw, function = CONTINUOUS[name]
    with al.set_default_dtype("float64"):
        x = np.sort(draw().numpy())
    assert x.shape == (N,)
    every = N // 500
    curve = np.array([function(float(v)) for v in x[::every]])
    steps = np.arange(N)[::every] / N
    # Kolmogorov and Smirnov: about one in ten thousand exceeds this.
    assert np.abs(curve - steps).max() < 2.3 / math.sqrt(N)


def poisson_chance(rate):
    return lambda k: math.exp(k * math.log(rate) - rate - math.lgamma(k + 1))


def binomial_chance(n, p):
    def chance(k):
        if k > n:
            return 0.0
        choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
        return math.exp(choose + k * math.log(p) + (n - k) * math.log1p(-p))

    return chance


DISCRETE = {
    "geometric 0.3": (lambda: R.geometric(0.3, N), lambda k: 0.3 * 0.7 ** (k - 1) if k else 0.0),
    "poisson 0.5": (lambda: R.poisson(0.5, N), poisson_chance(0.5)),
    "poisson 9.9": (lambda: R.poisson(9.9, N), poisson_chance(9.9)),
    "poisson 10.1": (lambda: R.poisson(10.1, N), poisson_chance(10.1)),
    "poisson 300": (lambda: R.poisson(300.0, N), poisson_chance(300.0)),
    "binomial 10 0.3": (lambda: R.binomial(10, 0.3, N), binomial_chance(10, 0.3)),
    "binomial 10 0.9": (lambda: R.binomial(10, 0.9, N), binomial_chance(10, 0.9)),
    "binomial 50 0.4": (lambda: R.binomial(50, 0.4, N), binomial_chance(50, 0.4)),
    "binomial 1000 0.7": (lambda: R.binomial(1000, 0.7, N), binomial_chance(1000, 0.7)),
    "binomial rare": (lambda: R.binomial(10**9, 1e-9, N), poisson_chance(1.0)),
    "choice": (
        lambda: al.multinomial(al.tensor([1, 0, 2, 5]), N, replacement=True),
        lambda k: [1 / 8, 0, 2 / 8, 5 / 8, 0][min(k, 4)],
    ),
    "first choice": (
        lambda: al.tensor([1.0, 0.0, 2.0, 5.0]).expand(N, 4).multinomial(2)[:, 0],
        lambda k: [1 / 8, 0, 2 / 8, 5 / 8, 0][min(k, 4)],
    ),
    "second choice": (
        lambda: al.tensor([1.0, 2.0, 5.0]).expand(N, 3).multinomial(3)[:, 1],
        lambda k: [
            2 / 8 * 1 / 6 + 5 / 8 * 1 / 3,
            1 / 8 * 2 / 7 + 5 / 8 * 2 / 3,
            1 / 8 * 5 / 7 + 2 / 8 * 5 / 6,
            0.0,
        ][min(k, 3)],
    ),
}


@pytest.mark.parametrize("name", DISCRETE)
def test_counts_have_their_chances(name):
    draw, chance = DISCRETE[name]
    x = draw()
    assert x.dtype is al.int64 and x.shape == (N,)
    seen = np.bincount(x.numpy())
    want = N * np.array([chance(k) for k in range(len(seen))])
    assert not seen[want == 0].any()
    usual = want >= 10
    chi = ((seen - want)[usual] ** 2 / want[usual]).sum()
    degrees = usual.sum() - 1
    # Wilson and Hilferty: about one in ten thousand exceeds 3.7 deviations.
    limit = degrees * (1 - 2 / (9 * degrees) + 3.7 * math.sqrt(2 / (9 * degrees))) ** 3
    assert chi < limit
    rare = seen[~usual].sum(), max(N - want[usual].sum(), 0.0)
    assert rare[0] <= rare[1] + 5 * math.sqrt(rare[1]) + 5


MOMENTS = {
    "exponential": (lambda s: R.exponential(4.0, s), 0.25, 1 / 16),
    "laplace": (lambda s: R.laplace(-3.0, 0.5, s), -3.0, 0.5),
    "log_normal": (
        lambda s: R.log_normal(0.0, 0.5, s),
        math.exp(0.125),
        math.expm1(0.25) * math.exp(0.25),
    ),
    "geometric": (lambda s: R.geometric(0.25, s), 4.0, 12.0),
    "gamma": (lambda s: R.gamma(0.1, 0.5, s), 0.2, 0.4),
    "gamma large": (lambda s: R.gamma(1e8, 1e4, s), 1e4, 1.0),
    "beta": (lambda s: R.beta(0.2, 0.6, s), 0.25, 0.1875 / 1.8),
    "chi2": (lambda s: R.chi2(7, s), 7.0, 14.0),
    "student_t": (lambda s: R.student_t(10.0, s), 0.0, 1.25),
    "poisson": (lambda s: R.poisson(1e6, s), 1e6, 1e6),
    "poisson huge": (lambda s: R.poisson(1e12, s), 1e12, 1e12),
    "binomial": (lambda s: R.binomial(10**6, 0.25, s), 250_000.0, 187_500.0),
    "binomial huge": (lambda s: R.binomial(2**50, 0.5, s), 2.0**49, 2.0**48),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_means_and_variances(name):
    draw, mean, variance = MOMENTS[name]
    with al.set_default_dtype("float64"):
        x = values(draw(N))
    spread = x - mean
    assert abs(spread.mean()) < 4 * math.sqrt(variance / N)
    kurtosis = (spread**4).mean() / variance**2
    assert abs(spread.var() / variance - 1) < 4 * math.sqrt(kurtosis / N)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("name", RNG_LAWS)
def test_every_dtype_or_a_refusal(name, dtype):
    draw, parameters = RNG_LAWS[name]
    fits = dtype.is_floating_point or (name in WHOLE and dtype.is_integer)
    if not fits:
        with pytest.raises(TypeError, match=f"{name}: wrong dtype: {dtype}"):
            draw(*parameters, 3, dtype=dtype)
        return
    x = draw(*parameters, 1003, dtype=dtype, generator=seeded(7))
    assert x.dtype is dtype and x.shape == (1003,)
    # The same numbers as in float64, rounded once.
    exact = draw(*parameters, 1003, dtype="float64", generator=seeded(7))
    assert exact.to(dtype).numpy().tobytes() == x.numpy().tobytes()
    assert len(set(values(x))) > 3


@pytest.mark.parametrize("name", RNG_LAWS)
def test_an_element_depends_on_its_index_alone(name):
    draw, parameters = RNG_LAWS[name]
    g = seeded(11)
    whole = draw(*parameters, 100_000, dtype="float64", generator=g).numpy()
    assert g.get_offset() == 25_000
    for start, count in ((0, 1), (0, 517), (4096, 33), (99_996, 4)):
        part = draw(*parameters, count, dtype="float64", generator=seeded(11, start // 4))
        assert (part.numpy() == whole[start : start + count]).all()
    assert len(set(whole)) > (5 if name in WHOLE else 99_990)


def test_exponentials_are_logarithms_of_philox():
    x = R.exponential(1.0, 50, dtype="float64", generator=seeded(3, 9)).tolist()
    for i, number in enumerate(x):
        want = -math.log((wide(3, 9, i) + 0.5) / 2**64)
        assert math.isclose(number, want, rel_tol=1e-14)


def test_parameters_are_broadcast():
    rate = al.tensor([[1.0], [1000.0]])
    x = R.exponential(rate, (2, 5000))
    assert x.shape == (2, 5000) and x.dtype is al.float32
    assert np.allclose(values(x).mean(axis=1), [1, 1e-3], rtol=0.1)
    assert R.gamma(rate, al.ones(3, dtype="float64")).shape == (2, 3)
    assert R.gamma(rate, al.ones(3, dtype="float64")).dtype is al.float64
    assert R.gamma([1, 2], 1.0).dtype is al.float32
    assert R.poisson(al.tensor([1, 2], dtype="uint8")).dtype is al.uint8
    assert R.poisson(np.array([1.0, 2.0])).dtype is al.float64
    assert R.binomial(al.tensor([5, 6]), 0.5).dtype is al.int64
    assert R.binomial(5, al.tensor([0.5, 0.5], dtype="float16")).dtype is al.float16
    assert R.poisson(2.0, 3).dtype is al.int64 and R.gamma(2.0).shape == ()
    assert R.poisson(2.0, 3, dtype=al.Float).dtype is al.float32
    with al.set_default_dtype("bfloat16"):
        assert R.beta(1.0, 1.0, 2).dtype is al.bfloat16
    low, high = al.tensor([0.0, 5.0]), al.tensor([1.0, 6.0])
    x = R.truncated_normal(0.0, 1.0, low, high, (1000, 2)).numpy()
    assert (x >= [0, 5]).all() and (x <= [1, 6]).all()


def test_functions_as_in_torch():
    rates = al.full((40_000,), 3.0, dtype="float16")
    x = al.poisson(rates)
    assert x.dtype is al.float16 and abs(values(x).mean() - 3) < 0.05
    x = al.poisson(rates, seeded(4))
    assert x.tolist() == al.poisson(rates, generator=seeded(4)).tolist()
    x = al.binomial(al.full((40_000,), 10.0), al.tensor(0.25))
    assert x.dtype is al.float32 and abs(values(x).mean() - 2.5) < 0.05
    x = al.zeros(40_000)
    assert x.exponential_(2.0) is x and abs(values(x).mean() - 0.5) < 0.02
    assert x.exponential_(lambd=4).dtype is al.float32
    assert abs(np.median(values(x.cauchy_(3.0, 0.1))) - 3) < 0.02
    assert abs(np.median(values(x.log_normal_())) - math.e) < 0.2
    assert abs(values(al.zeros(40_000, dtype="int16").geometric_(0.5)).mean() - 2) < 0.05
    x.trunc_normal_(std=3.0, a=-0.5, b=0.25)
    assert x.min().item() >= -0.5 and x.max().item() <= 0.25
    with pytest.raises(TypeError, match="exponential_: wrong dtype: int64"):
        al.arange(3).exponential_()
    with pytest.raises(ValueError, match="geometric_: p out of range: 0.0"):
        al.zeros(3).geometric_(0)
    with pytest.raises(TypeError, match="geometric_: p is missing"):
        al.zeros(3).geometric_()


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_numbers_stay_in_their_range(dtype):
    for low, draw in [
        (0, lambda: R.exponential(1.0, 20_000, dtype=dtype)),
        (0, lambda: R.gamma(0.01, 1.0, 20_000, dtype=dtype)),
        (1, lambda: R.geometric(0.5, 20_000, dtype=dtype)),
        (0, lambda: R.beta(0.01, 0.01, 20_000, dtype=dtype)),
    ]:
        x = values(draw())
        assert (x >= low).all() and np.isfinite(x).all()
    x = values(R.beta(0.01, 0.01, 20_000, dtype=dtype))
    assert (x <= 1).all() and ((x < 1e-3) | (x > 0.9)).mean() > 0.9
    shares = R.dirichlet(al.full((1000, 5), 0.25, dtype=dtype))
    assert shares.dtype is dtype
    assert np.allclose(values(shares).sum(axis=1), 1, atol=5 * al.finfo(dtype).eps)


def test_dirichlet():
    x = R.dirichlet(al.tensor([1, 2, 3]).expand(50_000, 3))
    assert x.dtype is al.float32 and np.allclose(values(x).mean(axis=0), [1 / 6, 1 / 3, 1 / 2], atol=0.01)
    tiny = R.dirichlet(al.full((1000, 4), 1e-4, dtype="float64")).numpy()
    # Nearly all of it is one share, though every gamma number is zero.
    assert np.isfinite(tiny).all() and np.allclose(tiny.sum(axis=1), 1)
    assert (tiny.max(axis=1) > 0.999).mean() > 0.95
    assert R.dirichlet(al.ones(0, 3)).shape == (0, 3)


REAL_WEIGHTS = [d for d in DTYPES if not d.is_complex]


@pytest.mark.parametrize("dtype", REAL_WEIGHTS, ids=named)
def test_weights_of_every_real_dtype(dtype):
    weights = al.tensor([0, 1, 1, 0, 1]).to(dtype)
    x = weights.multinomial(1000, replacement=True)
    assert x.dtype is al.int64 and set(x.tolist()) == {1, 2, 4}
    assert sorted(weights.multinomial(3).tolist()) == [1, 2, 4]
    assert R.categorical(weights.expand(4, 5)).shape == (4,)


def test_weights_near_zero_are_as_random():
    weights = al.tensor([1e-320] * 4, dtype=al.float64).expand(500, 4)
    first = weights.multinomial(4)[:, 0]
    counts = al.bincount(first, minlength=4)
    # Five standard deviations around 125.
    assert ((counts - 125).abs() < 50).all(), counts


def test_multinomial():
    weights = al.rand(3, 4, 6)
    x = weights.multinomial(6)
    assert x.shape == (3, 4, 6)
    assert (np.sort(x.numpy(), axis=-1) == np.arange(6)).all()
    assert weights.multinomial(9, replacement=True).shape == (3, 4, 9)
    assert weights.multinomial(0).shape == (3, 4, 0)
    assert al.multinomial(weights[0, 0], 2).shape == (2,)
    # Large enough for several threads; transposed and sliced weights too.
    rows = al.eye(300).flip(0)
    x = rows.multinomial(200, replacement=True)
    assert (x.numpy() == np.arange(300)[::-1][:, None]).all()
    assert (rows.T.multinomial(1).numpy()[:, 0] == np.arange(300)[::-1]).all()
    x = al.ones(100_000).multinomial(100_000)
    assert sorted(x.tolist()) == list(range(100_000)) and x[:5].tolist() != [0, 1, 2, 3, 4]
    g, h = seeded(2), seeded(2)
    assert weights.multinomial(2, generator=g).tolist() == weights.multinomial(2, generator=h).tolist()
    assert g.get_offset() == 18
    tiny = al.tensor([1e-300, 0.0, 3e-300], dtype="float64").multinomial(10_000, replacement=True)
    assert abs((values(tiny) == 2).mean() - 0.75) < 0.02
    assert sorted(al.tensor([5e-324, 1e300, 0.0], dtype="float64").multinomial(2).tolist()) == [0, 1]


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: R.exponential(0.0, 2), ValueError,
         "exponential: rate out of range: 0.0; numbers above 0 are accepted"),
        (lambda: R.exponential(math.nan, 2), ValueError, None),
        (lambda: R.exponential(al.tensor([1.0, -1.0])), ValueError,
         "exponential: rate out of range at index 1: -1.0; numbers above 0 are accepted"),
        (lambda: R.gamma(-1.0), ValueError,
         "gamma: shape out of range: -1.0; 0 and above are accepted"),
        (lambda: R.gamma(), TypeError, "gamma: shape is missing"),
        (lambda: R.gamma(math.inf), ValueError, None),
        (lambda: R.beta(1.0, 0.0), ValueError, None),
        (lambda: R.poisson(-1.0, 2), ValueError, None),
        (lambda: al.poisson(al.tensor([-1.0])), ValueError,
         "poisson: rate out of range at index 0: -1.0; 0 and above are accepted"),
        (lambda: al.poisson(al.tensor([1j])), TypeError, "poisson: wrong dtype: complex64; "
         "a real dtype is accepted"),
        (lambda: R.binomial(2.5, 0.5), ValueError,
         "binomial: count out of range: 2.5; integers from 0 to 2^53 are accepted"),
        (lambda: R.binomial(2, 1.5), ValueError,
         "binomial: prob out of range: 1.5; 0 to 1 are accepted"),
        (lambda: R.geometric(2.0, 1), ValueError, None),
        (lambda: R.truncated_normal(0.0, 1.0, 2.0, 1.0, 2), ValueError,
         "truncated_normal: nothing between the bounds: 2.0 and 1.0; "
         "the first must be the lower one"),
        (lambda: R.gamma(al.ones(3), al.ones(2)), ValueError,
         "gamma: shapes do not broadcast: [3] and [2]; sizes must be equal or 1"),
        (lambda: R.gamma(al.ones(3), 1.0, (2,)), ValueError, None),
        (lambda: R.gamma("a"), TypeError, None),
        (lambda: R.gamma(1.0, size=-1), ValueError, "gamma: negative size: -1; sizes start at 0"),
        (lambda: R.gamma(1.0, size=2**58), MemoryError, None),
        (lambda: R.gamma(1.0, device="tpu"), RuntimeError,
         f"gamma: no such device: 'tpu'; available are {', '.join(al.devices())}"),
        (lambda: R.dirichlet(al.tensor([1.0, 0.0])), ValueError,
         "dirichlet: concentration out of range at index 1: 0.0; numbers above 0 are accepted"),
        (lambda: R.dirichlet(1.0), IndexError, None),
        (lambda: al.multinomial(1.0, 1), IndexError, None),
        (lambda: al.multinomial(al.ones(2), -1), ValueError,
         "multinomial: negative size: -1; sizes start at 0"),
        (lambda: al.multinomial(al.ones(2), 3), ValueError,
         "multinomial: number of samples out of range at index 0: 3; "
         "as many as a row has positive weights are accepted"),
        (lambda: al.multinomial(al.zeros(2, 2), 1, replacement=True), ValueError, None),
        (lambda: al.multinomial(al.zeros(2, 0), 1), ValueError, None),
        (lambda: al.multinomial(al.tensor([1.0, math.nan]), 1), ValueError,
         "multinomial: weight out of range at index 1: nan; "
         "finite numbers from 0 on are accepted"),
        (lambda: al.multinomial(al.tensor([1e308] * 3, dtype="float64"), 1), ValueError, None),
        (lambda: al.multinomial(al.tensor([1j]), 1), TypeError, None),
    ],
)  # fmt: skip
def test_bad_input(call, error, message):
    with pytest.raises(error) as caught:
        call()
    if message is not None:
        assert str(caught.value).lower() == message.lower()
