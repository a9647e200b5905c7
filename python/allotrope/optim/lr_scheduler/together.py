"""Schedulers that go by a number, and several of them together."""

from __future__ import annotations

import copy
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ... import _core
from ..optimizer import Optimizer
from .base import LRScheduler, _all, _check_optimizer, _each, _number, _set

_optim = _core._optim


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a number has not got better for more than `patience` steps.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in (3.0, 3.0, 3.0):
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.eps = eps
        self._check()
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.min_lrs = _each("min_lr", optimizer, min_lr)
        self.last_epoch = 0
        self._last_lr = _all(optimizer, "lr")
        self._reset()

    def _plateau(self) -> Any:
        return _optim.Plateau(
            self.mode,
            self.factor,
            self.patience,
            self.threshold,
            self.threshold_mode,
            self.cooldown,
            self.eps,
        )

    def _check(self) -> None:
        self._plateau()

    def _reset(self) -> None:
        """Forgets the best number, and how long ago it was."""
        self.best = self._plateau().worst()
        self.cooldown_counter: float = 0
        self.num_bad_epochs: float = 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a number is better than the best.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.8)
        >>> al.optim.lr_scheduler.ReduceLROnPlateau(optimizer).is_better(0.5, 1.0)
        True
        """
        found: bool = self._plateau().is_better(float(a), float(best))
        return found

    @property
    def in_cooldown(self) -> bool:
        """Whether steps are let pass after a change.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.8)
        >>> al.optim.lr_scheduler.ReduceLROnPlateau(optimizer).in_cooldown
        False
        """
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes note of a number, and shrinks the rates if it is time."""
        plateau = self._plateau()
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            _core._warn("lr_scheduler.step(epoch): steps are counted", UserWarning)
        self.last_epoch = epoch
        best, bad, cooldown, reduces = plateau.note(
            float(metrics), self.best, self.num_bad_epochs, self.cooldown_counter
        )
        self.best, self.num_bad_epochs, self.cooldown_counter = best, int(bad), int(cooldown)
        if reduces:
            if len(self.min_lrs) != len(self.optimizer.param_groups):
                if self.default_min_lr is None:
                    raise RuntimeError(
                        f"ReduceLROnPlateau: {len(self.min_lrs)} least rates for "
                        f"{len(self.optimizer.param_groups)} groups; one number, or one for each accepted"
                    )
                self.min_lrs = _each("min_lr", self.optimizer, self.default_min_lr)
            for group, least in zip(self.optimizer.param_groups, self.min_lrs):
                _set(group, "lr", plateau.reduced(_number(group["lr"]), least))
        self._last_lr = _all(self.optimizer, "lr")


def _check_together(name: str, optimizer: Any, schedulers: Sequence[Any]) -> None:
    if len(schedulers) < 1:
        raise ValueError(f"{name}: no schedulers; at least one is needed")
    for number, scheduler in enumerate(schedulers):
        if not hasattr(scheduler, "optimizer"):
            raise TypeError(f"{name}: number {number} has no optimizer; schedulers are accepted")
        if isinstance(scheduler, ReduceLROnPlateau):
            raise ValueError(f"{name}: number {number} is a ReduceLROnPlateau, which needs a number a step")
        if scheduler.optimizer is not optimizer:
            raise ValueError(f"{name}: number {number} has another optimizer; one for all is accepted")


class _Together(LRScheduler):
    """Several schedulers, which are saved with theirs."""

    _schedulers: Sequence[Any]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave."""
        state = self._check_state(state_dict)
        saved = state.pop("_schedulers", [])
        before = [copy.deepcopy(scheduler.state_dict()) for scheduler in self._schedulers]
        try:
            for scheduler, own in zip(self._schedulers, saved):
                scheduler.load_state_dict(own)
        except BaseException:
            # One of somebody else's may refuse what nobody here can check.
            for scheduler, own in zip(self._schedulers, before):
                scheduler.load_state_dict(own)
            raise
        self.__dict__.update(state)

    def _check_state(self, state_dict: Any) -> dict[str, Any]:
        state = super()._check_state(state_dict)
        for scheduler, own in zip(self._schedulers, state.get("_schedulers", [])):
            check = getattr(scheduler, "_check_state", None)
            if callable(check):
                check(own)
        return state


class SequentialLR(_Together):
    """Schedulers one after the other, each from a milestone on.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> first = al.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
    >>> second = al.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    >>> scheduler = al.optim.lr_scheduler.SequentialLR(optimizer, [first, second], milestones=[2])
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[Any],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        _check_together("SequentialLR", optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(milestones)} milestones for {len(schedulers)} schedulers; one fewer "
                "is accepted"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # What the schedulers did when they were made is undone, and the first one begins.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        self._undo(self)
        place = bisect_right(milestones, 0)
        schedulers[place]._initial_step()
        self._last_lr = schedulers[place].get_last_lr()

    def _undo(self, scheduler: Any) -> None:
        if hasattr(scheduler, "_schedulers"):
            for own in scheduler._schedulers:
                self._undo(own)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def _initial_step(self) -> None:
        self._schedulers[bisect_right(self._milestones, 0)]._initial_step()

    def step(self, epoch: int | None = None) -> None:
        """Goes one step on."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Together):
    """Schedulers all at once, each on what the one before left.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> both = [al.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5) for _ in range(2)]
    >>> scheduler = al.optim.lr_scheduler.ChainedScheduler(both)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[Any], optimizer: Optimizer | None = None) -> None:
        if len(schedulers) < 1:
            raise ValueError("ChainedScheduler: no schedulers; at least one is needed")
        optimizer = optimizer or schedulers[0].optimizer
        _check_together("ChainedScheduler", optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = _all(optimizer, "lr")

    def step(self, epoch: int | None = None) -> None:
        """Goes one step on."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _all(self.optimizer, "lr")
