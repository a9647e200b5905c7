"""linear, bilinear and attention against NumPy in float64."""

import numpy as np
import pytest

import allotrope as al
from reference import named

F = al.nn.functional


def draw(*shape, seed=0, dtype=al.float32):
    return al.tensor(np.random.default_rng(seed).standard_normal(shape)).to(dtype)


def wide(x):
    return x.to(al.float64).numpy()


def attention(q, k, v, mask=None, scale=None):
    """The textbook formula; a query that sees nothing gives zero."""
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    best = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isneginf(best), 0, best))
    total = weights.sum(-1, keepdims=True)
    return weights / np.where(total == 0, 1, total) @ v


SHAPES = [
    (2, 3, 5, 7, 4, 6),
    (1, 2, 33, 65, 16, 16),
    (1, 1, 100, 300, 8, 40),
    (2, 2, 400, 500, 13, 5),
    (1, 1, 1, 1, 1, 1),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", [al.float32, al.float64, al.float16, al.bfloat16, al.float8_e4m3fn], ids=named)
def test_attention(shape, dtype):
    batch, heads, queries, keys, depth, width = shape
    q = draw(batch, heads, queries, depth, dtype=dtype)
    k = draw(batch, heads, keys, depth, seed=1, dtype=dtype)
    v = draw(batch, heads, keys, width, seed=2, dtype=dtype)
    got = F.scaled_dot_product_attention(q, k, v)
    assert got.dtype == dtype and got.shape == (batch, heads, queries, width)
    eps = max(dtype.finfo.eps, np.finfo(np.float32).eps if dtype is not al.float64 else 0)
    want = attention(wide(q), wide(k), wide(v))
    np.testing.assert_allclose(wide(got), want, rtol=eps, atol=8 * eps if eps < 1e-4 else 0.6 * eps)


@pytest.mark.parametrize("queries, keys", [(5, 5), (40, 300), (300, 40), (350, 600)])
def test_causal(queries, keys):
    q, k, v = draw(2, queries, 8), draw(2, keys, 8, seed=1), draw(2, keys, 8, seed=2)
    got = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    mask = np.tril(np.ones((queries, keys), bool))
    want = attention(wide(q), wide(k), wide(v), mask)
    np.testing.assert_allclose(got.numpy(), want, atol=2e-6)
    again = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    np.testing.assert_allclose(again.numpy(), want, atol=2e-6)


def test_masks():
    q, k, v = draw(2, 3, 40, 8), draw(2, 3, 290, 8, seed=1), draw(2, 3, 290, 8, seed=2)
    rng = np.random.default_rng(3)
    for shape in [(40, 290), (3, 1, 290), (2, 1, 40, 1), (290,)]:
        truth = rng.random(shape) < 0.3
        added = np.where(truth, -np.inf, rng.standard_normal(shape)).astype(np.float32)
        for mask in (truth, added):
            got = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            want = attention(wide(q), wide(k), wide(v), mask)
            np.testing.assert_allclose(got.numpy(), want, atol=2e-6)
    nothing = F.scaled_dot_product_attention(q, k, v, attn_mask=al.zeros(40, 290, dtype=al.bool))
    assert (nothing == 0).all().item()


def test_layouts_scale_and_groups():
    q, k, v = draw(2, 40, 4, 8), draw(2, 50, 2, 8, seed=1), draw(2, 50, 2, 8, seed=2)
    turned = [x.transpose(1, 2) for x in (q, k, v)]
    got = F.scaled_dot_product_attention(*turned, scale=0.25, enable_gqa=True)
    repeated = [np.repeat(wide(x), 2, 1) for x in turned[1:]]
    np.testing.assert_allclose(got.numpy(), attention(wide(turned[0]), *repeated, scale=0.25), atol=2e-6)
    mask = np.random.default_rng(4).random((2, 4, 40, 50)) < 0.5
    got = F.scaled_dot_product_attention(*turned, attn_mask=mask, enable_gqa=True)
    np.testing.assert_allclose(got.numpy(), attention(wide(turned[0]), *repeated, mask), atol=2e-6)
    broadcast = F.scaled_dot_product_attention(turned[0], k[0, :, :1].transpose(0, 1), v[0, :, :1].transpose(0, 1))
    want = attention(wide(turned[0]), wide(k)[0, :, 0], wide(v)[0, :, 0])
    np.testing.assert_allclose(broadcast.numpy(), want, atol=2e-6)


def test_large_products():
    q = al.tensor([[[1000.0], [-1000.0]]])
    k = al.tensor([[[1.0], [2.0]]])
    got = F.scaled_dot_product_attention(q, k, al.tensor([[[1.0], [5.0]]]))
    assert got.tolist() == [[[5.0], [1.0]]]
    nan = F.scaled_dot_product_attention(q, k, al.tensor([[[float("nan")], [5.0]]]))
    assert np.isnan(nan.numpy()).all()


def test_no_keys():
    got = F.scaled_dot_product_attention(al.ones(1, 2, 3), al.ones(1, 0, 3), al.ones(1, 0, 4))
    assert got.tolist() == [[[0.0] * 4] * 2]


def test_dropout():
    al.manual_seed(0)
    x = al.ones(1, 200, 4)
    got = F.scaled_dot_product_attention(x, x, x, dropout_p=0.5).numpy()
    # Each result is the share of 200 weights that were kept, twice.
    assert got.std() > 0 and abs(got.mean() - 1) < 0.05
    al.manual_seed(0)
    np.testing.assert_array_equal(F.scaled_dot_product_attention(x, x, x, dropout_p=0.5).numpy(), got)
    assert (F.scaled_dot_product_attention(x, x, x, dropout_p=1.0) == 0).all().item()


def test_attention_errors():
    x = al.ones(1, 2, 3)
    with pytest.raises(ValueError, match="scaled_dot_product_attention: shapes do not fit"):
        F.scaled_dot_product_attention(x, al.ones(1, 2, 4), x)
    with pytest.raises(ValueError, match="is_causal"):
        F.scaled_dot_product_attention(x, x, x, attn_mask=al.ones(2, 2), is_causal=True)
    with pytest.raises(ValueError, match="enable_gqa"):
        F.scaled_dot_product_attention(al.ones(3, 2, 3), al.ones(2, 2, 3), al.ones(2, 2, 3), enable_gqa=True)
    with pytest.raises(ValueError, match="dropout_p"):
        F.scaled_dot_product_attention(x, x, x, dropout_p=1.5)
    with pytest.raises(TypeError, match="scaled_dot_product_attention"):
        F.scaled_dot_product_attention(x.to(al.int32), x.to(al.int32), x.to(al.int32))


@pytest.mark.parametrize("dtype", [al.float32, al.bfloat16, al.int16, al.complex64], ids=named)
@pytest.mark.parametrize("shape", [(5,), (4, 5), (2, 3, 5), (0, 5)], ids=str)
def test_linear(shape, dtype):
    rng = np.random.default_rng(0)
    numbers = [al.tensor(rng.integers(-3, 4, s)).to(dtype) for s in (shape, (7, 5), (7,))]
    x, weight, bias = [x.to(al.complex128).numpy() for x in numbers]
    got = F.linear(*numbers)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got.to(al.complex128).numpy(), x @ weight.T + bias)
    np.testing.assert_array_equal(F.linear(*numbers[:2]).to(al.complex128).numpy(), x @ weight.T)
    one = F.linear(numbers[0], numbers[1][0], numbers[2][0])
    np.testing.assert_array_equal(one.to(al.complex128).numpy(), x @ weight[0] + bias[0])


def test_linear_errors():
    with pytest.raises(ValueError) as caught:
        F.linear(al.ones(2, 3), al.ones(5, 4))
    assert str(caught.value) == "linear: inner dimensions differ: [2, 3] x [4, 5] (3 != 4)"
    with pytest.raises(ValueError, match="linear"):
        F.linear(al.ones(2, 3), al.ones(5, 3), al.ones(4))
    with pytest.raises(ValueError, match="linear"):
        F.linear(al.tensor(1.0), al.ones(5, 3))


@pytest.mark.parametrize("shape", [(), (4,), (2, 3)], ids=str)
def test_bilinear(shape):
    rng = np.random.default_rng(0)
    x, y = (rng.integers(-3, 4, (*shape, n)).astype(np.float32) for n in (3, 4))
    weight, bias = rng.integers(-3, 4, (5, 3, 4)).astype(np.float32), np.arange(5, dtype=np.float32)
    want = np.einsum("...i,oij,...j->...o", x, weight, y)
    np.testing.assert_array_equal(F.bilinear(x, y, weight).numpy(), want)
    np.testing.assert_array_equal(F.bilinear(x, y, weight, bias).numpy(), want + bias)
    with pytest.raises(ValueError, match="bilinear: shapes do not fit"):
        F.bilinear(x, y, weight[:, :, :2])
