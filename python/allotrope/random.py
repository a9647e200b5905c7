"""The generator that draws without one of their own use, as torch.random."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from . import (
    default_generator,
    get_rng_state,
    initial_seed,
    manual_seed,
    seed,
    set_rng_state,
)

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]


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
