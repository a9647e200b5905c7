"""What the array API standard asks of the array object beyond torch's names."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, overload

from . import _core

if TYPE_CHECKING:
    from ._more import Size as _Sizes

# Below it becomes a property.
_sizes_of: Any = _core.Tensor.size

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")


class Size(int):
    """The number of elements, as NumPy and the array API have it, and when called torch's sizes.

    >>> al.zeros(2, 3).size, al.zeros(2, 3).size(), al.zeros(2, 3).size(-1)
    (6, (2, 3), 3)
    """

    __module__ = "allotrope"

    _sizes: _Sizes

    @overload
    def __call__(self, dim: None = None, *, axis: None = None) -> _Sizes: ...
    @overload
    def __call__(self, dim: int, *, axis: None = None) -> int: ...
    @overload
    def __call__(self, dim: None = None, *, axis: int) -> int: ...
    def __call__(self, dim: int | None = None, *, axis: int | None = None) -> Any:
        if dim is axis is None:
            return self._sizes
        if type(dim) is int and axis is None and -len(self._sizes) <= dim < len(self._sizes):
            return self._sizes[dim]
        # A tensor without elements of its own says what is wrong, if anything is.
        return _sizes_of(_core.empty((), device="cpu").expand(self._sizes), dim, axis=axis)

    def __reduce__(self) -> tuple[type, tuple[int]]:
        return int, (int(self),)


def _size(self: _core.Tensor) -> Size:
    size = Size(self.numel())
    size._sizes = self.shape
    return size


def __array_namespace__(self: _core.Tensor, /, *, api_version: str | None = None) -> ModuleType:
    """The namespace of the array API standard that works on tensors: `al.array_api`, of version 2025.12
    `al.array_api.v2025_12`.

    >>> al.ones(1).__array_namespace__(api_version="2024.12").__name__
    'allotrope.array_api'
    """
    from . import array_api

    if api_version not in (None, *_VERSIONS):
        accepted = ", ".join(_VERSIONS)
        raise ValueError(
            f"__array_namespace__: unknown version: {api_version!r}; {accepted} are accepted"
        )
    if api_version == "2025.12":
        from .array_api import v2025_12

        return v2025_12
    return array_api


def to_device(self: _core.Tensor, device: str, /, *, stream: Any = None) -> _core.Tensor:
    """The tensor on a device: itself if it is there.

    >>> al.ones(1).to_device("cpu").device
    device(type='cpu')
    """
    if stream is not None:
        import reprlib

        given = reprlib.repr(stream)
        raise ValueError(f"to_device: no streams: {given}; None is accepted")
    return self.to(device)


for _method in (__array_namespace__, to_device):
    _method.__qualname__ = f"Tensor.{_method.__name__}"
    setattr(_core.Tensor, _method.__name__, _method)
_size_property = _core._SizeProperty(_size)  # type: ignore[attr-defined]
_size_property.__doc__ = Size.__doc__
setattr(_core.Tensor, "size", _size_property)
