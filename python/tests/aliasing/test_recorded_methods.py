"""Every method in place is recorded as its cousin that returns a new tensor, through views as well."""

import numpy as np
import pytest

from .instances import find
from .library import IS_TORCH, lib, tensor
from .memory import Chooser, with_memory
from .methods import RANDOM, ROWS, numbers
from .views import VIEWS

# torch has no derivative of these in place, or another than of their cousins, or wants an index of
# the operand's shape.
NOT_IN_TORCH = set(
    """__imatmul__ float_power_ nextafter_ heaviside_ acosh_ arccosh_ asinh_ arcsinh_ atanh_ arctanh_
    __ifloordiv__ floor_divide_ logical_and_ logical_or_ scatter_ scatter_add_""".split()
)
# They have no derivative by what they are written to.
NO_SLOPE = {"igamma_", "igammac_", "zeta_"}
NAMES = sorted(
    name for name, row in ROWS.items()
    if "f" in row.dtypes and name not in NO_SLOPE and name not in RANDOM and hasattr(lib.Tensor, name)
    and not (IS_TORCH and name in NOT_IN_TORCH)
)
KINDS = ["itself", "index_by_a_slice", "permute", "reshape", "diagonal", "split", "unbind", "as_strided"]
if IS_TORCH:  # It refuses to write to one of several views.
    KINDS = [kind for kind in KINDS if kind not in ("split", "unbind")]

# Those without a cousin, in other words.
REPLACED = {
    "fill_": lambda x, value: lib.zeros_like(x) + value,
    "zero_": lambda x: lib.zeros_like(x),
    "copy_": lambda x, other: other + lib.zeros_like(x),
    "fill_diagonal_": lambda x, value: lib.where(diagonal_of(x), lib.zeros_like(x) + value, x),
}


def diagonal_of(x):
    return tensor(np.eye(*x.shape) == 1)


def function_of(name):
    if name in REPLACED:
        return REPLACED[name]
    cousin = name.replace("__i", "__", 1) if name.startswith("__") else name[:-1]
    return lambda x, *arguments: getattr(x, cousin)(*arguments)


def case(kind, ndim):
    """A base's shape, the sources that lead to a view of it, and the places that the view sees."""
    found = find(kind, "float64", ndim)
    if found is None or found[0] != "float64":
        return None
    _, shape, steps = found
    places, memory = with_memory(np.arange(np.prod(shape)).reshape(shape))
    sources = []
    for step, seed in steps:
        source, places, _ = VIEWS[step](Chooser(seed), places, memory)
        sources.append(source)
    return shape, sources, places


def operands(row, shape):
    """The arguments for a target of a shape, and those of them that are to have gradients."""
    made = row.arguments(tensor(numbers(shape)))
    floats = [a for a in made if isinstance(a, lib.Tensor) and a.dtype == lib.float64]
    for operand in floats:
        operand.requires_grad_(True)
    return made, floats


def gradients(loss, leaves):
    first = lib.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    terms = [(g * g).sum() for g in first if g is not None and g.requires_grad]
    second = lib.autograd.grad(sum(terms[1:], terms[0]), leaves, allow_unused=True) if terms else ()
    return first, second


def written_in_place(name, shape, sources, arguments):
    x = tensor(numbers(shape)).requires_grad_(True)
    y = x * 1.0
    view = y
    for source in sources:
        view = eval(source, {"x": view, "lib": lib})
    getattr(view, name)(*arguments)
    return x, y


def written_by_functions(name, shape, places, arguments):
    x = tensor(numbers(shape)).requires_grad_(True)
    flat = (x * 1.0).reshape(-1)
    index = tensor(np.ascontiguousarray(places))
    new = function_of(name)(flat[index], *arguments).to(lib.float64)
    return x, flat.index_put((index.reshape(-1),), new.reshape(-1)).reshape(shape)


@pytest.mark.parametrize("name", NAMES)
def test_a_method_is_recorded(name):
    row = ROWS[name]
    for kind in KINDS:
        found = case(kind, row.ndim)
        if found is None:
            continue
        shape, sources, places = found
        arguments, floats = operands(row, places.shape)
        x, y = written_in_place(name, shape, sources, arguments)
        other, want = written_by_functions(name, shape, places, arguments)
        weights = tensor(numbers(shape))
        got = gradients(((y * y) * weights).sum(), [x, *floats])
        wanted = gradients(((want * want) * weights).sum(), [other, *floats])
        compare(y, want, f"value through {kind}")
        for order, gradient, reference in zip(("first", "second"), got, wanted):
            for i, (a, b) in enumerate(zip(gradient, reference)):
                compare(a, b, f"{order} order, operand {i}, through {kind}")


def compare(got, want, what):
    """Equal, where no gradient is a gradient of zeros."""
    zeros = np.zeros(())
    got = zeros if got is None else got.detach().numpy()
    want = zeros if want is None else want.detach().numpy()
    np.testing.assert_allclose(*np.broadcast_arrays(got, want), rtol=1e-11, atol=1e-12, err_msg=what)
