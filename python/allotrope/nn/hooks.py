"""Functions that a module calls before and after its own: hooks, forward and backward."""

from __future__ import annotations

import itertools
import weakref
from collections import OrderedDict
from typing import Any

from .. import Tensor, _core
from ..amp import autocast, get_autocast_dtype, is_autocast_enabled
from .conversion import cast_floats, lowerable, moved

_numbers = itertools.count()


class RemovableHandle:
    """What registering a hook returns: `remove()` takes the hook away, as does the end of a `with`.

    >>> layer = al.nn.ReLU()
    >>> with layer.register_forward_hook(lambda module, args, output: output + 1):
    ...     layer(al.zeros(1))
    tensor([1.])
    >>> layer(al.zeros(1))
    tensor([0.])
    """

    def __init__(self, *places: Any) -> None:
        self.id = next(_numbers)
        self._places = [weakref.ref(place) for place in places]

    def remove(self) -> None:
        """Takes the hook away; a second time does nothing.

        >>> layer = al.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> handle.remove()
        >>> layer(al.zeros(1))
        tensor([0.])
        """
        for place in self._places:
            known = place()
            if known is not None:
                known.pop(self.id, None)

    def __getstate__(self) -> dict[str, Any]:
        return {"id": self.id, "_places": []}

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


class HookTable(OrderedDict[int, Any]):
    """Hooks by their numbers, in the order they are called in."""


def add_hook(table: HookTable, hook: Any, *marks: HookTable, prepend: bool = False) -> RemovableHandle:
    """Registers a hook in a table and in tables that say more about it."""
    if not callable(hook):
        raise TypeError(f"register_hook: not callable: {type(hook).__name__}; a function is accepted")
    handle = RemovableHandle(table, *marks)
    table[handle.id] = hook
    for mark in marks:
        mark[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


# The hooks of all modules.
_all_forward_pre = HookTable()
_all_forward = HookTable()
_all_forward_always = HookTable()
_all_forward_with_kwargs = HookTable()
_all_backward_pre = HookTable()
_all_backward = HookTable()
_all_registrations = HookTable()

# Those that a call must look for.
_called_of_all = (_all_forward_pre, _all_forward, _all_backward_pre, _all_backward)


class Hooked:
    """The part of a module that knows hooks."""

    # Whether a call is nothing but `forward`: true until a hook is registered.
    _is_plain = True
    # The tables that `_make_hook_tables` makes.
    _backward_hooks: Any
    _backward_pre_hooks: Any
    _forward_hooks: Any
    _forward_hooks_always_called: Any
    _forward_hooks_with_kwargs: Any
    _forward_pre_hooks: Any
    _forward_pre_hooks_with_kwargs: Any
    _load_state_dict_post_hooks: Any
    _load_state_dict_pre_hooks: Any
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any

    def _make_hook_tables(self) -> None:
        set_attribute = object.__setattr__
        for name in _TABLES:
            set_attribute(self, name, HookTable())

    def register_forward_pre_hook(
        self, hook: Any, *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before `forward`; what it returns, if not None, are the new
        arguments. With with_kwargs it is `hook(module, args, kwargs)` and returns both.

        >>> layer = al.nn.ReLU()
        >>> handle = layer.register_forward_pre_hook(lambda module, args: (args[0] - 1,))
        >>> layer(al.tensor([1.0, 3.0]))
        tensor([0., 2.])
        >>> handle.remove()
        """
        marks = [self._forward_pre_hooks_with_kwargs] if with_kwargs else []
        self.__dict__["_is_plain"] = False
        return add_hook(self._forward_pre_hooks, hook, *marks, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Any,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Calls `hook(module, args, output)` after `forward`; what it returns, if not None, is the
        new output. With with_kwargs it is `hook(module, args, kwargs, output)`, with always_call it
        is called after an error, too.

        >>> layer = al.nn.ReLU()
        >>> handle = layer.register_forward_hook(lambda module, args, output: output + 1)
        >>> layer(al.zeros(2))
        tensor([1., 1.])
        """
        marks = [self._forward_hooks_with_kwargs] if with_kwargs else []
        marks += [self._forward_hooks_always_called] if always_call else []
        self.__dict__["_is_plain"] = False
        return add_hook(self._forward_hooks, hook, *marks, prepend=prepend)

    def register_full_backward_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` when the gradients of the inputs are known;
        what it returns, if not None, takes their place.

        >>> layer = al.nn.Linear(2, 3)
        >>> def tell(module, grad_input, grad_output):
        ...     print(grad_input[0].shape, grad_output[0].shape)
        >>> handle = layer.register_full_backward_hook(tell)
        >>> layer(al.ones(1, 2, requires_grad=True)).sum().backward()
        (1, 2) (1, 3)
        """
        self.__dict__["_is_plain"] = False
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    # torch keeps an older kind of hook under this name, which sees the last operation only.
    register_backward_hook = register_full_backward_hook

    def register_full_backward_pre_hook(self, hook: Any, prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_output)` before the gradients of the module are computed; what
        it returns, if not None, takes their place.

        >>> layer = al.nn.Linear(1, 1)
        >>> handle = layer.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 10,))
        >>> layer(al.ones(1, 1)).sum().backward()
        >>> layer.bias.grad
        tensor([10.])
        """
        self.__dict__["_is_plain"] = False
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(module, prefix, keep_vars)` before `state_dict` reads the module.

        >>> layer = al.nn.Linear(1, 1)
        >>> handle = layer.register_state_dict_pre_hook(lambda module, prefix, keep_vars: print("asked"))
        >>> state = layer.state_dict()
        asked
        """
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata)` after `state_dict` read it.

        >>> layer = al.nn.Linear(1, 1)
        >>> def add(module, state_dict, prefix, local_metadata):
        ...     state_dict[prefix + "steps"] = al.tensor(3)
        >>> handle = layer.register_state_dict_post_hook(add)
        >>> list(layer.state_dict())
        ['weight', 'bias', 'steps']
        """
        return add_hook(self._state_dict_hooks, hook)

    _register_state_dict_hook = register_state_dict_post_hook

    def register_load_state_dict_pre_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs)` before the module looks for its own names.

        >>> layer = al.nn.Linear(1, 1, bias=False)
        >>> def rename(module, state_dict, prefix, *others):
        ...     state_dict[prefix + "weight"] = state_dict.pop(prefix + "w")
        >>> handle = layer.register_load_state_dict_pre_hook(rename)
        >>> report = layer.load_state_dict({"w": al.ones(1, 1)})
        >>> layer.weight.item()
        1.0
        """
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook: Any, with_module: bool = False) -> RemovableHandle:
        if with_module:
            return self.register_load_state_dict_pre_hook(hook)
        return self.register_load_state_dict_pre_hook(lambda module, *args: hook(*args))

    def register_load_state_dict_post_hook(self, hook: Any) -> RemovableHandle:
        """Calls `hook(module, incompatible_keys)` after the names were compared; what it removes
        from missing_keys or unexpected_keys is no error.

        >>> layer = al.nn.Linear(1, 1)
        >>> handle = layer.register_load_state_dict_post_hook(lambda module, keys: keys.missing_keys.clear())
        >>> report = layer.load_state_dict({"weight": al.ones(1, 1)})
        >>> layer.weight.item()
        1.0
        """
        return add_hook(self._load_state_dict_post_hooks, hook)


_TABLES = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_backward_hooks",
    "_backward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


_CALLED = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")


def call_with_hooks(module: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """`module.forward` among the hooks of the module and of all modules."""
    if not any(_called_of_all) and not Hooked._is_plain:
        Hooked._is_plain = True
    if not any(map(module.__dict__.get, _CALLED)) and module._computing is None:
        # The last hook was removed: from now on a call is `forward` alone.
        module.__dict__.pop("_is_plain", None)
    done: set[int] = set()
    state: list[Any] = [args, options, None]
    try:
        _run(module, state, done)
        return state[2]
    except Exception:
        _run_always_called(module, state, done)
        raise


def _run(module: Any, state: list[Any], done: set[int]) -> None:
    args, options, _ = state
    for number, hook in (*_all_forward_pre.items(), *module._forward_pre_hooks.items()):
        if number in module._forward_pre_hooks_with_kwargs:
            changed = hook(module, args, options)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        "forward pre-hook: wrong result: "
                        f"{type(changed).__name__}; None or (args, kwargs) is accepted"
                    )
                args, options = changed
        else:
            changed = hook(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
        state[0], state[1] = args, options
    backward = [*_all_backward.values(), *module._backward_hooks.values()]
    backward_pre = [*_all_backward_pre.values(), *module._backward_pre_hooks.values()]
    walk = None
    if backward or backward_pre:
        walk = BackwardHooks(module, backward, backward_pre)
        args = state[0] = walk.watch_inputs(args)
    result = state[2] = _forward(module, args, options)
    for number, hook in (*_all_forward.items(), *module._forward_hooks.items()):
        done.add(number)
        changed = _call_forward_hook(module, number, hook, args, options, result)
        if changed is not None:
            result = state[2] = changed
    if walk is not None:
        state[2] = walk.watch_outputs(result)


def _forward(module: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    how = module._computing
    if how is None:
        return module.forward(*args, **options)
    if how.device is not None:
        args, options = moved(args, how.device), moved(options, how.device)
    if how.is_lowered:
        args, options = lowerable(args), lowerable(options)
        if is_autocast_enabled() and get_autocast_dtype() == how.dtype:
            return module.forward(*args, **options)
        with autocast("cpu", how.dtype):
            return module.forward(*args, **options)
    if how.dtype is not None:
        args, options = cast_floats(args, how.dtype), cast_floats(options, how.dtype)
    if how.is_kept and is_autocast_enabled():
        # What stays in its dtype is not lowered by autocast either.
        with autocast("cpu", enabled=False):
            result = module.forward(*args, **options)
    else:
        result = module.forward(*args, **options)
    return cast_floats(result, how.dtype) if how.is_widened else result


def _call_forward_hook(
    module: Any, number: int, hook: Any, args: Any, options: Any, result: Any
) -> Any:
    if number in module._forward_hooks_with_kwargs or number in _all_forward_with_kwargs:
        return hook(module, args, options, result)
    return hook(module, args, result)


def _run_always_called(module: Any, state: list[Any], done: set[int]) -> None:
    for number, hook in (*_all_forward.items(), *module._forward_hooks.items()):
        always = number in module._forward_hooks_always_called or number in _all_forward_always
        if always and number not in done:
            try:
                _call_forward_hook(module, number, hook, *state)
            except Exception as error:
                text = f"forward hook: an error after another one was left out: {error}"
                _core._warn(text, UserWarning)


class BackwardHooks:
    """One call of a module with backward hooks: its inputs and outputs go through identities, whose
    derivatives call the hooks."""

    def __init__(self, module: Any, hooks: list[Any], pre_hooks: list[Any]) -> None:
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.has_inputs = False
        self.input_count = 0
        self.output_gradients: Any = None

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(args)
        watched = self._watch(self._after, args)
        self.has_inputs = watched is not None
        return args if watched is None else watched

    def watch_outputs(self, result: Any) -> Any:
        is_single = not isinstance(result, tuple)
        if is_single and not isinstance(result, Tensor):
            _core._warn(
                "backward hooks: they are not called for an output of "
                f"{type(result).__name__}; a tensor or a tuple of tensors is watched",
                UserWarning,
            )
            return result
        watched = self._watch(self._before, (result,) if is_single else result)
        if watched is None:
            return result
        return watched[0] if is_single else watched

    def _watch(self, call: Any, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
        places = [
            i for i, value in enumerate(values) if isinstance(value, Tensor) and value.requires_grad
        ]
        if not places:
            return None

        def called(gradients: tuple[Any, ...]) -> tuple[Any, ...]:
            spread: list[Any] = [None] * len(values)
            for place, gradient in zip(places, gradients):
                spread[place] = gradient
            found = call(tuple(spread))
            return tuple(found[place] for place in places)

        passed = _passing().apply(called, *(values[place] for place in places))
        results = list(values)
        for place, value in zip(places, passed if isinstance(passed, tuple) else (passed,)):
            results[place] = value
        return tuple(results)

    def _before(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.pre_hooks:
            gradients = _replaced("backward pre-hook", gradients, hook(self.module, gradients))
        self.output_gradients = gradients
        if not self.has_inputs:
            for hook in self.hooks:
                if hook(self.module, (None,) * self.input_count, gradients) is not None:
                    raise RuntimeError(
                        "backward hook: no input requires a gradient, but the hook gives one; "
                        "None is accepted"
                    )
        return gradients

    def _after(self, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.hooks:
            found = hook(self.module, gradients, self.output_gradients)
            gradients = _replaced("backward hook", gradients, found)
        return gradients


def _replaced(op: str, gradients: tuple[Any, ...], found: Any) -> tuple[Any, ...]:
    if found is None:
        return gradients
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(gradients):
        raise RuntimeError(
            f"{op}: wrong number of gradients: {len(found)}; {len(gradients)} or None is accepted"
        )
    result: tuple[Any, ...] = found
    return result


_Passing: Any = None


def _passing() -> Any:
    """The identity whose derivative calls a function, made at its first use."""
    global _Passing
    if _Passing is None:
        from ..autograd import Function

        class Passing(Function):
            @staticmethod
            def forward(ctx: Any, call: Any, *tensors: Tensor) -> Any:
                ctx.call = call
                ctx.set_materialize_grads(False)
                return tuple(tensor.view_as(tensor) for tensor in tensors)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                return (None, *ctx.call(gradients))

        _Passing = Passing
    return _Passing


def _register_for_all(table: HookTable, hook: Any, *marks: HookTable) -> RemovableHandle:
    Hooked._is_plain = False
    return add_hook(table, hook, *marks)


def register_module_forward_pre_hook(hook: Any) -> RemovableHandle:
    """Calls `hook(module, args)` before the `forward` of every module.

    >>> def tell(module, args):
    ...     print(type(module).__name__)
    >>> with al.nn.hooks.register_module_forward_pre_hook(tell):
    ...     y = al.nn.Sequential(al.nn.ReLU())(al.zeros(1))
    Sequential
    ReLU
    """
    return _register_for_all(_all_forward_pre, hook)


def register_module_forward_hook(
    hook: Any, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls `hook(module, args, output)` after the `forward` of every module.

    >>> def tell(module, args, output):
    ...     print(type(module).__name__, output.shape)
    >>> with al.nn.hooks.register_module_forward_hook(tell):
    ...     y = al.nn.Sequential(al.nn.Linear(2, 3))(al.zeros(1, 2))
    Linear (1, 3)
    Sequential (1, 3)
    """
    marks = [_all_forward_with_kwargs] if with_kwargs else []
    marks += [_all_forward_always] if always_call else []
    return _register_for_all(_all_forward, hook, *marks)


def register_module_full_backward_pre_hook(hook: Any) -> RemovableHandle:
    """Calls `hook(module, grad_output)` before the gradients of every module.

    >>> def tell(module, grad_output):
    ...     print(type(module).__name__, grad_output[0].shape)
    >>> with al.nn.hooks.register_module_full_backward_pre_hook(tell):
    ...     al.nn.Linear(2, 3)(al.zeros(1, 2)).sum().backward()
    Linear (1, 3)
    """
    return _register_for_all(_all_backward_pre, hook)


def register_module_full_backward_hook(hook: Any) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` after the gradients of every module.

    >>> def tell(module, grad_input, grad_output):
    ...     print(type(module).__name__, grad_output[0].shape)
    >>> with al.nn.hooks.register_module_full_backward_hook(tell):
    ...     al.nn.Linear(2, 3)(al.zeros(1, 2)).sum().backward()
    Linear (1, 3)
    """
    return _register_for_all(_all_backward, hook)


def register_module_module_registration_hook(hook: Any) -> RemovableHandle:
    """Calls `hook(module, name, submodule)` for every module that is added to another.

    >>> def tell(module, name, submodule):
    ...     print(name, submodule)
    >>> with al.nn.hooks.register_module_module_registration_hook(tell):
    ...     net = al.nn.Sequential(al.nn.ReLU())
    0 ReLU()
    """
    return add_hook(_all_registrations, hook)


__all__ = [
    "RemovableHandle",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
]
