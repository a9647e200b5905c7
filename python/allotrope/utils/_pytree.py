"""Nested tuples, lists and dicts taken apart and put together, as torch.utils._pytree."""

from .._pytree import *  # noqa: F403
from .._pytree import __all__  # noqa: F401
