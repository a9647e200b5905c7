"""Averages of a model's parameters over time: of all steps (SWA), or with more weight on the last ones
(EMA).

A model is anything with torch's `parameters()`, `buffers()` and, for `update_bn`, `modules()`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from itertools import chain
from typing import Any

from .. import _core
from .. import nn as _nn
from .._core import Tensor
from ..autograd import no_grad
from .lr_scheduler.base import LRScheduler, _each, _number
from .optimizer import Optimizer

_optim = _core._optim


def _moved(average: Tensor, value: Tensor, share: float) -> Tensor:
    """An average on its way to a value; narrow floats go there in float32 and are rounded once."""
    dtype = average.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        moved = average.to(_core.float64) + (value.to(_core.float64) - average) * share
        return moved.to(dtype)
    wide = _core.float32 if dtype.itemsize < 4 else dtype
    return _core.lerp(average.to(wide), value.to(wide), share).to(dtype)


def _write(pairs: list[tuple[Tensor, Tensor]]) -> None:
    """Gives tensors other values, or none of them."""
    _core._write_all([target for target, _ in pairs], [value for _, value in pairs])


def _check_decay(decay: float) -> None:
    if not 0.0 <= decay <= 1.0:
        raise ValueError(f"swa_utils: decay: {decay}; numbers from 0 to 1 are accepted")


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable[[Any, Any, Any], None]:
    """A function that moves averages by `1 - decay` of the way to the values.

    >>> average = al.zeros(1)
    >>> al.optim.swa_utils.get_ema_multi_avg_fn(0.75)([average], [al.ones(1)], 1)
    >>> average
    tensor([0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def update(averages: Any, values: Any, num_averaged: Any) -> None:
        pairs = [(average, _moved(average, value, 1 - decay)) for average, value in zip(averages, values)]
        _write(pairs)

    found: Callable[[Any, Any, Any], None] = update
    return found


def get_swa_multi_avg_fn() -> Callable[[Any, Any, Any], None]:
    """A function that keeps the mean of all values so far.

    >>> average = al.zeros(1)
    >>> al.optim.swa_utils.get_swa_multi_avg_fn()([average], [al.ones(1)], 1)
    >>> average
    tensor([0.5000])
    """

    @no_grad()
    def update(averages: Any, values: Any, num_averaged: Any) -> None:
        share = 1 / (_number(num_averaged) + 1)
        _write([(average, _moved(average, value, share)) for average, value in zip(averages, values)])

    found: Callable[[Any, Any, Any], None] = update
    return found


def get_ema_avg_fn(decay: float = 0.999) -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function of an average and a value: `decay` of the one and the rest of the other.

    >>> al.optim.swa_utils.get_ema_avg_fn(0.75)(al.zeros(1), al.ones(1), 1)
    tensor([0.2500])
    """
    _check_decay(decay)

    @no_grad()
    def update(average: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        return _moved(average, value, 1 - decay)

    found: Callable[[Tensor, Tensor, Any], Tensor] = update
    return found


def get_swa_avg_fn() -> Callable[[Tensor, Tensor, Any], Tensor]:
    """A function of an average and a value: the mean with one more value in it.

    >>> al.optim.swa_utils.get_swa_avg_fn()(al.zeros(1), al.ones(1), 3)
    tensor([0.2500])
    """

    @no_grad()
    def update(average: Tensor, value: Tensor, num_averaged: Any) -> Tensor:
        return _moved(average, value, 1 / (_number(num_averaged) + 1))

    found: Callable[[Tensor, Tensor, Any], Tensor] = update
    return found


class AveragedModel(_nn.Module):
    """A model whose parameters are averages of another one's.

    >>> class Model:
    ...     def __init__(self):
    ...         self.weight = al.zeros(1)
    ...     def parameters(self):
    ...         return iter([self.weight])
    ...     def buffers(self):
    ...         return iter([])
    >>> model = Model()
    >>> average = al.optim.swa_utils.AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = model.weight.fill_(value)
    ...     average.update_parameters(model)
    >>> average.module.weight
    tensor([2.])
    """

    def __init__(
        self,
        model: Any,
        device: Any = None,
        avg_fn: Callable[[Tensor, Tensor, Any], Tensor] | None = None,
        multi_avg_fn: Callable[[Any, Any, Any], None] | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: avg_fn and multi_avg_fn; one of them is accepted")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _core.tensor(0, dtype=_core.int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **options: Any) -> Any:
        """What the model of averages gives."""
        return self.module(*args, **options)

    def _averaged(self, model: Any) -> Iterator[Tensor]:
        if self.use_buffers:
            return chain(model.parameters(), model.buffers())
        return iter(model.parameters())

    @no_grad()
    def update_parameters(self, model: Any) -> None:
        """Takes the parameters of a model into the averages; its buffers are copied, if they are not
        averaged too.

        >>> layer = al.nn.Linear(1, 1)
        >>> averaged = al.optim.swa_utils.AveragedModel(layer)
        >>> for value in (1.0, 3.0):
        ...     weight = al.nn.init.constant_(layer.weight, value)
        ...     averaged.update_parameters(layer)
        >>> averaged.module.weight.item()
        2.0
        """
        averages = [average.detach() for average in self._averaged(self.module)]
        values = [value.detach() for value in self._averaged(model)]
        # All at once: a lack of memory leaves everything as it was.
        pairs = [(self.n_averaged, self.n_averaged + 1)]
        if not self.use_buffers:
            both = zip(self.module.buffers(), model.buffers())
            pairs += [(own.detach(), value.detach()) for own, value in both]
        if int(self.n_averaged.item()) == 0:
            pairs += zip(averages, values)
        elif self.avg_fn is not None:
            both = zip(averages, values)
            pairs += [(one, self.avg_fn(one, value, self.n_averaged)) for one, value in both]
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(averages, values, self.n_averaged)
        _write(pairs)


@no_grad()
def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Computes the running statistics of a model's batch normalisation anew, from all batches of a
    loader.

    >>> class Model:
    ...     training = True
    ...     def modules(self):
    ...         return [self]
    >>> al.optim.swa_utils.update_bn([], Model())
    """
    momenta = {}
    for module in model.modules():
        if hasattr(module, "running_mean") and hasattr(module, "reset_running_stats"):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        # The mean of all batches instead of a moving one.
        module.momentum = None
    try:
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
    finally:
        for module, momentum in momenta.items():
            module.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """To a rate for averaging in `anneal_epochs` steps, where it stays.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = al.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=1)
    >>> optimizer.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: unknown anneal_strategy: {anneal_strategy!r}; accepted are cos, linear"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"SWALR: anneal_epochs: {anneal_epochs}; integers from 0 on are accepted")
        for group, lr in zip(optimizer.param_groups, _each("swa_lr", optimizer, swa_lr)):
            group["swa_lr"] = lr
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Any]:
        """The next rate of each group, from the one it has now."""
        is_linear = self._anneal_strategy == "linear"
        step = self._step_count - 1
        return [
            _optim.swa_rate(step, self.anneal_epochs, is_linear, _number(group["lr"]), group["swa_lr"])
            for group in self.optimizer.param_groups
        ]


__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
