"""Shapes, dtypes, refusals, transforms, and distributions that are made of others."""

import itertools
import math
import subprocess
import sys

import numpy as np
import pytest

import allotrope as al

from .cases import MULTIVARIATE, OTHERS, UNIVARIATE
from .test_answers import made

D = al.distributions
T = D.transforms
C = D.constraints
f64 = al.float64


@pytest.fixture(autouse=True)
def same_start():
    al.manual_seed(7)


def normals(*shape, dtype=f64):
    return al.randn(shape, dtype=dtype)


TRANSFORMS = [
    (T.AffineTransform(1.0, -2.0), (4,)),
    (T.AffineTransform(al.tensor([1.0, 2.0], dtype=f64), al.tensor([0.5, -2.0], dtype=f64), event_dim=1), (2,)),
    (T.ExpTransform(), (4,)),
    (T.PowerTransform(2.5), (4,)),
    (T.SigmoidTransform(), (4,)),
    (T.SoftplusTransform(), (4,)),
    (T.TanhTransform(), (4,)),
    (T.StickBreakingTransform(), (3,)),
    (T.CorrCholeskyTransform(), (6,)),
    (T.ComposeTransform([T.AffineTransform(0.0, 0.5), T.ExpTransform()]), (4,)),
    (T.ComposeTransform([T.AffineTransform(0.0, 0.5), T.StickBreakingTransform()]), (3,)),
    (T.IndependentTransform(T.ExpTransform(), 1), (4,)),
    (T.ReshapeTransform((4,), (2, 2)), (4,)),
    (T.LowerCholeskyTransform(), (3, 3)),
    (T.SoftmaxTransform(), (3,)),
]


@pytest.mark.parametrize("transform, shape", TRANSFORMS, ids=lambda value: type(value).__name__)
def test_transforms_have_inverses_and_determinants(transform, shape):
    x = normals(5, *shape)
    x = x.abs() if isinstance(transform, T.PowerTransform) else x
    y = transform(x)
    assert tuple(y.shape) == transform.forward_shape((5, *shape))
    assert bool(transform.codomain.check(y).all())
    if not isinstance(transform, T.SoftmaxTransform):
        assert tuple(transform.inv(y).shape) == transform.inverse_shape(tuple(y.shape)) == (5, *shape)
    again = transform(transform.inv(y))
    assert np.allclose(again.numpy(), y.numpy(), rtol=1e-9, atol=1e-12)
    if not transform.bijective:
        return
    assert np.allclose(transform.inv(y).numpy(), x.numpy(), rtol=1e-7, atol=1e-9)
    assert transform.inv.inv is transform and transform.inv.domain is transform.codomain
    found = transform.log_abs_det_jacobian(x, y)
    backward = transform.inv.log_abs_det_jacobian(y, x)
    assert np.allclose(found.numpy(), -backward.numpy(), rtol=1e-7, atol=1e-9)
    for row in range(5):
        matrix = differences(transform, x[row])
        event = found[row]
        if transform.domain.event_dim == 0:
            assert np.allclose(event.numpy(), np.log(np.abs(np.diag(matrix))), atol=1e-6)
        else:
            assert event.item() == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-6)


def differences(transform, x):
    """The matrix of partial derivatives by differences, of results that are free: those of a simplex but
    for the last, those of a factor below its diagonal."""
    step, columns = 1e-6, []
    for place in range(x.numel()):
        moved = al.zeros(x.numel(), dtype=f64)
        moved[place] = step
        moved = moved.reshape(x.shape)
        y = (transform(x + moved) - transform(x - moved)) / (2 * step)
        if isinstance(transform, T.CorrCholeskyTransform):
            y = y[tuple(al.tril_indices(4, 4, -1))]
        elif y.numel() > x.numel():
            y = y[:-1]
        columns.append(y.flatten().numpy())
    return np.stack(columns, 1)


def test_transforms_compare_and_remember():
    assert T.AffineTransform(0.0, 1.0) == T.AffineTransform(0.0, 1.0) != T.AffineTransform(0.0, 2.0)
    assert T.ExpTransform() != T.TanhTransform()
    x = al.tensor([25.0], dtype=f64)
    law = D.TransformedDistribution(D.Normal(x, 1.0), T.TanhTransform(cache_size=1))
    y = law.rsample()
    # The inverse alone would be infinite, since tanh has rounded to 1.
    assert y.item() == 1.0 and math.isfinite(law.log_prob(y).item())
    with pytest.raises(ValueError, match="ExpTransform: wrong cache_size: 2; 0 and 1 are accepted"):
        T.ExpTransform(cache_size=2)


def test_parameters_meet_in_one_shape_and_dtype():
    law = D.Normal(al.zeros(3, 1, dtype="bfloat16"), al.ones(2, dtype="float64"))
    assert law.batch_shape == (3, 2) and law.dtype == law.loc.dtype == law.mean.dtype == f64
    assert D.Normal(0, 1).dtype == al.float32
    assert D.Normal(al.zeros(2, dtype="float16"), 1.0).rsample().dtype == al.float16
    assert D.Poisson(al.tensor([1, 2])).rate.dtype == al.float32
    with al.set_default_dtype("float64"):
        assert D.Normal(0, 1).dtype == f64
    narrow = D.Normal(al.zeros(2, dtype="bfloat16"), 1.0)
    assert narrow.log_prob(al.zeros(2, dtype="float64")).dtype == f64
    assert narrow.log_prob(0.5).dtype == al.bfloat16
    assert D.kl_divergence(narrow, D.Normal(al.zeros(2), 1.0)).dtype == al.float32
    free = D.Normal(al.zeros(2, dtype=al.Float), 1.0)
    assert free.log_prob(al.zeros(2, dtype=al.Float)).numeric is free.mean.numeric is al.Float
    with pytest.raises(TypeError, match="Normal: a parameter of complex64; float dtypes are accepted"):
        D.Normal(al.zeros(2, dtype="complex64"), 1.0)


def every():
    for table in (UNIVARIATE, MULTIVARIATE, OTHERS):
        for name, (settings, values) in table.items():
            yield pytest.param(name, settings[0], values[0], id=name)


@pytest.mark.parametrize("name, setting, value", list(every()))
def test_expanded_ones_are_the_same(name, setting, value):
    law = made(name, setting)
    large = law.expand((4, 2))
    assert large.batch_shape == (4, 2) and large.event_shape == law.event_shape
    value = al.tensor(value, dtype=None if isinstance(value, int) else f64)
    value = value if bool(law.support.check(value).all()) else law.sample()
    found = large.log_prob(value)
    assert tuple(found.shape) == (4, 2)
    assert np.allclose(found.numpy(), law.log_prob(value).item(), rtol=1e-12)
    assert tuple(large.sample((3,)).shape) == (3, 4, 2, *law.event_shape)
    assert name in repr(law)


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: D.Normal(al.zeros(3), al.tensor([1.0, -2.0, 1.0])), r"Normal: scale is out of range: -2.0 at \[1\]; Positive\(\) is accepted"),
        (lambda: D.Normal(math.nan, 1.0), r"Normal: loc is out of range: nan; Real\(\) is accepted"),
        (lambda: D.Bernoulli(1.5), r"Bernoulli: probs is out of range: 1.5; UnitInterval\(\) is accepted"),
        (lambda: D.Bernoulli(), "Bernoulli: nothing given; exactly one of probs, logits is accepted"),
        (lambda: D.Bernoulli(0.5, 0.0), "Bernoulli: probs and logits given; exactly one"),
        (lambda: D.Uniform(1.0, 0.0), "Uniform: high is out of range: 0.0; GreaterThan"),
        (lambda: D.Gamma(1.0, 1.0).log_prob(al.tensor(-1.0)), r"Gamma.log_prob: a value is out of range: -1.0; Positive\(\)"),
        (lambda: D.Normal(al.zeros(3), 1.0).log_prob(al.zeros(2)), r"Normal.log_prob: wrong shape of a value: \[2\]; shapes that broadcast with \[3\]"),
        (lambda: D.Categorical(al.ones(3)).log_prob(al.tensor(3)), "Categorical.log_prob: a value is out of range: 3; IntegerInterval"),
        (lambda: D.Multinomial(-1, al.ones(2)), "Multinomial: wrong total_count: -1"),
        (lambda: D.MultivariateNormal(al.zeros(2), al.ones(2, 2)), "MultivariateNormal: covariance_matrix is out of range"),
        (lambda: D.MultivariateNormal(al.zeros(2), al.ones(3, 3)), r"MultivariateNormal: covariance_matrix of shape \[3, 3\]"),
        (lambda: D.Dirichlet(al.tensor(1.0)), "Dirichlet: concentration has no dimensions"),
        (lambda: D.Independent(D.Normal(0.0, 1.0), 1), "Independent: wrong reinterpreted_batch_ndims: 1; the batch has 0"),
        (lambda: D.MixtureSameFamily(D.Categorical(al.ones(3)), D.Normal(al.zeros(2), 1.0)), "MixtureSameFamily: components of batch shape"),
        (lambda: D.LowRankMultivariateNormal(al.zeros(2), al.ones(3, 1), al.ones(2)), "LowRankMultivariateNormal: loc, cov_factor and cov_diag"),
    ],
)
def test_what_has_no_meaning_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_what_is_not_there_says_so():
    with pytest.raises(NotImplementedError, match="rsample: draws of Poisson are no differentiable function"):
        D.Poisson(1.0).rsample()
    with pytest.raises(NotImplementedError, match="cdf: Beta has no cdf"):
        D.Beta(1.0, 1.0).cdf(0.5)
    with pytest.raises(NotImplementedError, match="kl_divergence: no rule for Normal and Cauchy"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Cauchy(0.0, 1.0))


def test_unchecked_ones_take_anything():
    law = D.Normal(0.0, -1.0, validate_args=False)
    assert law.log_prob(al.tensor(0.0)).isnan().item()
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)
    with pytest.raises(ValueError):
        D.Normal(0.0, -1.0)


def test_counted_values_have_all_the_probability():
    batch = al.tensor([0.2, 0.7], dtype=f64)
    for law in (D.Bernoulli(batch), D.Binomial(5, batch), D.Categorical(normals(2, 4).exp()), D.OneHotCategorical(normals(2, 4).exp())):
        values = law.enumerate_support()
        assert tuple(values.shape) == (values.shape[0], *law.batch_shape, *law.event_shape)
        chances = law.log_prob(values).exp()
        assert np.allclose(chances.sum(0).numpy(), 1.0)
        if law.event_shape == () and not isinstance(law, D.Categorical):
            mean = (chances * values).sum(0)
            assert np.allclose(mean.numpy(), law.mean.numpy())
            assert np.allclose(((values - mean) ** 2 * chances).sum(0).numpy(), law.variance.numpy())
        assert np.allclose(-(chances * chances.log()).sum(0).numpy(), law.entropy().numpy())
    # Every way in which six draws fall into three categories.
    law = D.Multinomial(6, al.tensor([0.2, 0.3, 0.5], dtype=f64))
    counts = [c for c in itertools.product(range(7), repeat=3) if sum(c) == 6]
    logs = law.log_prob(al.tensor(counts, dtype=f64))
    assert logs.exp().sum().item() == pytest.approx(1.0)
    assert law.entropy().item() == pytest.approx(-(logs.exp() * logs).sum().item())


def test_modes_have_the_greatest_density():
    for name, (settings, _) in UNIVARIATE.items():
        for setting in settings:
            law = made(name, setting)
            try:
                mode = law.mode
            except NotImplementedError:
                continue
            if not mode.isfinite().item():
                continue
            near = law.sample((2000,))
            top = law._log_prob(mode).item()
            assert top >= law._log_prob(near).max().item() - 1e-9 or not math.isfinite(top), (name, setting)


def test_independent_sums_over_the_event():
    base = D.Normal(normals(3, 4), normals(3, 4).exp())
    law = D.Independent(base, 1)
    x = law.rsample((2,))
    assert np.allclose(law.log_prob(x).numpy(), base.log_prob(x).sum(-1).numpy())
    assert np.allclose(law.entropy().numpy(), base.entropy().sum(-1).numpy())
    other = D.Independent(D.Normal(al.zeros(3, 4, dtype=f64), 1.0), 1)
    apart = D.kl_divergence(base, D.Normal(al.zeros(3, 4, dtype=f64), 1.0))
    assert np.allclose(D.kl_divergence(law, other).numpy(), apart.sum(-1).numpy())


def test_transformed_numbers_have_the_densities_of_their_own_families():
    x = al.linspace(0.1, 4.0, 9, dtype=f64)
    one = al.tensor(1.0, dtype=f64)
    transformed = D.TransformedDistribution(D.Normal(one, 0.5), [T.ExpTransform()])
    plain = D.LogNormal(one, 0.5)
    assert np.allclose(transformed.log_prob(x).numpy(), plain.log_prob(x).numpy())
    assert np.allclose(transformed.cdf(x).numpy(), plain.cdf(x).numpy())
    p = al.linspace(0.1, 0.9, 5, dtype=f64)
    assert np.allclose(transformed.icdf(p).numpy(), plain.icdf(p).numpy())
    falling = D.TransformedDistribution(D.Normal(one, 0.5), T.AffineTransform(0.0, -2.0))
    mirrored = D.Normal(-2 * one, 1.0)
    assert np.allclose(falling.cdf(-x).numpy(), mirrored.cdf(-x).numpy())
    assert np.allclose(falling.icdf(p).numpy(), mirrored.icdf(p).numpy())
    weibull = D.TransformedDistribution(D.Exponential(one), [T.PowerTransform(0.5), T.AffineTransform(0.0, 3.0)])
    assert np.allclose(weibull.log_prob(x).numpy(), D.Weibull(3 * one, 2.0).log_prob(x).numpy())
    stick = D.TransformedDistribution(D.Normal(al.zeros(5, 2, dtype=f64), 1.0), T.StickBreakingTransform())
    assert stick.batch_shape == (5,) and stick.event_shape == (3,)
    assert tuple(stick.log_prob(stick.sample((4,))).shape) == (4, 5)
    again = D.kl_divergence(transformed, D.TransformedDistribution(D.Normal(0 * one, 1.0), [T.ExpTransform()]))
    assert again.item() == pytest.approx(D.kl_divergence(D.Normal(one, 0.5), D.Normal(0 * one, 1.0)).item())
    with pytest.raises(NotImplementedError, match="other transforms"):
        D.kl_divergence(transformed, D.TransformedDistribution(D.Normal(one, 1.0), T.TanhTransform()))


def test_mixtures_are_sums():
    shares = al.tensor([0.2, 0.8], dtype=f64)
    parts = D.Normal(al.tensor([-1.0, 2.0], dtype=f64), al.tensor([0.5, 1.0], dtype=f64))
    law = D.MixtureSameFamily(D.Categorical(shares), parts)
    x = al.linspace(-3.0, 4.0, 15, dtype=f64)
    density = (shares * parts.log_prob(x.unsqueeze(-1)).exp()).sum(-1)
    assert np.allclose(law.log_prob(x).exp().numpy(), density.numpy())
    drawn = law.sample((40_000,))
    assert drawn.mean().item() == pytest.approx(law.mean.item(), abs=0.04)
    assert drawn.var().item() == pytest.approx(law.variance.item(), rel=0.04)
    below = (drawn.unsqueeze(-1) <= x).double().mean(0)
    assert np.abs(below.numpy() - law.cdf(x).numpy()).max() < 2.3 / 200
    vectors = D.MixtureSameFamily(D.Categorical(shares), D.Independent(D.Normal(normals(2, 3), 1.0), 1))
    assert tuple(vectors.sample((5,)).shape) == (5, 3) and tuple(vectors.log_prob(vectors.sample((5,))).shape) == (5,)
    assert tuple(vectors.variance.shape) == (3,)


def test_families_of_users_need_a_density_alone():
    class Triangle(D.Distribution):
        arg_constraints = {"width": C.positive}
        has_rsample = True

        def __init__(self, width, validate_args=None):
            self.width = width
            super().__init__(width.shape, validate_args=validate_args)

        @C.dependent_property(is_discrete=False, event_dim=0)
        def support(self):
            return C.interval(-self.width, self.width)

        def log_prob(self, value):
            return (1 - value.abs() / self.width).log() - self.width.log()

        def rsample(self, sample_shape=()):
            shape = self._extended_shape(sample_shape)
            return self.width * (al.rand(shape, dtype=f64) - al.rand(shape, dtype=f64))

    law = Triangle(al.tensor([1.0, 2.0], dtype=f64))
    assert tuple(law.expand((3, 2)).sample((4,)).shape) == (4, 3, 2)
    assert tuple(D.Independent(law, 1).log_prob(law.sample((4,))).shape) == (4,)
    with pytest.raises(ValueError, match="Triangle: width is out of range"):
        Triangle(al.tensor([-1.0]))


def test_families_of_users_may_be_exponential():
    class Rayleigh(D.ExponentialFamily):
        arg_constraints = {"square": C.positive}

        def __init__(self, square):
            self.square = square
            super().__init__(square.shape)

        @property
        def _natural_params(self):
            return (-1 / (2 * self.square),)

        def _log_normalizer(self, x):
            return -(-2 * x).log()

        # The mean of log(x).
        @property
        def _mean_carrier_measure(self):
            return (2 * self.square).log() / 2 - 0.5772156649015329 / 2

    law = Rayleigh(al.tensor([0.5, 3.0], dtype=f64))
    closed = 1 + (law.square.sqrt() / math.sqrt(2)).log() + 0.5772156649015329 / 2
    assert np.allclose(law.entropy().numpy(), closed.numpy())
    ratio = al.tensor([0.5 / 3.0, 6.0], dtype=f64)
    other = Rayleigh(al.tensor([3.0, 0.5], dtype=f64))
    assert np.allclose(D.kl_divergence(law, other).numpy(), (ratio - 1 - ratio.log()).numpy())


def test_entropies_of_families_have_gradients():
    for make in (lambda a: D.Gamma(a, 2.0), lambda a: D.Beta(a, 2.0), lambda a: D.Dirichlet(al.stack([a, a * 0 + 2.0]))):
        def entropy(value):
            return make(al.tensor(value, dtype=f64)).entropy().item()

        a = al.tensor(1.7, dtype=f64, requires_grad=True)
        make(a).entropy().backward()
        assert a.grad.item() == pytest.approx((entropy(1.7 + 1e-6) - entropy(1.7 - 1e-6)) / 2e-6, rel=1e-5)
        assert not make(a.detach()).entropy().requires_grad


@pytest.mark.parametrize(
    "constraint, within, beyond",
    [
        (C.positive_definite, al.eye(2), al.ones(2, 2)),
        (C.positive_semidefinite, al.ones(2, 2), al.tensor([[0.0, 1.0], [1.0, 0.0]])),
        (C.symmetric, al.ones(2, 2), al.tensor([[0.0, 1.0], [2.0, 0.0]])),
        (C.lower_triangular, al.eye(2), al.ones(2, 2)),
        (C.lower_cholesky, al.eye(2), -al.eye(2)),
        (C.corr_cholesky, al.eye(2), 2 * al.eye(2)),
        (C.simplex, al.tensor([0.3, 0.7]), al.tensor([0.3, 0.6])),
        (C.simplex, al.tensor([0.1, 0.2, 0.7], dtype="bfloat16"), al.tensor([0.3, 0.6], dtype="bfloat16")),
        (C.one_hot, al.tensor([0, 1]), al.tensor([1, 1])),
        (C.positive_integer, al.tensor(1), al.tensor(0)),
        (C.nonnegative_integer, al.tensor(0.0), al.tensor(math.inf)),
        (C.less_than(1.0), al.tensor(0.9), al.tensor(1.0)),
        (C.real_vector, al.zeros(2), al.tensor([0.0, math.nan])),
        (C.boolean, al.tensor(True), al.tensor(0.5)),
    ],
)
def test_constraints_know_what_is_within(constraint, within, beyond):
    assert constraint.check(within).item() is True
    assert constraint.check(beyond).item() is False


def test_the_package_is_loaded_when_it_is_asked_for():
    program = "import sys, allotrope as al; print('allotrope.distributions' in sys.modules); al.distributions; print('allotrope.distributions' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
