"""The precision that a model is trained in, from the command line: one argument changes it.

    --dtype float64|float32|bfloat16|float16|float8_e4m3fn   what weights are stored in
    --amp bfloat16|float16     what products compute in (float16 with scaled gradients)
    --optimizer-state DTYPE    what the optimizer keeps its moments in
    --master-weights           the optimizer steps float32 weights and rounds them to the stored ones
    --stochastic-rounding      a step that is too small for the dtype is taken now and then

They make a plan (`al.plan`) of one line, which all examples take.
"""

from __future__ import annotations

import argparse
from typing import Any

import allotrope as al
from allotrope.nn.plan import Plan

# Weights of 8 bits have gradients of 8 bits: these are scaled into the middle of their range.
FLOAT8_SCALE = 256.0


def of_all(dtype: Any = "float32", compute: Any = None, device: str = "cpu", **more: Any) -> Plan:
    """A plan for all modules: weights of 8 bits are too narrow to compute with."""
    store = al.dtype(dtype)
    compute = compute or (al.float32 if store.itemsize == 1 else store)
    return al.plan({"*": {"store": store, "compute": compute, "device": device, **more}})


def inputs_dtype(plan: Plan) -> al.dtype:
    """What images are given in."""
    line = plan.of("")
    dtype: al.dtype = max(line["store"], line["compute"], key=lambda dtype: dtype.bits)
    return dtype


def scaler(plan: Plan) -> al.amp.GradScaler:
    """A scaler of gradients, which does nothing where they cannot vanish."""
    line = plan.of("")
    if line["store"].itemsize == 1:
        return al.amp.GradScaler(init_scale=FLOAT8_SCALE, growth_interval=2**31)
    return al.amp.GradScaler(enabled=al.float16 in (line["compute"], line["store"]))


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


def of(arguments: argparse.Namespace) -> Plan:
    """The plan that arguments ask for."""
    more: dict[str, Any] = {}
    if arguments.optimizer_state:
        more["state"] = arguments.optimizer_state
    if arguments.master_weights or al.dtype(arguments.dtype).itemsize == 1:
        more["master"] = "float64" if more.get("state") == "float64" else "float32"
    if arguments.stochastic_rounding:
        more["rounding"] = "stochastic"
    return of_all(arguments.dtype, arguments.amp, arguments.device, **more)
