"""The walk back, from the Rust engine."""

from .._core import _autograd

backward = _autograd.backward
grad = _autograd.grad

__all__ = ["backward", "grad"]
