"""Computations that keep nothing but their inputs, and are done again when gradients come back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor, _amp, _autograd, get_rng_state, ones, set_rng_state
from .engine import backward
from .mode import enable_grad, no_grad


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    preserve_rng_state: bool = True,
    use_reentrant: bool | None = None,
    **options: Any,
) -> Any:
    """The results of a function whose intermediate tensors are not kept: it is called again when
    gradients come back, with the same random draws and the same autocast. Leaves that it uses
    besides its arguments get their gradients too.

    >>> x = al.ones(3, requires_grad=True)
    >>> y = al.autograd.checkpoint(lambda x: x.exp().tanh(), x)
    >>> y.sum().backward()
    >>> x.grad is not None
    True
    """
    from ..amp import autocast
    from .._pytree import tree_flatten as _flatten
    from .._pytree import tree_unflatten as _unflatten

    del use_reentrant  # There is one way.
    given, plan = _flatten((args, options))
    places = [i for i, leaf in enumerate(given) if isinstance(leaf, Tensor)]
    state = get_rng_state() if preserve_rng_state else None
    is_cast, narrow = _amp.is_autocast_enabled(), _amp.get_autocast_dtype()
    with no_grad():
        outputs, shape = _flatten(function(*args, **options))
    results = [i for i, leaf in enumerate(outputs) if isinstance(leaf, Tensor)]

    def derivative(gradients: list[Any], _wanted: list[bool]) -> list[Any]:
        now = get_rng_state()
        if state is not None:
            set_rng_state(state)
        try:
            leaves = list(given)
            for place in places:
                required = leaves[place].requires_grad
                leaves[place] = leaves[place].detach().requires_grad_(required)
            arguments, keywords = _unflatten(leaves, plan)
            with enable_grad(), autocast("cpu", dtype=narrow, enabled=is_cast):
                again, _ = _flatten(function(*arguments, **keywords))
        finally:
            if state is not None:
                set_rng_state(now)
        pairs = [
            (again[place], gradient)
            for place, gradient in zip(results, gradients)
            if gradient is not None and again[place].requires_grad
        ]
        if pairs:
            with enable_grad():
                backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return [leaves[place].grad for place in places] + [None]

    if not results:
        return _unflatten(outputs, shape)
    # Leaves that the function uses may require gradients where no argument does.
    anchor = ones((), device="cpu", requires_grad=True)
    recorded = _autograd.record(
        "checkpoint", [given[i] for i in places] + [anchor], [outputs[i] for i in results], derivative
    )
    for place, result in zip(results, recorded):
        outputs[place] = result
    return _unflatten(outputs, shape)


def checkpoint_sequential(
    functions: Any,
    segments: int,
    input: Any,
    use_reentrant: bool | None = None,
    preserve_rng_state: bool = True,
) -> Any:
    """The result of functions called one after the other, as those of a Sequential, in so many segments
    of which nothing but the inputs is kept; the last one is kept whole, since it is needed first.

    >>> layers = al.nn.Sequential(al.nn.Tanh(), al.nn.Tanh(), al.nn.Tanh(), al.nn.Tanh())
    >>> x = al.ones(3, requires_grad=True)
    >>> y = al.utils.checkpoint.checkpoint_sequential(layers, 2, x)
    >>> bool((y == layers(x)).all())
    True
    """
    chain = list(functions)
    if isinstance(segments, bool) or not isinstance(segments, int) or not 1 <= segments <= len(chain):
        raise ValueError(
            f"checkpoint_sequential: segments out of range: {segments!r}; 1 to the number of functions, {len(chain)}"
        )

    def run(start: int, end: int) -> Callable[[Any], Any]:
        def call(x: Any) -> Any:
            for function in chain[start:end]:
                x = function(x)
            return x

        return call

    size = len(chain) // segments
    last = size * (segments - 1)
    for start in range(0, last, size):
        input = checkpoint(
            run(start, start + size), input, use_reentrant=use_reentrant, preserve_rng_state=preserve_rng_state
        )
    return run(last, len(chain))(input)


__all__ = ["checkpoint", "checkpoint_sequential"]
