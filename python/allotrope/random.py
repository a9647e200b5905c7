"""Distributions, and the generator that draws without one of their own use, as torch.random."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import (
    as_tensor,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    multinomial,
    normal,
    randint,
    randperm,
    seed,
    set_rng_state,
    uniform,
)
from ._core import _distributions

beta = _distributions.beta
binomial = _distributions.binomial
categorical = _distributions.categorical
cauchy = _distributions.cauchy
chi2 = _distributions.chi2
dirichlet = _distributions.dirichlet
exponential = _distributions.exponential
gamma = _distributions.gamma
geometric = _distributions.geometric
laplace = _distributions.laplace
log_normal = _distributions.log_normal
poisson = _distributions.poisson
student_t = _distributions.student_t
truncated_normal = _distributions.truncated_normal

__all__ = [
    "bernoulli",
    "beta",
    "binomial",
    "categorical",
    "cauchy",
    "chi2",
    "default_generator",
    "dirichlet",
    "exponential",
    "fork_rng",
    "gamma",
    "geometric",
    "get_rng_state",
    "initial_seed",
    "laplace",
    "log_normal",
    "manual_seed",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "randint",
    "randperm",
    "seed",
    "set_rng_state",
    "student_t",
    "truncated_normal",
    "uniform",
]


def permutation(
    x: Any, *, generator: Any = None, dtype: Any = None, device: Any = None
) -> Any:
    """The numbers below an integer in random order, or the elements of a tensor along its first
    dimension, as NumPy's; `dtype` takes a family, too.

    >>> sorted(al.random.permutation(4, dtype=al.int16).tolist())
    [0, 1, 2, 3]
    """
    if isinstance(x, int):
        order = randperm(x, generator=generator, device=device)
        return order if dtype is None else order.to(dtype)
    x = as_tensor(x, dtype=dtype, device=device)
    return x[randperm(len(x), generator=generator, device=device)]


@contextmanager
def fork_rng(devices: Any = None, enabled: bool = True) -> Iterator[None]:
    """A scope whose draws leave no trace: at its end the generator is where it was.

    There is one generator for all devices, so that `devices` changes nothing.

    >>> state = al.get_rng_state()
    >>> with al.random.fork_rng():
    ...     x = al.rand(3)
    >>> al.get_rng_state().tolist() == state.tolist()
    True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
