"""Parameters that are functions of others: `register_parametrization` and what goes with it.

The parameter `weight` of a module moves to `module.parametrizations.weight.original`, and
`module.weight` becomes what the parametrizations make of it. Names are torch's.
"""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import Any

from ... import Tensor
from ...autograd import no_grad
from ..container import ModuleDict, ModuleList
from ..module import Module
from ..parameter import Parameter

_cache_depth = 0
_cache: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Any:
    """Within the block every parametrized tensor is computed once.

    >>> layer = al.nn.utils.parametrizations.weight_norm(al.nn.Linear(2, 3))
    >>> with al.nn.utils.parametrize.cached():
    ...     layer.weight is layer.weight
    True
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """What a parametrized tensor is computed from, and by which modules.

    `original` is the parameter below; where a `right_inverse` gives several they are `original0`,
    `original1` and so on.

    >>> class Positive(al.nn.Module):
    ...     def forward(self, x):
    ...         return x.exp()
    >>> layer = al.nn.Linear(1, 1)
    >>> layer = al.nn.utils.parametrize.register_parametrization(layer, "weight", Positive())
    >>> parts = layer.parametrizations.weight
    >>> al.equal(parts.original.exp(), layer.weight)
    True
    """

    def __init__(self, modules: Any, original: Tensor, unsafe: bool = False) -> None:
        super().__init__(modules)
        self.unsafe = unsafe
        value: Any = original.detach()
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        value = module.right_inverse(value)
                    except NotImplementedError:
                        # Then the value above is what its result begins with.
                        continue
        self.is_tensor = isinstance(value, Tensor)
        self.ntensors = 1 if self.is_tensor else len(value)
        if self.is_tensor:
            if value.dtype != original.dtype and not unsafe:
                raise ValueError(
                    f"register_parametrization: right_inverse gives {value.dtype} for {original.dtype}"
                )
            _keep(self, "original", original, value)
        else:
            for i, part in enumerate(value):
                _keep(self, f"original{i}", original if i == 0 else None, part, original)
        if not unsafe:
            self._check(original)

    def _check(self, original: Tensor) -> None:
        with no_grad():
            made = self()
        if not isinstance(made, Tensor) or (made.shape, made.dtype) != (
            original.shape,
            original.dtype,
        ):
            given = f"{list(made.shape)} {made.dtype}" if isinstance(made, Tensor) else type(made)
            raise ValueError(
                f"register_parametrization: the result is {given}; {list(original.shape)} "
                f"{original.dtype} is accepted (hint: unsafe=True)"
            )

    def originals(self) -> list[Tensor]:
        """The tensors below.

        >>> layer = al.nn.utils.parametrizations.weight_norm(al.nn.Linear(2, 3))
        >>> [tensor.shape for tensor in layer.parametrizations.weight.originals()]
        [(3, 1), (3, 2)]
        """
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Gives the tensors below such values that the result is this one.

        >>> layer = al.nn.utils.parametrizations.weight_norm(al.nn.Linear(2, 1))
        >>> layer.parametrizations.weight.right_inverse(al.tensor([[3.0, 4.0]]))
        >>> layer.weight.detach()
        tensor([[3., 4.]])
        """
        found: Any = value
        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"right_inverse: {type(module).__name__} has none; it is needed to assign"
                    )
                found = module.right_inverse(found)
            for original, part in zip(self.originals(), [found] if self.is_tensor else found):
                if original.shape == part.shape and original.dtype == part.dtype:
                    original.copy_(part)
                else:
                    original.data = part

    def forward(self) -> Tensor:
        """The parametrized tensor."""
        modules = iter(self)
        value: Tensor = next(modules)(*self.originals())
        for module in modules:
            value = module(value)
        return value


def _keep(
    owner: Module, name: str, tensor: Any, value: Tensor, like: Tensor | None = None
) -> None:
    """Adds what is below: the same parameter with new values, so that optimizers keep it."""
    like = tensor if like is None else like
    if not isinstance(like, Parameter):
        owner.register_buffer(name, value)
        return
    if tensor is None:
        tensor = Parameter(value.detach().clone(), like.requires_grad)
    else:
        with no_grad():
            tensor.data = value.detach().clone() if value is not tensor else value
    owner.register_parameter(name, tensor)


def register_parametrization(
    module: Any, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Any:
    """Makes a tensor of a module a function of itself; several are called one after the other.

    >>> class Symmetric(al.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = al.nn.Linear(3, 3)
    >>> _ = al.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> bool((layer.weight == layer.weight.T).all())
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        known = module.parametrizations[tensor_name]
        if not unsafe:
            _check_append(module, tensor_name, parametrization)
        known.append(parametrization)
        known.unsafe = known.unsafe or unsafe
        return module
    members = _members(module, tensor_name)
    if members is None:
        raise ValueError(
            f"register_parametrization: no parameter or buffer {tensor_name!r} in "
            f"{type(module).__name__}"
        )
    made = ParametrizationList([parametrization], members[tensor_name], unsafe)
    del members[tensor_name]
    if not is_parametrized(module):
        _inject_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = made
    return module


def _check_append(module: Any, name: str, parametrization: Module) -> None:
    with no_grad():
        before = getattr(module, name)
        after = parametrization(before)
    if (after.shape, after.dtype) != (before.shape, before.dtype):
        raise ValueError(
            f"register_parametrization: the result is {list(after.shape)} {after.dtype}; "
            f"{list(before.shape)} {before.dtype} is accepted (hint: unsafe=True)"
        )


def _members(module: Any, name: str) -> Any:
    if module._parameters.get(name) is not None:
        return module._parameters
    return module._buffers if module._buffers.get(name) is not None else None


def _inject_class(module: Any) -> None:
    """Gives the object a class of its own, which the properties are added to."""
    kind: Any = type(module)

    def __deepcopy__(self: Any, memo: Any) -> Any:
        made = memo.get(id(self))
        if made is None:
            made = memo[id(self)] = kind.__new__(kind)
            made.__setstate__(copy.deepcopy(self.__getstate__(), memo))
            made.__class__ = type(self)
        return made

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        raise RuntimeError(
            "pickle: a parametrized module has a class of its own; its state_dict is accepted"
        )

    module.__class__ = type(
        f"Parametrized{kind.__name__}",
        (kind,),
        {"__deepcopy__": __deepcopy__, "__reduce_ex__": __reduce_ex__, "_plain_class": kind},
    )


def _inject_property(module: Any, name: str) -> None:
    def read(self: Any) -> Tensor:
        parametrization: ParametrizationList = self.parametrizations[name]
        if not _cache_depth:
            made: Tensor = parametrization()
            return made
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def write(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(read, write))


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has a parametrized tensor, or this one.

    >>> layer = al.nn.utils.parametrizations.weight_norm(al.nn.Linear(2, 3))
    >>> al.nn.utils.parametrize.is_parametrized(layer, "weight")
    True
    """
    known = module._modules.get("parametrizations")
    if not isinstance(known, ModuleDict):
        return False
    return len(known) > 0 if tensor_name is None else tensor_name in known


def remove_parametrizations(
    module: Any, tensor_name: str, leave_parametrized: bool = True
) -> Any:
    """Makes a parametrized tensor an ordinary one again: of the value that it has, or with
    leave_parametrized=False of that below.

    >>> layer = al.nn.utils.parametrizations.weight_norm(al.nn.Linear(2, 3))
    >>> layer = al.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> al.nn.utils.parametrize.is_parametrized(layer)
    False
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(
            f"remove_parametrizations: {tensor_name!r} of {type(module).__name__} is not parametrized"
        )
    known = module.parametrizations[tensor_name]
    original = known.originals()[0]
    if leave_parametrized:
        with no_grad():
            value = getattr(module, tensor_name).detach().clone()
        original.data = value
    elif not known.is_tensor:
        raise ValueError(
            "remove_parametrizations: leave_parametrized=False with several tensors below; one is "
            "accepted"
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, original)
    else:
        module.register_buffer(tensor_name, original)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module)._plain_class
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class that a module had.

    >>> layer = al.nn.utils.parametrizations.weight_norm(al.nn.Linear(2, 3))
    >>> al.nn.utils.parametrize.type_before_parametrizations(layer) is al.nn.Linear
    True
    """
    return getattr(type(module), "_plain_class", type(module))


__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "type_before_parametrizations",
]
