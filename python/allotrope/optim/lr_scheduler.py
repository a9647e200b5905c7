"""Learning-rate schedulers, with torch's names and semantics; the formulas are Rust's.

A scheduler changes `optimizer.param_groups[i]["lr"]` from its last value, so that several can be chained.
"""

from __future__ import annotations

import types
import warnings
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from .. import _core
from .._core import Tensor
from .optimizer import Optimizer

_optim = _core._optim


def _number(value: Any) -> float:
    return float(value.item()) if isinstance(value, Tensor) else value


def _set(group: dict[str, Any], key: str, value: float) -> None:
    """Sets an option; one that is a tensor stays the same tensor."""
    if isinstance(group.get(key), Tensor):
        group[key].fill_(_number(value))
    else:
        group[key] = value


def _all(optimizer: Optimizer, key: str) -> list[Any]:
    """An option of every group; tensors are copied."""
    values = [group[key] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def _each(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for every group."""
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise ValueError(f"lr_scheduler: {name} for {len(value)} groups; there are {groups}")
    return list(value)


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(
            f"lr_scheduler: not an optimizer: {type(optimizer).__name__}; those of al.optim are accepted"
        )


class LRScheduler:
    """What changes learning rates step by step. Classes of your own have a method `get_lr`.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> class Halves(al.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [lr * 0.5 ** self.last_epoch for lr in self.base_lrs]
    >>> scheduler = Halves(optimizer)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _is_initial = False
    # Options of the formula in Rust, by their names.
    _options: tuple[str, ...] = ()
    _formula: str | None = None

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self._check()
        if last_epoch == -1:
            for group in optimizer.param_groups:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
        else:
            for number, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"lr_scheduler: group {number} has no 'initial_lr', which last_epoch >= 0 goes on "
                        "from (hint: optimizer.load_state_dict first)"
                    )
        self.base_lrs = _all(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _check(self) -> None:
        if self._formula is not None:
            _optim.check_schedule(self._formula, self._values())

    def _values(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._options}

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer."""
        return {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("optimizer", "_is_initial")
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step gave."""
        return self._last_lr

    def _rates(self, is_closed: bool) -> list[float]:
        if self._formula is None:
            raise NotImplementedError
        last = [_number(group["lr"]) for group in self.optimizer.param_groups]
        base = [_number(lr) for lr in self.base_lrs]
        return _optim.schedule(
            self._formula,
            self._values(),
            float(self.last_epoch),
            self._is_initial,
            self._step_count == 1,
            last,
            base,
            is_closed,
        )

    def get_lr(self) -> list[Any]:
        """The next rate of each group, from the one it has now."""
        return self._rates(False)

    def step(self, epoch: int | None = None) -> None:
        """Goes one step on; after `optimizer.step()`."""
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "lr_scheduler.step() before optimizer.step(): the first rate is left out "
                "(hint: optimizer.step() first)",
                UserWarning,
                stacklevel=2,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                "lr_scheduler.step(epoch): steps without a number can be chained",
                UserWarning,
                stacklevel=2,
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self.last_epoch += 1
            values = self.get_lr()
        else:
            self.last_epoch = epoch
            closed = getattr(self, "_get_closed_form_lr", None)
            values = closed() if closed is not None else self.get_lr()
        for group, lr in zip(self.optimizer.param_groups, values):
            _set(group, "lr", lr)
        self._last_lr = _all(self.optimizer, "lr")


class _Formula(LRScheduler):
    """A scheduler with one formula, which has a closed form."""

    def _get_closed_form_lr(self) -> list[float]:
        return self._rates(True)


class _ByFunction(LRScheduler):
    """A scheduler by functions, which are saved only if they are objects with attributes."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        _check_optimizer(optimizer)
        self.optimizer = optimizer
        self.lr_lambdas = _each("lr_lambda", optimizer, lr_lambda)
        for function in self.lr_lambdas:
            if not callable(function):
                kind = type(function).__name__
                raise TypeError(f"{type(self).__name__}: not a function: {kind}; functions are accepted")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer and functions without attributes of their own."""
        state = super().state_dict()
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else function.__dict__.copy()
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave; functions stay what they are."""
        state = dict(state_dict)
        saved = state.pop("lr_lambdas")
        self.__dict__.update(state)
        for function, attributes in zip(self.lr_lambdas, saved):
            if attributes is not None:
                function.__dict__.update(attributes)


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
        return _optim.schedule("CosineAnnealingLR", options, at, False, False, base, base, True)

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
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                f"CyclicLR: unknown mode: {mode!r}; accepted are triangular, triangular2, exp_range, or "
                "a scale_fn"
            )
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, base_lrs):
                _set(group, "lr", lr)
        self.max_lrs = _each("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = float(step_size_down) if step_size_down is not None else up
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

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
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)
        super().load_state_dict(state)


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
        return _optim.one_cycle(
            self.last_epoch, self.total_steps, self.pct_start, self.three_phase, is_linear, levels
        )

    def get_lr(self) -> list[Any]:
        """The rates at a step; the momentum is set along."""
        lrs = []
        for group in self.optimizer.param_groups:
            lrs.append(self._at(group["initial_lr"], group["max_lr"], group["min_lr"]))
            if self.cycle_momentum:
                base, highest = group["base_momentum"], group["max_momentum"]
                self._set_momentum(group, self._at(highest, base, highest))
        return lrs


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
        self._plateau()
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

    def _reset(self) -> None:
        """Forgets the best number, and how long ago it was."""
        self.best = self._plateau().worst()
        self.cooldown_counter: float = 0
        self.num_bad_epochs: float = 0

    def is_better(self, a: float, best: float) -> bool:
        """Whether a number is better than the best."""
        return self._plateau().is_better(float(a), float(best))

    @property
    def in_cooldown(self) -> bool:
        """Whether steps are let pass after a change."""
        return self.cooldown_counter > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes note of a number, and shrinks the rates if it is time."""
        plateau = self._plateau()
        if epoch is None:
            epoch = self.last_epoch + 1
        else:
            warnings.warn("lr_scheduler.step(epoch): steps are counted", UserWarning, stacklevel=2)
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
        state = dict(state_dict)
        saved = state.pop("_schedulers")
        self.__dict__.update(state)
        for scheduler, own in zip(self._schedulers, saved):
            scheduler.load_state_dict(own)


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
