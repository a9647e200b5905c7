"""Gradients checked against differences of results."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor, _autograd


def _check(
    function: Callable[..., Any], inputs: Any, order: int, raises: bool, tolerances: Any
) -> bool:
    inputs = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    places = [i for i, argument in enumerate(inputs) if isinstance(argument, Tensor)]

    def call(*tensors: Tensor) -> Any:
        arguments = list(inputs)
        for place, tensor in zip(places, tensors):
            arguments[place] = tensor
        made = function(*arguments)
        made = made if isinstance(made, (tuple, list)) else (made,)
        return [output for output in made if isinstance(output, Tensor)]

    try:
        _autograd.check(call, [inputs[i] for i in places], order, *tolerances)
    except RuntimeError:
        if raises:
            raise
        return False
    return True


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    seed: int = 0,
) -> bool:
    """Whether the gradients of a function are what differences of its results say, for random
    gradients of the results. Inputs that require a gradient should be float64 or complex128.

    >>> x = al.linspace(-1, 1, 5, dtype="float64", requires_grad=True)
    >>> al.autograd.gradcheck(al.tanh, (x,))
    True
    """
    return _check(func, inputs, 1, raise_exception, (eps, atol, rtol, seed))


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    seed: int = 0,
) -> bool:
    """Whether the gradients of the gradients of a function are what differences say.

    >>> x = al.tensor([1.0, 2.0], dtype=al.float64, requires_grad=True)
    >>> al.autograd.gradgradcheck(lambda x: x * x * x, x)
    True
    """
    return _check(func, inputs, 2, raise_exception, (eps, atol, rtol, seed))


__all__ = ["gradcheck", "gradgradcheck"]
