"""Distributions, and the generator that draws without one of their own use, as torch.random."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import (
    Generator,
    as_tensor,
    bernoulli,
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    multinomial,
    normal,
    rand,
    randint,
    randn,
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
    "choice",
    "default_generator",
    "default_rng",
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


def _sizes(op: str, size: Any) -> tuple[int, ...]:
    if size is None:
        return ()
    if isinstance(size, int):
        return (size,)
    if not isinstance(size, (tuple, list)):
        import reprlib

        raise TypeError(f"{op}: not a size: {reprlib.repr(size)}; an int, and lists of them, are accepted")
    return tuple(size)


def choice(
    a: Any,
    size: Any = None,
    replace: bool = True,
    p: Any = None,
    *,
    generator: Any = None,
    device: Any = None,
) -> Any:
    """Elements drawn from a tensor along its first dimension, or from the numbers below an integer, as
    NumPy's: with probabilities `p`, each as often as it comes or at most once.

    >>> sorted(al.random.choice(4, 4, replace=False).tolist())
    [0, 1, 2, 3]
    """
    source = None if isinstance(a, int) else as_tensor(a, device=device)
    count = a if source is None else len(source)
    sizes = _sizes("choice", size)
    wanted = math.prod(sizes)
    if count <= 0 and wanted:
        raise ValueError(f"choice: nothing to choose from: {count} elements")
    if not replace and wanted > count:
        raise ValueError(f"choice: more than there are: {wanted} of {count}; replace=True draws some twice")
    if p is not None:
        weights = as_tensor(p, device=device)
        if tuple(weights.shape) != (count,):
            raise ValueError(f"choice: wrong shape of p: {list(weights.shape)}; [{count}] is accepted")
        # No probability is too small to be drawn by its sum.
        chosen = multinomial(weights.double(), max(wanted, 1), replace, generator=generator)[:wanted]
    elif replace:
        chosen = randint(0, max(count, 1), (wanted,), generator=generator, device=device)
    else:
        chosen = randperm(count, generator=generator, device=device)[:wanted]
    chosen = chosen.reshape(sizes)
    return chosen if source is None else source[chosen]


class Random:
    """Draws with a generator of their own, under the names of NumPy's; see `default_rng`."""

    def __init__(self, seed: int | None = None) -> None:
        self.generator = Generator()
        if seed is None:
            self.generator.seed()
        else:
            self.generator.manual_seed(seed)

    def random(self, size: Any = (), dtype: Any = None) -> Any:
        """Numbers from zero to one."""
        return rand(size, dtype=dtype, generator=self.generator)

    def integers(self, low: int, high: int | None = None, size: Any = (), dtype: Any = None) -> Any:
        """Integers from low to below high, or below low."""
        bounds = (0, low) if high is None else (low, high)
        sizes = _sizes("integers", size)
        return randint(*bounds, sizes, dtype=dtype, generator=self.generator)

    def standard_normal(self, size: Any = (), dtype: Any = None) -> Any:
        """Normal numbers of mean zero and deviation one."""
        return randn(size, dtype=dtype, generator=self.generator)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: Any = ()) -> Any:
        """Normal numbers."""
        return self.standard_normal(size) * scale + loc

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = ()) -> Any:
        """Numbers between two bounds."""
        return self.random(size) * (high - low) + low

    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        """As `random.choice`."""
        return choice(a, size, replace, p, generator=self.generator)

    def permutation(self, x: Any) -> Any:
        """As `random.permutation`."""
        return permutation(x, generator=self.generator)

    def shuffle(self, x: Any) -> None:
        """Puts the elements along the first dimension of a tensor into random order, in place."""
        x.copy_(permutation(x, generator=self.generator))


def default_rng(seed: int | None = None) -> Random:
    """Draws with a generator of their own, under the names of NumPy's generator.

    >>> al.random.default_rng(3).integers(10, size=4).tolist() == al.random.default_rng(3).integers(10, size=4).tolist()
    True
    """
    return Random(seed)


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
