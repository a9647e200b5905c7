"""Weights that are zero by a mask, as torch.nn.utils.prune.

A pruned parameter `weight` becomes a parameter `weight_orig`, which is trained, and a buffer
`weight_mask`; before every call of the module `weight` is their product. Which entries a method
prunes it finds by scores: those of least score go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from ... import Tensor, cat, ones_like, rand
from ...linalg import vector_norm
from ..module import Module
from ..parameter import Parameter


def _count(op: str, amount: Any, size: int) -> int:
    """How many of so many entries a share or a number means."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"{op}: not an amount: {amount!r}; a share from 0 to 1 or a number of entries is accepted")
    if isinstance(amount, float):
        if not 0.0 <= amount <= 1.0:
            raise ValueError(f"{op}: not a share: {amount}; 0.0 to 1.0 are accepted")
        return round(amount * size)
    if not 0 <= amount <= size:
        raise ValueError(f"{op}: {amount} entries to prune of {size}; 0 to {size} are accepted")
    return amount


def _without_least(mask: Tensor, scores: Tensor, count: int) -> Tensor:
    """The mask without the entries of the least scores, the earlier of equals."""
    mask = mask.clone()
    if count:
        least = scores.reshape(-1).sort(stable=True).indices[:count]
        mask.view(-1)[least] = 0
    return mask


class BasePruningMethod(ABC):
    """A way to prune: what a mask loses, by the scores of entries.

    A subclass says in `PRUNING_TYPE` what its amounts count when a parameter is pruned once more:
    `unstructured` entries, `structured` parts along `dim`, or with `global` all entries, pruned or not.

    >>> class Even(al.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> layer = al.nn.Linear(4, 1)
    >>> _ = Even.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[0., 1., 0., 1.]])
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor: that which it has, with more zeros.

        >>> method = al.nn.utils.prune.L1Unstructured(amount=1)
        >>> method.compute_mask(al.tensor([3.0, -1.0]), al.ones(2))
        tensor([1., 0.])
        """

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """The product of the parameter and its mask.

        >>> layer = al.nn.utils.prune.identity(al.nn.Linear(2, 1), "weight")
        >>> method = next(iter(layer._forward_pre_hooks.values()))
        >>> method.apply_mask(layer).equal(layer.weight_orig)
        True
        """
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        product: Tensor = mask.to(original.dtype) * original
        return product

    def prune(self, t: Tensor, default_mask: Any = None, importance_scores: Any = None) -> Tensor:
        """The tensor with zeros where this method prunes.

        >>> al.nn.utils.prune.L1Unstructured(amount=1).prune(al.tensor([3.0, -1.0]))
        tensor([ 3., -0.])
        """
        scores = t if importance_scores is None else importance_scores
        mask = ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask).to(t.dtype)

    @classmethod
    def apply(cls, module: Module, name: str, *args: Any, importance_scores: Any = None, **options: Any) -> Any:
        """Prunes a parameter of a module by this method, and once more if it is pruned already.

        >>> layer = al.nn.Linear(2, 2)
        >>> _ = al.nn.utils.prune.L1Unstructured.apply(layer, "weight", 1)
        >>> int(layer.weight_mask.sum())
        3
        """
        found = [(key, hook) for key, hook in module._forward_pre_hooks.items() if _is_of(hook, name)]
        method = cls(*args, **options)
        method._tensor_name = name
        if found:
            key, former = found[0]
            del module._forward_pre_hooks[key]
            container = former if isinstance(former, PruningContainer) else PruningContainer(former)
            container.add_pruning_method(method)
            method = container
            original = getattr(module, name + "_orig")
            default = getattr(module, name + "_mask")
        else:
            original = _parameter(module, name)
            default = ones_like(original.detach())
        scores = original.detach() if importance_scores is None else importance_scores
        if tuple(scores.shape) != tuple(original.shape):
            given = f"{list(scores.shape)} for {list(original.shape)}"
            raise ValueError(f"prune: scores of another shape: {given}; the parameter's shape is accepted")
        mask = method.compute_mask(scores.detach(), default_mask=default)
        if not found:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def remove(self, module: Module) -> None:
        """Makes the pruned tensor the parameter, without a mask.

        >>> layer = al.nn.utils.prune.l1_unstructured(al.nn.Linear(2, 2), "bias", 1)
        >>> next(iter(layer._forward_pre_hooks.values())).remove(layer)
        >>> sorted(dict(layer.named_parameters()))
        ['bias', 'weight']
        """
        name = self._tensor_name
        weight = self.apply_mask(module)
        original = module._parameters.pop(name + "_orig")
        del module._buffers[name + "_mask"]
        if name in module.__dict__:
            delattr(module, name)
        original.data = weight.detach()
        setattr(module, name, original)


def _is_of(hook: Any, name: str) -> bool:
    return isinstance(hook, BasePruningMethod) and hook._tensor_name == name


def _parameter(module: Module, name: str) -> Parameter:
    found: Parameter | None = module._parameters.get(name)
    if found is None:
        given = ", ".join(module._parameters) or "none"
        raise AttributeError(f"prune: no such parameter: {name!r}; {type(module).__name__} has {given}")
    return found


class PruningContainer(BasePruningMethod):
    """Several ways to prune one parameter, one after the other.

    >>> layer = al.nn.Linear(4, 1)
    >>> for amount in (1, 1):
    ...     _ = al.nn.utils.prune.l1_unstructured(layer, "weight", amount)
    >>> len(next(iter(layer._forward_pre_hooks.values()))), int(layer.weight_mask.sum())
    (2, 2)
    """

    PRUNING_TYPE = "container"

    def __init__(self, *args: Any) -> None:
        self._methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Adds another way, for the same parameter.

        >>> prune = al.nn.utils.prune
        >>> first, second = prune.L1Unstructured(1), prune.L1Unstructured(1)
        >>> first._tensor_name = second._tensor_name = "weight"
        >>> container = prune.PruningContainer(first)
        >>> container.add_pruning_method(second)
        >>> len(container)
        2
        """
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"add_pruning_method: not a pruning method: {type(method).__name__}")
        if method._tensor_name != self._tensor_name:
            raise ValueError(f"add_pruning_method: of another parameter: {method._tensor_name!r}; {self._tensor_name!r} is accepted")
        self._methods = (*self._methods, method)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Any:
        return iter(self._methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask, with what the last way takes of what the others have left.

        >>> prune = al.nn.utils.prune
        >>> first, second = prune.L1Unstructured(1), prune.L1Unstructured(1)
        >>> first._tensor_name = second._tensor_name = "weight"
        >>> prune.PruningContainer(first, second).compute_mask(al.tensor([3.0, 1, 2]), al.tensor([1.0, 0, 1]))
        tensor([1., 0., 0.])
        """
        method = self._methods[-1]
        mask = default_mask.clone()
        if method.PRUNING_TYPE == "unstructured":
            chosen: Any = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim  # type: ignore[attr-defined]
            others = tuple(axis for axis in range(t.ndim) if axis != dim)
            kept = mask.sum(others) != 0 if others else mask != 0
            chosen = (slice(None),) * dim + (kept.nonzero().flatten(),)
        elif method.PRUNING_TYPE == "global":
            chosen = ()
        else:
            raise ValueError(f"prune: no such kind: {method.PRUNING_TYPE!r}; unstructured, structured and global are accepted")
        mask[chosen] = method.compute_mask(t[chosen], default_mask=mask[chosen]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: parameters become what pruned ones are.

    >>> layer = al.nn.Linear(2, 1)
    >>> _ = al.nn.utils.prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[1., 1.]])
    """

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask as it is.

        >>> al.nn.utils.prune.Identity().compute_mask(al.zeros(2), al.ones(2))
        tensor([1., 1.])
        """
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes entries at random.

    >>> layer = al.nn.Linear(4, 1)
    >>> _ = al.nn.utils.prune.RandomUnstructured.apply(layer, "weight", amount=0.5)
    >>> int(layer.weight_mask.sum())
    2
    """

    def __init__(self, amount: float) -> None:
        _count("random_unstructured", amount, 1 << 62)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without entries chosen at random.

        >>> al.nn.utils.prune.RandomUnstructured(2).compute_mask(al.zeros(5), al.ones(5)).sum()
        tensor(3.)
        """
        scores = rand(tuple(t.shape), device=t.device)
        return _without_least(default_mask, scores, _count("random_unstructured", self.amount, t.numel()))


class L1Unstructured(BasePruningMethod):
    """Prunes entries that are nearest to zero.

    >>> layer = al.nn.Linear(2, 1)
    >>> _ = layer.weight.data.copy_(al.tensor([[3.0, -1.0]]))
    >>> _ = al.nn.utils.prune.L1Unstructured.apply(layer, "weight", amount=1)
    >>> layer.weight_mask
    tensor([[1., 0.]])
    """

    def __init__(self, amount: float) -> None:
        _count("l1_unstructured", amount, 1 << 62)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without the entries of least magnitude.

        >>> al.nn.utils.prune.L1Unstructured(1).compute_mask(al.tensor([3.0, -1.0]), al.ones(2))
        tensor([1., 0.])
        """
        return _without_least(default_mask, t.abs(), _count("l1_unstructured", self.amount, t.numel()))


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        _count(type(self).__name__, amount, 1 << 62)
        self.amount, self.dim = amount, dim

    def _scores(self, parts: Tensor) -> Tensor:
        raise NotImplementedError

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without whole parts along the dimension.

        >>> method = al.nn.utils.prune.LnStructured(1, n=1, dim=0)
        >>> method.compute_mask(al.tensor([[1.0, 2.0], [3.0, 4.0]]), al.ones(2, 2))
        tensor([[0., 0.],
                [1., 1.]])
        """
        if not -t.ndim <= self.dim < t.ndim or t.ndim == 0:
            raise IndexError(f"prune: dim out of range: {self.dim}; the tensor has {t.ndim} dimensions")
        dim = self.dim % t.ndim
        parts = t.movedim(dim, 0).reshape(t.shape[dim], -1)
        count = _count(type(self).__name__, self.amount, t.shape[dim])
        kept = _without_least(ones_like(parts[:, 0]), self._scores(parts), count)
        sizes = [1] * t.ndim
        sizes[dim] = -1
        return default_mask * kept.reshape(sizes).to(default_mask.dtype)


class RandomStructured(_Structured):
    """Prunes whole parts along a dimension at random.

    >>> layer = al.nn.Linear(3, 4)
    >>> _ = al.nn.utils.prune.RandomStructured.apply(layer, "weight", amount=1, dim=0)
    >>> int(layer.weight_mask.sum())
    9
    """

    def _scores(self, parts: Tensor) -> Tensor:
        return rand(parts.shape[0], device=parts.device)


class LnStructured(_Structured):
    """Prunes whole parts along a dimension, those of least norm.

    >>> layer = al.nn.Linear(1, 2)
    >>> _ = layer.weight.data.copy_(al.tensor([[3.0], [-1.0]]))
    >>> _ = al.nn.utils.prune.LnStructured.apply(layer, "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask
    tensor([[1.],
            [0.]])
    """

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, parts: Tensor) -> Tensor:
        order = 2 if self.n == "fro" else self.n
        return vector_norm(parts, order, dim=1)


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask says.

    >>> layer = al.nn.Linear(2, 1)
    >>> _ = al.nn.utils.prune.CustomFromMask.apply(layer, "weight", al.tensor([[0, 1]]))
    >>> layer.weight_mask
    tensor([[0., 1.]])
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask without what the other one has not.

        >>> al.nn.utils.prune.CustomFromMask(al.tensor([0, 1])).compute_mask(al.zeros(2), al.ones(2))
        tensor([0., 1.])
        """
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """The module, whose parameter is pruned of nothing: it has a mask of ones.

    >>> layer = al.nn.utils.prune.identity(al.nn.Linear(2, 1), "bias")
    >>> layer.bias_mask
    tensor([1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """The module, with a share or a number of the entries of a parameter pruned at random.

    >>> layer = al.nn.utils.prune.random_unstructured(al.nn.Linear(4, 1), "weight", amount=3)
    >>> int((layer.weight == 0).sum())
    3
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Any = None) -> Module:
    """The module, with a share or a number of the entries of a parameter pruned: those nearest to zero,
    or of the least scores.

    >>> layer = al.nn.utils.prune.l1_unstructured(al.nn.Linear(4, 1), "weight", amount=0.5)
    >>> int((layer.weight == 0).sum())
    2
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """The module, with whole parts of a parameter along a dimension pruned at random.

    >>> layer = al.nn.utils.prune.random_structured(al.nn.Linear(4, 2), "weight", amount=1, dim=1)
    >>> int((layer.weight == 0).sum())
    2
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Any = None
) -> Module:
    """The module, with whole parts of a parameter along a dimension pruned: those of the least norm.

    >>> layer = al.nn.utils.prune.ln_structured(al.nn.Linear(4, 2), "weight", amount=0.5, n=2, dim=0)
    >>> int((layer.weight == 0).sum())
    4
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **options: Any,
) -> None:
    """Prunes several parameters together: of all of their entries those that a method chooses.

    >>> first, second = al.nn.Linear(2, 1), al.nn.Linear(2, 1)
    >>> prune = al.nn.utils.prune
    >>> prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=3)
    >>> int(first.weight_mask.sum() + second.weight_mask.sum())
    1
    """
    pairs: Sequence[tuple[Module, str]] = list(parameters)
    if not pairs:
        raise ValueError("global_unstructured: no parameters; one or more are accepted")
    given = importance_scores or {}
    values = [getattr(module, name).detach() for module, name in pairs]
    scores = [given.get(pair, value) for pair, value in zip(pairs, values)]
    masks = [getattr(module, name + "_mask", ones_like(value)) for (module, name), value in zip(pairs, values)]
    method = pruning_method(**options)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(f"global_unstructured: not unstructured: {pruning_method.__name__}; unstructured methods are accepted")
    method._tensor_name = "temporary"
    container = PruningContainer(method)
    flat = [cat([each.reshape(-1) for each in all_]) for all_ in (scores, masks)]
    final = container.compute_mask(flat[0], flat[1])
    start = 0
    for (module, name), value in zip(pairs, values):
        part = final[start : start + value.numel()].view_as(value)
        start += value.numel()
        custom_from_mask(module, name, mask=part)


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """The module, with a parameter pruned where a mask is zero.

    >>> layer = al.nn.utils.prune.custom_from_mask(al.nn.Linear(2, 1), "weight", al.tensor([[0, 1]]))
    >>> bool(layer.weight[0, 0] == 0)
    True
    """
    CustomFromMask.apply(module, name, mask)
    return module


def remove(module: Module, name: str) -> Module:
    """The module, whose pruned parameter is an ordinary one, with zeros where it was pruned.

    >>> layer = al.nn.utils.prune.l1_unstructured(al.nn.Linear(2, 1), "weight", amount=1)
    >>> layer = al.nn.utils.prune.remove(layer, "weight")
    >>> sorted(layer.state_dict()), int((layer.weight == 0).sum())
    (['bias', 'weight'], 1)
    """
    for key, hook in module._forward_pre_hooks.items():
        if _is_of(hook, name):
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"remove: not pruned: {name!r} of {type(module).__name__}; what the functions of prune have pruned is accepted")


def is_pruned(module: Module) -> bool:
    """Whether a parameter of a module, or of one in it, is pruned.

    >>> al.nn.utils.prune.is_pruned(al.nn.utils.prune.identity(al.nn.Linear(2, 1), "bias"))
    True
    """
    hooks = (hook for each in module.modules() for hook in each._forward_pre_hooks.values())
    return any(isinstance(hook, BasePruningMethod) for hook in hooks)


__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]
