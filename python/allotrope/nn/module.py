"""The class `Module`: its members, how it is called, walked and printed. Hooks, conversion and
state dicts are parts of it in files of their own."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .. import Tensor, _core, get_default_dtype
from .conversion import Converted
from .hooks import Hooked, _all_registrations, call_with_hooks
from .members import Members, check_name, refuse
from .notes import note_module
from .parameter import Buffer, Parameter, is_lazy
from .state import Stateful

if TYPE_CHECKING:
    from typing_extensions import Self


class Module(Hooked, Converted, Stateful):
    """The base of all layers and networks: parameters, buffers and modules that are assigned to its
    attributes become parts of it.

    >>> class Net(al.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.hidden = al.nn.Linear(2, 3)
    ...         self.scale = al.nn.Parameter(al.ones(3))
    ...     def forward(self, x):
    ...         return self.hidden(x).relu() * self.scale
    >>> net = Net()
    >>> [name for name, parameter in net.named_parameters()]
    ['scale', 'hidden.weight', 'hidden.bias']
    >>> net(al.ones(4, 2)).shape
    (4, 3)
    """

    training: bool
    _parameters: Members
    _buffers: Members
    _modules: Members
    _non_persistent_buffers_set: set[str]
    _keep_dtype_buffers_set: set[str]
    _version: int = 1
    call_super_init: bool = False

    def __init__(self, *args: Any, **options: Any) -> None:
        if not self.call_super_init and (args or options):
            raise TypeError(
                f"{type(self).__name__}.__init__: unexpected arguments: "
                f"{', '.join([*map(repr, args), *options])}; Module takes none"
            )
        set_attribute = object.__setattr__
        set_attribute(self, "training", True)
        attributes, owner = self.__dict__, weakref.ref(self)
        for name in ("_parameters", "_buffers", "_modules"):
            attributes[name] = Members(owner)
        attributes["_non_persistent_buffers_set"] = set()
        attributes["_keep_dtype_buffers_set"] = set()
        self._make_hook_tables()
        if self.call_super_init:
            super().__init__(*args, **options)

    def forward(self, *args: Any, **options: Any) -> Any:
        """What a call computes; every module has one of its own.

        >>> class Doubled(al.nn.Module):
        ...     def forward(self, x):
        ...         return 2 * x
        >>> Doubled()(al.ones(2))
        tensor([2., 2.])
        """
        raise NotImplementedError(
            f'{type(self).__name__}: a module needs a method "forward" of its own'
        )

    def __call__(self, *args: Any, **options: Any) -> Any:
        try:
            if self._is_plain:
                return self.forward(*args, **options)
            return call_with_hooks(self, args, options)
        except Exception as error:
            note_module(self, error)
            raise

    # Members

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Adds a parameter under a name, or None for one that is left out.

        >>> module = al.nn.Module()
        >>> module.register_parameter("weight", al.nn.Parameter(al.ones(2)))
        >>> module.weight.requires_grad
        True
        """
        parameters = self._members("parameters", "_parameters")
        check_name(self, "register_parameter", name, parameters)
        if param is not None and not isinstance(param, Parameter):
            refuse("register_parameter", param, "parameter", name, "Parameter")
        if param is not None and not param.is_leaf:
            raise ValueError(
                f"register_parameter: {name!r} is a computed tensor with a history; a leaf is "
                "accepted (hint: compute it in forward)"
            )
        parameters[name] = param

    def register_buffer(
        self,
        name: str,
        tensor: Tensor | None,
        persistent: bool = True,
        *,
        dtype: Any = None,
        keep_dtype: bool = False,
    ) -> None:
        """Adds a tensor that is not trained; with persistent=False it is not in the state dict. It
        is converted to `dtype` now; with keep_dtype, `module.to(dtype)` leaves its dtype.

        >>> module = al.nn.Module()
        >>> module.register_buffer("steps", al.zeros(1), keep_dtype=True)
        >>> module.to(al.bfloat16).steps.dtype
        allotrope.float32
        """
        buffers = self._members("buffers", "_buffers")
        check_name(self, "register_buffer", name, buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            refuse("register_buffer", tensor, "buffer", name, "Tensor")
        if tensor is not None and dtype is not None:
            tensor = tensor.to(dtype)
        buffers[name] = tensor
        mark = self._non_persistent_buffers_set
        mark.discard(name) if persistent else mark.add(name)
        mark = self._keep_dtype_buffers_set
        mark.add(name) if keep_dtype else mark.discard(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Adds a module under a name.

        >>> module = al.nn.Module()
        >>> module.add_module("layer", al.nn.ReLU())
        >>> module.layer
        ReLU()
        """
        if module is not None and not isinstance(module, Module):
            refuse("add_module", module, "module", name, "Module")
        modules = self._members("modules", "_modules")
        check_name(self, "add_module", name, modules)
        modules[name] = _registered(self, name, module)

    register_module = add_module

    def _members(self, what: str, place: str) -> Members:
        members = self.__dict__.get(place)
        if members is None:
            raise AttributeError(
                f"{type(self).__name__}: {what} before Module.__init__ was called "
                "(hint: super().__init__() comes first)"
            )
        found: Members = members
        return found

    def __getattr__(self, name: str) -> Any:
        # Members are attributes of the object itself: this is the way of those that are not there.
        for place in ("_parameters", "_buffers", "_modules"):
            members = self.__dict__.get(place, {})
            if name in members:
                return members[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        attributes = self.__dict__
        parameters = attributes.get("_parameters", ())
        if isinstance(value, Parameter):
            self._members("parameters", "_parameters")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif name in parameters:
            if value is not None:
                refuse("setattr", value, "parameter", name, "Parameter or None")
            self.register_parameter(name, None)
        elif isinstance(value, Module):
            modules = self._members("modules", "_modules")
            self._forget(name, "_modules")
            modules[name] = _registered(self, name, value)
        elif name in attributes.get("_modules", ()):
            if value is not None:
                refuse("setattr", value, "module", name, "Module or None")
            attributes["_modules"][name] = _registered(self, name, None)
        elif isinstance(value, Buffer):
            self._members("buffers", "_buffers")
            is_new = name not in self._buffers
            if is_new:
                self._forget(name, "_buffers")
            self.register_buffer(name, value, value.persistent, keep_dtype=value.keep_dtype)
        elif name in attributes.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                refuse("setattr", value, "buffer", name, "Tensor or None")
            attributes["_buffers"][name] = value
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, place: str) -> None:
        """Takes a name from where another kind of member would be."""
        for other in ("_parameters", "_buffers", "_modules"):
            if other != place and name in self.__dict__[other]:
                del self.__dict__[other][name]
        if place not in self.__dict__ or name not in self.__dict__[place]:
            self.__dict__.pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        self._keep_dtype_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for place in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__.get(place, ()):
                del self.__dict__[place][name]
                self._non_persistent_buffers_set.discard(name)
                self._keep_dtype_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if not name[:1].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for place in ("_parameters", "_buffers", "_modules"):
            members = dict(state[place])
            state[place] = members
            for name in members:
                state.pop(name, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        attributes, owner = self.__dict__, weakref.ref(self)
        attributes.update(state)
        for place in ("_parameters", "_buffers", "_modules"):
            members = Members(owner)
            members.update(state.get(place, {}))
            attributes[place] = members

    # Walks

    def get_submodule(self, target: str) -> Module:
        """The module at a path, such as "blocks.0.attention"; "" is the module itself.

        >>> net = al.nn.Sequential(al.nn.Sequential(al.nn.Linear(2, 3)))
        >>> net.get_submodule("0.0")
        Linear(in_features=2, out_features=3, bias=True)
        """
        module: Any = self
        for i, name in enumerate(target.split(".") if target else ()):
            found = module._modules.get(name)
            if found is None:
                found = getattr(module, name, None)
            if not isinstance(found, Module):
                path = ".".join(target.split(".")[:i]) or type(self).__name__
                raise AttributeError(
                    f"get_submodule: no module {name!r} in {path}; "
                    f"there are {', '.join(module._modules) or 'none'}"
                )
            module = found
        result: Module = module
        return result

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Puts a module at a path; with strict, only where one is already.

        >>> net = al.nn.Sequential(al.nn.Linear(2, 3), al.nn.ReLU())
        >>> net.set_submodule("1", al.nn.GELU())
        >>> net[1]
        GELU(approximate='none')
        """
        path, _, name = target.rpartition(".")
        if not name:
            raise ValueError("set_submodule: an empty path; one such as 'blocks.0' is accepted")
        owner = self.get_submodule(path)
        if strict and name not in owner._modules:
            raise AttributeError(f"set_submodule: no module at {target!r}")
        if not isinstance(module, Module):
            refuse("set_submodule", module, "module", target, "Module")
        owner._modules[name] = _registered(owner, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path.

        >>> net = al.nn.Sequential(al.nn.Linear(2, 3))
        >>> net.get_parameter("0.weight").shape
        (3, 2)
        """
        found: Parameter = self._get("get_parameter", target, Parameter, "parameter")
        return found

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path.

        >>> net = al.nn.Sequential(al.nn.BatchNorm1d(3))
        >>> net.get_buffer("0.running_mean")
        tensor([0., 0., 0.])
        """
        path, _, name = target.rpartition(".")
        owner = self.get_submodule(path)
        if name not in owner._buffers:
            raise AttributeError(f"get_buffer: no buffer {name!r} in {path or type(self).__name__}")
        found: Tensor = owner._buffers[name]
        return found

    def _get(self, op: str, target: str, kind: Any, what: str) -> Any:
        path, _, name = target.rpartition(".")
        found = getattr(self.get_submodule(path), name, None)
        if not isinstance(found, kind):
            raise AttributeError(f"{op}: no {what} {name!r} in {path or type(self).__name__}")
        return found

    def _named_members(
        self, get: Callable[[Any], Any], prefix: str, recurse: bool, remove_duplicate: bool
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, member in get(module).items():
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their paths.

        >>> net = al.nn.Sequential(al.nn.Linear(2, 3))
        >>> [(name, parameter.shape) for name, parameter in net.named_parameters()]
        [('0.weight', (3, 2)), ('0.bias', (3,))]
        """
        return self._named_members(lambda m: m._parameters, prefix, recurse, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Parameters: those of the module, then those of the modules in it, each once.

        >>> sum(parameter.numel() for parameter in al.nn.Linear(2, 3).parameters())
        9
        """
        for _, parameter in self.named_parameters(recurse=recurse):
            yield parameter

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their paths.

        >>> [name for name, buffer in al.nn.BatchNorm1d(3).named_buffers()]
        ['running_mean', 'running_var', 'num_batches_tracked']
        """
        return self._named_members(lambda m: m._buffers, prefix, recurse, remove_duplicate)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Buffers, each once.

        >>> [buffer.shape for buffer in al.nn.BatchNorm1d(3).buffers()]
        [(3,), (3,), ()]
        """
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly in this one, with their names.

        >>> net = al.nn.Sequential(al.nn.Linear(2, 3), al.nn.ReLU())
        >>> [name for name, module in net.named_children()]
        ['0', '1']
        """
        seen: set[int] = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly in this one.

        >>> net = al.nn.Sequential(al.nn.Linear(2, 3), al.nn.ReLU())
        >>> [type(module).__name__ for module in net.children()]
        ['Linear', 'ReLU']
        """
        for _, module in self.named_children():
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all in it, with their paths.

        >>> net = al.nn.Sequential(al.nn.Sequential(al.nn.ReLU()))
        >>> [name for name, module in net.named_modules()]
        ['', '0', '0.0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all in it, each once.

        >>> net = al.nn.Sequential(al.nn.Sequential(al.nn.ReLU()))
        >>> [type(module).__name__ for module in net.modules()]
        ['Sequential', 'Sequential', 'ReLU']
        """
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Calls a function with every module in this one, then with this one.

        >>> def zero(module):
        ...     if isinstance(module, al.nn.Linear):
        ...         al.nn.init.zeros_(module.weight)
        >>> net = al.nn.Sequential(al.nn.Linear(2, 1)).apply(zero)
        >>> net[0].weight.tolist()
        [[0.0, 0.0]]
        """
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def train(self, mode: bool = True) -> Self:
        """Puts the module and all in it into training mode, or, with False, out of it.

        >>> net = al.nn.Sequential(al.nn.Dropout()).train(False)
        >>> net.training, net[0].training
        (False, False)
        """
        if not isinstance(mode, bool):
            raise ValueError(f"train: not a truth value: {mode!r}; True and False are accepted")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self) -> Self:
        """Puts the module and all in it into evaluation mode.

        >>> al.nn.Dropout().eval()(al.ones(2))
        tensor([1., 1.])
        """
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Whether the parameters are trained.

        >>> layer = al.nn.Linear(2, 3).requires_grad_(False)
        >>> layer.weight.requires_grad
        False
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forgets the gradients of the parameters, or, with set_to_none=False, makes them zero.

        >>> layer = al.nn.Linear(2, 1)
        >>> layer(al.ones(2)).sum().backward()
        >>> layer.zero_grad()
        >>> layer.weight.grad is None
        True
        """
        _core._optim.zero_grad(self.parameters(), set_to_none)

    # Text

    def extra_repr(self) -> str:
        """What is printed between the parentheses.

        >>> al.nn.Linear(2, 3).extra_repr()
        'in_features=2, out_features=3, bias=True'
        """
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def _own_lines(self) -> list[str]:
        """Parameters and buffers of a module that says nothing of its own about them."""
        if type(self).extra_repr is not Module.extra_repr:
            return []
        return [
            f"({name}): {describe(tensor)}"
            for members in (self._parameters, self._buffers)
            for name, tensor in members.items()
            if tensor is not None
        ]

    def __repr__(self) -> str:
        extra = [line for line in self.extra_repr().split("\n") if line]
        if extra:
            dtype = _unusual_dtype(self)
            extra[-1] += f", dtype={dtype}" if dtype else ""
        lines = self._own_lines()
        for name, module in self._modules.items():
            lines.append(f"({name}): " + repr(module).replace("\n", "\n  "))
        if not lines and len(extra) <= 1:
            return f"{self._get_name()}({''.join(extra)})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*extra, *lines]) + "\n)"

    def _repr_html_(self) -> str:
        from ..inspection.html import module_html

        return module_html(self)


def describe(tensor: Any) -> str:
    """A parameter or buffer in a word, its shape and its dtype."""
    kind = "Parameter" if isinstance(tensor, Parameter) else "Buffer"
    if is_lazy(tensor):
        return f"{kind}(uninitialized)"
    return f"{kind}({list(tensor.shape)}, dtype={tensor.dtype})"


def _unusual_dtype(module: Any) -> str | None:
    """The dtype of the module's own parameters, unless it is the default one."""
    for parameter in module._parameters.values():
        if parameter is not None and not is_lazy(parameter):
            return None if parameter.dtype == get_default_dtype() else str(parameter.dtype)
    return None


def _registered(owner: Module, name: str, module: Any) -> Any:
    for hook in _all_registrations.values():
        changed = hook(owner, name, module)
        module = module if changed is None else changed
    return module


__all__ = ["Module"]
