"""Every underscore method and augmented assignment with arguments that it takes.

A row says the dtypes (f, i, c, b), the number of dimensions, and the arguments for a target `x`.
"""

from dataclasses import dataclass
from typing import Callable

import numpy as np

from .library import lib, tensor

DTYPES = {"f": "float64", "i": "int64", "c": "complex128", "b": "bool"}


@dataclass
class Row:
    dtypes: str
    arguments: Callable
    ndim: int


ROWS = {}


def rows(names, dtypes="f", arguments=lambda x: (), ndim=2):
    for name in names.split():
        ROWS[name] = Row(dtypes, arguments, ndim)


def numbers(shape, dtype="float64"):
    """Numbers between 0 and 1, small integers, or truth values, that differ from their neighbours."""
    count = np.arange(1, int(np.prod(shape)) + 1).reshape(tuple(shape))
    if dtype == "bool":
        return count % 3 == 1
    if dtype == "int64":
        return count * 7 % 5 + 1
    values = (count * 0.37) % 0.8 + 0.1
    return values * (1 + 0.5j) if dtype == "complex128" else values


def like(x):
    """Another operand of the target's shape and dtype."""
    return tensor(numbers(x.shape, str(x.dtype).rsplit(".")[-1])[..., ::-1] if x.ndim else 0.5)


def operand(x):
    return (like(x),)


def matrix(*shape):
    return tensor(numbers(shape))


def mask(x):
    return tensor(numbers(x.shape, "bool"))


def index(*values):
    return tensor(list(values), "int64")


def places(x):
    """An index for each element of the first row: in another row, by columns."""
    return tensor(np.arange(x.shape[1])[None] % x.shape[0], "int64")


rows(
    """acos_ acosh_ angle_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ asin_ asinh_ atan_ atanh_
    cbrt_ ceil_ celu_ cos_ cosh_ deg2rad_ digamma_ elu_ entr_ erf_ erfc_ erfcx_ erfinv_ exp2_ i0_ i0e_ i1_ i1e_
    log_ndtr_ ndtr_ exp_ expit_ expm1_ fix_
    floor_ frac_ gelu_ hardshrink_ hardsigmoid_ hardswish_ isfinite_ isinf_ isnan_ isneginf_ isposinf_
    isreal_ leaky_relu_ lgamma_ log10_ log1p_ log2_ log_ log_sigmoid_ logical_not_ logit_ mish_
    nan_to_num_ rad2deg_ relu6_ relu_ round_ rsqrt_ selu_ sigmoid_ sign_ signbit_ silu_ sin_ sinc_ sinh_
    softplus_ softshrink_ softsign_ sqrt_ tan_ tanh_ tanhshrink_ trunc_ tril_ triu_"""
)
rows("neg_ negative_ positive_ square_ sgn_ reciprocal_", "fc")
rows("abs_ absolute_", "fi")
rows("conj_ conj_physical_ conjugate_", "fc")
rows("bitwise_not_ bitwise_invert_", "ib")
rows("bitwise_count_", "i")
rows(
    """arctan2_ atan2_ copysign_ float_power_ heaviside_ hypot_ igamma_ igammac_ isclose_ logaddexp2_ logaddexp_
    nextafter_ xlog1py_ xlogy_ zeta_""",
    "f", operand,
)
rows(
    """eq_ floor_divide_ fmax_ fmin_ fmod_ ge_ greater_ greater_equal_ gt_ le_ less_ less_equal_ lt_
    maximum_ minimum_ ne_ not_equal_ pow_ power_ remainder_ trunc_divide_ __ifloordiv__ __imod__ __ipow__""",
    "fi", operand,
)
rows("add_ sub_ subtract_ mul_ multiply_ __iadd__ __isub__ __imul__", "fic", operand)
rows("div_ divide_ true_divide_ __itruediv__", "fc", operand)
rows("bitwise_and_ bitwise_or_ bitwise_xor_ __iand__ __ior__ __ixor__", "ib", operand)
rows("logical_and_ logical_or_ logical_xor_", "fb", operand)
rows("bitwise_left_shift_ bitwise_right_shift_ gcd_ lcm_ __ilshift__ __irshift__", "i", operand)
rows("polygamma_", "f", lambda x: (2,))
rows("ldexp_", "f", lambda x: (tensor(numbers(x.shape, "int64")),))
rows("addcdiv_ addcmul_", "f", lambda x: (like(x), like(x) + 1))
rows("lerp_", "f", lambda x: (like(x), 0.25))
rows("addmm_", "f", lambda x: (matrix(x.shape[0], 3), matrix(3, x.shape[1])))
rows("addbmm_", "f", lambda x: (matrix(2, x.shape[0], 3), matrix(2, 3, x.shape[1])))
rows("addr_", "f", lambda x: (matrix(x.shape[0]), matrix(x.shape[1])))
rows("addmv_", "f", lambda x: (matrix(x.shape[0], 3), matrix(3)), ndim=1)
rows("baddbmm_", "f", lambda x: (matrix(*x.shape[:2], 3), matrix(x.shape[0], 3, x.shape[2])), ndim=3)
rows("clamp_ clip_ hardtanh_", "f", lambda x: (0.3, 0.6))
rows("clamp_min_ clamp_max_", "f", lambda x: (0.5,))
rows("threshold_", "f", lambda x: (0.5, 0.25))
rows("cumsum_ cumprod_", "f", lambda x: (0,))
rows("renorm_", "f", lambda x: (2, 0, 0.5))
rows("fill_ fill_diagonal_", "f", lambda x: (0.25,))
rows("zero_", "fcib")
rows("copy_", "fcib", operand)
rows("where_", "f", lambda x: (mask(x), 0.25))
rows("masked_fill_", "f", lambda x: (mask(x), 0.25))
rows("masked_scatter_", "fi", lambda x: (mask(x), like(x)))
rows("index_fill_", "f", lambda x: (1, index(0), 0.25))
rows("index_add_ index_copy_", "fc", lambda x: (1, index(1, 0), like(x)[:, :2]))
rows("index_reduce_", "f", lambda x: (1, index(1, 0), like(x)[:, :2], "amax"))
rows("index_put_", "fi", lambda x: ((index(1, 0), index(0, 1)), like(x)[0, :2]))
rows("put_", "fi", lambda x: (index(1, 0), like(x)[0, :2]))
rows("scatter_ scatter_add_", "fi", lambda x: (0, places(x), like(x)))
rows("scatter_reduce_", "f", lambda x: (0, places(x), like(x), "prod"))

# They draw: only what was not written is known.
rows("bernoulli_ geometric_", "f", lambda x: (0.5,))
rows("cauchy_ exponential_ log_normal_ normal_ trunc_normal_ uniform_")
rows("random_", "fi", lambda x: (0, 100))
RANDOM = {name for name in ROWS if name in (
    "bernoulli_ geometric_ cauchy_ exponential_ log_normal_ normal_ trunc_normal_ uniform_ random_"
).split()}

# They change the object and not what it sees.
OF_THE_OBJECT = set(
    "detach_ requires_grad_ resize_ resize_as_ squeeze_ swapaxes_ swapdims_ t_ to_ transpose_ unsqueeze_".split()
)

# What those without a cousin that returns a new tensor give.
WANTED = {
    "fill_": lambda x, value: np.full(x.shape, value),
    "zero_": lambda x: np.zeros(x.shape),
    "copy_": lambda x, other: other.numpy(),
    "fill_diagonal_": lambda x, value: np.where(np.eye(*x.shape) == 1, value, x.numpy()),
}


def wanted(name, x, arguments):
    """The values that a method is to leave, by its cousin without the underscore."""
    if name in WANTED:
        return WANTED[name](x, *arguments)
    cousin = name.replace("__i", "__", 1) if name.startswith("__") else name[:-1]
    function = getattr(x, cousin, None) or getattr(lib.nn.functional, cousin)
    return function(*arguments).resolve_conj().numpy()


def with_itself(x, arguments):
    """The arguments with the target, and with a view of it, for the first; none if it does not fit."""
    first, *rest = arguments or [None]
    if isinstance(first, lib.Tensor) and first.shape == x.shape and first.dtype == x.dtype:
        yield (x, *rest)
        yield (x[...], *rest)


def known_names():
    return set(ROWS) | OF_THE_OBJECT


def names_of(tensor_type):
    """The underscore methods and augmented assignments that a tensor has."""
    operators = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()
    names = {n for n in dir(tensor_type) if n.endswith("_") and not n.startswith("_")}
    return names | {f"__i{o}__" for o in operators if hasattr(tensor_type, f"__i{o}__")}
