"""Optimizers' base: groups of parameters, their state, and how both are saved. The steps are Rust's."""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from .. import _core
from .._accepted import check_choice, check_generator, check_integer, check_keys
from .._accepted import check_like, check_list, check_number, is_of_package
from .._core import Generator, Tensor

_optim = _core._optim


class RemovableHandle:
    """What removes a hook again.

    >>> optimizer = al.optim.SGD([al.ones(1, requires_grad=True)])
    >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("step"))
    >>> optimizer.step()
    step
    >>> handle.remove()
    >>> optimizer.step()
    """

    _next = 0

    def __init__(self, hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> None:
        self.id = RemovableHandle._next
        RemovableHandle._next += 1
        self._hooks = hooks
        hooks[self.id] = hook
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        """Removes the hook; nothing if that was done.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("next"))
        >>> handle.remove()
        >>> optimizer.step()
        """
        self._hooks.pop(self.id, None)

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


_all_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_all_post_hooks: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` before every step of every optimizer; what removes it.

    >>> with al.optim.optimizer.register_optimizer_step_pre_hook(lambda *arguments: print("before")):
    ...     al.optim.SGD([al.ones(1, requires_grad=True)]).step()
    before
    """
    return RemovableHandle(_all_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(optimizer, args, kwargs)` after every step of every optimizer; what removes it.

    >>> with al.optim.optimizer.register_optimizer_step_post_hook(lambda *arguments: print("after")):
    ...     al.optim.SGD([al.ones(1, requires_grad=True)]).step()
    after
    """
    return RemovableHandle(_all_post_hooks, hook)


_HOOKS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the hooks around it."""
    if getattr(step, "hooked", False):
        return step

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        arguments: tuple[Any, ...] = (self, *args)
        for hook in (*_all_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()):
            result = hook(self, arguments, kwargs)
            if result is None:
                continue
            if not isinstance(result, tuple) or len(result) != 2:
                raise RuntimeError(
                    f"step: a hook gave {result!r}; None or a tuple (args, kwargs) is accepted"
                )
            arguments, kwargs = result
        self._opt_called = True
        result = step(*arguments, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_all_post_hooks.values()):
            hook(self, arguments, kwargs)
        return result

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


class Optimizer:
    """Parameters in groups, and the rule that changes them by their gradients.

    Classes of your own have a method `step`, and `defaults` for what groups do not say.

    >>> class Descent(al.optim.Optimizer):
    ...     def __init__(self, params, lr=0.1):
    ...         super().__init__(params, {"lr": lr})
    ...     @al.no_grad()
    ...     def step(self, closure=None):
    ...         for group in self.param_groups:
    ...             for p in group["params"]:
    ...                 p.sub_(p.grad * group["lr"])
    >>> x = al.ones(2, requires_grad=True)
    >>> x.sum().backward()
    >>> Descent([x]).step()
    >>> x.tolist()
    [0.8999999761581421, 0.8999999761581421]
    """

    # The name of the rule in Rust; classes of users have none.
    _rule: str | None = None
    # The tables of hooks.
    _opt_called: Any
    _optimizer_load_state_dict_post_hooks: Any
    _optimizer_load_state_dict_pre_hooks: Any
    _optimizer_state_dict_post_hooks: Any
    _optimizer_state_dict_pre_hooks: Any
    _optimizer_step_post_hooks: Any
    _optimizer_step_pre_hooks: Any

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in vars(cls):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        name = type(self).__name__
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(f"{name}: not a list of parameters: a tensor; a list of them is accepted")
        if callable(getattr(params, "parameters", None)):
            given = type(params).__name__
            raise TypeError(f"{name}: not a list of parameters: a {given}; a list of them is accepted (hint: model.parameters())")
        if isinstance(params, (set, frozenset)):
            raise TypeError(f"{name}: parameters without an order: a set; lists are accepted")
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(f"{name}: an empty list of parameters; at least one is needed")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in _HOOKS:
            self.__dict__.setdefault(name, OrderedDict())

    def __getstate__(self) -> dict[str, Any]:
        # One place is one object: tensors are keys by identity, which a copy keeps among its own.
        state = [(p, entry) for p, entry in self.state.items()]
        kept: dict[str, Any] = {"defaults": self.defaults, "param_groups": self.param_groups, "_entries": state}
        if "_generator" in self.__dict__:
            kept["_generator"] = self._generator
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        entries = state.pop("_entries", None)
        self.__dict__.update(state)
        if entries is not None:
            self.state = defaultdict(dict)
            self.state.update(entries)
        self._make_hooks()
        for group in self.param_groups:
            for name, default in self.defaults.items():
                group.setdefault(name, default)

    def __repr__(self) -> str:
        lines = [type(self).__name__ + " ("]
        for number, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {number}")
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])

    # Groups.

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Adds parameters with options of their own; what they do not say is `defaults`.

        >>> x, y = al.ones(1, requires_grad=True), al.ones(1, requires_grad=True)
        >>> optimizer = al.optim.SGD([x], lr=0.1)
        >>> optimizer.add_param_group({"params": [y], "lr": 0.01})
        >>> [group["lr"] for group in optimizer.param_groups]
        [0.1, 0.01]
        """
        name = type(self).__name__
        if not isinstance(param_group, dict):
            raise TypeError(f"{name}: not a group: {type(param_group).__name__}; dicts are accepted")
        given = param_group["params"]
        if isinstance(given, Tensor):
            given = [given]
        elif isinstance(given, (set, frozenset)):
            raise TypeError(f"{name}: parameters without an order: a set; lists are accepted")
        given = list(given)
        named = [item for item in given if isinstance(item, tuple)]
        if named and len(named) != len(given):
            raise ValueError(f"{name}: some parameters have no name; names for all or none accepted")
        params = [item[1] for item in named] if named else given
        for param in params:
            if not isinstance(param, Tensor):
                raise TypeError(f"{name}: not a parameter: {type(param).__name__}; tensors are accepted")
            if not param.is_leaf and not param.retains_grad:
                raise ValueError(f"{name}: a computed tensor; leaves are optimized (hint: x.detach())")
        group = dict(param_group)
        group["params"] = params
        if named:
            group["param_names"] = [item[0] for item in named]
        self._take_plan(group)
        for key, default in self.defaults.items():
            if default is required and key not in group:
                raise ValueError(f"{name}: a group does not say {key}, which has no default")
            group.setdefault(key, default)
        if len({id(param) for param in params}) != len(params):
            text = f"{name}: a parameter twice in one group takes every step twice"
            _core._warn(text, UserWarning)
        known = {id(param) for other in self.param_groups for param in other["params"]}
        if any(id(param) in known for param in params):
            raise ValueError(f"{name}: a parameter in two groups; each is accepted in one")
        for other in self.param_groups:
            if ("param_names" in other) != ("param_names" in group):
                raise ValueError(f"{name}: names for some groups; names for all or none accepted")
        self._check_group(group)
        # The caller's dict is the group, as in torch.
        param_group.update(group)
        self.param_groups.append(param_group)
        self._begin(param_group)

    def _take_plan(self, group: dict[str, Any]) -> None:
        """What a precision plan says of the parameters, for the group; refused where that is lost."""
        name = type(self).__name__
        plans = [getattr(param, "__dict__", {}).get("_planned", {}) for param in group["params"]]
        hint = f"(hint: plan.optimizer(al.optim.{name}, model))"
        for key in dict.fromkeys(key for planned in plans for key in planned):
            planned = [plan.get(key, self.defaults.get(key)) for plan in plans]
            if key not in self.defaults:
                raise ValueError(f"{name}: no {key}, which a precision plan says; optimizers that have it are accepted")
            said = group.get(key) or self.defaults[key] or planned[0]
            if any(value != said for value in planned):
                raise ValueError(
                    f"{name}: parameters of one group have other {key} by a precision plan; groups for each are "
                    f"accepted {hint}"
                )
            group[key] = said

    def _check_group(self, group: dict[str, Any]) -> None:
        if self._rule is None:
            return
        name = type(self).__name__
        if group.get("differentiable"):
            raise ValueError(f"{name}: differentiable=True; steps are not recorded here, False accepted")
        if group.get("fused") and group.get("foreach"):
            raise ValueError(f"{name}: fused and foreach together; one of them is accepted")
        _optim.check(self._rule, group)

    def _begin(self, group: dict[str, Any]) -> None:
        """State that is there before the first step."""
        if self._rule is None:
            return
        for param in group["params"]:
            first = _optim.first_state(self._rule, group, param)
            if first is not None:
                self.state[param] = first

    # Steps.

    @property
    def generator(self) -> Generator:
        """The generator that parameters are rounded by, with `stochastic_rounding`.

        >>> w = al.zeros(1, dtype=al.bfloat16, requires_grad=True)
        >>> generator = al.Generator().manual_seed(3)
        >>> optimizer = al.optim.SGD([w], stochastic_rounding=True)
        >>> optimizer.generator = generator
        >>> optimizer.generator.initial_seed()
        3
        """
        if "_generator" not in self.__dict__:
            # From the generator of the process, so that manual_seed makes it repeatable.
            seed = int(_core.randint(0, 2**62, (1,), dtype=_core.int64).item())
            self._generator = Generator().manual_seed(seed)
        return self._generator

    @generator.setter
    def generator(self, generator: Generator) -> None:
        self._generator = generator

    def _is_random(self) -> bool:
        return any(group.get("stochastic_rounding") for group in self.param_groups)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Changes every parameter that has a gradient; a closure is called before, and its loss given
        back. If it fails, nothing has changed.

        >>> x = al.ones(1, requires_grad=True)
        >>> (2 * x).sum().backward()
        >>> al.optim.SGD([x], lr=0.25).step()
        >>> x.tolist()
        [0.5]
        """
        if self._rule is None:
            raise NotImplementedError
        loss = None
        if closure is not None:
            from ..autograd import enable_grad

            with enable_grad():
                loss = closure()
        generator = self.generator if self._is_random() else None
        _optim.step(self._rule, self.param_groups, self.state, generator)
        return loss

    step = _hooked(step)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of all parameters, or sets them to zero.

        >>> x = al.ones(1, requires_grad=True)
        >>> x.sum().backward()
        >>> al.optim.SGD([x]).zero_grad()
        >>> x.grad is None
        True
        """
        for group in self.param_groups:
            _optim.zero_grad(group["params"], set_to_none)

    # Hooks.

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` before every step; it may give other arguments.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_step_pre_hook(lambda optimizer, args, kwargs: print("next"))
        >>> optimizer.step()
        next
        """
        return RemovableHandle(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls `hook(optimizer, args, kwargs)` after every step.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_step_post_hook(lambda optimizer, args, kwargs: print("done"))
        >>> optimizer.step()
        done
        """
        return RemovableHandle(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer)` before `state_dict`.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_pre_hook(lambda optimizer: print("asked"))
        >>> state = optimizer.state_dict()
        asked
        """
        return RemovableHandle(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` after `state_dict`; it may give another one.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_state_dict_post_hook(lambda optimizer, state: {**state, "note": 1})
        >>> optimizer.state_dict()["note"]
        1
        """
        return RemovableHandle(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer, state_dict)` before `load_state_dict`; it may give another one.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_pre_hook(lambda optimizer, state: print(sorted(state)))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        ['param_groups', 'state']
        """
        return RemovableHandle(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Calls `hook(optimizer)` after `load_state_dict`.

        >>> optimizer = al.optim.SGD([al.zeros(1, requires_grad=True)])
        >>> handle = optimizer.register_load_state_dict_post_hook(lambda optimizer: print("loaded"))
        >>> optimizer.load_state_dict(optimizer.state_dict())
        loaded
        """
        return RemovableHandle(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # Saved state.

    def _group_of(self, param: Any) -> dict[str, Any]:
        for group in self.param_groups:
            if any(param is other for other in group["params"]):
                return group
        return self.defaults

    def state_dict(self) -> dict[str, Any]:
        """What to remember, in torch's form: state by the number of its parameter, and groups with
        numbers in the place of parameters. Tensors are not copied. With `stochastic_rounding` the state
        of the generator stands beside them.

        >>> x = al.ones(1, requires_grad=True)
        >>> x.sum().backward()
        >>> optimizer = al.optim.SGD([x], lr=1.0, momentum=0.5)
        >>> optimizer.step()
        >>> optimizer.state_dict()["state"]
        {0: {'momentum_buffer': tensor([1.])}}
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            packed = {key: _plain(value) for key, value in group.items() if key != "params"}
            for number, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), number)
            packed["params"] = [numbers[id(param)] for param in group["params"]]
            start += len(packed["params"])
            groups.append(packed)
        state = {}
        for param, entry in self.state.items():
            key = numbers[id(param)] if isinstance(param, Tensor) else param
            if self._rule is not None and isinstance(entry, dict):
                entry = _optim.save_state(self._rule, self._group_of(param), entry)
            state[key] = entry
        state_dict: dict[str, Any] = {"state": state, "param_groups": groups}
        if self._is_random():
            state_dict["generator"] = self.generator.get_state()
        for hook in self._optimizer_state_dict_post_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = result
        return state_dict

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Goes on from what was remembered, by this library or by torch. Tensors are copied and keep the
        dtype they were saved in; what is narrower than the rule of `state_dtype` is widened. If it
        fails, nothing has changed.

        >>> x = al.ones(1, requires_grad=True)
        >>> x.sum().backward()
        >>> optimizer, other = (al.optim.SGD([x], momentum=0.5) for _ in range(2))
        >>> optimizer.step()
        >>> other.load_state_dict(optimizer.state_dict())
        >>> other.state[x]["momentum_buffer"]
        tensor([1.])
        """
        state_dict = check_keys(f"{type(self).__name__}.load_state_dict", state_dict, (), None)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            result = hook(self, state_dict)
            if result is not None:
                state_dict = dict(result)
        op = f"{type(self).__name__}.load_state_dict"
        # Hooks, and classes of somebody else's, save what they like beside.
        is_plain = is_of_package(self) and not (
            self._optimizer_state_dict_post_hooks or self._optimizer_load_state_dict_post_hooks
        )
        known = ("generator",) if is_plain else None
        check_keys(op, state_dict, ("state", "param_groups"), known)
        saved = check_list(op, "number of groups", state_dict["param_groups"], len(self.param_groups))
        entries = state_dict["state"]
        if not isinstance(entries, Mapping):
            raise TypeError(f"{op}: wrong state: {type(entries).__name__}; a dict is accepted")
        owners: dict[Any, tuple[Any, dict[str, Any]]] = {}
        groups = []
        for place, (group, given) in enumerate(zip(self.param_groups, saved)):
            other = check_keys(f"{op}: group {place}", given, ("params",), None)
            wanted = len(group["params"])
            numbers = check_list(op, f"size of group {place}", other.pop("params"), wanted)
            new = {key: deepcopy(value) for key, value in other.items()}
            new["params"] = group["params"]
            if "param_names" in group:
                new.setdefault("param_names", group["param_names"])
            for key, default in self.defaults.items():
                # What torch does not save stays as it is.
                new.setdefault(key, group.get(key, default))
                if isinstance(default, bool) and isinstance(new[key], int) and new[key] in (0, 1):
                    new[key] = bool(new[key])
                if isinstance(default, tuple):
                    # None among its members is a choice.
                    for one in check_list(f"{op}: group {place}", key, new[key], len(default)):
                        if one is not None:
                            check_number(f"{op}: group {place}", key, one)
                elif isinstance(default, (bool, float, int)):
                    check_like(f"{op}: group {place}", key, new[key], default)
                elif key in ("foreach", "fused"):
                    check_choice(f"{op}: group {place}", key, new[key], (None, False, True))
            self._check_group(new)
            groups.append(new)
            for number, param in zip(numbers, group["params"]):
                owners[check_integer(op, "number of a parameter", number)] = (param, new)
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, entry in entries.items():
            if key not in owners:
                if isinstance(key, int) or is_of_package(self):
                    raise ValueError(
                        f"{op}: state of a parameter that is in no group: {key!r}; numbers of the "
                        "groups' parameters are accepted"
                    )
                state[key] = deepcopy(entry)
                continue
            param, group = owners[key]
            if self._rule is not None:
                entry = check_keys(f"{op}: state of {key}", entry, (), None)
                state[param] = _optim.load_state(self._rule, group, param, _ours(entry))
            else:
                state[param] = self._load_entry(op, param, _copied(entry))
        generator = state_dict.get("generator")
        if generator is None and any(group.get("stochastic_rounding") for group in saved):
            raise ValueError(f"{op}: missing: generator; steps that round by chance go on from its state")
        if generator is not None:
            self.generator.set_state(check_generator(op, "generator", _ours(generator)))
        for old, new in zip(self.param_groups, groups):
            old.clear()
            old.update(new)
        self.state = state
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)


    def _load_entry(self, op: str, param: Any, entry: Any) -> Any:
        """What was saved of a parameter, for a rule that is not one of Rust's."""
        return entry


class _Required:
    """What a group has to say itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()


def _plain(value: Any) -> Any:
    """An option as it is saved: a dtype by its name, a tensor as a copy."""
    if isinstance(value, _core.dtype):
        return value.name
    return value.clone() if isinstance(value, Tensor) else value


def _ours(value: Any) -> Any:
    """Tensors of other libraries as ours, also in dicts, lists and tuples."""
    if isinstance(value, dict):
        return {key: _ours(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_ours(item) for item in value)
    if not isinstance(value, Tensor) and hasattr(value, "__dlpack__"):
        return _core.from_dlpack(value)
    return value


def _copied(value: Any) -> Any:
    """A copy, also of tensors in dicts, lists and tuples."""
    if isinstance(value, dict):
        return {key: _copied(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_copied(item) for item in value)
    value = _ours(value)
    return value.detach().clone() if isinstance(value, Tensor) else value


__all__ = [
    "Optimizer",
    "RemovableHandle",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]
