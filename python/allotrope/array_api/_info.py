"""What the namespace says of itself: `__array_namespace_info__`."""

from __future__ import annotations

from typing import Any

import allotrope as al

DTYPES = (
    "bool",
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64", "complex64", "complex128"),
)
"""The dtypes of the standard."""


class Info:
    """Capabilities, devices and dtypes, as the standard's inspection utilities.

    >>> al.array_api.__array_namespace_info__().default_device()
    device(type='cpu')
    """

    def capabilities(self) -> dict[str, Any]:
        """What is supported beyond the necessary."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 128}

    def default_device(self) -> al.device:
        """The device of arrays made without one."""
        return al.device("cpu")

    def default_dtypes(self, *, device: al.device | None = None) -> dict[str, al.dtype]:
        """The dtypes of arrays made without one, by kind."""
        _check(device)
        real = al.get_default_dtype()
        return {
            "real floating": real,
            "complex floating": real.to_complex(),
            "integral": al.int64,
            "indexing": al.int64,
        }

    def devices(self) -> list[al.device]:
        """The devices that arrays may be on."""
        return [al.device(name) for name in al.devices()]

    def dtypes(
        self, *, device: al.device | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, al.dtype]:
        """The dtypes of the standard, all or those of a kind or of several, by name."""
        _check(device)
        found = {name: getattr(al, name) for name in DTYPES}
        return {n: d for n, d in found.items() if kind is None or al.isdtype(d, kind)}


class LaterInfo(Info):
    """As `Info`, with the devices as a tuple: version 2025.12.

    >>> al.array_api.v2025_12.__array_namespace_info__().default_device()
    device(type='cpu')
    """

    def devices(self) -> tuple[al.device, ...]:  # type: ignore[override]
        """The devices that arrays may be on."""
        return tuple(super().devices())


def _check(device: al.device | None) -> None:
    """The question is refused for a device that is not there; all have the same dtypes."""
    al.empty(0, device=device)


def __array_namespace_info__() -> Info:
    """What the namespace can do, and its devices and dtypes.

    >>> al.array_api.__array_namespace_info__().default_dtypes()["integral"]
    allotrope.int64
    """
    return Info()
