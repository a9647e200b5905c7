"""Mixed precision, as torch.amp: operations choose the precision they compute in, and gradients
of half precision are kept from vanishing."""

from __future__ import annotations

import functools
import inspect
import reprlib
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from ._accepted import MOST, check_integer, check_keys, check_number
from ._core import Tensor, _amp, _check_device_name, _require_device, float64
from ._core import dtype as _Dtype
from ._pytree import tree_map
from .scope import Scope


def _check_device_type(device_type: str | None) -> None:
    """Refuses what is not the name of a device. There is one setting for all of them."""
    if device_type is not None:
        _check_device_name(device_type)


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """Whether operations of this thread or task are cast, on every device alike.

    >>> with al.autocast("cpu"):
    ...     al.is_autocast_enabled("cpu")
    True
    """
    _check_device_type(device_type)
    found: bool = _amp.is_autocast_enabled()
    return found


def get_autocast_dtype(device_type: str | None = None) -> _Dtype:
    """The dtype that autocast of this thread or task computes in, on every device alike.

    >>> al.get_autocast_dtype("cpu")
    allotrope.bfloat16
    """
    _check_device_type(device_type)
    found: _Dtype = _amp.get_autocast_dtype()
    return found


def _of_all(op: str, device_type: Any, value: Any) -> Any:
    """The value of a setter that takes a value, or a device and a value."""
    if value is None:
        return device_type
    if not isinstance(device_type, str):
        raise TypeError(f"{op}: not a device: {reprlib.repr(device_type)}; names such as 'cpu' are accepted")
    _check_device_name(device_type)
    return value


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Turns autocast on or off for the whole program, but for blocks with a setting of their own:
    `set_autocast_enabled(enabled)`, or torch's form with a device first, which changes it for all.

    >>> al.set_autocast_enabled("cpu", False)
    """
    _amp.set_autocast_enabled(_of_all("set_autocast_enabled", device_type, enabled))


def set_autocast_dtype(device_type: Any, dtype: Any = None) -> None:
    """Sets the dtype that autocast of the whole program computes in: `set_autocast_dtype(dtype)`, or
    torch's form with a device first, which changes it for all.

    >>> al.set_autocast_dtype("cpu", al.bfloat16)
    """
    _amp.set_autocast_dtype(_of_all("set_autocast_dtype", device_type, dtype))


_WAITING = inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


def _caller_that_waits() -> Any:
    """The frame that opens a block, if it is one of a generator.

    Such a frame is left in the middle of a block whenever it waits: then the block's setting must
    not hold for whoever goes on. Coroutines wait together with their task, which has its own settings.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("allotrope."):
        frame = frame.f_back
    if frame is not None and frame.f_code.co_flags & _WAITING:
        return frame
    return None


class _Setting(Scope):
    """A setting of autocast for a block or a function."""

    def _settings(self) -> dict[str, Any]:
        raise NotImplementedError

    def _enter(self) -> int:
        found: int = _amp.enter(**self._settings(), frame=_caller_that_waits())
        return found


class autocast(_Setting):  # noqa: N801 - torch's name
    """Matrix products and convolutions compute in half precision, functions that need it in
    float32, for a block or a function. float64, integers and complex numbers stay what they are.

    Without a dtype it is that of `get_autocast_dtype`: bfloat16 on every device, at first.

    >>> x = al.ones(2, 2)
    >>> with al.autocast("cpu", al.bfloat16):
    ...     y = x @ x
    >>> y.dtype
    allotrope.bfloat16
    """

    def __init__(
        self,
        device_type: Any = "cpu",
        dtype: Any = None,
        enabled: bool = True,
        cache_enabled: bool | None = None,
    ) -> None:
        if not isinstance(device_type, str):
            raise TypeError(
                f"autocast: not a device: {reprlib.repr(device_type)}; names such as 'cpu' are accepted"
            )
        if enabled:
            _require_device("autocast", device_type)
        else:
            # What is off may be meant for another machine.
            _check_device_name(device_type)
        self.device = device_type
        self.dtype = dtype
        self.enabled = bool(enabled)
        self.cache_enabled = cache_enabled

    def _settings(self) -> dict[str, Any]:
        return {
            "enabled": self.enabled,
            "dtype": self.dtype,
            "cache_enabled": self.cache_enabled,
        }


class policy(_Setting, Mapping[str, str]):  # noqa: N801 - a question and an answer
    """What autocast does with each operation, and, given operations, another answer for a block.

    >>> al.amp.policy()["matmul"]
    'lower'
    >>> with al.amp.policy(matmul="float32"):
    ...     al.amp.policy()["matmul"]
    'float32'
    """

    def __init__(self, overrides: Mapping[str, str] | None = None, **operations: str) -> None:
        self._overrides = {**(overrides or {}), **operations}
        # Wrong names are refused here, not where the block begins.
        _amp.check_overrides(self._overrides)
        self._all = {**_amp.policies(), **self._overrides}

    def _settings(self) -> dict[str, Any]:
        return {"overrides": self._overrides}

    def __getitem__(self, name: str) -> str:
        found: str = self._all[name]
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __repr__(self) -> str:
        lines = []
        for kind in ("lower", "float32", "widest", "keep"):
            names = sorted(name for name, answer in self._all.items() if answer == kind)
            lines.append(f"{kind:8} {' '.join(names)}")
        return "\n".join(lines)


class GradScaler:
    """Scales losses up and gradients back, and skips steps whose gradients overflowed.

    >>> x = al.ones(2, requires_grad=True)
    >>> scaler = al.amp.GradScaler()
    >>> scaler.scale(x.sum()).backward()
    >>> x.grad
    tensor([65536., 65536.])
    """

    def __init__(
        self,
        device: str = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and growth_factor <= 1.0:
            raise ValueError(f"GradScaler: growth_factor: {growth_factor}; above 1 is accepted")
        if enabled and not 0.0 < backoff_factor < 1.0:
            raise ValueError(
                f"GradScaler: backoff_factor: {backoff_factor}; between 0 and 1 is accepted"
            )
        self._device = device
        self._enabled = bool(enabled)
        self._core = _amp.ScalerCore(
            init_scale, growth_factor, backoff_factor, growth_interval, self._enabled
        )
        self._overflowed: dict[str, Any] | None = None

    def is_enabled(self) -> bool:
        """Whether anything is scaled.

        >>> al.amp.GradScaler(enabled=False).is_enabled()
        False
        """
        return self._enabled

    def scale(self, outputs: Any) -> Any:
        """A loss, or several in lists and tuples, times the scale.

        >>> al.amp.GradScaler(init_scale=8.0).scale(al.tensor(0.5))
        tensor(4.)
        """
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return self._core.scale(outputs)
        if isinstance(outputs, (list, tuple)):
            return type(outputs)(self.scale(output) for output in outputs)
        raise TypeError(f"scale: not a tensor: {outputs!r}; tensors, lists and tuples accepted")

    @staticmethod
    def _parameters(optimizer: Any) -> list[tuple[int, int, Tensor]]:
        return [
            (group, place, parameter)
            for group, settings in enumerate(optimizer.param_groups)
            for place, parameter in enumerate(settings["params"])
        ]

    def unscale_(self, optimizer: Any) -> None:
        """Divides the gradients of an optimizer's parameters by the scale, in place, so that they
        can be looked at or clipped before the step. Once between two updates.

        >>> w = al.zeros(1, requires_grad=True)
        >>> optimizer = al.optim.SGD([w], lr=1.0)
        >>> scaler = al.amp.GradScaler()
        >>> scaler.scale((2 * w).sum()).backward()
        >>> scaler.unscale_(optimizer)
        >>> w.grad
        tensor([2.])
        """
        if self._enabled:
            parameters = [parameter for _, _, parameter in self._parameters(optimizer)]
            self._core.unscale(id(optimizer), parameters)

    def step(self, optimizer: Any, *args: Any, **options: Any) -> Any:
        """Takes a step of the optimizer, unless a gradient overflowed; what it gives, or None.

        >>> w = al.zeros(1, requires_grad=True)
        >>> optimizer = al.optim.SGD([w], lr=1.0)
        >>> scaler = al.amp.GradScaler()
        >>> scaler.scale((2 * w).sum()).backward()
        >>> scaler.step(optimizer)
        >>> w.detach()
        tensor([-2.])
        """
        if not self._enabled:
            return optimizer.step(*args, **options)
        if "closure" in options:
            raise RuntimeError("step: a closure cannot be used with a scaler")
        parameters = self._parameters(optimizer)
        tensors = [parameter for _, _, parameter in parameters]
        if self._core.may_step(id(optimizer), tensors):
            return optimizer.step(*args, **options)
        group, place, parameter = parameters[self._core.report()[2]]
        self._overflowed = {
            "group": group,
            "index": place,
            "shape": parameter.shape,
            "dtype": parameter.dtype,
            "scale": self._core.get_scale(),
        }
        names = optimizer.param_groups[group].get("param_names")
        if names is not None:
            self._overflowed["name"] = names[place]
        return None

    def update(self, new_scale: Any = None) -> None:
        """Shrinks the scale after an overflow and grows it after an interval without; or sets it.

        >>> w = al.zeros(1, requires_grad=True)
        >>> optimizer = al.optim.SGD([w], lr=1.0)
        >>> scaler = al.amp.GradScaler(init_scale=8.0)
        >>> scaler.scale((w * al.inf).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> scaler.get_scale()
        4.0
        """
        if self._enabled:
            self._core.update(None if new_scale is None else float(new_scale))

    def get_scale(self) -> float:
        """The scale; 1.0 if nothing is scaled.

        >>> al.amp.GradScaler().get_scale()
        65536.0
        """
        found: float = self._core.get_scale()
        return found

    def report(self) -> dict[str, Any]:
        """Steps taken and skipped, and which parameter overflowed when one was last skipped.

        >>> scaler = al.amp.GradScaler()
        >>> sorted(scaler.report())
        ['overflowed', 'skipped', 'steps']
        """
        steps, skipped, _ = self._core.report()
        return {"steps": steps, "skipped": skipped, "overflowed": self._overflowed}

    def get_growth_factor(self) -> float:
        """What the scale grows by.

        >>> al.amp.GradScaler().get_growth_factor()
        2.0
        """
        found: float = self._core.factors()[0]
        return found

    def set_growth_factor(self, new_factor: float) -> None:
        """Sets what the scale grows by.

        >>> scaler = al.amp.GradScaler()
        >>> scaler.set_growth_factor(4.0)
        >>> scaler.get_growth_factor()
        4.0
        """
        _, backoff, interval = self._core.factors()
        self._core.set_factors(new_factor, backoff, interval)

    def get_backoff_factor(self) -> float:
        """What the scale shrinks by.

        >>> al.amp.GradScaler().get_backoff_factor()
        0.5
        """
        found: float = self._core.factors()[1]
        return found

    def set_backoff_factor(self, new_factor: float) -> None:
        """Sets what the scale shrinks by.

        >>> scaler = al.amp.GradScaler()
        >>> scaler.set_backoff_factor(0.25)
        >>> scaler.get_backoff_factor()
        0.25
        """
        growth, _, interval = self._core.factors()
        self._core.set_factors(growth, new_factor, interval)

    def get_growth_interval(self) -> int:
        """After how many steps without overflow the scale grows.

        >>> al.amp.GradScaler().get_growth_interval()
        2000
        """
        found: int = self._core.factors()[2]
        return found

    def set_growth_interval(self, new_interval: int) -> None:
        """Sets after how many steps without overflow the scale grows.

        >>> scaler = al.amp.GradScaler()
        >>> scaler.set_growth_interval(100)
        >>> scaler.get_growth_interval()
        100
        """
        growth, backoff, _ = self._core.factors()
        self._core.set_factors(growth, backoff, new_interval)

    def state_dict(self) -> dict[str, Any]:
        """What to remember, in torch's form; empty if nothing is scaled.

        >>> al.amp.GradScaler().state_dict()["scale"]
        65536.0
        """
        if not self._enabled:
            return {}
        scale, tracker = self._core.state()
        growth, backoff, interval = self._core.factors()
        return {
            "scale": scale,
            "growth_factor": growth,
            "backoff_factor": backoff,
            "growth_interval": interval,
            "_growth_tracker": tracker,
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on from what was remembered.

        >>> scaler = al.amp.GradScaler()
        >>> scaler.load_state_dict(al.amp.GradScaler(init_scale=8.0).state_dict())
        >>> scaler.get_scale()
        8.0
        """
        if not self._enabled:
            return
        if isinstance(state_dict, Mapping) and not state_dict:
            raise RuntimeError(
                "load_state_dict: nothing in it: it comes from a scaler that was not enabled"
            )
        state = self._check_state(state_dict)
        self._core.set_state(state["scale"], state["_growth_tracker"])
        self._core.set_factors(
            state["growth_factor"], state["backoff_factor"], state["growth_interval"]
        )

    def _check_state(self, state_dict: Any) -> dict[str, Any]:
        if not self._enabled:
            return {}
        op = "load_state_dict"
        least = 5e-324
        bounds = {"scale": (least, MOST), "growth_factor": (1.0, MOST), "backoff_factor": (least, 1.0)}
        counts = {"growth_interval": 1, "_growth_tracker": 0}
        state = check_keys(op, state_dict, (*bounds, *counts))
        for name, within in bounds.items():
            state[name] = check_number(op, name, state[name], *within)
        for name, first in counts.items():
            state[name] = check_integer(op, name, state[name], first)
        return state


def is_autocast_available(device_type: str) -> bool:
    """Whether autocast has an effect on a device: on all that this machine has.

    >>> al.amp.is_autocast_available("cpu")
    True
    """
    _check_device_name(device_type)
    try:
        _require_device("is_autocast_available", device_type)
    except RuntimeError:
        return False
    return True


def custom_fwd(fwd: Any = None, *, device_type: Any = "cpu", cast_inputs: Any = None) -> Any:
    """A `forward` of a `Function` that runs as autocast is where it is called, which its `backward` is
    given by `custom_bwd`; with `cast_inputs`, floats among its arguments are of that dtype and autocast
    is off.

    >>> class Double(al.autograd.Function):
    ...     @staticmethod
    ...     @al.amp.custom_fwd(device_type="cpu", cast_inputs=al.float32)
    ...     def forward(ctx, x):
    ...         return x @ x
    ...     @staticmethod
    ...     @al.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, g):
    ...         return g
    >>> with al.autocast("cpu"):
    ...     Double.apply(al.ones(2, 2, dtype=al.bfloat16)).dtype
    allotrope.float32
    """
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def forward(*args: Any, **options: Any) -> Any:
        context = args[0]
        context._dtype, is_on = get_autocast_dtype(), is_autocast_enabled()
        context._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(*args, **options)
        with autocast("cpu", enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(options, cast_inputs))

    return forward


def custom_bwd(bwd: Any = None, *, device_type: Any = "cpu") -> Any:
    """A `backward` of a `Function` that runs as autocast was in its `forward`, if that has `custom_fwd`.

    >>> al.amp.custom_bwd(device_type="cpu")(lambda ctx, g: g).__name__
    '<lambda>'
    """
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def backward(*args: Any, **options: Any) -> Any:
        context = args[0]
        with autocast("cpu", dtype=context._dtype, enabled=context._fwd_used_autocast):
            return bwd(*args, **options)

    return backward


def _cast(tree: Any, dtype: Any) -> Any:
    """Floats among arguments in a dtype; float64 stays, as autocast leaves it."""

    def one(leaf: Any) -> Any:
        is_cast = isinstance(leaf, Tensor) and leaf.is_floating_point() and leaf.dtype != float64
        return leaf.to(dtype) if is_cast else leaf

    return tree_map(one, tree)


__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "policy",
    "set_autocast_dtype",
    "set_autocast_enabled",
]
