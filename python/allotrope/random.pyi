from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

from . import Generator, Tensor, dtype
from . import bernoulli as bernoulli
from . import default_generator as default_generator
from . import get_rng_state as get_rng_state
from . import initial_seed as initial_seed
from . import manual_seed as manual_seed
from . import multinomial as multinomial
from . import normal as normal
from . import randint as randint
from . import randperm as randperm
from . import seed as seed
from . import set_rng_state as set_rng_state
from . import uniform as uniform

_Number: TypeAlias = Any
_Size: TypeAlias = int | Sequence[int] | None
_DTypeLike: TypeAlias = dtype | str | type[Any] | None

def fork_rng(devices: Any = None, enabled: bool = True) -> AbstractContextManager[None]: ...
def exponential(
    rate: _Number = 1.0,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def laplace(
    loc: _Number = 0.0,
    scale: _Number = 1.0,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def cauchy(
    median: _Number = 0.0,
    sigma: _Number = 1.0,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def log_normal(
    mean: _Number = 0.0,
    std: _Number = 1.0,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def geometric(
    p: _Number,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def gamma(
    shape: _Number,
    rate: _Number = 1.0,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def beta(
    a: _Number,
    b: _Number,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def chi2(
    df: _Number,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def student_t(
    df: _Number,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def poisson(
    rate: _Number,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def binomial(
    count: _Number,
    prob: _Number,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def truncated_normal(
    mean: _Number = 0.0,
    std: _Number = 1.0,
    a: _Number = -2.0,
    b: _Number = 2.0,
    size: _Size = None,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
def dirichlet(concentration: _Number, *, generator: Generator | None = None) -> Tensor: ...
def categorical(probs: _Number, *, generator: Generator | None = None) -> Tensor: ...
def permutation(
    x: Any,
    *,
    generator: Generator | None = None,
    dtype: _DTypeLike = None,
    device: str | None = None,
) -> Tensor: ...
