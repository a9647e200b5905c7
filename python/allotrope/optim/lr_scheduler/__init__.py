"""Learning-rate schedulers, with torch's names and semantics; the formulas are Rust's.

A scheduler changes `optimizer.param_groups[i]["lr"]` from its last value, so that several can be chained.
"""

from .base import LRScheduler
from .cycles import CyclicLR, OneCycleLR
from .formulas import (
    ConstantLR,
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .together import ChainedScheduler, ReduceLROnPlateau, SequentialLR

_LRScheduler = LRScheduler  # torch's older name

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
