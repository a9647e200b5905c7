"""Gradients, as torch.autograd: what is recorded, the walk back, functions of one's own."""

from . import forward_ad, functional, graph
from .check import gradcheck, gradgradcheck
from .checkpoint import checkpoint
from .engine import backward, grad
from .function import Function, FunctionCtx, once_differentiable
from .mode import (
    detect_anomaly,
    enable_grad,
    inference_mode,
    is_anomaly_enabled,
    no_grad,
    set_detect_anomaly,
    set_grad_enabled,
)

__all__ = [
    "Function",
    "FunctionCtx",
    "backward",
    "checkpoint",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "functional",
    "grad",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "is_anomaly_enabled",
    "no_grad",
    "once_differentiable",
    "set_detect_anomaly",
    "set_grad_enabled",
]
