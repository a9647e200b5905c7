"""The precision that a model is trained in, from the command line: one argument changes it.

    --dtype float64|float32|bfloat16|float16|float8_e4m3fn   what weights are stored in
    --amp bfloat16|float16     what products compute in (float16 with scaled gradients)
    --optimizer-state DTYPE    what the optimizer keeps its moments in
    --master-weights           the optimizer steps float32 weights and rounds them to the stored ones
    --stochastic-rounding      a step that is too small for the dtype is taken now and then
"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import dataclass, field
from typing import Any

import allotrope as al

# Weights of 8 bits have gradients of 8 bits: these are scaled into the middle of their range.
FLOAT8_SCALE = 256.0


@dataclass(frozen=True)
class Precision:
    """How a model is stored, computed and stepped."""

    dtype: al.dtype = al.float32
    amp: Any = None
    options: dict[str, Any] = field(default_factory=dict)
    device: str = "cpu"

    @property
    def is_narrow(self) -> bool:
        """Whether weights are too narrow to compute with: inputs stay float32."""
        return self.dtype.itemsize == 1

    @property
    def compute_dtype(self) -> Any:
        """What inputs are given in."""
        return al.float32 if self.is_narrow else self.dtype

    def autocast(self) -> Any:
        """The scope that the forward pass runs in."""
        if self.amp is None:
            return contextlib.nullcontext()
        return al.autocast(self.device, self.amp)

    def scaler(self) -> al.amp.GradScaler:
        """A scaler of gradients, which does nothing where they cannot vanish."""
        if self.is_narrow:
            return al.amp.GradScaler(init_scale=FLOAT8_SCALE, growth_interval=2**31)
        is_half = al.float16 in (self.amp, self.dtype)
        return al.amp.GradScaler(enabled=is_half)

    def adamw(self, model: al.nn.Module, lr: float, **options: Any) -> al.optim.AdamW:
        """The optimizer of all examples."""
        return al.optim.AdamW(model.parameters(), lr=lr, **options, **self.options)


def parser(description: str, steps: int) -> argparse.ArgumentParser:
    """The arguments that all examples take."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--dtype", default="float32", help="what weights are stored in")
    arguments.add_argument("--amp", help="what products compute in: bfloat16 or float16")
    arguments.add_argument("--device", default="cpu")
    arguments.add_argument("--steps", type=int, default=steps)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--optimizer-state", help="the dtype of the optimizer's moments")
    arguments.add_argument("--master-weights", action="store_true")
    arguments.add_argument("--stochastic-rounding", action="store_true")
    return arguments


def of(arguments: argparse.Namespace) -> Precision:
    """The precision that arguments ask for."""
    dtype = al.dtype(arguments.dtype)
    options: dict[str, Any] = {}
    if arguments.optimizer_state:
        options["state_dtype"] = al.dtype(arguments.optimizer_state)
    if arguments.master_weights or dtype.itemsize == 1:
        options["master_weights"] = True
    if arguments.stochastic_rounding:
        options["stochastic_rounding"] = True
    amp = al.dtype(arguments.amp) if arguments.amp else None
    return Precision(dtype, amp, options, arguments.device)
