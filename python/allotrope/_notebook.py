"""What a notebook shows instead of an object's text: `_repr_html_` of tensors, dtypes and families.
The pages themselves are made in `inspection.html`, which is imported when one is wanted."""

from __future__ import annotations

from typing import Any

from . import _core


def _tensor(self: Any) -> str:
    """The tensor as HTML: dtype, shape, device, a histogram, and a heat map of a matrix.

    >>> "float32" in al.ones(2, 2)._repr_html_()
    True
    """
    from .inspection.html import tensor_html

    return tensor_html(self)


def _dtype(self: Any) -> str:
    """The dtype as HTML: its bits, its range and its precision."""
    from .inspection.html import dtype_html

    return dtype_html(self)


def _family(self: Any) -> str:
    """The family as HTML: the dtypes in it."""
    from .inspection.html import family_html

    return family_html(self)


for _kind, _method in ((_core.Tensor, _tensor), (_core.dtype, _dtype), (_core.Family, _family)):
    _method.__name__ = "_repr_html_"
    _method.__qualname__ = f"{_kind.__name__}._repr_html_"
    setattr(_kind, "_repr_html_", _method)
