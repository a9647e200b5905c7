"""How large the numbers of a tensor are, how far two tensors are apart, and what a dtype makes of
either. Everything is computed in float64, whatever scopes the caller is in."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .. import Tensor, _core
from ..amp import autocast
from ..autograd import no_grad

# The exponent of a float64 has eleven bits above 52 of the fraction.
_FRACTION, _MASK, _BIAS = 52, 0x7FF, 1023


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A block that no setting of the caller reaches."""
    with no_grad(), autocast(enabled=False), _core.promotion("standard"):
        yield


def tensors_in(value: Any) -> list[Tensor]:
    """The float and complex tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return [value] if value.is_floating_point() or value.is_complex() else []
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for member in value for tensor in tensors_in(member)]
    return []


def numbers_of(tensor: Tensor) -> Tensor:
    """The elements as float64 on the CPU, in one dimension; complex numbers as their two parts."""
    tensor = tensor.detach().to("cpu")
    if tensor.is_complex():
        tensor = _core.view_as_real(tensor)
    return tensor.to(_core.float64).reshape(-1)


def _exponents(numbers: Tensor) -> Tensor:
    """The greatest powers of two that float64 numbers reach, as exponents."""
    return ((numbers.view(_core.int64) >> _FRACTION) & _MASK) - _BIAS


@dataclass
class Range:
    """How large numbers are: counts, the least and greatest magnitude that is not zero, and how
    many there are of each power of two."""

    count: int = 0
    zeros: int = 0
    nans: int = 0
    infs: int = 0
    least: float = math.inf
    greatest: float = 0.0
    exponents: dict[int, int] = field(default_factory=dict)

    @property
    def nonfinite(self) -> int:
        """How many are NaN or infinite."""
        return self.nans + self.infs

    def add(self, other: Range) -> Range:
        """Both together."""
        exponents = dict(self.exponents)
        for exponent, count in other.exponents.items():
            exponents[exponent] = exponents.get(exponent, 0) + count
        return Range(
            self.count + other.count,
            self.zeros + other.zeros,
            self.nans + other.nans,
            self.infs + other.infs,
            min(self.least, other.least),
            max(self.greatest, other.greatest),
            dict(sorted(exponents.items())),
        )

    def data(self) -> dict[str, Any]:
        """The fields, and None where no number has a magnitude."""
        is_known = bool(self.exponents)
        return {
            "count": self.count,
            "zeros": self.zeros,
            "nans": self.nans,
            "infs": self.infs,
            "least": self.least if is_known else None,
            "greatest": self.greatest if is_known else None,
            "exponents": self.exponents,
        }


def range_of(tensor: Tensor, exponents: bool = True) -> Range:
    """How large the elements of a tensor are."""
    with undisturbed():
        numbers = numbers_of(tensor)
        nans = int(_core.isnan(numbers).sum())
        infs = int(_core.isinf(numbers).sum())
        zeros = int((numbers == 0).sum())
        found = Range(numbers.numel(), zeros, nans, infs)
        sizes = numbers.abs()
        if nans or infs or zeros:
            sizes = sizes[_core.isfinite(sizes) & (sizes != 0)]
        if sizes.numel():
            found.least, found.greatest = sizes.amin().item(), sizes.amax().item()
            if exponents:
                counts = _core.bincount(_exponents(sizes) + _BIAS).tolist()
                found.exponents = {i - _BIAS: n for i, n in enumerate(counts) if n}
            else:
                found.exponents = {math.frexp(found.greatest)[1] - 1: sizes.numel()}
    return found


@dataclass
class Shares:
    """How many numbers a dtype cannot hold: beyond its greatest, rounded to zero, or subnormal."""

    count: int = 0
    overflow: int = 0
    underflow: int = 0
    subnormal: int = 0

    def add(self, other: Shares) -> Shares:
        """Both together."""
        return Shares(
            self.count + other.count,
            self.overflow + other.overflow,
            self.underflow + other.underflow,
            self.subnormal + other.subnormal,
        )

    def data(self) -> dict[str, float]:
        """As shares of the numbers that are finite and not zero."""
        whole = self.count or 1
        return {
            "overflow": self.overflow / whole,
            "underflow": self.underflow / whole,
            "subnormal": self.subnormal / whole,
        }


def shares_of(tensor: Tensor, dtype: Any) -> Shares:
    """What becomes of the finite elements that are not zero when they are rounded to a dtype."""
    with undisturbed():
        numbers = numbers_of(tensor)
        numbers = numbers[_core.isfinite(numbers) & (numbers != 0)]
        # Saturation would hide what does not fit.
        cast = numbers.to(dtype, overflow="ieee").to(_core.float64)
        small = (cast.abs() < dtype.finfo.smallest_normal) & (cast != 0)
        return Shares(
            numbers.numel(),
            int((~_core.isfinite(cast)).sum()),
            int((cast == 0).sum()),
            int(small.sum()),
        )


@dataclass
class Distance:
    """How far numbers are from those of a reference, where both are finite. `lost` counts those
    that are not finite though the reference is."""

    count: int = 0
    lost: int = 0
    squares: float = 0.0
    reference_squares: float = 0.0
    greatest: float = 0.0
    reference_greatest: float = 0.0
    ulp_squares: float = 0.0
    ulp_greatest: float = 0.0

    @property
    def rms(self) -> float:
        """The root of the mean square, relative to that of the reference; infinite if numbers were
        lost."""
        return math.inf if self.lost else _ratio(math.sqrt(self.squares), math.sqrt(self.reference_squares))

    @property
    def maximum(self) -> float:
        """The greatest difference, relative to the reference's greatest magnitude; infinite if
        numbers were lost."""
        return math.inf if self.lost else _ratio(self.greatest, self.reference_greatest)

    @property
    def ulp_rms(self) -> float:
        """The root of the mean square in units in the last place of the reference, number by number."""
        return math.sqrt(self.ulp_squares / self.count) if self.count else 0.0

    def ulp_in(self, dtype: Any) -> float:
        """The root of the mean square in units in the last place that the reference's root of the mean
        square has in a dtype: numbers near zero do not decide it."""
        if self.lost or not self.count or not self.reference_squares:
            return self.rms
        typical = math.sqrt(self.reference_squares / self.count)
        unit = math.ldexp(dtype.finfo.eps, math.frexp(typical)[1] - 1)
        unit = max(unit, float(dtype.finfo.smallest_subnormal))
        return math.sqrt(self.squares / self.count) / unit

    def add(self, other: Distance) -> Distance:
        """Both together."""
        return Distance(
            self.count + other.count,
            self.lost + other.lost,
            self.squares + other.squares,
            self.reference_squares + other.reference_squares,
            max(self.greatest, other.greatest),
            max(self.reference_greatest, other.reference_greatest),
            self.ulp_squares + other.ulp_squares,
            max(self.ulp_greatest, other.ulp_greatest),
        )

    def data(self) -> dict[str, Any]:
        """The errors, relative and in ulp."""
        return {
            "error_rms": self.rms,
            "error_max": self.maximum,
            "ulp_rms": self.ulp_rms,
            "ulp_max": self.ulp_greatest,
            "lost": self.lost,
        }


def _ratio(difference: float, whole: float) -> float:
    if whole == 0.0:
        return 0.0 if difference == 0.0 else math.inf
    return difference / whole


def ulp_of(numbers: Tensor, dtype: Any) -> Tensor:
    """The unit in the last place that float64 numbers have in a dtype."""
    info = dtype.finfo
    digits = -int(math.log2(info.eps))
    lowest = int(math.log2(info.smallest_normal))
    exponents = _exponents(numbers).clamp(min=lowest) - digits + _BIAS
    # Steps of float64's own subnormals are not normal: the least normal number stands for them.
    return (exponents.clamp(min=1) << _FRACTION).view(_core.float64)


def distance_of(tensor: Tensor, reference: Tensor, dtype: Any) -> Distance:
    """How far a tensor is from a reference of the same shape, in ulp of a float dtype too."""
    if tensor.shape != reference.shape:
        raise ValueError(
            f"audit: shapes differ: {list(tensor.shape)} and {list(reference.shape)}; a model whose results have the same shapes "
            "in both dtypes is accepted"
        )
    with undisturbed():
        numbers, wanted = numbers_of(tensor), numbers_of(reference)
        is_known = _core.isfinite(wanted)
        is_finite = is_known & _core.isfinite(numbers)
        lost = int(is_known.sum()) - int(is_finite.sum())
        numbers, wanted = numbers[is_finite], wanted[is_finite]
        if not wanted.numel():
            return Distance(lost=lost)
        apart = (numbers - wanted).abs()
        in_ulp = apart / ulp_of(wanted, dtype)
        return Distance(
            wanted.numel(),
            lost,
            (apart * apart).sum().item(),
            (wanted * wanted).sum().item(),
            apart.amax().item(),
            wanted.abs().amax().item(),
            (in_ulp * in_ulp).sum().item(),
            in_ulp.amax().item(),
        )


__all__ = [
    "Distance",
    "Range",
    "Shares",
    "distance_of",
    "numbers_of",
    "range_of",
    "shares_of",
    "tensors_in",
    "ulp_of",
    "undisturbed",
]
