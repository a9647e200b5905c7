"""Where a module is and in which dtype: `to` and its short forms. Parameters stay the objects they
are, so that optimizers keep them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import Family, Tensor, _core
from .parameter import is_lazy

if TYPE_CHECKING:
    from typing_extensions import Self


def is_converted(tensor: Tensor) -> bool:
    """Floats and complex numbers follow `to(dtype)`; integers and truth values do not."""
    return tensor.is_floating_point() or tensor.is_complex()


def dtype_for(given: Any, wanted: Any) -> Any:
    """The dtype or family that a tensor of a dtype gets: complex numbers stay complex."""
    if isinstance(wanted, Family):
        return _core.Complex if given.is_complex else wanted
    return wanted.to_complex() if given.is_complex and not wanted.is_complex else wanted


def cast_floats(value: Any, dtype: Any) -> Any:
    """Nested arguments with their float and complex tensors in a dtype or family."""
    return _mapped(value, lambda tensor: tensor.to(dtype_for(tensor.dtype, dtype)) if is_converted(tensor) else tensor)


def lowerable(value: Any) -> Any:
    """Nested arguments without float64, which autocast leaves alone."""
    return _mapped(value, lambda tensor: tensor.float() if tensor.dtype == _core.float64 else tensor)


def _mapped(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Nested arguments with their tensors changed."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: _mapped(member, change) for key, member in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(member, change) for member in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_mapped(member, change) for member in value)
    return value


def moved(value: Any, device: Any) -> Any:
    """Nested arguments with their tensors on a device."""
    return _mapped(value, lambda tensor: tensor.to(device))


class Computing(NamedTuple):
    """How a module computes whatever stands around it: `dtype` is what it casts what it is called with to,
    or, where it is lowered, what autocast lowers to. A module that is widened casts its results, too, and
    one that is kept is left alone by autocast. What it is called with is moved to `device`."""

    dtype: Any = None
    is_lowered: bool = False
    is_widened: bool = False
    is_kept: bool = True
    device: Any = None


def wanted_dtype(op: str, dtype: Any) -> Any:
    """A float or complex dtype, or one of their families."""
    wanted = dtype if isinstance(dtype, Family) else _core.dtype(dtype)
    if isinstance(wanted, Family):
        is_known = wanted is _core.Float or wanted is _core.Complex
    else:
        is_known = wanted.is_floating_point or wanted.is_complex
    if not is_known:
        raise TypeError(
            f"{op}: wrong dtype: {wanted.name}; float and complex dtypes, Float and Complex are "
            "accepted"
        )
    return wanted


class Replacements:
    """Other memory for tensor objects, whose gradients go along to where and what that is: all of it
    is made before the first object is changed, so that a lack of memory leaves them as they were."""

    def __init__(self) -> None:
        self._made: list[tuple[Tensor, Tensor, Tensor | None, bool]] = []
        self._lazy: list[tuple[Any, Any, Any]] = []

    def add(self, tensor: Tensor, data: Tensor) -> None:
        """Notes what a tensor is to be."""
        if data is tensor:
            return
        gradient = tensor.grad if tensor.is_leaf else None
        if gradient is None or gradient.shape != data.shape:
            self._made.append((tensor, data, None, False))
            return
        plain = gradient.detach()
        # Of values that there are none of there is no gradient either.
        moved = None if plain.is_meta and not data.is_meta else plain.to(device=data.device, dtype=data.dtype)
        self._made.append((tensor, data, moved, moved is not plain))

    def convert(self, tensor: Any, dtype: Any, device: Any) -> None:
        """Notes another dtype for a parameter or buffer, if it is a float or complex one, and another place."""
        if is_lazy(tensor):
            self._lazy.append((tensor, dtype, device))
            return
        plain = tensor.detach()
        target: dict[str, Any] = {}
        if dtype is not None and is_converted(plain):
            target["dtype"] = dtype_for(plain.dtype, dtype)
        if device is not None:
            target["device"] = device
        converted = plain.to(**target) if target else plain
        if converted is not plain:
            self.add(tensor, converted)

    def commit(self) -> None:
        """Changes the objects."""
        for tensor, data, gradient, is_new in self._made:
            tensor.data = data
            if is_new or gradient is not None and tensor.grad is None:
                tensor.grad = gradient
        for tensor, dtype, device in self._lazy:
            tensor._convert(dtype, device)


def check_device(device: Any) -> None:
    """Refuses an unknown device before anything is converted."""
    if device is not None:
        _core.empty(0, device="cpu").to(device)


class Converted:
    """The part of a module that converts it.

    >>> issubclass(al.nn.Module, al.nn.conversion.Converted)
    True
    >>> al.nn.Linear(2, 3).to(al.bfloat16).weight.dtype
    allotrope.bfloat16
    """

    # The dtype that the module stays in, whatever a module above is converted to.
    _kept_in: Any = None
    # How it computes, if not as what is around it.
    _computing: Computing | None = None
    # What the module has beside.
    _buffers: Any
    _keep_dtype_buffers_set: Any
    _modules: Any
    _parameters: Any
    modules: Any

    def _apply(self, function: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Puts `function(tensor)` in the place of each parameter and buffer, which stay the objects
        they are."""
        seen: set[int] = set()
        made = Replacements()
        for module in self.modules() if recurse else (self,):
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is not None and not is_lazy(tensor) and id(tensor) not in seen:
                    seen.add(id(tensor))
                    made.add(tensor, function(tensor.detach()))
        made.commit()
        return self

    def _convert(self, dtype: Any, device: Any = None) -> Self:
        """Converts what is not kept: buffers with keep_dtype, and modules with `keep_in`."""
        kept: dict[int, Any] = {}
        self._collect_kept(kept, dtype)
        check_device(device)
        seen: set[int] = set()
        made = Replacements()
        for module in self.modules():
            for tensor in (*module._parameters.values(), *module._buffers.values()):
                if tensor is None or id(tensor) in seen:
                    continue
                seen.add(id(tensor))
                made.convert(tensor, kept.get(id(tensor), dtype), device)
        made.commit()
        how = self._computing
        if dtype is not None and self._kept_in is not None:
            self.__dict__["_kept_in"] = dtype
            if how is not None and how.dtype is not None:
                self.__dict__["_computing"] = Computing(dtype, device=how.device)
        if device is not None:
            for module in self.modules():
                how = module._computing
                if how is not None and how.device is not None:
                    module.__dict__["_computing"] = how._replace(device=device)
        return self

    def _collect_kept(self, kept: dict[int, Any], wanted: Any, stays: Any = None) -> None:
        """The dtypes of tensors that do not become what is wanted, by the tensors' identities."""
        # Asked of directly, a module is converted; what it keeps is a matter for those above.
        for name in self._keep_dtype_buffers_set:
            buffer = self._buffers.get(name)
            if buffer is not None:
                kept[id(buffer)] = self._kept_buffer_dtype(buffer, wanted)
        if stays is not None:
            for tensor in (*self._parameters.values(), *self._buffers.values()):
                if tensor is not None:
                    kept.setdefault(id(tensor), stays)
        for child in self._modules.values():
            if child is not None:
                child_stays = stays if child._kept_in is None else child._kept_in
                child._collect_kept(kept, wanted, child_stays)

    def _kept_buffer_dtype(self, buffer: Tensor, wanted: Any) -> Any:
        """What a buffer with keep_dtype becomes: what it is."""
        return buffer.numeric

    def keep_in(self, dtype: Any, *, inputs: bool = False) -> Self:
        """Converts the module and keeps it in this dtype: `to(dtype)` of a module above and autocast
        leave it, `to(dtype)` of the module itself gives it another one to stay in. None lets go. With
        inputs, float and complex tensors that it is called with are cast to the dtype too.

        >>> model = al.nn.Sequential(al.nn.Linear(2, 2), al.nn.LayerNorm(2).keep_in(al.float32))
        >>> model = model.to(al.bfloat16)
        >>> [p.dtype.name for p in model.parameters()]
        ['bfloat16', 'bfloat16', 'float32', 'float32']
        """
        if dtype is None:
            self.__dict__["_kept_in"] = None
            self.__dict__.pop("_computing", None)
            return self
        wanted = wanted_dtype("keep_in", dtype)
        self._convert(wanted)
        self.__dict__["_kept_in"] = wanted
        self.__dict__["_computing"] = Computing(wanted if inputs else None)
        self.__dict__["_is_plain"] = False
        return self

    def apply_audit(self, report: Any) -> Self:
        """Takes the advice of `al.audit`: every layer is kept in the dtype that the report recommends,
        and casts what it is called with to it. A dict of dtypes by path is taken too.

        >>> model = al.nn.Sequential(al.nn.Linear(2, 2), al.nn.ReLU(), al.nn.Linear(2, 1))
        >>> model = model.apply_audit({"0": al.bfloat16, "2": al.float32})
        >>> [p.dtype.name for p in model.parameters()], model(al.ones(1, 2)).dtype
        (['bfloat16', 'bfloat16', 'float32', 'float32'], allotrope.float32)
        """
        from .plan import by_layers

        recommended = report if isinstance(report, dict) else getattr(report, "recommended", None)
        if not isinstance(recommended, dict):
            raise TypeError(
                f"apply_audit: not a report: {type(report).__name__}; what al.audit returns, or a "
                "dict of dtypes by path is accepted"
            )
        return by_layers(recommended).apply(self)

    def to(
        self,
        *arguments: Any,
        device: Any = None,
        dtype: Any = None,
        tensor: Tensor | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Self:
        """The module itself, its parameters and buffers on a device, in a dtype or family, or where
        and what a tensor is. Floats and complex numbers are converted, integers only moved; complex
        numbers stay complex. Parameters stay the same objects, their gradients follow. All is made
        before the first of them is changed: a lack of memory leaves the module as it was.

        >>> layer = al.nn.Linear(2, 3)
        >>> weight = layer.weight
        >>> layer.to(al.bfloat16)
        Linear(in_features=2, out_features=3, bias=True, dtype=bfloat16)
        >>> layer.weight is weight
        True
        """
        for given in arguments:
            if isinstance(given, Tensor):
                tensor = given
            elif isinstance(given, bool):
                continue  # torch's non_blocking
            elif isinstance(given, str) and _is_device(given):
                device = given
            elif isinstance(given, _core.memory_format):
                memory_format = given
            elif given is not None:
                dtype = given if dtype is None else dtype
                if isinstance(given, str):
                    dtype = _dtype_or_device(given)
        if tensor is not None:
            device, dtype = tensor.device, tensor.numeric
        if dtype is not None:
            dtype = wanted_dtype("to", dtype)
        self._convert(dtype, device)
        if memory_format is not None:
            self._apply(lambda t: t.to(memory_format=memory_format) if t.ndim in (4, 5) else t)
        return self

    def type(self, dst_type: Any) -> Self:
        """The module in another float or complex dtype, as `to(dst_type)`.

        >>> al.nn.Linear(2, 3).type(al.complex64).weight.dtype
        allotrope.complex64
        """
        return self._convert(wanted_dtype("type", dst_type))

    def half(self) -> Self:
        """The module in float16.

        >>> al.nn.Linear(2, 3).half().weight.dtype
        allotrope.float16
        """
        return self._convert(_core.float16)

    def bfloat16(self) -> Self:
        """The module in bfloat16.

        >>> al.nn.Linear(2, 3).bfloat16().weight.dtype
        allotrope.bfloat16
        """
        return self._convert(_core.bfloat16)

    def float(self) -> Self:
        """The module in float32.

        >>> al.nn.Linear(2, 3, dtype=al.float64).float().weight.dtype
        allotrope.float32
        """
        return self._convert(_core.float32)

    def double(self) -> Self:
        """The module in float64.

        >>> al.nn.Linear(2, 3).double().weight.dtype
        allotrope.float64
        """
        return self._convert(_core.float64)

    def cpu(self) -> Self:
        """The module on the CPU.

        >>> al.nn.Linear(2, 3).cpu().weight.device
        device(type='cpu')
        """
        return self._convert(None, "cpu")

    def gpu(self, device: int | None = None) -> Self:
        """The module on the first GPU, or on another by its number.

        >>> al.nn.Linear(2, 3).gpu().weight.device  # doctest: +GPU
        device(type='gpu')
        """
        return self._convert(None, "gpu" if device is None else f"gpu:{device}")

    def cuda(self, device: Any = None) -> Self:
        """Refused: a GPU of any maker is "gpu".

        >>> al.nn.Linear(2, 3).cuda()
        Traceback (most recent call last):
            ...
        RuntimeError: to: no such device: 'cuda'; available are ...
        """
        return self._convert(None, "cuda" if device is None else device)

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Self:
        """The module with new memory on a device, of unknown values.

        >>> al.nn.Linear(2, 3).to_empty(device="cpu").weight.shape
        (3, 2)
        """
        return self._apply(
            lambda tensor: _core.empty_like(tensor, device=device), recurse
        )

    def share_memory(self) -> Any:
        """Refused: memory of tensors is not shared between processes.

        >>> al.nn.Linear(2, 3).share_memory()
        Traceback (most recent call last):
            ...
        RuntimeError: share_memory: memory of tensors is not shared between processes (hint: al.save and al.load(mmap=True))
        """
        raise RuntimeError(
            "share_memory: memory of tensors is not shared between processes "
            "(hint: al.save and al.load(mmap=True))"
        )


def _is_device(name: str) -> bool:
    # A name of a dtype is no reason to look for devices.
    try:
        _core.dtype(name)
        return False
    except TypeError:
        pass
    try:
        _core._check_device_name(name)
    except RuntimeError:
        return False
    return True


def _dtype_or_device(name: str) -> Any:
    try:
        return _core.dtype(name)
    except TypeError:
        raise RuntimeError(
            f"to: no such dtype or device: {name!r}; names of dtypes and "
            f"{', '.join(_core.devices())} are accepted"
        ) from None


__all__ = ["Converted"]
