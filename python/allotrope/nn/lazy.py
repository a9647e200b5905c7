"""Layers that learn the size of their input from the first one."""

from __future__ import annotations

from typing import Any

from .. import Tensor
from .conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from .linear import Linear
from .members import Members
from .module import Module
from .normalization import (
    BatchNorm1d,
    BatchNorm2d,
    BatchNorm3d,
    InstanceNorm1d,
    InstanceNorm2d,
    InstanceNorm3d,
)
from .parameter import Parameter, UninitializedBuffer, UninitializedParameter, is_lazy
from .sizes import as_input


class LazyModuleMixin:
    """A module whose parameters have no shapes before its first call, or before a state dict is
    loaded. Then it becomes one of `cls_to_become`, the same object.

    >>> layer = al.nn.LazyLinear(2)
    >>> layer.has_uninitialized_params()
    True
    >>> y = layer(al.zeros(1, 3))
    >>> type(layer).__name__, layer.weight.shape
    ('Linear', (2, 3))
    """

    cls_to_become: Any = None
    # Of the module beside which this is mixed in.
    _parameters: Members
    _buffers: Members

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or buffer has no shape yet.

        >>> al.nn.LazyLinear(2).has_uninitialized_params()
        True
        """
        return any(
            is_lazy(tensor) for tensor in (*self._parameters.values(), *self._buffers.values())
        )

    def initialize_parameters(self, *args: Any, **options: Any) -> None:
        """Gives the parameters their shapes, from the arguments of the first call.

        >>> layer = al.nn.LazyLinear(2)
        >>> layer.initialize_parameters(al.zeros(1, 3))
        >>> layer.weight.shape
        (2, 3)
        """
        raise NotImplementedError(
            f"{type(self).__name__}: a lazy module needs a method initialize_parameters of its own"
        )

    def __call__(self, *args: Any, **options: Any) -> Any:
        self.initialize_parameters(*args, **options)
        if self.cls_to_become is None:
            return Module.__call__(self, *args, **options)  # type: ignore[arg-type]
        self.__class__ = self.cls_to_become
        return self(*args, **options)


class _Lazy(LazyModuleMixin):
    """What the lazy layers have in common: which attribute is the size of the input, where it is in
    the shape of an input, and which parameters wait for it."""

    _size_name: str
    _waiting: tuple[str, ...] = ("weight", "bias")

    def _postpone(self) -> None:
        """Puts members without a shape in the place of those of size 0."""
        setattr(self, self._size_name, 0)
        for members, kind in (
            (self._parameters, UninitializedParameter),
            (self._buffers, UninitializedBuffer),
        ):
            for name in self._waiting:
                given = members.get(name)
                if given is not None:
                    members[name] = kind(device=given.device, dtype=given.numeric)

    def _input_size(self, input: Tensor) -> int:
        return input.shape[1]

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        raise NotImplementedError

    def reset_parameters(self) -> None:
        """Draws the parameters anew, if there are any.

        >>> al.nn.LazyLinear(2).reset_parameters()
        """
        if self._parameters and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self, input: Tensor, *args: Any, **options: Any) -> None:
        """Gives the parameters their shapes."""
        was_waiting = self.has_uninitialized_params()
        if not getattr(self, self._size_name):
            setattr(self, self._size_name, self._input_size(input))
            self._check_size()
        if was_waiting:
            for name, shape in self._shapes().items():
                tensor = getattr(self, name)
                if is_lazy(tensor):
                    tensor.materialize(shape)
            self.reset_parameters()

    def _check_size(self) -> None:
        """Refuses sizes that the layer cannot have."""


class LazyLinear(_Lazy, Linear):
    """`Linear` with in_features from the first input.

    Shape and dtype: as those of `Linear`.

    >>> layer = al.nn.LazyLinear(3)
    >>> layer(al.ones(2, 5)).shape, layer.in_features
    ((2, 3), 5)
    """

    cls_to_become = Linear
    _size_name = "in_features"

    def __init__(
        self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(0, 0, bias, device, dtype)
        self.out_features = out_features
        self._postpone()

    def _input_size(self, input: Tensor) -> int:
        input = as_input(type(self).__name__, input)
        return input.shape[-1] if input.ndim else 0

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        shapes: dict[str, tuple[int, ...]] = {"weight": (self.out_features, self.in_features)}
        return shapes if self.bias is None else {**shapes, "bias": (self.out_features,)}


class _LazyConv(_Lazy):
    """A convolution with in_channels from the first input."""

    groups: int
    bias: Parameter | None
    _rank: int
    _size_name = "in_channels"

    def __init__(self, out_channels: int, kernel_size: Any, *args: Any, **options: Any) -> None:
        super().__init__(0, 0, kernel_size, *args, **options)  # type: ignore[call-arg]
        self.out_channels = out_channels
        if self.groups > 0 and out_channels % self.groups:
            raise ValueError(
                f"{type(self).__name__}: out_channels is not divisible by groups: {out_channels} by "
                f"{self.groups}"
            )
        self._postpone()

    def _input_size(self, input: Tensor) -> int:
        input = as_input(type(self).__name__, input)
        if input.ndim not in (self._rank + 1, self._rank + 2):
            raise ValueError(
                f"{type(self).__name__}: wrong number of dimensions: {list(input.shape)}; "
                f"{self._rank + 1} or {self._rank + 2} are accepted"
            )
        return input.shape[-self._rank - 1]

    def _check_size(self) -> None:
        layer: Any = self
        layer._check(type(self).__name__)

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        layer: Any = self
        shapes: dict[str, tuple[int, ...]] = {"weight": layer._weight_shape()}
        return shapes if self.bias is None else {**shapes, "bias": (self.out_channels,)}


class LazyConv1d(_LazyConv, Conv1d):
    """`Conv1d` with in_channels from the first input.

    Shape and dtype: as those of `Conv1d`.

    >>> layer = al.nn.LazyConv1d(4, 3)
    >>> y = layer(al.zeros(2, 3, 8))
    >>> layer.in_channels, y.shape
    (3, (2, 4, 6))
    """

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """`Conv2d` with in_channels from the first input.

    Shape and dtype: as those of `Conv2d`.

    >>> al.nn.LazyConv2d(4, 3)(al.ones(1, 2, 5, 5)).shape
    (1, 4, 3, 3)
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """`Conv3d` with in_channels from the first input.

    Shape and dtype: as those of `Conv3d`.

    >>> layer = al.nn.LazyConv3d(4, 3)
    >>> y = layer(al.zeros(2, 3, 8, 8, 8))
    >>> layer.in_channels, y.shape
    (3, (2, 4, 6, 6, 6))
    """

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """`ConvTranspose1d` with in_channels from the first input.

    Shape and dtype: as those of `ConvTranspose1d`.

    >>> layer = al.nn.LazyConvTranspose1d(4, 3)
    >>> y = layer(al.zeros(2, 3, 8))
    >>> layer.in_channels, y.shape
    (3, (2, 4, 10))
    """

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """`ConvTranspose2d` with in_channels from the first input.

    Shape and dtype: as those of `ConvTranspose2d`.

    >>> layer = al.nn.LazyConvTranspose2d(4, 3)
    >>> y = layer(al.zeros(2, 3, 8, 8))
    >>> layer.in_channels, y.shape
    (3, (2, 4, 10, 10))
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """`ConvTranspose3d` with in_channels from the first input.

    Shape and dtype: as those of `ConvTranspose3d`.

    >>> layer = al.nn.LazyConvTranspose3d(4, 3)
    >>> y = layer(al.zeros(2, 3, 8, 8, 8))
    >>> layer.in_channels, y.shape
    (3, (2, 4, 10, 10, 10))
    """

    cls_to_become = ConvTranspose3d


class _LazyNorm(_Lazy):
    """A normalization with num_features from the first input."""

    num_features: int
    _size_name = "num_features"
    _waiting = ("weight", "bias", "running_mean", "running_var")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(0, *args, **options)  # type: ignore[call-arg]
        self._postpone()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        there = (name for name in self._waiting if getattr(self, name) is not None)
        return {name: (self.num_features,) for name in there}

    def _input_size(self, input: Tensor) -> int:
        layer: Any = self
        input = layer._check_input_dim(input)
        ranks: tuple[int, ...] = layer._ranks
        # An instance may come without a batch.
        is_instance = "InstanceNorm" in type(self).__name__
        return input.shape[-ranks[0]] if is_instance else input.shape[1]


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """`BatchNorm1d` with num_features from the first input.

    Shape and dtype: as those of `BatchNorm1d`.

    >>> al.nn.LazyBatchNorm1d()(al.ones(2, 5)).shape
    (2, 5)
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """`BatchNorm2d` with num_features from the first input.

    Shape and dtype: as those of `BatchNorm2d`.

    >>> layer = al.nn.LazyBatchNorm2d()
    >>> y = layer(al.zeros(2, 3, 8, 8))
    >>> layer.num_features, y.shape
    (3, (2, 3, 8, 8))
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """`BatchNorm3d` with num_features from the first input.

    Shape and dtype: as those of `BatchNorm3d`.

    >>> layer = al.nn.LazyBatchNorm3d()
    >>> y = layer(al.zeros(2, 3, 8, 8, 8))
    >>> layer.num_features, y.shape
    (3, (2, 3, 8, 8, 8))
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """`InstanceNorm1d` with num_features from the first input.

    Shape and dtype: as those of `InstanceNorm1d`.

    >>> layer = al.nn.LazyInstanceNorm1d()
    >>> y = layer(al.zeros(2, 3, 8))
    >>> layer.num_features, y.shape
    (3, (2, 3, 8))
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """`InstanceNorm2d` with num_features from the first input.

    Shape and dtype: as those of `InstanceNorm2d`.

    >>> layer = al.nn.LazyInstanceNorm2d()
    >>> y = layer(al.zeros(2, 3, 8, 8))
    >>> layer.num_features, y.shape
    (3, (2, 3, 8, 8))
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """`InstanceNorm3d` with num_features from the first input.

    Shape and dtype: as those of `InstanceNorm3d`.

    >>> layer = al.nn.LazyInstanceNorm3d()
    >>> y = layer(al.zeros(2, 3, 8, 8, 8))
    >>> layer.num_features, y.shape
    (3, (2, 3, 8, 8, 8))
    """

    cls_to_become = InstanceNorm3d


__all__ = [
    "LazyBatchNorm1d",
    "LazyBatchNorm2d",
    "LazyBatchNorm3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
    "LazyInstanceNorm1d",
    "LazyInstanceNorm2d",
    "LazyInstanceNorm3d",
    "LazyLinear",
    "LazyModuleMixin",
]
