"""Layers and losses of every dtype, wherever the elements lie, against NumPy in float64."""

import numpy as np
import pytest
from arrangements import LAYOUTS, assert_close, laid, narrow, numbers, wide
from reference import DTYPES, FLOATS, REALS, named

import allotrope as al

F = al.nn.functional


def real(x):
    return wide(x).astype(float)


def softmax(x, axis=-1):
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def normed(x, axes, eps):
    centred = x - x.mean(axes, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axes, keepdims=True) + eps)


def windows(x, size, rank):
    """Windows that do not overlap, with their elements in the last dimension."""
    counts = [(n // size, size) for n in x.shape[2:]]
    x = x.reshape(*x.shape[:2], *[n for pair in counts for n in pair])
    x = x.transpose(0, 1, *range(2, 2 + 2 * rank, 2), *range(3, 2 + 2 * rank, 2))
    return x.reshape(*x.shape[: 2 + rank], -1)


LAYERS = {
    "softmax": (lambda x: F.softmax(x, -1), lambda x: softmax(x)),
    "softmax of columns": (lambda x: F.softmax(x, 1), lambda x: softmax(x, 1)),
    "log_softmax": (lambda x: F.log_softmax(x, -2), lambda x: np.log(softmax(x, -2))),
    "softmin": (lambda x: F.softmin(x, 0), lambda x: softmax(-x, 0)),
    "layer_norm": (lambda x: F.layer_norm(x, (4, 6), eps=0.1), lambda x: normed(x, (1, 2), 0.1)),
    "rms_norm": (
        lambda x: F.rms_norm(x, (6,), eps=0.1),
        lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 0.1),
    ),
    "group_norm": (
        lambda x: F.group_norm(x, 2, eps=0.1),
        lambda x: normed(x.reshape(3, 2, 2, 6), (2, 3), 0.1).reshape(3, 4, 6),
    ),
    "instance_norm": (lambda x: F.instance_norm(x, eps=0.1), lambda x: normed(x, (2,), 0.1)),
    "batch_norm": (
        lambda x: F.batch_norm(x, training=True, eps=0.1),
        lambda x: normed(x, (0, 2), 0.1),
    ),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 2), lambda x: (x[..., ::2] + x[..., 1::2]) / 2),
    "adaptive_avg_pool1d": (
        lambda x: F.adaptive_avg_pool1d(x, 3),
        lambda x: (x[..., ::2] + x[..., 1::2]) / 2,
    ),
    "lp_pool1d": (
        lambda x: F.lp_pool1d(x.abs() if x.dtype != al.bool else x, 2, 2),
        lambda x: np.sqrt(x[..., ::2] ** 2 + x[..., 1::2] ** 2),
    ),
    "glu": (lambda x: F.glu(x, -1), lambda x: x[..., :3] / (1 + np.exp(-x[..., 3:]))),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_layers(dtype, layout):
    x = laid(numbers(dtype, 3, 4, 6, seed=2), layout)
    for name, (ours, theirs) in LAYERS.items():
        got = ours(x)
        assert got.dtype == (dtype if dtype.is_floating_point else al.float32), name
        assert_close(got, theirs(real(x)), 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_pools(rank, dtype, layout):
    x = laid(numbers(dtype, 2, 3, *[4] * rank), layout)
    want = windows(wide(x), 2, rank)
    for name in (f"max_pool{rank}d", f"adaptive_max_pool{rank}d"):
        values, places = getattr(F, name)(x, 2, return_indices=True)
        assert values.dtype == dtype
        np.testing.assert_array_equal(values.numpy(), narrow(want.max(-1), dtype))
        flat = wide(x).reshape(2, 3, -1)
        chosen = np.take_along_axis(flat, places.numpy().reshape(2, 3, -1), -1)
        np.testing.assert_array_equal(chosen.reshape(want.shape[:-1]), wide(values))
    for name in (f"avg_pool{rank}d", f"adaptive_avg_pool{rank}d"):
        assert_close(getattr(F, name)(x, 2), want.astype(float).mean(-1), 2)
    got = getattr(F, f"lp_pool{rank}d")(x, 2, 2)
    assert_close(got, np.sqrt((want.astype(float) ** 2).sum(-1)), 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_convolutions(rank, dtype, layout):
    """As sums over windows, and the transposed form as their derivative."""
    x = laid(numbers(dtype, 2, 2, *[4] * rank, low=-1), layout)
    w = laid(numbers(dtype, 3, 2, *[2] * rank, low=-1), layout)
    grid = tuple(range(2, 2 + rank))
    seen = np.lib.stride_tricks.sliding_window_view(wide(x), [2] * rank, grid)
    axes = [1, *range(2 + rank, 2 + 2 * rank)]
    want = np.moveaxis(np.tensordot(seen, wide(w), (axes, [1, *range(2, 2 + rank)])), -1, 1)
    got = getattr(F, f"conv{rank}d")(x, w)
    assert got.dtype == dtype
    assert_close(got, want != 0 if dtype == al.bool else want, 2)

    back = np.zeros((2, 3, *[5] * rank), wide(x).dtype)
    swapped = laid(numbers(dtype, 2, 3, *[2] * rank, low=-1), layout)
    for place in np.ndindex(*[2] * rank):
        part = np.moveaxis(np.tensordot(wide(x), wide(swapped)[(..., *place)], ([1], [0])), -1, 1)
        back[(..., *[slice(p, p + 4) for p in place])] += part
    got = getattr(F, f"conv_transpose{rank}d")(x, swapped)
    assert got.dtype == dtype
    assert_close(got, back != 0 if dtype == al.bool else back, 2)


def pairs(x, t):
    d = abs(x - t)
    soft = np.log1p(np.exp(-abs(x))) + np.maximum(x, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        xlogx = np.where(t == 0, 0, t * np.log(np.where(t == 0, 1, t)))
    return {
        "mse_loss": d**2,
        "l1_loss": d,
        "smooth_l1_loss": np.where(d < 1, d**2 / 2, d - 0.5),
        "huber_loss": np.where(d < 1, d**2 / 2, d - 0.5),
        "binary_cross_entropy_with_logits": soft - x * t,
        "kl_div": xlogx - t * x,
        "poisson_nll_loss": np.exp(x) - t * x,
        "soft_margin_loss": np.log1p(np.exp(-t * x)),
    }


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_losses_of_pairs(dtype, layout):
    x = laid(numbers(dtype, 4, 6, seed=1), layout)
    t = laid((numbers(al.int64, 4, 6, seed=2) > 0).to(dtype), layout)
    for name, want in pairs(real(x), real(t)).items():
        got = getattr(F, name)(x, t, reduction="none")
        assert got.dtype == (dtype if dtype.is_floating_point else al.float32), name
        assert_close(got, want, 4)
        assert_close(getattr(F, name)(x, t, reduction="sum"), want.sum(), 4)
        assert_close(getattr(F, name)(x, t), want.mean(), 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
def test_losses_of_classes_and_vectors(dtype, layout):
    x = laid(numbers(dtype, 4, 5, seed=1), layout)
    a, b, c = (laid(numbers(dtype, 4, 5, seed=s, low=1), layout) for s in (3, 4, 5))
    t = al.tensor([1, 4, 0, 4], dtype=al.uint8)
    row, place = np.arange(4), t.numpy()
    logs = np.log(softmax(real(x)))
    assert_close(F.cross_entropy(x, t, reduction="none"), -logs[row, place], 4)
    assert_close(F.nll_loss(x, t, reduction="none"), -real(x)[row, place], 1)
    gap = np.maximum(1 - real(x)[row, place][:, None] + real(x), 0)
    gap[row, place] = 0
    assert_close(F.multi_margin_loss(x, t, reduction="none"), gap.sum(1) / 5, 4)
    signs = al.tensor([1, -1, 1, -1])
    cosine = (real(a) * real(b)).sum(1) / np.sqrt((real(a) ** 2).sum(1) * (real(b) ** 2).sum(1))
    want = np.where(signs.numpy() > 0, 1 - cosine, np.maximum(cosine, 0))
    got = F.cosine_embedding_loss(a, b, signs, reduction="none")
    limit = max(8 * float(al.finfo(got.dtype).eps), 1e-11)
    np.testing.assert_allclose(wide(got), want, atol=limit)
    near, far = (np.sqrt(((real(a) - real(o) + 1e-6) ** 2).sum(1)) for o in (b, c))
    got = F.triplet_margin_loss(a, b, c, reduction="none")
    np.testing.assert_allclose(wide(got), np.maximum(near - far + 1, 0), atol=8 * limit)
    if dtype == al.uint64:
        signs = signs.to(al.float32)  # No integer dtype holds uint64 and -1.
    want = np.maximum(-signs.numpy() * (real(a)[:, 0] - real(b)[:, 0]) + 0.5, 0)
    assert_close(F.margin_ranking_loss(a[:, 0], b[:, 0], signs, 0.5, reduction="none"), want, 2)
    want = (np.log(real(a)) + (real(x) - real(b)) ** 2 / real(a)) / 2
    assert_close(F.gaussian_nll_loss(x, b, a, reduction="none"), want, 4)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_attention(dtype, layout):
    q, k, v = (laid(numbers(dtype, 2, n, 4, seed=n), layout) for n in (3, 5, 6))
    v = v[:, :5]
    mask = np.tril(np.ones((3, 5), bool))
    scores = real(q) @ real(k).transpose(0, 2, 1) / 2
    got = F.scaled_dot_product_attention(q, k, v)
    assert got.dtype == dtype
    assert_close(got, softmax(scores) @ real(v), 3)
    want = softmax(np.where(mask, scores, -np.inf)) @ real(v)
    assert_close(F.scaled_dot_product_attention(q, k, v, is_causal=True), want, 3)
    assert_close(F.scaled_dot_product_attention(q, k, v, al.tensor(mask)), want, 3)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_dropout(dtype, layout):
    """What stays is doubled, and where it stays depends on the seed alone."""
    x = laid(al.ones((4, 4, 4), dtype=dtype), layout)
    for name in ("dropout", "dropout1d"):
        al.manual_seed(5)
        got = getattr(F, name)(x, 0.5)
        al.manual_seed(5)
        again = getattr(F, name)(al.ones((4, 4, 4), dtype=dtype), 0.5)
        np.testing.assert_array_equal(got.numpy(), again.numpy())
        kept = np.unique(
            wide(got.to(al.float64) if not dtype.is_complex else got.real).astype(float)
        )
        assert set(kept) <= {0.0, 2.0 if got.dtype != al.bool else 1.0}
        assert getattr(F, name)(x, 0.5, training=False).tolist() == x.tolist()
