"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ... import _core
from ..._core import Tensor


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Parameters one after the other, as a vector.

    >>> al.nn.utils.parameters_to_vector([al.ones(2, 1), al.zeros(1)])
    tensor([1., 1., 0.])
    """
    return _core.cat([parameter.reshape(-1) for parameter in parameters])


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Gives parameters the numbers of a vector, one after the other.

    >>> p = al.nn.Parameter(al.ones(2))
    >>> al.nn.utils.vector_to_parameters(al.tensor([3.0, 4.0]), [p])
    >>> p.data
    tensor([3., 4.])
    """
    if not isinstance(vec, Tensor):
        raise TypeError(
            f"vector_to_parameters: not a vector: {type(vec).__name__}; a tensor is accepted"
        )
    given = list(parameters)
    count = sum(parameter.numel() for parameter in given)
    if vec.numel() != count:
        raise ValueError(
            f"vector_to_parameters: wrong size of the vector: {vec.numel()}; {count} is accepted"
        )
    start = 0
    for parameter in given:
        part = vec[start : start + parameter.numel()]
        parameter.data = part.detach().reshape(parameter.shape).to(parameter.dtype)
        start += parameter.numel()


__all__ = ["parameters_to_vector", "vector_to_parameters"]
