"""The tensors of a module: parameters, which are trained, buffers, which are kept, and those whose
shape is not known yet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import Tensor, empty, zeros


class Parameter(Tensor):
    """A tensor that is trained: a module that it is assigned to lists it among its parameters.

    It shares the memory of `data`, without its history.

    >>> al.nn.Parameter(al.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    # What is computed of it is a tensor.
    _survives = False

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = empty(0)
        return Tensor.__new__(cls, data, requires_grad=bool(requires_grad))

    @classmethod
    def _from_tensor(cls, tensor: Tensor) -> Any:
        return Tensor.__new__(cls, tensor)

    def __reduce_ex__(self, protocol: Any) -> Any:
        plain = self.detach()
        state = (type(self), plain, self.requires_grad, dict(self.__dict__))
        return _rebuild, state

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"


class Buffer(Tensor):
    """A tensor that belongs to a module and is not trained: it moves and is saved with the module.

    With persistent=False it is not saved, with keep_dtype=True `module.to(dtype)` leaves its dtype.

    >>> module = al.nn.Module()
    >>> module.mean = al.nn.Buffer(al.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    persistent: bool
    keep_dtype: bool
    _survives = False

    def __new__(
        cls, data: Any = None, *, persistent: bool = True, keep_dtype: bool = False
    ) -> Buffer:
        made = Tensor.__new__(cls, empty(0) if data is None else data)
        made.persistent, made.keep_dtype = bool(persistent), bool(keep_dtype)
        return made

    @classmethod
    def _from_tensor(cls, tensor: Tensor) -> Any:
        return Tensor.__new__(cls, tensor)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _rebuild, (type(self), self.detach(), self.requires_grad, dict(self.__dict__))


def _rebuild(kind: Any, plain: Tensor, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """What pickle calls."""
    made = Tensor.__new__(kind, plain, requires_grad=requires_grad)
    made.__dict__.update(attributes)
    return made


class _Uninitialized:
    """What parameters and buffers without a shape have in common."""

    _wanted: tuple[Any, Any]
    _becomes: type[Any]

    @property
    def shape(self) -> Any:
        """There is none yet.

        >>> al.nn.UninitializedParameter().shape
        Traceback (most recent call last):
            ...
        RuntimeError: UninitializedParameter: no shape before the first call of its module (hint: call it with an input first)
        """
        raise RuntimeError(
            f"{type(self).__name__}: no shape before the first call of its module "
            "(hint: call it with an input first)"
        )

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Gives it a shape and memory; it becomes an ordinary parameter or buffer, the same object.

        >>> weight = al.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> type(weight).__name__, weight.shape
        ('Parameter', (2, 3))
        """
        wanted_dtype, wanted_device = self._wanted
        # Zeros: nobody may come to read memory that nobody has written.
        made = zeros(
            tuple(shape),
            dtype=wanted_dtype if dtype is None else dtype,
            device=wanted_device if device is None else device,
        )
        self._become(made)

    def _copy_of(self, value: Tensor) -> Tensor:
        """A value where and what this is to be."""
        dtype, device = self._wanted
        return value.to(dtype=dtype, device=value.device if device is None else device).clone()

    def _become(self, data: Tensor) -> None:
        self.data = data
        del self._wanted
        self.__class__ = self._becomes

    def _convert(self, dtype: Any, device: Any) -> None:
        """`to` of a module, before there is anything to convert."""
        self._wanted = (
            self._wanted[0] if dtype is None else dtype,
            self._wanted[1] if device is None else device,
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter whose shape is known from the first input, or from a file.

    >>> weight = al.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> type(weight).__name__, weight.shape
    ('Parameter', (2, 3))
    """

    _becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        # The dtype and the device are checked here, not where the shape comes.
        data = empty(0, dtype=dtype, device=device)
        made: Any = Parameter.__new__(cls, data, requires_grad)
        made._wanted = (data.numeric, device)
        return made


class UninitializedBuffer(_Uninitialized, Buffer):
    """A buffer whose shape is known from the first input, or from a file.

    >>> layer = al.nn.LazyBatchNorm1d()
    >>> isinstance(layer.running_mean, al.nn.UninitializedBuffer)
    True
    >>> y = layer(al.zeros(2, 3))
    >>> layer.running_mean.shape
    (3,)
    """

    _becomes = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> Any:
        data = empty(0, dtype=dtype, device=device)
        made: Any = Buffer.__new__(cls, data, persistent=persistent)
        made._wanted = (data.numeric, device)
        return made


def is_lazy(tensor: Any) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(tensor, _Uninitialized)


__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]
