"""Softmax, normalisation and distances against NumPy in float64."""

import math

import numpy as np
import pytest

import allotrope as al
from neural_reference import (
    assert_near,
    log_softmax,
    result_dtype,
    samples,
    sigmoid,
    softmax,
    standardized,
    wide,
)
from reference import FLOATS, REALS, named, positive_values

F = al.nn.functional
NARROW = ["bfloat16", "float16", "float8_e5m2", "uint8", "int64", "float64"]

LAYOUTS = {
    "contiguous": lambda x: x,
    "transposed": lambda x: x.transpose(0, 2),
    "sliced": lambda x: x[:, 1:, ::2],
    "flipped": lambda x: x.flip((1, 2)),
    "broadcast": lambda x: x[:, :1].expand(x.shape),
}


@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_softmax_of_every_dtype(dtype, axis):
    x = samples(dtype, 3, 5, 7)
    result = result_dtype(dtype)
    assert_near(F.softmax(x, axis), softmax(wide(x), axis), result)
    assert_near(F.log_softmax(x, axis), log_softmax(wide(x), axis), result, floor=1.0)
    assert_near(F.softmin(x, axis), softmax(-wide(x), axis), result)


def test_softmax_of_unsigned_integers_is_not_that_of_wrapped_ones():
    x = al.tensor([0, 1, 255], dtype="uint8")
    assert_near(x.softmax(0), softmax(np.array([0.0, 1.0, 255.0]), 0), al.float32)
    assert_near(F.softmin(x, 0), softmax(np.array([0.0, -1.0, -255.0]), 0), al.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64", "int16"])
def test_softmax_of_every_layout(layout, dtype):
    x = LAYOUTS[layout](samples(dtype, 6, 8, 10))
    for axis in range(3):
        assert_near(x.softmax(axis), softmax(wide(x), axis), result_dtype(x.dtype))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("sizes, axis", [((40, 1000), 1), ((1000, 40), 0), ((3, 700, 70), 1)])
def test_softmax_over_several_pieces_of_work(sizes, axis, dtype):
    x = al.randn(*sizes, dtype=dtype)
    assert_near(x.softmax(axis), softmax(wide(x), axis), x.dtype, scale=8)
    assert_near(x.log_softmax(axis), log_softmax(wide(x), axis), x.dtype, scale=8, floor=1.0)


@pytest.mark.parametrize("sizes, axis", [((2, 300_000), 1), ((20_000, 3), 0)])
def test_softmax_of_long_lines(sizes, axis):
    x = al.randn(*sizes)
    assert_near(x.softmax(axis), softmax(wide(x), axis), al.float32, scale=16)
    assert_near(x.log_softmax(axis), log_softmax(wide(x), axis), al.float32, scale=16, floor=1.0)
    assert_near(F.softmin(x, axis), softmax(-wide(x), axis), al.float32, scale=16)


@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_at_the_ends(axis):
    inf, nan = math.inf, math.nan
    lines = [[-inf, -inf], [0.0, -inf], [inf, 0.0], [nan, 1.0], [1e38, -1e38], [1000.0, 1000.0]]
    want = [[nan, nan], [1, 0], [nan, nan], [nan, nan], [1, 0], [0.5, 0.5]]
    x = al.tensor(lines)
    x, want = (x, np.array(want)) if axis == 1 else (x.T, np.array(want).T)
    assert np.array_equal(wide(x.softmax(axis)), want, equal_nan=True)


@pytest.mark.parametrize("dtype", [d for d in FLOATS if d.bits == 8], ids=str)
@pytest.mark.parametrize("count", [3, 5, 10, 30, 100])
def test_logarithms_of_8_bits_near_zero(count, dtype):
    """Beside numbers 14 below it, the share of the greatest is nearly one."""
    line = al.tensor([0.0] + [-14.0] * count).to(dtype)
    exact = -math.log1p(count * math.exp(-14))
    values = positive_values(dtype)
    want = -values[np.argmin(np.abs(values + exact))]
    assert line.log_softmax(0)[0].item() == want
    assert al.stack([line, line], 1).log_softmax(0)[0].tolist() == [want, want]


def test_softmax_of_no_dimensions_and_no_elements():
    assert al.tensor(3.0).softmax(0).item() == 1.0
    assert al.tensor(3).log_softmax(-1).item() == 0.0
    assert al.zeros(0, 3).softmax(0).shape == (0, 3)
    assert al.zeros(3, 0).softmax(1).shape == (3, 0)


def test_softmax_takes_a_dtype():
    x = al.tensor([0.0, 1.0], dtype="float16")
    assert_near(x.softmax(0, dtype="float64"), softmax(np.array([0.0, 1.0]), 0), al.float64)
    assert al.tensor([1, 2]).softmax(axis=0, dtype=al.bfloat16).dtype == al.bfloat16
    with al.set_default_dtype("float64"):
        assert al.tensor([1, 2]).softmax(0).dtype == al.float64
    with pytest.raises(TypeError, match="softmax: wrong dtype: int32"):
        x.softmax(0, dtype="int32")


def test_softmax_refuses():
    x = al.zeros(2, 3)
    with pytest.raises(IndexError, match="axis out of range: 2"):
        x.softmax(2)
    with pytest.raises(TypeError, match="dim is missing"):
        x.softmax()
    with pytest.raises(TypeError, match="wrong dtype: complex64"):
        x.to("complex64").softmax(0)


def test_gumbel_softmax_draws_with_the_probabilities_of_the_softmax():
    al.manual_seed(1)
    logits = al.tensor([0.0, 1.0, 2.0]).expand((20_000, 3))
    drawn = F.gumbel_softmax(logits, hard=True)
    assert set(np.unique(wide(drawn))) == {0.0, 1.0}
    assert np.array_equal(wide(drawn).sum(1), np.ones(20_000))
    assert np.abs(wide(drawn).mean(0) - softmax(np.arange(3.0), 0)).max() < 0.02
    soft = F.gumbel_softmax(logits[:10].to("bfloat16"), tau=0.5)
    assert soft.dtype == al.bfloat16
    assert np.abs(wide(soft).sum(1) - 1).max() < 0.02
    with pytest.raises(ValueError, match="tau out of range: 0"):
        F.gumbel_softmax(logits, tau=0.0)


@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_norms_of_every_dtype(dtype):
    x = samples(dtype, 4, 6, 10)
    if dtype == al.bool:
        x = (al.arange(240).reshape(4, 6, 10) % 3) == 0
    result, values = result_dtype(dtype), wide(x)
    near = {"scale": 8, "floor": 1.0}
    assert_near(F.layer_norm(x, (10,)), standardized(values, (2,), 1e-5), result, **near)
    assert_near(F.layer_norm(x, (6, 10)), standardized(values, (1, 2), 1e-5), result, **near)
    root = np.sqrt((values**2).mean(2, keepdims=True) + 1e-3)
    assert_near(F.rms_norm(x, (10,), eps=1e-3), values / root, result, **near)
    groups = standardized(values.reshape(4, 2, 30), (2,), 1e-5).reshape(4, 6, 10)
    assert_near(F.group_norm(x, 2), groups, result, **near)
    assert_near(F.instance_norm(x), standardized(values, (2,), 1e-5), result, **near)
    whole = standardized(values, (0, 2), 1e-5)
    assert_near(F.batch_norm(x, training=True), whole, result, **near)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_norms_with_weights(dtype):
    x = samples(dtype, 3, 4, 5)
    weight, bias = samples(dtype, 5, seed=1), samples(dtype, 5, seed=2)
    values, near = wide(x), {"scale": 8, "floor": 8.0}
    want = standardized(values, (2,), 1e-5) * wide(weight) + wide(bias)
    assert_near(F.layer_norm(x, 5, weight, bias), want, x.dtype, **near)
    want = standardized(values, (2,), 1e-5) * wide(weight)
    assert_near(F.layer_norm(x, [5], weight=weight), want, x.dtype, **near)
    weight, bias = samples(dtype, 4, seed=1), samples(dtype, 4, seed=2)
    channel = (wide(weight)[:, None], wide(bias)[:, None])
    groups = standardized(values.reshape(3, 2, 10), (2,), 1e-5).reshape(3, 4, 5)
    want = groups * channel[0] + channel[1]
    assert_near(F.group_norm(x, 2, weight, bias), want, x.dtype, **near)
    want = standardized(values, (2,), 1e-5) * channel[0] + channel[1]
    assert_near(F.instance_norm(x, None, None, weight, bias), want, x.dtype, **near)
    want = standardized(values, (0, 2), 1e-5) * channel[0] + channel[1]
    assert_near(F.batch_norm(x, None, None, weight, bias, True), want, x.dtype, **near)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_norms_of_every_layout(layout):
    x = LAYOUTS[layout](samples("float32", 6, 8, 10))
    values, near = wide(x), {"scale": 8, "floor": 1.0}
    last = x.shape[2:]
    assert_near(F.layer_norm(x, last), standardized(values, (2,), 1e-5), al.float32, **near)
    assert_near(F.batch_norm(x, training=True), standardized(values, (0, 2), 1e-5), al.float32, **near)
    assert_near(F.instance_norm(x), standardized(values, (2,), 1e-5), al.float32, **near)


def test_norms_of_long_lines():
    x = al.randn(2, 300_000)
    near = {"scale": 32, "floor": 1.0}
    weight = al.randn(300_000)
    want = standardized(wide(x), (1,), 1e-5)
    assert_near(F.layer_norm(x, (300_000,)), want, al.float32, **near)
    assert_near(F.layer_norm(x, (300_000,), weight), want * wide(weight), al.float32, **near)
    root = np.sqrt((wide(x) ** 2).mean(1, keepdims=True))
    assert_near(F.rms_norm(x, (300_000,), eps=0.0), wide(x) / root, al.float32, **near)
    x = al.randn(1, 4, 150_000)
    weight = al.tensor([1.0, 2.0, 3.0, 4.0])
    want = standardized(wide(x).reshape(1, 2, 300_000), (2,), 1e-5).reshape(x.shape)
    want = want * wide(weight)[:, None]
    assert_near(F.group_norm(x, 2, weight), want, al.float32, **near)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_means_and_variances_do_not_overflow(dtype):
    """The sum and the squares of 60000 are beyond float16."""
    x = al.tensor([[60000.0, 60000.0, -60000.0, -60000.0], [60000.0] * 4], dtype=dtype)
    want = [[1.0, 1.0, -1.0, -1.0], [0.0] * 4]
    assert wide(F.layer_norm(x, (4,))).tolist() == want
    assert wide(F.group_norm(x, 1)).tolist() == want
    assert np.allclose(wide(F.rms_norm(x, (4,))), np.sign(wide(x)))
    assert np.allclose(wide(F.normalize(x)), np.sign(wide(x)) / 2, rtol=1e-2)


def test_a_large_mean_leaves_the_digits_of_the_distances():
    x = al.tensor([1e6 - 1, 1e6 + 1, 1e6 - 1, 1e6 + 2.5])
    assert_near(F.layer_norm(x, 4), standardized(wide(x), (0,), 1e-5), al.float32, scale=16, floor=1.0)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_batch_norm_keeps_running_numbers(dtype):
    x = samples(dtype, 4, 3, 5)
    values = wide(x)
    mean, var = al.tensor([1.0, 2.0, 3.0]), al.tensor([1.0, 4.0, 0.25])
    shared = mean[:]
    got = F.batch_norm(x, mean, var, training=False)
    want = (values - wide(mean)[:, None]) / np.sqrt(wide(var)[:, None] + 1e-5)
    assert_near(got, want, x.dtype, scale=8, floor=8.0)
    assert mean.tolist() == [1.0, 2.0, 3.0]
    F.batch_norm(x, mean, var, training=True, momentum=0.25)
    assert_near(mean, 0.75 * np.array([1.0, 2, 3]) + 0.25 * values.mean((0, 2)), al.float32)
    unbiased = values.var((0, 2), ddof=1)
    assert_near(var, 0.75 * np.array([1.0, 4, 0.25]) + 0.25 * unbiased, al.float32)
    assert shared.tolist() == mean.tolist()


def test_instance_norm_keeps_running_numbers():
    x = samples("float32", 4, 3, 5)
    mean, var = al.zeros(3), al.ones(3)
    F.instance_norm(x, mean, var, momentum=0.5)
    assert_near(mean, 0.5 * wide(x).mean((0, 2)), al.float32, floor=1.0)
    assert_near(var, 0.5 + 0.5 * wide(x).var(2, ddof=1).mean(0), al.float32)
    got = F.instance_norm(x, mean, var, use_input_stats=False)
    want = (wide(x) - wide(mean)[:, None]) / np.sqrt(wide(var)[:, None] + 1e-5)
    assert_near(got, want, al.float32, scale=8, floor=1.0)


def test_norms_promote_and_refuse():
    x = al.ones(2, 4, dtype="bfloat16")
    assert F.layer_norm(x, (4,), al.ones(4)).dtype == al.float32
    assert F.layer_norm(x, (4,), al.ones(4, dtype="bfloat16")).dtype == al.bfloat16
    for call, message in [
        (lambda: F.layer_norm(x, (3,)), r"wrong shape of input: \[2, 4\]; accepted is one that ends in \[3\]"),
        (lambda: F.layer_norm(x, ()), "wrong shape of input"),
        (lambda: F.layer_norm(x, (4,), al.ones(2)), r"wrong shape of weight: \[2\]; accepted is \[4\]"),
        (lambda: F.group_norm(x, 3), "number of groups out of range: 3"),
        (lambda: F.group_norm(x, 0), "number of groups out of range: 0"),
        (lambda: F.batch_norm(x, al.ones(3), al.ones(3)), "wrong shape of running_mean"),
        (lambda: F.batch_norm(x), "running statistics out of range: none"),
        (lambda: F.batch_norm(x[:1], training=True), "numbers per channel out of range: 1"),
        (lambda: F.batch_norm(x[0], training=True), "two or more dimensions"),
        (lambda: F.instance_norm(x), "numbers per channel"),
    ]:
        with pytest.raises(ValueError, match=message):
            call()
    assert F.layer_norm(al.zeros(0, 4), (4,)).shape == (0, 4)
    assert F.layer_norm(al.zeros(4, 0), (0,)).shape == (4, 0)
    assert F.group_norm(al.zeros(0, 4, 2), 2).shape == (0, 4, 2)


@pytest.mark.parametrize("dtype", NARROW)
def test_local_response_norm(dtype):
    x = samples(dtype, 2, 6, 3)
    values = wide(x)
    for size in (1, 2, 3, 7):
        squares = np.pad(values**2, ((0, 0), (size // 2, (size - 1) // 2), (0, 0)))
        around = sum(squares[:, k : k + 6] for k in range(size)) / size
        want = values / (2.0 + 0.5 * around) ** 0.75
        got = F.local_response_norm(x, size, alpha=0.5, k=2.0)
        assert_near(got, want, result_dtype(x.dtype), scale=8)
    with pytest.raises(ValueError, match="size out of range: 0"):
        F.local_response_norm(x, 0)


@pytest.mark.parametrize("dtype", NARROW)
def test_scaling_and_distances(dtype):
    x, y = samples(dtype, 4, 6), samples(dtype, 4, 6, seed=1)
    a, b = wide(x), wide(y)
    result, near = result_dtype(x.dtype), {"scale": 8, "floor": 1e-3}
    for p in (1.0, 2.0, 3.0, math.inf):
        for axis in (0, 1):
            norm = np.linalg.norm(a, p, axis, keepdims=True)
            assert_near(F.normalize(x, p, axis), a / norm, result, **near)
        away = a - b + 1e-6 if p < math.inf else a - b
        eps = 1e-6 if p < math.inf else 0.0
        got = F.pairwise_distance(x, y, p, eps)
        assert_near(got, np.linalg.norm(away, p, 1), result, **near)
        pairs = np.linalg.norm(a[:, None] - b[None], p, 2)
        assert_near(al.cdist(x, y[:3], p), pairs[:, :3], result, **near)
    assert_near(F.pairwise_distance(x, y, -math.inf, 0.0), np.abs(a - b).min(1), result, **near)
    counted = (a[:, None] != b[None]).sum(2)
    assert_near(al.cdist(x, y, 0.0), counted, result)
    assert F.pairwise_distance(x, y, keepdim=True).shape == (4, 1)
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    assert_near(F.cosine_similarity(x, y), cosine, result, **near)
    pairs = (a[:, None] * b[None]).sum(2)
    pairs = pairs / np.linalg.norm(a, axis=1)[:, None] / np.linalg.norm(b, axis=1)[None]
    assert_near(al.cosine_similarity(x[:, None], y[None], dim=-1), pairs, result, **near)
    assert_near(F.glu(x, 1), a[:, :3] * sigmoid(a[:, 3:]), result, **near)
    assert_near(F.glu(x, axis=0), a[:2] * sigmoid(a[2:]), result, **near)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (5, 33, 3), (70, 64, 100)], ids=str)
def test_distances_of_many_rows(dtype, p, sizes):
    rows, others, length = sizes
    x, y = samples(dtype, rows, length), samples(dtype, others, length, seed=1)
    want = np.linalg.norm(wide(x)[:, None] - wide(y)[None], p, -1)
    assert_near(al.cdist(x, y, p), want, al.dtype(dtype))
    above = np.triu_indices(rows, 1)
    want = np.linalg.norm(wide(x)[:, None] - wide(x)[None], p, -1)[above]
    assert_near(F.pdist(x, p), want, al.dtype(dtype))


def test_gradients_of_distances_far_from_the_origin():
    x, y = samples("float32", 40, 8) + 1000.0, samples("float32", 50, 8, seed=1) + 1000.0
    x.requires_grad_(True)
    al.cdist(x, y).sum().backward()
    away = wide(x.detach())[:, None] - wide(y)[None]
    slope = (away / np.linalg.norm(away, axis=-1, keepdims=True)).sum(1)
    np.testing.assert_allclose(x.grad.numpy(), slope, rtol=1e-4, atol=1e-4)


def test_distances_of_batches_and_of_nothing():
    x, y = samples("float32", 2, 1, 3, 4), samples("float32", 5, 6, 4, seed=1)
    want = np.linalg.norm(wide(x)[..., :, None, :] - wide(y)[..., None, :, :], axis=-1)
    assert_near(al.cdist(x, y), want, al.float32)
    assert al.cdist(al.zeros(2, 0), al.zeros(3, 0)).tolist() == [[0.0] * 3] * 2
    assert al.cdist(al.zeros(2, 0), al.zeros(3, 0), math.inf).tolist() == [[0.0] * 3] * 2
    assert al.cdist(al.zeros(0, 4), al.zeros(3, 4)).shape == (0, 3)
    assert al.cdist(al.zeros(70, 9) + math.nan, al.zeros(3, 9)).isnan().all()
    with pytest.raises(ValueError, match="wrong shape of x2"):
        al.cdist(al.zeros(2, 3), al.zeros(2, 4))
    with pytest.raises(ValueError, match="p out of range"):
        al.cdist(al.zeros(2, 3), al.zeros(2, 3), -1.0)
    with pytest.raises(ValueError, match="size out of range: 3"):
        F.glu(al.zeros(3))


@pytest.mark.parametrize("dtype", FLOATS + [al.complex64, al.int32], ids=named)
def test_dropout_drops_the_same_in_every_dtype(dtype):
    al.manual_seed(3)
    want = F.dropout(al.ones(40, 50), 0.25) == 0
    al.manual_seed(3)
    x = al.ones(40, 50, dtype=dtype)
    got = F.dropout(x, 0.25)
    result = dtype if not dtype.is_integer else al.float32
    assert got.dtype == result
    assert ((got == 0) == want).all()
    assert set(np.unique(got.numpy()[got.numpy() != 0])) == {al.tensor(4 / 3, dtype="complex128" if result.is_complex else "float64").to(result).item()}
    assert 0.2 < want.to("float32").mean().item() < 0.3


def test_dropout_of_channels():
    al.manual_seed(0)
    for function, sizes in [(F.dropout1d, (30, 40, 3)), (F.dropout2d, (30, 40, 3, 2)), (F.dropout3d, (30, 40, 2, 2, 2))]:
        got = wide(function(al.ones(*sizes), 0.5)).reshape(30, 40, -1)
        assert np.array_equal(got.min(2), got.max(2))
        assert set(np.unique(got)) == {0.0, 2.0}
        assert 0.4 < (got == 0).mean() < 0.6
        assert function(al.ones(*sizes[1:]), 1.0).sum().item() == 0
        with pytest.raises(ValueError, match="wrong shape of input"):
            function(al.ones(3))


def test_dropout_that_drops_nothing_or_all():
    x = al.tensor([1.0, -2.0])
    assert F.dropout(x, 0.9, training=False).tolist() == [1.0, -2.0]
    assert F.dropout(x, 0.0).tolist() == [1.0, -2.0]
    assert F.dropout(x, 1.0).tolist() == [0.0, 0.0]
    assert F.alpha_dropout(x, 0.9).tolist() == [1.0, -2.0]
    assert F.dropout(x, 1.0, inplace=True) is x
    assert x.tolist() == [0.0, 0.0]
    for p in (-0.1, 1.5, math.nan):
        with pytest.raises(ValueError, match="probability out of range"):
            F.dropout(x, p)
        with pytest.raises(ValueError, match="probability out of range"):
            F.dropout(x, p, training=False)


def test_alpha_dropout_keeps_mean_and_variance():
    al.manual_seed(5)
    x = al.randn(200, 1000)
    for function in (F.alpha_dropout, F.feature_alpha_dropout):
        got = wide(function(x, 0.3, training=True))
        assert abs(got.mean()) < 0.01 and abs(got.var() - 1) < 0.02
    channels = wide(F.feature_alpha_dropout(al.ones(20, 30, 4), 0.5, training=True))
    assert np.array_equal(channels.min(2), channels.max(2))


def test_activations_of_functional_change_their_operand_if_asked():
    x = al.tensor([-2.0, 0.5])
    for function, want in [(F.relu, [0.0, 0.5]), (F.hardtanh, [-1.0, 0.5])]:
        y = x.clone()
        assert function(y).tolist() == want and y.tolist() == [-2.0, 0.5]
        assert function(y, inplace=True) is y and y.tolist() == want
    assert F.leaky_relu(x, 0.5).tolist() == [-1.0, 0.5]
    assert F.threshold(x, 0.0, 7.0).tolist() == [7.0, 0.5]
    assert F.sigmoid(al.tensor([0.0])).tolist() == [0.5]
    assert F.__all__[: len(al._core.functional.__all__)] == al._core.functional.__all__
    assert len(F.__all__) == len(set(F.__all__))


@pytest.mark.parametrize("rank", range(5))
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_torch_arguments_of_shares(name, rank):
    x, function = samples("float32", 2, 3, 2, 3)[(0,) * (4 - rank)], getattr(F, name)
    dim = 0 if rank in (0, 1, 3) else 1
    with pytest.warns(UserWarning, match=f"{name}: dim is missing; dimension {dim} is taken"):
        got = function(x)
    assert got.tolist() == function(x, dim).tolist()
    assert function(x, dim, 3, al.float64).dtype == al.float64
    assert function(x, dim, _stacklevel=3, dtype=al.float64).dtype == al.float64


def test_normalize_along_several_dimensions():
    x = samples("float64", 2, 3, 4)
    norm = np.linalg.norm(wide(x), axis=(0, 1), keepdims=True)
    for dims in ((0, 1), [-3, -2], al.tensor([0, 1])):
        np.testing.assert_allclose(wide(F.normalize(x, dim=dims)), wide(x) / norm, rtol=1e-12)
    assert F.normalize(al.tensor(-2.0), dim=0).item() == -1.0
    with pytest.raises(ValueError, match="normalize: axis named twice"):
        F.normalize(x, dim=(0, 0))
    with pytest.raises(IndexError, match="normalize: axis out of range: 3"):
        F.normalize(x, dim=(0, 3))


@pytest.mark.parametrize(
    "name, options",
    [
        ("celu", {"alpha": 0.5}),
        ("elu", {"alpha": 0.5}),
        ("hardtanh", {"min_val": -0.5}),
        ("leaky_relu", {"negative_slope": 0.2}),
        ("relu", {}),
        ("rrelu", {"lower": 0.25, "upper": 0.75}),
        ("selu", {}),
        ("threshold", {"threshold": 0.5, "value": 3.0}),
    ],
)
def test_activations_in_place(name, options):
    x = al.tensor([-1.0, 0.25, 2.0])
    want = getattr(F, name)(x, **options).tolist()
    in_place = getattr(F, name + "_")
    assert in_place(x, **options) is x and x.tolist() == want
    assert in_place.__name__ == name + "_"
