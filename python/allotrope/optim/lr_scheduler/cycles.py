"""Schedulers of cycles, which momentum goes through the other way."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from ... import _core
from ..optimizer import Optimizer
from .base import LRScheduler, _check_optimizer, _each, _set

_optim = _core._optim


class _WithMomentum(LRScheduler):
    """A scheduler that moves momentum, too, against the rates."""

    def _begin_momentum(self, base_momentum: Any, max_momentum: Any, last_epoch: int) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{type(self).__name__}: the optimizer has neither momentum nor betas; "
                "cycle_momentum=False is accepted"
            )
        self.use_beta1 = "betas" in defaults
        self.base_momentums = _each("base_momentum", self.optimizer, base_momentum)
        self.max_momentums = _each("max_momentum", self.optimizer, max_momentum)
        if last_epoch != -1:
            return
        triples = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums)
        for group, base, highest in triples:
            self._set_momentum(group, highest)
            group["base_momentum"] = base
            group["max_momentum"] = highest

    def _set_momentum(self, group: dict[str, Any], momentum: float) -> None:
        if self.use_beta1:
            group["betas"] = (momentum, *group["betas"][1:])
        else:
            group["momentum"] = momentum


class CyclicLR(_WithMomentum):
    """Up from one rate to another and down again, in cycles; momentum the other way.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = al.optim.lr_scheduler.CyclicLR(optimizer, 0.25, 1.0, step_size_up=2)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.625]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: Any,
        max_lr: Any,
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = _each("base_lr", optimizer, base_lr)
        self.mode = mode
        self._scale_fn_custom = scale_fn
        self._check()
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                _set(group, "lr", lr)
        self.max_lrs = _each("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.gamma = gamma
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def _check(self) -> None:
        if self.mode not in ("triangular", "triangular2", "exp_range") and self._scale_fn_custom is None:
            raise ValueError(
                f"CyclicLR: unknown mode: {self.mode!r}; accepted are triangular, triangular2, exp_range, "
                "or a scale_fn"
            )

    def get_lr(self) -> list[Any]:
        """The rates at a step; the momentum is set along."""
        up = self.step_ratio * self.total_size
        down = self.total_size - up
        cycle, share, height = _optim.cyclic(self.last_epoch, up, down, self.mode, self.gamma)
        if self._scale_fn_custom is not None:
            at = cycle if self.scale_mode == "cycle" else self.last_epoch
            height = self._scale_fn_custom(at)
        share = share * height
        if self.cycle_momentum:
            triples = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums)
            for group, base, highest in triples:
                self._set_momentum(group, highest - (highest - base) * share)
        return [base + (peak - base) * share for base, peak in zip(self.base_lrs, self.max_lrs)]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and a function without attributes of its own."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        kept = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if kept else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave; a function stays what it is."""
        state = self._check_state(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        self.__dict__.update(state)


class OneCycleLR(_WithMomentum):
    """Up to a rate and down to almost nothing, once; momentum the other way.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
    >>> scheduler = al.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> optimizer.step()
    >>> for _ in range(2):
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: Any,
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("OneCycleLR: no end: total_steps, or epochs and steps_per_epoch accepted")
            for name, given in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
                if not isinstance(given, int) or given <= 0:
                    raise ValueError(f"OneCycleLR: {name}: {given}; integers from 1 on are accepted")
            total_steps = epochs * steps_per_epoch
        if not isinstance(total_steps, int) or total_steps <= 0:
            raise ValueError(f"OneCycleLR: total_steps: {total_steps}; integers from 1 on are accepted")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"OneCycleLR: pct_start: {pct_start}; floats from 0 to 1 are accepted")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: unknown anneal_strategy: {anneal_strategy!r}; accepted are cos, linear"
            )
        self.total_steps = total_steps
        self.pct_start = pct_start
        self.three_phase = bool(three_phase)
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for group, peak in zip(optimizer.param_groups, _each("max_lr", optimizer, max_lr)):
                group["initial_lr"] = peak / div_factor
                group["max_lr"] = peak
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _at(self, *levels: float) -> float:
        is_linear = self._anneal_func_type == "linear"
        found: float = _optim.one_cycle(
            self.last_epoch, self.total_steps, self.pct_start, self.three_phase, is_linear, levels
        )
        return found

    def get_lr(self) -> list[Any]:
        """The rates at a step; the momentum is set along."""
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._at(group["initial_lr"], group["max_lr"], group["min_lr"]))
            if self.cycle_momentum:
                base, highest = group["base_momentum"], group["max_momentum"]
                self._set_momentum(group, self._at(highest, base, highest))
        return lrs
