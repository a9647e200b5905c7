"""Modules and parameters in sequences and dicts."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from .. import Tensor
from .module import Module, describe
from .parameter import Parameter, is_lazy


def _place(op: str, index: Any, length: int) -> int:
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"{op}: index out of range: {index}; there are {length}")
    found: int = index % length
    return found


class _Listed(Module):
    """Modules under the names "0", "1" and so on."""

    def _take(self, modules: Iterable[Any]) -> None:
        kept = list(modules)
        self._modules.clear()
        for i, module in enumerate(kept):
            self._modules[str(i)] = module

    def _name(self, index: Any) -> str:
        return list(self._modules)[_place(type(self).__name__, index, len(self._modules))]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self._sliced(index)
        return self._modules[self._name(index)]

    def _sliced(self, index: slice) -> Any:
        return type(self)(list(self._modules.values())[index])

    def __setitem__(self, index: Any, module: Module) -> None:
        setattr(self, self._name(index), module)

    def __delitem__(self, index: Any) -> None:
        modules = list(self._modules.values())
        if isinstance(index, slice):
            del modules[index]
        else:
            del modules[_place(type(self).__name__, index, len(modules))]
        self._take(modules)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def __contains__(self, module: Any) -> bool:
        return any(module is known for known in self._modules.values())

    def append(self, module: Module) -> Any:
        """Adds a module at the end.

        >>> al.nn.ModuleList([al.nn.ReLU()]).append(al.nn.GELU())[1]
        GELU(approximate='none')
        """
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Any:
        """Adds modules at the end.

        >>> len(al.nn.ModuleList([al.nn.ReLU()]).extend([al.nn.GELU(), al.nn.Tanh()]))
        3
        """
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"extend: not a sequence: {type(modules).__name__}; modules are accepted"
            )
        for module in list(modules):
            self.append(module)
        return self

    def insert(self, index: int, module: Module) -> Any:
        """Puts a module before the one at an index.

        >>> modules = al.nn.ModuleList([al.nn.ReLU()])
        >>> modules = modules.insert(0, al.nn.GELU())
        >>> modules[0]
        GELU(approximate='none')
        """
        if not isinstance(module, Module):
            raise TypeError(f"insert: not a module: {type(module).__name__}")
        length = len(self)
        if not -length <= index <= length:
            raise IndexError(f"insert: index out of range: {index}; there are {length}")
        modules = list(self._modules.values())
        modules.insert(index, module)
        self._take(modules)
        return self

    def pop(self, key: Any = -1) -> Module:
        """Takes a module away and returns it.

        >>> modules = al.nn.ModuleList([al.nn.ReLU(), al.nn.GELU()])
        >>> modules.pop(0), len(modules)
        (ReLU(), 1)
        """
        module = self[key]
        del self[key]
        found: Module = module
        return found

    def __iadd__(self, modules: Iterable[Module]) -> Any:
        return self.extend(modules)


class Sequential(_Listed):
    """Modules called one after the other, each with the output of the one before.

    Shape and dtype: what the last module gives.

    >>> model = al.nn.Sequential(al.nn.Linear(2, 3), al.nn.ReLU())
    >>> model
    Sequential(
      (0): Linear(in_features=2, out_features=3, bias=True)
      (1): ReLU()
    )
    >>> model(al.ones(2)).shape
    (3,)
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        is_named = len(args) == 1 and isinstance(args[0], dict)
        named = args[0] if is_named else {str(i): module for i, module in enumerate(args)}
        for name, module in named.items():
            self.add_module(name, module)

    def _sliced(self, index: slice) -> Any:
        return type(self)(dict(list(self._modules.items())[index]))

    def __delitem__(self, index: Any) -> None:
        modules = list(self._modules.values())
        is_numbered = list(self._modules) == [str(i) for i in range(len(modules))]
        if is_numbered:
            super().__delitem__(index)
        elif isinstance(index, slice):
            for name in list(self._modules)[index]:
                delattr(self, name)
        else:
            delattr(self, self._name(index))

    def __add__(self, other: Any) -> Sequential:
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential: not added: {type(other).__name__}; Sequential is accepted")
        return Sequential(*self, *other)

    def __mul__(self, count: int) -> Sequential:
        if not isinstance(count, int):
            raise TypeError(f"Sequential: not a number of times: {type(count).__name__}")
        if count <= 0:
            raise ValueError(f"Sequential: not a number of times: {count}; at least 1 is accepted")
        return Sequential(*(list(self) * count))

    __rmul__ = __mul__

    def forward(self, input: Any) -> Any:
        """What the last module gives."""
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(_Listed):
    """Modules in a list; all of them are parts of this one.

    >>> layers = al.nn.ModuleList([al.nn.Linear(2, 2) for _ in range(3)])
    >>> len(layers), layers[-1].out_features
    (3, 2)
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList([*self, *other])

    def __repr__(self) -> str:
        """Equal neighbours are one line."""
        texts = [repr(module) for module in self]
        if not texts:
            return f"{self._get_name()}()"
        lines, start = [], 0
        for i, text in enumerate(texts):
            if i + 1 < len(texts) and texts[i + 1] == text:
                continue
            count = i - start + 1
            where = f"({start})" if count == 1 else f"({start}-{i})"
            what = text if count == 1 else f"{count} x {text}"
            lines.append(f"{where}: " + what.replace("\n", "\n  "))
            start = i + 1
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """Modules by names of their own.

    >>> choices = al.nn.ModuleDict({"conv": al.nn.Conv2d(1, 1, 3), "pool": al.nn.MaxPool2d(3)})
    >>> list(choices)
    ['conv', 'pool']
    """

    def __init__(self, modules: Any = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        found: Module = self._modules[key]
        return found

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: Any) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Takes all modules away.

        >>> modules = al.nn.ModuleDict({"act": al.nn.ReLU()})
        >>> modules.clear()
        >>> len(modules)
        0
        """
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Takes a module away and returns it.

        >>> modules = al.nn.ModuleDict({"act": al.nn.ReLU()})
        >>> modules.pop("act"), len(modules)
        (ReLU(), 0)
        """
        found: Module = self._modules.pop(key)
        return found

    def keys(self) -> Any:
        """The names.

        >>> list(al.nn.ModuleDict({"act": al.nn.ReLU()}).keys())
        ['act']
        """
        return self._modules.keys()

    def items(self) -> Any:
        """Names and modules.

        >>> modules = al.nn.ModuleDict({"act": al.nn.ReLU()})
        >>> list(modules.items())
        [('act', ReLU())]
        """
        return self._modules.items()

    def values(self) -> Any:
        """The modules.

        >>> list(al.nn.ModuleDict({"act": al.nn.ReLU()}).values())
        [ReLU()]
        """
        return self._modules.values()

    def update(self, modules: Any) -> None:
        """Adds modules of a mapping, or of pairs of name and module.

        >>> modules = al.nn.ModuleDict()
        >>> modules.update({"act": al.nn.ReLU()})
        >>> modules["act"]
        ReLU()
        """
        for key, module in _pairs("ModuleDict", modules):
            self[key] = module


def _pairs(op: str, given: Any) -> list[tuple[str, Any]]:
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{op}: wrong type: {type(given).__name__}; a mapping or pairs of name and value are "
            "accepted"
        )
    pairs = [tuple(pair) for pair in given]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{op}: not pairs of name and value")
    return pairs


def _as_member(value: Any) -> Any:
    """A tensor as a parameter; anything else as it is."""
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        return Parameter(value)
    return value


class ParameterList(Module):
    """Parameters in a list; tensors become parameters, anything else is kept as it is.

    >>> weights = al.nn.ParameterList([al.ones(2), al.zeros(3)])
    >>> [tuple(p.shape) for p in weights.parameters()]
    [(2,), (3,)]
    """

    def __init__(self, values: Iterable[Any] | None = None) -> None:
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def _key(self, index: Any) -> str:
        return str(_place(type(self).__name__, index, self._size))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return ParameterList([self[i] for i in range(*index.indices(self._size))])
        return getattr(self, self._key(index))

    def __setitem__(self, index: Any, value: Any) -> None:
        setattr(self, self._key(index), _as_member(value))

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[Any]:
        return iter([self[i] for i in range(self._size)])

    def __iadd__(self, values: Iterable[Any]) -> ParameterList:
        return self.extend(values)

    def append(self, value: Any) -> ParameterList:
        """Adds a value at the end.

        >>> len(al.nn.ParameterList().append(al.ones(2)))
        1
        """
        self._size += 1
        self[-1] = value
        return self

    def extend(self, values: Iterable[Any]) -> ParameterList:
        """Adds values at the end.

        >>> len(al.nn.ParameterList().extend([al.ones(2), al.ones(3)]))
        2
        """
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(f"extend: not a sequence: {type(values).__name__}; a list is accepted")
        for value in list(values):
            self.append(value)
        return self

    def _own_lines(self) -> list[str]:
        return [f"({i}): {_line(value)}" for i, value in enumerate(self)]

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("ParameterList: not to be called; it holds parameters")


class ParameterDict(Module):
    """Parameters by names of their own; tensors become parameters, anything else is kept as it is.

    >>> weights = al.nn.ParameterDict({"left": al.ones(2)})
    >>> weights["left"].requires_grad
    True
    """

    def __init__(self, parameters: Any = None) -> None:
        super().__init__()
        self._keys: dict[str, None] = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key: str) -> Any:
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key: str, value: Any) -> None:
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: not a name: {type(key).__name__}; str is accepted")
        if key not in self._keys and hasattr(type(self), key):
            raise KeyError(f"ParameterDict: the attribute {key!r} exists already")
        self._keys[key] = None
        setattr(self, key, _as_member(value))

    def __delitem__(self, key: str) -> None:
        del self._keys[key]
        delattr(self, key)

    def __len__(self) -> int:
        return len(self._keys)

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __reversed__(self) -> Iterator[str]:
        return reversed(list(self._keys))

    def __contains__(self, key: Any) -> bool:
        return key in self._keys

    def __or__(self, other: Any) -> ParameterDict:
        made = self.copy()
        made.update(other)
        return made

    def __ior__(self, other: Any) -> ParameterDict:
        self.update(other)
        return self

    def copy(self) -> ParameterDict:
        """Another dict of the same parameters.

        >>> parameters = al.nn.ParameterDict({"w": al.ones(2)})
        >>> parameters.copy()["w"] is parameters["w"]
        True
        """
        return ParameterDict(dict(self.items()))

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a name, or another one.

        >>> al.nn.ParameterDict().get("w", "none")
        'none'
        """
        return self[key] if key in self._keys else default

    def setdefault(self, key: str, default: Any = None) -> Any:
        """The value of a name, which is added if there is none.

        >>> parameters = al.nn.ParameterDict()
        >>> parameters.setdefault("w", al.ones(2)).shape
        (2,)
        """
        if key not in self._keys:
            self[key] = default
        return self[key]

    def pop(self, key: str) -> Any:
        """Takes a value away and returns it.

        >>> parameters = al.nn.ParameterDict({"w": al.ones(2)})
        >>> parameters.pop("w").shape, len(parameters)
        ((2,), 0)
        """
        value = self[key]
        del self[key]
        return value

    def popitem(self) -> tuple[str, Any]:
        """Takes the last value away and returns it with its name.

        >>> parameters = al.nn.ParameterDict({"w": al.ones(2)})
        >>> parameters.popitem()[0], len(parameters)
        ('w', 0)
        """
        key = next(reversed(self._keys))
        return key, self.pop(key)

    def clear(self) -> None:
        """Takes all values away.

        >>> parameters = al.nn.ParameterDict({"w": al.ones(2)})
        >>> parameters.clear()
        >>> len(parameters)
        0
        """
        for key in list(self._keys):
            del self[key]

    def fromkeys(self, keys: Iterable[str], default: Any = None) -> ParameterDict:
        """A dict of names with one value.

        >>> al.nn.ParameterDict().fromkeys(["a", "b"], 0).items()
        [('a', 0), ('b', 0)]
        """
        return ParameterDict({key: default for key in keys})

    def keys(self) -> Any:
        """The names.

        >>> list(al.nn.ParameterDict({"w": al.ones(2)}).keys())
        ['w']
        """
        return self._keys.keys()

    def items(self) -> list[tuple[str, Any]]:
        """Names and values.

        >>> [(name, value.shape) for name, value in al.nn.ParameterDict({"w": al.ones(2)}).items()]
        [('w', (2,))]
        """
        return [(key, self[key]) for key in self._keys]

    def values(self) -> list[Any]:
        """The values.

        >>> [value.shape for value in al.nn.ParameterDict({"w": al.ones(2)}).values()]
        [(2,)]
        """
        return [self[key] for key in self._keys]

    def update(self, parameters: Any) -> None:
        """Adds values of a mapping, or of pairs of name and value.

        >>> parameters = al.nn.ParameterDict()
        >>> parameters.update({"w": al.ones(2)})
        >>> parameters["w"].requires_grad
        True
        """
        for key, value in _pairs("ParameterDict", parameters):
            self[key] = value

    def _own_lines(self) -> list[str]:
        return [f"({key}): {_line(value)}" for key, value in self.items()]

    def __call__(self, *args: Any, **options: Any) -> Any:
        raise RuntimeError("ParameterDict: not to be called; it holds parameters")


def _line(value: Any) -> str:
    if isinstance(value, Tensor) or is_lazy(value):
        return describe(value)
    return f"Object of type: {type(value).__name__}"


__all__ = ["ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
