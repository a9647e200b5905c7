"""NumPy's functions of arrays and tensors: what a ufunc is given a tensor gives a tensor.

`array + tensor`, `numpy.exp(tensor)` and `numpy.add.reduce(tensor)` are ours under NumPy's names. Other
functions of NumPy's, such as `numpy.linalg.svd`, take a tensor as an array and give arrays.
"""

from __future__ import annotations

from typing import Any

from . import _core
from ._core import Tensor
from ._operand import operand

# Ufuncs whose name is another one here; the rest have the same.
_NAMES = {
    "conjugate": "conj",
    "degrees": "rad2deg",
    "equal": "eq",
    "fabs": "abs",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "mod": "remainder",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
}
_REDUCTIONS = {
    "add": "sum",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "amax",
    "minimum": "amin",
    "multiply": "prod",
}
_RUNNING = {"add": "cumsum", "maximum": "cummax", "minimum": "cummin", "multiply": "cumprod"}


def _function(ufunc: Any) -> Any:
    import allotrope

    if ufunc.__name__ == "vecdot":
        return allotrope.linalg.vecdot
    return getattr(allotrope, _NAMES.get(ufunc.__name__, ufunc.__name__), None)


def _operand(x: Any) -> Any:
    """A tensor or a number; NumPy's scalars have no dtype of their own but under NumPy's policy."""
    if isinstance(x, (bool, int, float, complex)) and type(x).__module__ == "builtins":
        return x
    import numpy

    if isinstance(x, numpy.generic) and _core.get_promotion() != "numpy":
        return x.item()
    return operand(x)


def _reduced(name: str, x: Tensor, options: dict[str, Any]) -> Any:
    axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
    dtype = options.pop("dtype", None)
    x = x if dtype is None else x.to(dtype)
    dims = tuple(range(x.ndim)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    method = getattr(x, _REDUCTIONS[name])
    if name == "multiply":
        for dim in sorted((dim % x.ndim for dim in dims), reverse=True):
            x = x.prod(dim, keepdim=keepdims)
        return x
    return method(dims, keepdim=keepdims) if dims else x


def array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """What NumPy asks when one of its functions is given a tensor.

    >>> numpy.exp(al.zeros(2)), numpy.ones(2, "float32") + al.ones(2)
    (tensor([1., 1.]), tensor([2., 2.]))
    """
    name, out = ufunc.__name__, options.pop("out", None)
    result = None
    if method == "__call__" and (function := _function(ufunc)) is not None and not options:
        result = function(*map(_operand, inputs))
    elif method == "reduce" and name in _REDUCTIONS:
        result = _reduced(name, operand(inputs[0]), options)
    elif method == "accumulate" and name in _RUNNING:
        found = getattr(operand(inputs[0]), _RUNNING[name])(options.pop("axis", 0))
        result = found if isinstance(found, Tensor) else found[0]
        options.pop("dtype", None)
    elif method == "outer" and (function := _function(ufunc)) is not None:
        left, right = map(operand, inputs)
        result = function(left.reshape(*left.shape, *[1] * right.ndim), right)
    if result is None or options:
        called = f"numpy.{name}" + ("" if method == "__call__" else f".{method}")
        what = f" with {', '.join(options)}" if options else ""
        raise TypeError(f"{called}: not a function of tensors{what}; arrays are accepted (hint: x.numpy())")
    return result if out is None else _delivered(name, result, out)


def _delivered(name: str, result: Any, out: tuple[Any, ...]) -> Any:
    """Writes results to what they were asked to be written to."""
    results = result if isinstance(result, tuple) else (result,)
    for made, place in zip(results, out):
        if isinstance(place, Tensor):
            place.copy_(made)
        elif place is not None:
            import numpy

            numpy.copyto(place, made.numpy(), casting="same_kind")
    given = tuple(made if place is None else place for made, place in zip(results, out))
    return given if isinstance(result, tuple) else given[0]


def _arrays(tree: Any) -> Any:
    if isinstance(tree, Tensor):
        return tree.numpy()
    if type(tree) in (tuple, list):
        return type(tree)(map(_arrays, tree))
    return {key: _arrays(value) for key, value in tree.items()} if type(tree) is dict else tree


def array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """What NumPy asks when any other of its functions is given a tensor, which it takes as an array.

    >>> float(numpy.mean(al.tensor([1.0, 2.0], dtype=al.float64)))
    1.5
    """
    return func(*_arrays(args), **_arrays(kwargs))


setattr(_core.Tensor, "__array_ufunc__", array_ufunc)
setattr(_core.Tensor, "__array_function__", array_function)
