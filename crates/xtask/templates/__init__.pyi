
import builtins
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import IO, Any, Final, Literal, Protocol, SupportsFloat, SupportsIndex, TypeAlias, TypeVar, final, overload, type_check_only

from typing_extensions import CapsuleType, Self, disjoint_base

from . import amp as amp
from . import array_api as array_api
from . import autograd as autograd
from . import backends as backends
from . import compiler as compiler
from . import data as data
from . import distributions as distributions
from . import fft as fft
from . import func as func
from . import gpu as gpu
from . import hub as hub
from . import jit as jit
from . import linalg as linalg
from . import masked as masked
from . import nn as nn
from . import onnx as onnx
from . import optim as optim
from . import random as random
from . import return_types as return_types
from . import signal as signal
from . import special as special
from . import testing as testing
from . import utils as utils
from ._array_object import Size as _SizeOrSizes
from ._device import device as device
from ._fixed import are_deterministic_algorithms_enabled as are_deterministic_algorithms_enabled
from ._fixed import get_deterministic_debug_mode as get_deterministic_debug_mode
from ._fixed import get_float32_matmul_precision as get_float32_matmul_precision
from ._fixed import get_num_interop_threads as get_num_interop_threads
from ._fixed import is_deterministic_algorithms_warn_only_enabled as is_deterministic_algorithms_warn_only_enabled
from ._fixed import set_deterministic_debug_mode as set_deterministic_debug_mode
from ._fixed import set_float32_matmul_precision as set_float32_matmul_precision
from ._fixed import set_flush_denormal as set_flush_denormal
from ._fixed import set_num_interop_threads as set_num_interop_threads
from ._fixed import use_deterministic_algorithms as use_deterministic_algorithms
from ._more import Size as Size
from ._more import alias_copy as alias_copy
from ._more import array as array
from ._more import as_strided_scatter as as_strided_scatter
from ._more import empty_strided as empty_strided
from ._more import fill as fill
from ._more import frexp as frexp
from ._more import frombuffer as frombuffer
from ._more import geqrf as geqrf
from ._more import histogramdd as histogramdd
from ._more import lobpcg as lobpcg
from ._more import lu as lu
from ._more import lu_solve as lu_solve
from ._more import ormqr as ormqr
from ._more import pca_lowrank as pca_lowrank
from ._more import slice_copy as slice_copy
from ._more import svd as svd
from ._more import svd_lowrank as svd_lowrank
from ._more import triangular_solve as triangular_solve
from ._more import typename as typename
from ._progress import progress as progress
from ._summary import summary as summary
from .amp import autocast as autocast
from .amp import get_autocast_dtype as get_autocast_dtype
from .amp import is_autocast_enabled as is_autocast_enabled
from .amp import set_autocast_dtype as set_autocast_dtype
from .amp import set_autocast_enabled as set_autocast_enabled
from .autograd import enable_grad as enable_grad
from .autograd import inference_mode as inference_mode
from .autograd import no_grad as no_grad
from .autograd import set_grad_enabled as set_grad_enabled
from .checkpoint import load_checkpoint as load_checkpoint
from .checkpoint import save_checkpoint as save_checkpoint
from .compiler import compile as compile
from .func import vmap as vmap
from .inspection.audit import audit as audit
from .inspection.explain import explain as explain
from .inspection.reproducibility import reproducibility as reproducibility
{{functional}}
from .nn.plan import plan as plan
from .tracing import trace_dtypes as trace_dtypes

@type_check_only
class _NumpyDType(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def isnative(self) -> builtins.bool: ...

@type_check_only
class _TorchDType(Protocol):
    @property
    def is_floating_point(self) -> builtins.bool: ...
    @property
    def itemsize(self) -> builtins.int: ...

@type_check_only
class _TensorFlowDType(Protocol):
    @property
    def as_numpy_dtype(self) -> Any: ...

@type_check_only
class _TinygradDType(Protocol):
    @property
    def itemsize(self) -> builtins.int: ...
    @property
    def priority(self) -> builtins.int: ...

@type_check_only
class _HasDType(Protocol):
    @property
    def dtype(self) -> Any: ...

@type_check_only
class _HasArray(Protocol):
    def __array__(self) -> Any: ...

@type_check_only
class _HasDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

# Inside a class its own property hides the class of the same name.
_dtype: TypeAlias = dtype
_Device: TypeAlias = device
_finfo: TypeAlias = finfo
_iinfo: TypeAlias = iinfo
_memory_format: TypeAlias = memory_format

_Subclass = TypeVar("_Subclass", bound=Tensor)

_Int: TypeAlias = SupportsIndex
_Float: TypeAlias = SupportsFloat | SupportsIndex
_Number: TypeAlias = builtins.complex | SupportsFloat | SupportsIndex
_Operand: TypeAlias = Tensor | _Number | Sequence[Any] | _HasArray | _HasDLPack
_Data: TypeAlias = Any
_Ints: TypeAlias = _Int | Sequence[_Int] | Tensor
_Dims: TypeAlias = _Ints | None
_Floats: TypeAlias = _Float | Sequence[_Float]
_OutputSize: TypeAlias = _Int | Sequence[_Int | None] | Tensor
_Padding: TypeAlias = _Ints | Literal["valid", "same"]
_Index: TypeAlias = Any
_Path: TypeAlias = str | os.PathLike[str] | IO[builtins.bytes]
_Order: TypeAlias = _Float | Literal["fro", "nuc", "inf", "-inf"]
_ForeignDType: TypeAlias = _NumpyDType | _TorchDType | _TensorFlowDType | _TinygradDType
_DTypeLike: TypeAlias = dtype | str | type[Any] | _ForeignDType | None
_Kind: TypeAlias = dtype | Family | str | type[Any] | _ForeignDType
_Policy: TypeAlias = Literal[{{policies}}]
_Notify: TypeAlias = Literal["warn", "silent", "error"]
_OverflowPolicy: TypeAlias = Literal["wrap", "raise", "saturate", "report"]
_MatmulPrecision: TypeAlias = Literal["same", "fast"]
_Casting: TypeAlias = Literal[{{castings}}]
_Overflow: TypeAlias = Literal[{{overflows}}]
_Rounding: TypeAlias = Literal["nearest", "zero", "stochastic"]
_Float64: TypeAlias = Literal["keep", "default"]
_Support: TypeAlias = Literal["native", "emulated", "demoted"]
_Reduction: TypeAlias = Literal["none", "mean", "sum"]
_IndexReduction: TypeAlias = Literal["sum", "prod", "mean", "amax", "amin"]
_Norm: TypeAlias = Literal["backward", "forward", "ortho"]
_Nonlinearity: TypeAlias = Literal[
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
    "sigmoid", "tanh", "relu", "leaky_relu", "selu",
]

__version__: Final[str]
pi: Final[builtins.float]
e: Final[builtins.float]
inf: Final[builtins.float]
nan: Final[builtins.float]
enable_autocast: builtins.bool
newaxis: Final[None]
default_generator: Final[Generator]

contiguous_format: Final[memory_format]
preserve_format: Final[memory_format]
channels_last: Final[memory_format]
channels_last_3d: Final[memory_format]

class SharedMemoryWarning(UserWarning): ...
class FallbackWarning(UserWarning): ...
class DemotionWarning(UserWarning): ...
class OverflowWarning(UserWarning): ...

{{classes}}
{{functions}}
{{synonyms}}
infer_dtype_from_data = infer_dtype

def __dir__() -> list[str]: ...
def constant_pad_nd(input: _Operand, pad: _Ints, value: _Number = 0) -> Tensor: ...

all_dtypes: tuple[dtype, ...]
floating_dtypes: tuple[dtype, ...]
integer_dtypes: tuple[dtype, ...]
signed_integer_dtypes: tuple[dtype, ...]
unsigned_integer_dtypes: tuple[dtype, ...]
complex_dtypes: tuple[dtype, ...]
real_dtypes: tuple[dtype, ...]
bool_dtypes: tuple[dtype, ...]

{{constants}}
