"""One tensor and one view of it for each kind of view, dtype and number of dimensions."""

import functools

from .memory import Chooser, is_overlapping, with_memory
from .methods import DTYPES, numbers
from .programs import Program
from .views import VIEWS

SHAPES = [(4, 6), (2, 4, 3), (2, 2, 3, 2), (3, 4, 2), (12,), (6,)]

# Views that are of another dtype than their base.
BASES = {"float64": ["float64", "complex128"], "complex128": ["complex128", "float64"]}


@functools.cache
def find(kind, dtype, ndim):
    """A base's dtype, its shape, and the steps that lead to a view with room to write, or None.

    The view is of the kind, or if none of its views has the right shape, a view of such a view.
    """
    for then in (None, "index_by_an_integer", "unflatten"):
        for base in BASES.get(dtype, [dtype]):
            for shape in SHAPES:
                for seed in range(30):
                    steps = [(kind, seed)] + ([(then, 0)] if then else [])
                    if leads_to(steps, base, shape, dtype, ndim):
                        return base, shape, steps
    return None


def leads_to(steps, base, shape, dtype, ndim):
    array, memory = with_memory(numbers(shape, base))
    for kind, seed in steps:
        found = VIEWS[kind](Chooser(seed), array, memory)
        if not found or found[2] is not memory:
            return False
        array = found[1]
    return is_suitable(array, dtype, ndim)


def is_suitable(array, dtype, ndim):
    return (
        array.dtype == dtype
        and array.ndim == ndim
        and min(array.shape, default=1) >= 2 - (ndim > 2)
        and not is_overlapping(array)
    )


def program_with(kind, letter, ndim):
    """A program with a base `v0`, other views of it, and the view of a kind; and that view's name."""
    found = find(kind, DTYPES[letter], ndim)
    if found is None:
        return None
    base, shape, steps = found
    program = Program()
    program.add_array(numbers(shape, base))
    array, memory = program.arrays["v0"], program.memories["v0"]
    for other in ("index_by_a_slice", "permute", "detach", "flatten", "index_by_several"):
        seeds = (n for n in range(20) if VIEWS[other](Chooser(n), array, memory)[1].size > 1)
        program.add_view(Chooser(next(seeds)), "v0", other)
    name = "v0"
    for step, seed in steps:
        name = program.add_view(Chooser(seed), name, step)
    program.add_view(Chooser(1), name, "index_by_an_integer")
    program.keep("v0")
    return program, name
