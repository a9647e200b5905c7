"""Large results are written past the caches, small ones are not: lines come out the same."""

import numpy as np
import pytest

import allotrope as al

F = al.nn.functional
WORKS = {
    "softmax": lambda x: al.softmax(x, -1),
    "log_softmax": lambda x: al.log_softmax(x, -1),
    "layer_norm": lambda x: F.layer_norm(x, (x.shape[-1],)),
    "rms_norm": lambda x: F.rms_norm(x, (x.shape[-1],)),
}


# Lines in whole blocks of 64, lines that end within one, and lines that start at no cache line.
@pytest.mark.parametrize("length", [1024, 1000, 1027])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float8_e4m3fn", "int16"])
@pytest.mark.parametrize("name", WORKS)
def test_lines_of_large_tensors(name, dtype, length):
    lines = 8200
    numbers = np.random.default_rng(3).standard_normal((lines, length)).astype(np.float32)
    x = al.tensor(numbers * 4).to(dtype)
    work = WORKS[name]
    whole = work(x)
    for first in (0, 3000, lines - 60):
        part = work(x[first : first + 60])
        assert al.equal(whole[first : first + 60], part)
