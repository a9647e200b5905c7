"""Derivatives of functions as functions of their inputs, as torch.autograd.functional."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core import Tensor, zeros_like
from .._core import stack as _stack
from .engine import grad
from .mode import enable_grad


def _tuple(x: Any) -> tuple[Any, ...]:
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _leaves(inputs: Any, create_graph: bool) -> tuple[Tensor, ...]:
    """The inputs, ready to have gradients of their own."""
    if create_graph:
        return tuple(
            x if x.requires_grad else x.detach().requires_grad_() for x in _tuple(inputs)
        )
    return tuple(x.detach().requires_grad_() for x in _tuple(inputs))


def _like(values: Any, model: Any) -> Any:
    return values if isinstance(model, (tuple, list)) else values[0]


def _or_zeros(gradients: tuple[Any, ...], inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(zeros_like(x) if g is None else g for g, x in zip(gradients, inputs))


def _finished(values: tuple[Tensor, ...], create_graph: bool) -> tuple[Tensor, ...]:
    return values if create_graph else tuple(value.detach() for value in values)


def vjp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the product of a vector like them with the derivative.

    >>> x = al.tensor([1.0, 2.0])
    >>> al.autograd.functional.vjp(lambda x: x * x, x, al.ones(2))[1]
    tensor([2., 4.])
    """
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        made = func(*leaves)
        outputs = _tuple(made)
        weights = None if v is None else _tuple(v)
        found = grad(
            _recorded(outputs),
            leaves,
            _matching(outputs, weights),
            create_graph=create_graph,
            allow_unused=True,
        )
        found = _finished(_or_zeros(found, leaves), create_graph)
    outputs = _finished(outputs, create_graph)
    return _like(outputs, made), _like(found, inputs)


def _recorded(outputs: tuple[Tensor, ...]) -> list[Tensor]:
    return [output for output in outputs if output.requires_grad]


def _matching(outputs: tuple[Tensor, ...], weights: Any) -> Any:
    if weights is None:
        return None
    return [weight for output, weight in zip(outputs, weights) if output.requires_grad]


def jvp(
    func: Callable[..., Any], inputs: Any, v: Any = None, create_graph: bool = False
) -> tuple[Any, Any]:
    """The outputs, and the product of the derivative with a vector like the inputs.

    >>> x = al.tensor([1.0, 2.0])
    >>> al.autograd.functional.jvp(lambda x: x * x, x, al.tensor([1.0, 0.0]))[1]
    tensor([2., 0.])
    """
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        made = func(*leaves)
        outputs = _tuple(made)
        if v is None:
            v = _like(tuple(zeros_like(x) + 1 for x in leaves), inputs)
        # The derivative of the product with a vector is linear in that vector.
        weights = tuple(zeros_like(y).requires_grad_() for y in outputs)
        backward = grad(
            _recorded(outputs),
            leaves,
            _matching(outputs, weights),
            create_graph=True,
            allow_unused=True,
        )
        pairs = [(g, w) for g, w in zip(backward, _tuple(v)) if g is not None and g.requires_grad]
        if pairs:
            found = grad(
                [g for g, _ in pairs],
                weights,
                [w for _, w in pairs],
                create_graph=create_graph,
                allow_unused=True,
            )
        else:
            found = (None,) * len(weights)
        found = _finished(_or_zeros(found, outputs), create_graph)
    return _like(_finished(outputs, create_graph), made), _like(found, made)


def jacobian(func: Callable[..., Any], inputs: Any, create_graph: bool = False) -> Any:
    """Every derivative of every output by every input: the sizes of an output, then of an input.

    >>> x = al.tensor([1.0, 2.0])
    >>> al.autograd.functional.jacobian(lambda x: x * x.sum(), x)
    tensor([[4., 1.],
            [2., 5.]])
    """
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        made = func(*leaves)
        rows = []
        for output in _tuple(made):
            flat = output.reshape(-1)
            each = []
            for i in range(flat.numel()):
                if flat.requires_grad:
                    found = grad(
                        flat[i],
                        leaves,
                        retain_graph=True,
                        create_graph=create_graph,
                        allow_unused=True,
                    )
                else:
                    found = (None,) * len(leaves)
                each.append(_finished(_or_zeros(found, leaves), create_graph))
            by_input = tuple(
                _stack([row[k] for row in each]).reshape(*output.shape, *leaf.shape)
                if each
                else zeros_like(leaf).reshape(*output.shape, *leaf.shape)
                for k, leaf in enumerate(leaves)
            )
            rows.append(_like(by_input, inputs))
    return _like(tuple(rows), made)


def hessian(func: Callable[..., Any], inputs: Any, create_graph: bool = False) -> Any:
    """Every second derivative of a function with one output of one element.

    >>> x = al.tensor([1.0, 2.0])
    >>> al.autograd.functional.hessian(lambda x: (x * x * x).sum(), x)
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """

    def first(*leaves: Tensor) -> Any:
        made = func(*leaves)
        if not isinstance(made, Tensor) or made.numel() != 1:
            raise ValueError("hessian: the function gives one element; jacobian takes others")
        found = grad(made.reshape(()), leaves, create_graph=True, allow_unused=True)
        return _like(_or_zeros(found, leaves), inputs)

    return jacobian(first, inputs, create_graph)


def vhp(func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool = False) -> Any:
    """The output, and the product of a vector with the second derivative.

    >>> def cubes(x):
    ...     return (x * x * x).sum()
    >>> al.autograd.functional.vhp(cubes, al.tensor([1.0, 2.0]), al.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _second_product(func, inputs, v, create_graph)


def hvp(func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool = False) -> Any:
    """The output, and the product of the second derivative with a vector.

    >>> def cubes(x):
    ...     return (x * x * x).sum()
    >>> al.autograd.functional.hvp(cubes, al.tensor([1.0, 2.0]), al.ones(2))
    (tensor(9.), tensor([ 6., 12.]))
    """
    return _second_product(func, inputs, v, create_graph)


def _second_product(func: Callable[..., Any], inputs: Any, v: Any, create_graph: bool) -> Any:
    with enable_grad():
        leaves = _leaves(inputs, create_graph)
        made = func(*leaves)
        first = _or_zeros(
            grad(made.reshape(()), leaves, create_graph=True, allow_unused=True), leaves
        )
        pairs = [(g, w) for g, w in zip(first, _tuple(v)) if g.requires_grad]
        found: tuple[Any, ...] = (None,) * len(leaves)
        if pairs:
            found = grad(
                [g for g, _ in pairs],
                leaves,
                [w for _, w in pairs],
                create_graph=create_graph,
                allow_unused=True,
            )
        found = _finished(_or_zeros(found, leaves), create_graph)
    return _finished((made,), create_graph)[0], _like(found, inputs)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
