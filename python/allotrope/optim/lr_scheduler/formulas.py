"""Schedulers with one formula, which is Rust's, or a function of the user's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from ... import _core
from ..optimizer import Optimizer
from .base import LRScheduler, _all, _ByFunction, _Formula, _number, _set

_optim = _core._optim


class LambdaLR(_ByFunction):
    """The first rate times a function of the step.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=0.5)
    >>> scheduler = al.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5 ** epoch)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[Any]:
        """The first rates times what the functions give."""
        pairs = zip(self.lr_lambdas, self.base_lrs)
        return [base * function(self.last_epoch) for function, base in pairs]


class MultiplicativeLR(_ByFunction):
    """The last rate times a function of the step.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=0.5)
    >>> scheduler = al.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def get_lr(self) -> list[Any]:
        """The last rates times what the functions give."""
        last = _all(self.optimizer, "lr")
        if self._is_initial:
            return last
        return [lr * function(self.last_epoch) for function, lr in zip(self.lr_lambdas, last)]


class StepLR(_Formula):
    """Times `gamma` every `step_size` steps.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    _formula = "StepLR"
    _options = ("step_size", "gamma")

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)


class MultiStepLR(_Formula):
    """Times `gamma` at each of some steps.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
    >>> for _ in range(3):
    ...     optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    _formula = "MultiStepLR"

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _values(self) -> dict[str, Any]:
        return {"milestones": sorted(self.milestones.elements()), "gamma": self.gamma}


class ConstantLR(_Formula):
    """Times `factor` until `total_iters`.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> al.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
    [0.5]
    """

    _formula = "ConstantLR"
    _options = ("factor", "total_iters")

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)


class LinearLR(_Formula):
    """Times a factor that goes from one number to another in `total_iters` steps.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    _formula = "LinearLR"
    _options = ("start_factor", "end_factor", "total_iters")

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)


class ExponentialLR(_Formula):
    """Times `gamma` every step.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _formula = "ExponentialLR"
    _options = ("gamma",)

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)


class PolynomialLR(_Formula):
    """To zero in `total_iters` steps, by a power of what is left of them.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    _formula = "PolynomialLR"
    _options = ("total_iters", "power")

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)


class CosineAnnealingLR(_Formula):
    """Down to `eta_min` and up again along a cosine, `T_max` steps each way.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _formula = "CosineAnnealingLR"
    _options = ("T_max", "eta_min")

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down along a cosine, and back to the first rate after `T_0` steps, then after `T_mult` times as
    many.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> optimizer.step()
    >>> for _ in range(2):
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        name = "CosineAnnealingWarmRestarts"
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"{name}: T_0: {T_0}; integers from 1 on are accepted")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"{name}: T_mult: {T_mult}; integers from 1 on are accepted")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"{name}: eta_min: {eta_min!r}; numbers are accepted")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The rates at the steps since the last restart."""
        options = {"T_max": self.T_i, "eta_min": self.eta_min}
        base = [_number(lr) for lr in self.base_lrs]
        at = float(self.T_cur)
        found: list[Any] = _optim.schedule("CosineAnnealingLR", options, at, False, False, base, base, True)
        return found

    def step(self, epoch: float | None = None) -> None:
        """Goes one step on, or to a time, which may be between steps."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur, self.T_i = _optim.restart_after(self.T_cur, self.T_i, self.T_mult)
        elif epoch < 0:
            raise ValueError(f"CosineAnnealingWarmRestarts: epoch: {epoch}; 0 and above is accepted")
        else:
            self.T_cur, self.T_i = _optim.restart_at(epoch, self.T_0, self.T_mult)
        self._step_count += 1
        self.last_epoch = int(epoch // 1)
        for group, lr in zip(self.optimizer.param_groups, self.get_lr()):
            _set(group, "lr", lr)
        self._last_lr = _all(self.optimizer, "lr")
