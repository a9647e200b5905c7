"""In place works in place: memory that nobody else holds is written, not replaced."""

import subprocess
import sys

import numpy as np
import pytest

import allotrope as al

from .instances import program_with
from .methods import DTYPES, RANDOM, ROWS, numbers, with_itself
from .views import VIEWS

# Products, sums along a dimension and scattered elements need not be made where they end.
NOT_ELEMENTWISE = RANDOM | set(
    """__imatmul__ addmm_ addbmm_ addmv_ addr_ baddbmm_ cumsum_ cumprod_ renorm_ tril_ triu_ masked_scatter_
    index_add_ index_copy_ index_fill_ index_reduce_ index_put_ put_ scatter_ scatter_add_ scatter_reduce_
    fill_diagonal_""".split()
)
ELEMENTWISE = sorted(n for n in ROWS if n not in NOT_ELEMENTWISE and hasattr(al.Tensor, n))

# Alone, over several SIMD lanes, and shared out over threads.
SHAPES = [(2, 3), (17, 33), (300, 500)]


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_an_elementwise_method_stays_in_its_memory(name):
    row = ROWS[name]
    for letter in row.dtypes:
        for shape in SHAPES:
            x = al.tensor(numbers(shape, DTYPES[letter]))
            arguments, place = row.arguments(x), x.data_ptr()
            getattr(x, name)(*arguments)
            assert x.data_ptr() == place, f"{x.dtype} {shape}"
            view = x[1:, ::2]
            arguments, place_of_view = row.arguments(view), view.data_ptr()
            getattr(view, name)(*arguments)
            assert x.data_ptr() == place and view.data_ptr() == place_of_view, f"{x.dtype} {shape}"


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_a_target_that_is_an_operand_stays_in_its_memory(name):
    row = ROWS[name]
    for letter in row.dtypes:
        for case in range(2):
            x = al.tensor(numbers((17, 33), DTYPES[letter]))
            cases = [*with_itself(x, row.arguments(x))]
            if cases:
                place = x.data_ptr()
                getattr(x, name)(*cases[case])
                assert x.data_ptr() == place


@pytest.mark.parametrize("kind", VIEWS)
def test_writes_through_every_view_stay_in_their_memory(kind):
    for letter in "fc":
        found = program_with(kind, letter, 2)
        if not found:
            continue
        program, name = found
        # What was kept holds the memory until the first write.
        program.tensors[name].fill_(1)
        program.kept.clear()
        places = {n: x.data_ptr() for n, x in program.tensors.items()}
        view = program.tensors[name]
        view.mul_(2)
        view += 1
        view[0] = 5
        view[[0, 1]] = 6
        view.zero_()
        assert {n: x.data_ptr() for n, x in program.tensors.items()} == places


NUMBER_FORMS = [
    "x += 1", "x -= 1", "x *= 2", "x /= 2", "x //= 2", "x %= 2", "x **= 2", "x.add_(1)", "x.sub_(1, alpha=2)",
    "x.clamp_(0, 1)", "x.fill_(3)", "x[:] = 4", "x[3] = 1", "x[1:5] += 2", "x += x", "x.mul_(x)", "x.copy_(y)",
    "x += y", "x += y.to(al.float64)", "x.add_(y, alpha=2)", "x.addcmul_(y, y, value=2)", "x.lerp_(y, 0.5)",
    "x[x > 0] = 0", "x.masked_fill_(x > 0, 1.0)", "x.relu_().sqrt_().neg_()", "x[2:].exp_()", "x.T.sigmoid_()",
    "x.data.mul_(2)", "x.detach()[0].zero_()",
]


@pytest.mark.parametrize("line", NUMBER_FORMS)
@pytest.mark.parametrize("shape", [(8, 8), (600, 400)])
def test_a_line_stays_in_its_memory(line, shape):
    x, y = al.ones(shape), al.ones(shape)
    row = x[0]
    place = x.data_ptr()
    exec(line, {"x": x, "y": y, "al": al})
    assert x.data_ptr() == row.data_ptr() == place


def test_elements_set_beside_a_live_row():
    x = al.zeros(200, 200)
    row, column = x[7], x[:, 7]
    place = x.data_ptr()
    for i in range(200):
        x[i, i] = 3.0
        assert x.data_ptr() == place
    assert row[7].item() == column[7].item() == 3.0 and x.sum().item() == 600.0
    assert row.data_ptr() == place + 7 * 200 * 4 and column.data_ptr() == place + 7 * 4


def test_an_array_that_was_taken_costs_one_copy():
    x = al.zeros(100)
    row = x[50:]
    taken = x.numpy()
    x += 1
    place = x.data_ptr()
    assert row.data_ptr() == place + 200 and not taken.any()
    for _ in range(10):
        x += 1
        row.mul_(2)
        assert x.data_ptr() == place


def test_an_array_that_is_gone_costs_nothing():
    x = al.zeros(100)
    place = x.data_ptr()
    taken = x.numpy()
    del taken
    x += 1
    assert x.data_ptr() == place


def test_parameters_stay_over_steps():
    p = al.ones(300, 300, requires_grad=True)
    average = al.zeros(300, 300)
    (p * p).sum().backward()
    places = p.data_ptr(), p.grad.data_ptr(), average.data_ptr()
    for _ in range(3):
        p.grad.zero_()
        (p * p).sum().backward()
        average.mul_(0.9).add_(p.grad, alpha=0.1)
        p.data.addcdiv_(average, average.sqrt().add_(1e-8), value=-0.1)
        with al.no_grad():
            p.mul_(0.9)
            p -= p.grad * 0.1
    assert (p.data_ptr(), p.grad.data_ptr(), average.data_ptr()) == places


def test_a_cache_stays_where_it_is():
    cache = al.zeros(2, 64, 32)
    place = cache.data_ptr()
    for t in range(64):
        cache[:, t : t + 1].copy_(al.ones(2, 1, 32))
        cache[:, t] += 1
        cache[:, : t + 1].sum()
    assert cache.data_ptr() == place and cache.sum().item() == 2 * 64 * 32 * 2


GROWTH = """
import allotrope as al

def peak():
    with open("/proc/self/status") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000

x = al.ones(64 * 1024 * 1024)
view = x[1:]
(al.ones(64) + 1).sqrt_()
before = peak()
{line}
print(peak() - before, x[5].item())
"""

LARGE = {
    "x += 1": 2, "x.sqrt_()": 1, "view *= 3": 3, "x.add_(x)": 2, "x.fill_(7)": 7, "x[:] = 2": 2,
    "x.clamp_(2, 3)": 2, "x.view(8, -1)[0].neg_()": -1,
    "x += 1; x.mul_(2); view -= 1; x.data.relu_()": 3,
}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the peak is read from /proc")
@pytest.mark.parametrize("line", LARGE)
def test_a_quarter_of_a_gigabyte_is_not_doubled(line):
    script = GROWTH.format(line=line)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    growth, element = map(float, done.stdout.split())
    assert element == LARGE[line]
    assert growth < 24, f"the peak grew by {growth} MB"


LOOPS = {
    "views": "x = al.zeros(size); view = x[1:].view(-1); view.fill_(1); x += 1",
    "views that outlive": "x = al.zeros(size); view = x[:10]; del x; view.fill_(1)",
    "recorded": "y = p * 2; view = y[:10]; view.mul_(3); y.add_(view.sum()); y.sum().backward(); p.grad = None",
    "recorded and dropped": "y = p * 2; y[1:].mul_(y[:-1]); y[0] = y[1]; view = y.detach(); view.zero_()",
    "buffers": "x = al.zeros(size); view = x[:5]; x[:] = p * 2; view.mul_(2); x.sum().backward()",
    "hooks": "y = p * 2; y.register_hook(lambda g: None); y.mul_(2); y.retain_grad(); y.sum().backward()",
    "arrays": "x = al.zeros(size); a = x.numpy(); view = x[:5]; x += 1; view += 1; b = view.numpy(); x *= 2",
    "shared": "a = np.zeros(size, 'float32'); x = al.from_numpy(a); view = x[3:]; view += 1; y = view.clone()",
}

ROUNDS = """
import gc
import resource
import numpy as np
import allotrope as al

size = 1_000_000
p = al.ones(size, requires_grad=True)

def run():
    {line}

for _ in range(10):
    run()
gc.collect()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(60):
    run()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="kilobytes on Linux alone")
@pytest.mark.parametrize("name", LOOPS)
def test_memory_is_given_back(name):
    script = ROUNDS.format(line=LOOPS[name])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 40, f"60 rounds of 4 MB kept {done.stdout} MB"


OVERLAPPING = [
    "x += x.T", "x -= x[::-1]", "x *= x[:, ::-1]", "x[1:] += x[:-1]", "x[:-1] *= x[1:]", "x[:] = x.T",
    "x[...] = x[::-1]",
    "x[:, 1:] = x[:, :-1]", "x += x[0]", "x -= x[:, :1]", "x.T[1:] -= x[:-1]", "x[::2] += x[1::2]",
    "x += x[3, 3]", "x[2] = x[:, 2]", "x += x + x.T", "x[100:] = x[:-100]", "x[:-7, 3:] *= x[7:, :-3]",
]


@pytest.mark.parametrize("line", OVERLAPPING)
@pytest.mark.parametrize("dtype", ["float32", "int64", "complex64"])
def test_operands_of_the_same_memory_are_values_of_before(line, dtype):
    array = (np.arange(500 * 500) % 7 + 1).reshape(500, 500).astype(dtype)
    x = al.tensor(array)
    whole = x.view(-1)
    exec(line, {"x": array})
    exec(line, {"x": x})
    np.testing.assert_array_equal(x.numpy(), array)
    assert np.array_equal(whole.numpy(), array.reshape(-1))
