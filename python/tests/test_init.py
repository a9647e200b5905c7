"""First values of parameters: distributions, structure, and what is refused."""

import math

import pytest

import allotrope as al
from allotrope import _core

init = _core._init
FLOATS = [dtype for dtype in al.dtypes() if dtype.is_floating_point]
each_float = pytest.mark.parametrize("dtype", FLOATS, ids=str)
#: Functions of a weight of 200 x 300, their standard deviation and bound.
SPREADS = {
    "uniform_": (lambda w: init.uniform_(w, -3.0, 3.0), math.sqrt(3), 3.0),
    "normal_": (lambda w: init.normal_(w, 0.0, 2.0), 2.0, math.inf),
    # The deviation of a normal number between -2 and 2 standard deviations.
    "trunc_normal_": (lambda w: init.trunc_normal_(w), 0.8796, 2.0),
    "xavier_uniform_": (lambda w: init.xavier_uniform_(w, 5.0), 5 * math.sqrt(2 / 500), 5 * math.sqrt(6 / 500)),
    "xavier_normal_": (lambda w: init.xavier_normal_(w, 5.0), 5 * math.sqrt(2 / 500), math.inf),
    "kaiming_uniform_": (lambda w: init.kaiming_uniform_(w, math.sqrt(5)), math.sqrt(1 / 900), math.sqrt(1 / 300)),
    "kaiming_normal_": (lambda w: init.kaiming_normal_(w, nonlinearity="relu", mode="fan_out"), 0.1, math.inf),
}  # fmt: skip


@each_float
@pytest.mark.parametrize("name", SPREADS)
def test_spread(name, dtype):
    fill, deviation, bound = SPREADS[name]
    weight = al.empty(200, 300, dtype=dtype, requires_grad=True)
    assert fill(weight) is weight
    assert weight.requires_grad and weight.is_leaf and weight.grad_fn is None
    wide = weight.detach().double()
    slack = {1: 0.25, 2: 0.01}.get(dtype.itemsize, 0) + 0.02
    assert float(wide.abs().max()) <= bound * (1 + slack)
    assert abs(float(wide.std()) / deviation - 1) < slack
    assert abs(float(wide.mean())) < deviation * max(slack / 2, 0.02)


@pytest.mark.parametrize("name", SPREADS)
def test_a_generator_decides(name):
    draw = {
        "uniform_": lambda w, g: init.uniform_(w, generator=g),
        "normal_": lambda w, g: init.normal_(w, generator=g),
        "trunc_normal_": lambda w, g: init.trunc_normal_(w, generator=g),
    }.get(name, lambda w, g: getattr(init, name)(w, generator=g))
    one = draw(al.empty(4, 5), al.Generator().manual_seed(3))
    other = draw(al.empty(4, 5), al.Generator().manual_seed(3))
    third = draw(al.empty(4, 5), al.Generator().manual_seed(4))
    assert one.tolist() == other.tolist() != third.tolist()


@each_float
@pytest.mark.parametrize("shape", [(4, 4), (3, 8), (8, 3), (2, 3, 2, 2)], ids=str)
def test_orthogonal(shape, dtype):
    weight = init.orthogonal_(al.empty(*shape, dtype=dtype), gain=2.0).double().reshape(shape[0], -1)
    product = weight @ weight.T if weight.shape[0] <= weight.shape[1] else weight.T @ weight
    error = (product - 4 * al.eye(product.shape[0], dtype="float64")).abs().max()
    assert float(error) < {1: 1.5, 2: 0.1}.get(dtype.itemsize, 1e-5)


def test_structure():
    assert init.eye_(al.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert init.ones_(al.empty(2, dtype="int8")).tolist() == [1, 1]
    assert init.zeros_(al.ones(2, dtype="complex64")).tolist() == [0, 0]
    assert init.constant_(al.empty(2, dtype="uint8"), 7).tolist() == [7, 7]
    grouped = init.dirac_(al.empty(4, 2, 3, 3), groups=2)
    assert [list(map(int, place)) for place in grouped.nonzero().tolist()] == [
        [0, 0, 1, 1], [1, 1, 1, 1], [2, 0, 1, 1], [3, 1, 1, 1],
    ]  # fmt: skip
    assert float(init.dirac_(al.empty(5, 2, 4)).sum()) == 2
    sparse = init.sparse_(al.empty(10, 7), sparsity=0.25)
    assert (sparse == 0).sum(0).tolist() == [3] * 7


def test_views_are_written_in_place():
    whole = al.zeros(4, 4)
    init.ones_(whole[1:3, ::2])
    assert whole.tolist() == [[0] * 4, [1, 0, 1, 0], [1, 0, 1, 0], [0] * 4]


def test_gains_are_torchs():
    expected = {
        "linear": 1, "conv2d": 1, "conv_transpose3d": 1, "sigmoid": 1, "tanh": 5 / 3,
        "relu": math.sqrt(2), "leaky_relu": math.sqrt(2 / 1.0001), "selu": 0.75,
    }  # fmt: skip
    assert {name: init.calculate_gain(name) for name in expected} == expected
    assert init.calculate_gain("leaky_relu", 2) == math.sqrt(2 / 5)
    assert init._calculate_fan_in_and_fan_out(al.empty(8, 3, 5)) == (15, 40)


@pytest.mark.parametrize("name", ["xavier_uniform_", "kaiming_normal_", "orthogonal_", "uniform_"])
def test_nothing_stays_nothing(name):
    assert getattr(init, name)(al.empty(0, 3)).shape == (0, 3)


@pytest.mark.parametrize(
    "error, call",
    [
        (ValueError, lambda: init.xavier_uniform_(al.empty(3))),
        (ValueError, lambda: init.kaiming_uniform_(al.empty(()))),
        (ValueError, lambda: init.kaiming_uniform_(al.empty(3, 3), mode="fan")),
        (ValueError, lambda: init.kaiming_normal_(al.empty(3, 3), nonlinearity="swish")),
        (ValueError, lambda: init.orthogonal_(al.empty(3))),
        (ValueError, lambda: init.eye_(al.empty(3, 3, 3))),
        (ValueError, lambda: init.dirac_(al.empty(3, 3))),
        (ValueError, lambda: init.dirac_(al.empty(3, 3, 3), groups=2)),
        (ValueError, lambda: init.dirac_(al.empty(3, 3, 3), groups=0)),
        (ValueError, lambda: init.sparse_(al.empty(3, 3), sparsity=1.5)),
        (ValueError, lambda: init.sparse_(al.empty(3), sparsity=0.5)),
        (ValueError, lambda: init.normal_(al.empty(3), std=-1.0)),
        (ValueError, lambda: init.uniform_(al.empty(3), 1.0, 0.0)),
        (ValueError, lambda: init.trunc_normal_(al.empty(3), a=1.0, b=-1.0)),
        (ValueError, lambda: init.calculate_gain("swish")),
        (TypeError, lambda: init.calculate_gain("leaky_relu", True)),
        (TypeError, lambda: init.normal_(al.empty(3, dtype="int64"))),
        (TypeError, lambda: init.orthogonal_(al.empty(3, 3, dtype="int64"))),
        (OverflowError, lambda: init.constant_(al.empty(3, dtype="uint8"), 256)),
        (TypeError, lambda: init.constant_(al.empty(3, dtype="uint8"), 0.5)),
        (TypeError, lambda: init.ones_([1.0])),
    ],
)
def test_what_makes_no_sense_is_refused(error, call):
    with pytest.raises(error):
        call()
