"""Random programs of views and writes give NumPy's values, through every object, after every step."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .library import BFLOAT16, IS_TORCH
from .memory import Chooser, DrawnChooser
from .programs import Program
from .views import VIEWS
from .writes import WRITES

DTYPES = [np.dtype(name) for name in ("float32", "float64", "int64", "uint8", "bool", "complex64")]
DTYPES.append(BFLOAT16)

SHAPES = [
    (), (1,), (4,), (0,), (6,), (2, 3), (3, 3), (1, 4), (4, 1), (0, 2), (2, 0, 3),
    (2, 3, 2), (3, 1, 2), (2, 2, 2), (1, 2, 1, 3), (2, 1, 3, 2),
]

STEPS = ["view"] * 5 + ["write"] * 7 + ["keep", "copy", "rearrange", "base", "forget", "shared", "outside"]


def run(choose, dtype, steps):
    program = Program()
    program.add_base(choose, dtype, choose.one_of(SHAPES))
    for _ in range(steps):
        step = choose.one_of(STEPS)
        name = choose.one_of(program.arrays)
        if step == "view":
            program.add_view(choose, name, choose.one_of(VIEWS))
        elif step == "write":
            program.write(choose, name, choose.one_of(WRITES))
        elif step in ("keep", "forget"):
            getattr(program, step)(name)
        elif step == "copy":
            program.add_copy(choose, name)
        elif step == "rearrange":
            program.rearrange(choose, name)
        elif step == "outside":
            program.write_to_an_array(choose)
        elif step == "shared" and not (IS_TORCH and dtype == BFLOAT16):
            program.add_shared(choose, dtype, choose.one_of(SHAPES))
        else:
            program.add_base(choose, dtype, choose.one_of(SHAPES))
        if program.has_nan():
            return
        program.check()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@settings(max_examples=40, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_programs_that_hypothesis_draws(dtype, data):
    choose = DrawnChooser(data)
    run(choose, dtype, choose.integer(2, 12))


# Long programs, of which hypothesis draws few.
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_long_programs(dtype, seed):
    for part in range(4):
        run(Chooser(4 * seed + part), dtype, 40)
