"""What all schedulers have in common: steps, and what is saved of them."""

from __future__ import annotations

import copy
import math
import types
from collections import Counter
from typing import Any

from ... import _core
from ..._accepted import LARGEST, check_choice, check_integer, check_keys, check_like, check_list
from ..._accepted import check_number, is_of_package
from ..._core import Tensor
from ..optimizer import Optimizer

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


#: What torch's schedulers save beside, and nothing here depends on.
_OF_TORCH = ("_get_lr_called_within_step", "_is_initial", "_schedule_phases", "mode_worse", "verbose")
#: More steps than are counted one by one.
_MOST_MILESTONES = 10**6

_COUNT, _RATE = (0, LARGEST), (0.0, math.inf)
#: The bounds of what schedulers remember: of ints where both are some, else of numbers, or of all in a
#: list. What has none is only of the kind that it takes the place of.
_BOUNDS: dict[str, tuple[float, float]] = {
    "last_epoch": (-1.0, LARGEST),
    "_step_count": _COUNT,
    "num_bad_epochs": _COUNT,
    "cooldown_counter": _COUNT,
    "anneal_epochs": _COUNT,
    "T_0": (1, LARGEST),
    "T_mult": (1, LARGEST),
    "T_i": (1.0, LARGEST),
    "T_cur": (-1.0, LARGEST),
    "total_steps": (1, LARGEST),
    "total_size": (5e-324, LARGEST),
    "step_ratio": (0.0, 1.0),
    "pct_start": (0.0, 1.0),
    "_milestones": _COUNT,
    "base_lrs": _RATE,
    "_last_lr": _RATE,
    "max_lrs": _RATE,
    "min_lrs": _RATE,
    "default_min_lr": _RATE,
    "best": (-math.inf, math.inf),
}
_CHOICES: dict[str, tuple[Any, ...]] = {
    "_anneal_func_type": ("cos", "linear"),
    "_anneal_strategy": ("cos", "linear"),
    "scale_mode": ("cycle", "iterations"),
    # These are of the optimizer, and what is there to be moved.
    "cycle_momentum": (),
    "use_beta1": (),
}


def _check_bounds(op: str, name: str, value: Any, mine: Any) -> None:
    if isinstance(mine, (list, tuple)):
        for place, one in enumerate(check_list(op, name, value, len(mine))):
            _check_bound(op, name, f"{name}[{place}]", one)
    elif name != "default_min_lr" or value is not None:
        _check_bound(op, name, name, value)


def _check_bound(op: str, name: str, shown: str, value: Any) -> None:
    least, most = _BOUNDS[name]
    if isinstance(least, int) and isinstance(most, int):
        check_integer(op, shown, value, least, most)
    else:
        check_number(op, shown, value, least, most)


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
        """Everything but the optimizer.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.8)
        >>> al.optim.lr_scheduler.StepLR(optimizer, 1).state_dict()["last_epoch"]
        0
        """
        return {
            key: value
            for key, value in self.__dict__.items()
            if key not in ("optimizer", "_is_initial")
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes on from what `state_dict` gave.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.8)
        >>> scheduler = al.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        >>> state = scheduler.state_dict()
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.load_state_dict(state)
        >>> scheduler.last_epoch
        0
        """
        self.__dict__.update(self._check_state(state_dict))

    def _check_state(self, state_dict: Any) -> dict[str, Any]:
        """Refuses what this scheduler cannot go on from."""
        op = f"{type(self).__name__}.load_state_dict"
        mine = self.state_dict()
        # A class of somebody else's says itself what it saves, and may have less of it now.
        is_ours = is_of_package(self)
        given = check_keys(op, state_dict, mine if is_ours else (), _OF_TORCH if is_ours else None)
        state = {name: value for name, value in given.items() if name not in _OF_TORCH}
        for name, value in state.items():
            if name in _CHOICES and name in mine:
                check_choice(op, name, value, _CHOICES[name] or (mine[name],))
            elif name in _BOUNDS and name in mine:
                _check_bounds(op, name, value, mine[name])
            elif name in mine:
                check_like(op, name, value, mine[name])
        if isinstance(mine.get("milestones"), Counter) and "milestones" in state:
            for step, count in state["milestones"].items():
                check_integer(op, "milestones", step)
                check_integer(op, "milestones", count, 0, _MOST_MILESTONES)
            state["milestones"] = Counter(state["milestones"])
        trial = copy.copy(self)
        trial.__dict__.update(state)
        trial._check()
        return state

    def get_last_lr(self) -> list[Any]:
        """The rates that the last step gave.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.8)
        >>> al.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5).get_last_lr()
        [0.8]
        """
        return self._last_lr

    def _rates(self, is_closed: bool) -> list[float]:
        if self._formula is None:
            raise NotImplementedError
        last = [_number(group["lr"]) for group in self.optimizer.param_groups]
        base = [_number(lr) for lr in self.base_lrs]
        found: list[float] = _optim.schedule(
            self._formula,
            self._values(),
            float(self.last_epoch),
            self._is_initial,
            self._step_count == 1,
            last,
            base,
            is_closed,
        )
        return found

    def get_lr(self) -> list[Any]:
        """The next rate of each group, from the one it has now.

        >>> class Linear(al.optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [rate * (self.last_epoch + 1) for rate in self.base_lrs]
        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.5)
        >>> scheduler = Linear(optimizer)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [1.0]
        """
        return self._rates(False)

    def step(self, epoch: int | None = None) -> None:
        """Goes one step on; after `optimizer.step()`.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)], lr=0.8)
        >>> scheduler = al.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
        >>> optimizer.step()
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.4]
        """
        if self._step_count == 1 and not getattr(self.optimizer, "_opt_called", False):
            _core._warn(
                "lr_scheduler.step() before optimizer.step(): the first rate is left out "
                "(hint: optimizer.step() first)",
                UserWarning,
            )
        self._step_count += 1
        if epoch is not None:
            _core._warn(
                "lr_scheduler.step(epoch): steps without a number can be chained",
                UserWarning,
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
        state = self._check_state(state_dict)
        saved = state.pop("lr_lambdas", [None] * len(self.lr_lambdas))
        self.__dict__.update(state)
        for function, attributes in zip(self.lr_lambdas, saved):
            if attributes is not None:
                function.__dict__.update(attributes)
