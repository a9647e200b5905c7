"""Optimizers and learning-rate schedulers, with torch's names.

>>> x = al.tensor([3.0], requires_grad=True)
>>> optimizer = al.optim.AdamW([x], lr=0.1)
>>> scheduler = al.optim.lr_scheduler.StepLR(optimizer, step_size=10)
>>> for _ in range(20):
...     optimizer.zero_grad()
...     (x * x).sum().backward()
...     optimizer.step()
...     scheduler.step()
>>> scheduler.get_last_lr()
[0.0010000000000000002]
"""

from . import lr_scheduler, swa_utils
from .algorithms import (
    ASGD,
    Adadelta,
    Adafactor,
    Adagrad,
    Adam,
    Adamax,
    AdamW,
    Lion,
    Muon,
    NAdam,
    RAdam,
    RMSprop,
    Rprop,
    SGD,
)
from .lbfgs import LBFGS
from .optimizer import Optimizer

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "lr_scheduler",
    "swa_utils",
]
