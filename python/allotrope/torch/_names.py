"""Names that only torch has: what it calls constructors of dtypes, devices of other makers, and settings
of its own. Each answers as torch does on a machine with a CPU alone, or says why not.
"""

from __future__ import annotations

import pickle
import re
import reprlib
import typing
from collections.abc import Callable
from contextlib import nullcontext
from itertools import repeat
from typing import Any, TypeVar, Union

import allotrope as al

from .._encode import decode, encode

_T = TypeVar("_T")

# The version whose names programs may count on.
VERSION = "2.8.0"


class TorchVersion(str):
    """A version that compares by its numbers."""

    def _numbers(self, other: Any) -> list[int]:
        text = ".".join(map(str, other)) if isinstance(other, (tuple, list)) else str(other)
        return [int(part) for part in re.findall(r"\d+", text.partition("+")[0])[:3]]

    def _pair(self, other: Any) -> tuple[list[int], list[int]]:
        own, others = self._numbers(self), self._numbers(other)
        length = max(len(own), len(others))
        return own + [0] * (length - len(own)), others + [0] * (length - len(others))

    def __lt__(self, other: Any) -> bool:
        own, others = self._pair(other)
        return own < others

    def __le__(self, other: Any) -> bool:
        own, others = self._pair(other)
        return own <= others

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        own, others = self._pair(other)
        return own == others

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


# Constructors by the names of dtypes.

_KINDS = {
    "FloatTensor": "float32", "DoubleTensor": "float64", "HalfTensor": "float16", "BFloat16Tensor": "bfloat16",
    "ByteTensor": "uint8", "CharTensor": "int8", "ShortTensor": "int16", "IntTensor": "int32", "LongTensor": "int64",
    "BoolTensor": "bool",
}  # fmt: skip


class _TensorType(type):
    """The class of `FloatTensor` and its kin: what it makes are tensors of a dtype."""

    dtype: Any
    place: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, al.Tensor) and instance.dtype == cls.dtype and not cls.place

    def __call__(cls, *data: Any, device: Any = None, requires_grad: bool = False) -> Any:
        name = f"torch.{cls.place}{cls.__name__}"
        if cls.place:
            raise TypeError(f"{name}: no such device: {cls.place[:-1]!r}; torch.{cls.__name__} is accepted")
        if not data:
            return al.empty(0, dtype=cls.dtype)
        sizes = data[0] if len(data) == 1 and isinstance(data[0], al.Size) else data
        if all(type(size) is int for size in sizes):
            return al.empty(tuple(sizes), dtype=cls.dtype, requires_grad=requires_grad)
        if len(data) > 1:
            raise TypeError(f"{name}: several arguments: {data!r}; data or sizes are accepted")
        return al.tensor(data[0], requires_grad=requires_grad).to(cls.dtype)

    def __str__(cls) -> str:
        return f"torch.{cls.place}{cls.__name__}"


def _tensor_types(place: str = "") -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, dtype in _KINDS.items():
        doc = f"A tensor of {dtype}, of data or of sizes with elements of unknown values."
        members = {"dtype": al.dtype(dtype), "place": place, "__doc__": doc, "__module__": "torch"}
        made[name] = _TensorType(name, (), members)
    return made


_TYPES = _tensor_types()


def set_default_tensor_type(t: Any) -> None:
    """Sets the default dtype to that of a class of tensors, such as `torch.DoubleTensor` or its name."""
    found = _TYPES.get(t.rpartition(".")[2]) if isinstance(t, str) else t
    if not isinstance(found, _TensorType) or found.place or (isinstance(t, str) and t.count(".") > 1):
        raise TypeError(f"set_default_tensor_type: no such type: {t}; torch.FloatTensor and its kin are accepted")
    al.set_default_dtype(found.dtype)


class _VariableType(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, al.Tensor)

    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: bool = False) -> Any:
        made = al.empty(0) if data is None else data.detach()
        return made.requires_grad_() if requires_grad else made


class Variable(metaclass=_VariableType):
    """A tensor of the memory of another one: what variables were is what tensors are."""


class _Layout:
    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


def _in_place(name: str) -> Any:
    """The function of a method that writes to its object."""
    method = getattr(al.Tensor, name)

    def write(input: Any, *args: Any, **options: Any) -> Any:
        return method(input, *args, **options)

    write.__name__ = write.__qualname__ = name
    write.__doc__ = method.__doc__
    return write


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: Any = None, **_options: Any) -> None:
    """Writes what a program saves, as `al.save`: tensors, arrays, numbers, text and containers of them. A
    whole module is written as torch writes it, as a pickle, which is code."""
    if not isinstance(obj, al.nn.Module):
        al.save(encode("save", obj, "obj"), f)
    elif hasattr(f, "write"):
        pickle.dump(obj, f)
    else:
        with open(f, "wb") as file:
            pickle.dump(obj, file)


def load(
    f: Any, map_location: Any = None, pickle_module: Any = None, *, weights_only: Any = None, mmap: Any = None, **_options: Any
) -> Any:
    """What `save` wrote, and any other file of tensors; a pickle, which is code, if `weights_only` is False.
    Of a function or a dict as `map_location` there is nothing to map: files hold elements of the CPU."""
    if weights_only is False:
        found = _unpickled(f)
        if found is not None:
            return found
    place = map_location if isinstance(map_location, str) else None
    return decode(al.load(f, place, mmap=mmap))


def _unpickled(f: Any) -> Any:
    """The module that a file holds, if it is a pickle."""
    with nullcontext(f) if hasattr(f, "read") else open(f, "rb") as file:
        start = file.tell()
        is_pickle = file.read(1) == b"\x80"
        file.seek(start)
        return pickle.load(file) if is_pickle else None


def _top() -> dict[str, Any]:
    elementwise, others, views = al._core._in_place_methods()
    written = [name + "_" for name in (*elementwise, *others, *views)]
    written += [name for name in ("fill_", "zero_", "resize_as_", "index_put_") if hasattr(al.Tensor, name)]
    functions = {name: _in_place(name) for name in written if hasattr(al.Tensor, name)}
    return {
        **functions, **_TYPES,
        "__version__": TorchVersion(f"{VERSION}+allotrope.{al.__version__}"),
        "save": save, "load": load, "set_default_tensor_type": set_default_tensor_type,
        "GradScaler": al.amp.GradScaler,
        "layout": _Layout, "strided": _Layout("strided"),
        "_assert": _assert, "compiled_with_cxx11_abi": lambda: True,
    }  # fmt: skip


def _assert(condition: Any, message: str) -> None:
    """Refuses what is not true, with a message."""
    assert condition, message


# Devices of other makers: there are none.


def _refused(name: str, hint: str = "") -> Callable[..., Any]:
    def refuse(*_args: Any, **_options: Any) -> Any:
        kind = name.split(".")[1]
        raise RuntimeError(f"{name}: no such device: {kind!r}; cpu is accepted" + (f" (hint: {hint})" if hint else ""))

    return refuse


def _answers(value: Any) -> Callable[..., Any]:
    return lambda *_args, **_options: value


def _wait(device: Any = None) -> None:
    al.synchronize()


def _device_module(kind: str) -> dict[str, Any]:
    """What there is to ask of devices of which there are none."""
    gone = _refused(f"torch.{kind}.device")
    return {
        "is_available": _answers(False), "device_count": _answers(0), "is_initialized": _answers(False),
        "init": gone, "current_device": gone, "set_device": gone, "get_device_name": gone,
        "get_device_capability": gone, "get_device_properties": gone, "mem_get_info": gone,
        "Stream": gone, "Event": gone, "stream": gone, "current_stream": gone, "device": gone,
        "synchronize": _wait, "empty_cache": _answers(None), "ipc_collect": _answers(None),
        "manual_seed": _answers(None), "manual_seed_all": _answers(None), "seed": _answers(None),
        "seed_all": _answers(None), "get_rng_state_all": _answers([]), "set_rng_state_all": _answers(None),
        "memory_allocated": _answers(0), "max_memory_allocated": _answers(0), "memory_reserved": _answers(0),
        "max_memory_reserved": _answers(0), "memory_cached": _answers(0), "reset_peak_memory_stats": _answers(None),
        "reset_max_memory_allocated": _answers(None), "is_bf16_supported": _answers(False),
        "OutOfMemoryError": MemoryError,
    }  # fmt: skip


def _cuda() -> dict[str, Any]:
    return {**_device_module("cuda"), **_tensor_types("cuda."), "get_arch_list": _answers([]), "nvtx": _Nothing}


class _Nothing:
    """Marks for a profiler of another maker: taken, and written nowhere."""

    @staticmethod
    def range_push(*_args: Any, **_options: Any) -> int:
        return 0

    @staticmethod
    def range_pop(*_args: Any, **_options: Any) -> int:
        return 0

    @staticmethod
    def mark(*_args: Any, **_options: Any) -> int:
        return 0

    @staticmethod
    def range(*_args: Any, **_options: Any) -> Any:
        return nullcontext()


def _cuda_amp() -> dict[str, Any]:
    class autocast(al.autocast):
        """Autocast of a device of CUDA, of which there is none: off it is taken, on refused."""

        def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: Any = True) -> None:
            super().__init__("cuda", dtype, enabled, cache_enabled)

    class GradScaler(al.amp.GradScaler):
        """A scaler of losses, of any device."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__("cuda", *args, **options)

    return {
        "autocast": autocast, "GradScaler": GradScaler, "custom_fwd": al.amp.custom_fwd, "custom_bwd": al.amp.custom_bwd,
    }  # fmt: skip


def _mps() -> dict[str, Any]:
    return {**_device_module("mps"), "current_allocated_memory": _answers(0), "driver_allocated_memory": _answers(0)}


def _accelerator() -> dict[str, Any]:
    return {**_device_module("accelerator"), "current_accelerator": _answers(None), "device_index": _refused("torch.accelerator.device")}


# Networks.


def _parallel() -> dict[str, Any]:
    class DataParallel(al.nn.Module):
        """A module as it is: there is one device to run it on."""

        def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
            super().__init__()
            self.module, self.dim = module, dim

        def forward(self, *args: Any, **options: Any) -> Any:
            return self.module(*args, **options)

    class DistributedDataParallel(al.nn.Module):
        """Refused: one process trains a module."""

        def __init__(self, module: Any, *_args: Any, **_options: Any) -> None:
            given = type(module).__name__
            raise RuntimeError(f"DistributedDataParallel: several processes: {given}; one process is accepted (hint: the module itself)")

    return {"DataParallel": DataParallel, "DistributedDataParallel": DistributedDataParallel}


def _nn() -> dict[str, Any]:
    class SyncBatchNorm(al.nn.BatchNorm1d):
        """A batch norm over all processes, of which there is one."""

        def _check_input_dim(self, input: Any) -> Any:
            """Inputs of every rank."""
            return input

        @classmethod
        def convert_sync_batchnorm(cls, module: _T, process_group: Any = None) -> _T:
            return module

    from ..nn.linear import NonDynamicallyQuantizableLinear

    return {
        "DataParallel": _parallel()["DataParallel"], "SyncBatchNorm": SyncBatchNorm,
        "NonDynamicallyQuantizableLinear": NonDynamicallyQuantizableLinear,
    }  # fmt: skip


def _modules() -> dict[str, Any]:
    from ..nn import conv, dropout, linear, loss, normalization, pooling

    bases = {
        "_BatchNorm": normalization._BatchNorm, "_NormBase": normalization._NormBase,
        "_InstanceNorm": normalization._InstanceNorm, "_ConvNd": conv._ConvNd, "_Loss": loss._Loss,
        "_WeightedLoss": loss._Loss, "_DropoutNd": dropout._Dropout, "_MaxPoolNd": pooling._MaxPool,
        "_AvgPoolNd": pooling._AvgPool, "_AdaptiveAvgPoolNd": pooling._AdaptiveAvgPool,
        "NonDynamicallyQuantizableLinear": linear.NonDynamicallyQuantizableLinear,
    }  # fmt: skip
    return {**bases, **_nn()}


def _tuples() -> dict[str, Any]:
    def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
        def parse(x: Any) -> tuple[Any, ...]:
            return tuple(x) if hasattr(x, "__iter__") else tuple(repeat(x, n))

        parse.__name__ = name
        return parse

    def _reverse_repeat_tuple(t: Any, n: int) -> tuple[Any, ...]:
        return tuple(x for x in reversed(t) for _ in range(n))

    def _list_with_default(out_size: Any, defaults: Any) -> Any:
        if isinstance(out_size, int):
            return out_size
        return [v if v is not None else d for v, d in zip(out_size, defaults[-len(out_size) :])]

    def consume_prefix_in_state_dict_if_present(state_dict: Any, prefix: str) -> None:
        for key in list(state_dict):
            if key.startswith(prefix):
                state_dict[key[len(prefix) :]] = state_dict.pop(key)

    return {
        "_ntuple": _ntuple, "_single": _ntuple(1, "_single"), "_pair": _ntuple(2, "_pair"),
        "_triple": _ntuple(3, "_triple"), "_quadruple": _ntuple(4, "_quadruple"),
        "_reverse_repeat_tuple": _reverse_repeat_tuple, "_list_with_default": _list_with_default,
        "consume_prefix_in_state_dict_if_present": consume_prefix_in_state_dict_if_present,
    }  # fmt: skip


def _size_types() -> dict[str, Any]:
    made: dict[str, Any] = {"Tensor": al.Tensor, "_size_any_t": Any}
    for n in range(1, 7):
        numbers, shares = (tuple.__class_getitem__((kind,) * n) for kind in (int, float))
        made[f"_size_{n}_t"] = Union[int, numbers]
        made[f"_size_{n}_opt_t"] = Union[int, numbers, None]
        made[f"_ratio_{n}_t"] = Union[float, shares]
    return made


def _init() -> dict[str, Any]:
    def _calculate_fan_in_and_fan_out(tensor: Any) -> tuple[int, int]:
        if tensor.ndim < 2:
            raise ValueError(f"init: fans of {tensor.ndim} dimensions; two or more are accepted")
        inner = tensor[0, 0].numel() if tensor.ndim > 2 else 1
        return tensor.shape[1] * inner, tensor.shape[0] * inner

    def _calculate_correct_fan(tensor: Any, mode: str) -> int:
        fans = dict(zip(("fan_in", "fan_out"), _calculate_fan_in_and_fan_out(tensor)))
        if mode.lower() not in fans:
            raise ValueError(f"init: no such mode: {reprlib.repr(mode)}; fan_in and fan_out are accepted")
        return fans[mode.lower()]

    return {
        "_calculate_fan_in_and_fan_out": _calculate_fan_in_and_fan_out, "_calculate_correct_fan": _calculate_correct_fan,
        "_no_grad_trunc_normal_": al.nn.init.trunc_normal_, "_no_grad_normal_": al.nn.init.normal_,
        "_no_grad_uniform_": al.nn.init.uniform_,
    }  # fmt: skip


# What is around a training.


def _profiler() -> dict[str, Any]:
    class record_function(nullcontext):  # type: ignore[type-arg]
        """A block with a name, which nobody records."""

        def __init__(self, name: str, args: Any = None) -> None:
            super().__init__()

    def profile(*_args: Any, **_options: Any) -> Any:
        raise RuntimeError("profile: no profiler; al.trace_dtypes and al.audit are accepted (hint: cProfile)")

    return {"record_function": record_function, "profile": profile}


def _hub() -> dict[str, Any]:
    from urllib.parse import urlparse

    def download_url_to_file(url: str, dst: Any, *_args: Any, **_options: Any) -> None:
        raise RuntimeError(f"download_url_to_file: not downloaded: {url!r}; files that are here are accepted")

    return {
        "HASH_REGEX": re.compile(r"-([a-f0-9]*)\."), "urlparse": urlparse, "download_url_to_file": download_url_to_file,
    }  # fmt: skip


def _fx() -> dict[str, Any]:
    def symbolic_trace(root: Any, *_args: Any, **_options: Any) -> Any:
        raise RuntimeError(f"fx.symbolic_trace: a graph of operations: {type(root).__name__}; modules run as they are written")

    return {"wrap": lambda function: function, "symbolic_trace": symbolic_trace}


def _multiprocessing() -> dict[str, Any]:
    import multiprocessing

    names = [name for name in dir(multiprocessing) if not name.startswith("_")]
    return {
        **{name: getattr(multiprocessing, name) for name in names},
        "set_sharing_strategy": _answers(None), "get_sharing_strategy": _answers("file_descriptor"),
        "get_all_sharing_strategies": _answers({"file_descriptor"}),
    }  # fmt: skip


def _overrides() -> dict[str, Any]:
    def has_torch_function(relevant_args: Any) -> bool:
        return any(getattr(type(each), "__torch_function__", None) is not None for each in relevant_args)

    return {
        "has_torch_function": has_torch_function,
        "has_torch_function_unary": lambda x: has_torch_function((x,)),
        "has_torch_function_variadic": lambda *xs: has_torch_function(xs),
        "is_tensor_like": lambda x: isinstance(x, al.Tensor),
    }


def _tensorboard() -> Any:
    import importlib
    import importlib.util

    if importlib.util.find_spec("tensorboardX") is None:
        return (
            "torch.utils.tensorboard: no writer: tensorboardX is not installed; it is accepted in its place "
            "(hint: pip install tensorboardX, or al.progress)"
        )
    return {"SummaryWriter": importlib.import_module("tensorboardX").SummaryWriter}


def _distributed() -> dict[str, Any]:
    def refused(name: str) -> Callable[..., Any]:
        def refuse(*_args: Any, **_options: Any) -> Any:
            raise RuntimeError(f"torch.distributed.{name}: several processes: none; one process is accepted")

        return refuse

    refusing = "init_process_group destroy_process_group all_reduce all_gather broadcast reduce scatter gather new_group".split()
    return {
        **{name: refused(name) for name in refusing},
        "is_available": _answers(False), "is_initialized": _answers(False), "is_torchelastic_launched": _answers(False),
        "get_rank": _answers(0), "get_world_size": _answers(1), "barrier": _answers(None),
    }  # fmt: skip


PLACES: dict[str, Any] = {
    "": _top,
    "_dynamo": lambda: {"is_compiling": _answers(False)},
    "accelerator": _accelerator,
    "autograd": lambda: {"Variable": Variable},
    "autograd.profiler": _profiler,
    "autograd.variable": lambda: {"Variable": Variable},
    "cuda": _cuda,
    "cuda.amp": _cuda_amp,
    "cuda.nvtx": lambda: {name: getattr(_Nothing, name) for name in ("range_push", "range_pop", "mark", "range")},
    "distributed": _distributed,
    "fx": _fx,
    "hub": _hub,
    "jit.annotations": lambda: {name: getattr(typing, name) for name in ("Any", "Dict", "List", "Optional", "Tuple", "Union")},
    "mps": _mps,
    "multiprocessing": _multiprocessing,
    "nn": _nn,
    "nn.common_types": _size_types,
    "nn.init": _init,
    "nn.modules": _modules,
    "nn.modules.utils": _tuples,
    "nn.parallel": _parallel,
    "nn.utils.clip_grad": lambda: {},
    "optim.lr_scheduler": lambda: {"_LRScheduler": al.optim.lr_scheduler.LRScheduler},
    "overrides": _overrides,
    "profiler": _profiler,
    "types": lambda: {"Number": Union[int, float, bool], "Device": Any, "_dtype": al.dtype, "_size": al.Size, "_int": int, "_float": float, "_bool": bool, "Tensor": al.Tensor},
    "utils.dlpack": lambda: {"from_dlpack": al.from_dlpack, "to_dlpack": lambda tensor: tensor.__dlpack__()},
    "utils.model_zoo": lambda: {"load_url": al.hub.load_state_dict_from_url},
    "utils.tensorboard": _tensorboard,
    "version": lambda: {"__version__": VERSION, "cuda": None, "hip": None, "xpu": None, "debug": False, "git_version": None},
    "xpu": lambda: _device_module("xpu"),
}  # fmt: skip
