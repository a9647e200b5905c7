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
    del use_reentrant  # There is one way.
    places = [i for i, argument in enumerate(args) if isinstance(argument, Tensor)]
    state = get_rng_state() if preserve_rng_state else None
    precision = None
    if _amp.is_autocast_enabled():
        precision = {"enabled": True, "dtype": _amp.get_autocast_dtype()}
    with no_grad():
        made = function(*args, **options)
    outputs = made if isinstance(made, tuple) else (made,)

    def derivative(gradients: list[Any], _wanted: list[bool]) -> list[Any]:
        now = get_rng_state()
        if state is not None:
            set_rng_state(state)
        setting = None if precision is None else _amp.push(**precision)
        try:
            arguments = list(args)
            for place in places:
                required = arguments[place].requires_grad
                arguments[place] = arguments[place].detach().requires_grad_(required)
            with enable_grad():
                again = function(*arguments, **options)
        finally:
            if setting is not None:
                _amp.remove(setting)
            if state is not None:
                set_rng_state(now)
        again = again if isinstance(again, tuple) else (again,)
        pairs = [
            (output, gradient)
            for output, gradient in zip(again, gradients)
            if gradient is not None and output.requires_grad
        ]
        if pairs:
            with enable_grad():
                backward([output for output, _ in pairs], [gradient for _, gradient in pairs])
        return [arguments[place].grad for place in places] + [None]

    # Leaves that the function uses may require gradients where no argument does.
    anchor = ones((), device="cpu", requires_grad=True)
    recorded = _autograd.record(
        "checkpoint", [args[i] for i in places] + [anchor], list(outputs), derivative
    )
    return tuple(recorded) if isinstance(made, tuple) else recorded[0]


__all__ = ["checkpoint"]
