"""Losses against their textbook formulas in float64."""

import math

import numpy as np
import pytest

import allotrope as al
from neural_reference import assert_near, log_softmax, result_dtype, samples, sigmoid, wide
from reference import INTEGERS, REALS, named

F = al.nn.functional
REDUCTIONS = {"none": lambda x: x, "mean": np.mean, "sum": np.sum}


def xlogy(x, y):
    return np.where(x == 0, 0.0, x * np.log(np.where(x == 0, 1.0, y)))


def stirling(t):
    safe = np.maximum(t, 1.0)
    return np.where(t > 1, safe * np.log(safe) - safe + 0.5 * np.log(2 * np.pi * safe), 0.0)


# The call, the formula over float64, and the numbers that it is called with.
ELEMENTWISE = {
    "mse": (F.mse_loss, lambda x, t: (x - t) ** 2, "any"),
    "l1": (F.l1_loss, lambda x, t: abs(x - t), "any"),
    "smooth_l1": (
        lambda x, t, **r: F.smooth_l1_loss(x, t, beta=2.0, **r),
        lambda x, t: np.where(abs(x - t) < 2, (x - t) ** 2 / 4, abs(x - t) - 1),
        "any",
    ),
    "smooth_l1_0": (
        lambda x, t, **r: F.smooth_l1_loss(x, t, beta=0.0, **r),
        lambda x, t: abs(x - t),
        "any",
    ),
    "huber": (
        lambda x, t, **r: F.huber_loss(x, t, delta=2.0, **r),
        lambda x, t: np.where(abs(x - t) <= 2, (x - t) ** 2 / 2, 2 * (abs(x - t) - 1)),
        "any",
    ),
    "bce": (
        F.binary_cross_entropy,
        lambda x, t: -(t * np.maximum(np.log(x), -100) + (1 - t) * np.maximum(np.log1p(-x), -100)),
        "share",
    ),
    "bce_with_logits": (
        F.binary_cross_entropy_with_logits,
        lambda x, t: np.maximum(x, 0) - x * t + np.log1p(np.exp(-abs(x))),
        "share",
    ),
    "kl_div": (F.kl_div, lambda x, t: xlogy(t, t) - t * x, "share"),
    "kl_div_log": (
        lambda x, t, **r: F.kl_div(x, t, log_target=True, **r),
        lambda x, t: np.exp(t) * (t - x),
        "any",
    ),
    "poisson": (F.poisson_nll_loss, lambda x, t: np.exp(x) - t * x, "any"),
    "poisson_full": (
        lambda x, t, **r: F.poisson_nll_loss(x, t, log_input=False, full=True, eps=0.5, **r),
        lambda x, t: x - t * np.log(x + 0.5) + stirling(t),
        "positive",
    ),
    "hinge_embedding": (
        F.hinge_embedding_loss,
        lambda x, t: np.where(t != 1, np.maximum(0, 1 - x), 0) + np.where(t != -1, x, 0),
        "sign",
    ),
    "soft_margin": (F.soft_margin_loss, lambda x, t: np.log1p(np.exp(-t * x)), "sign"),
}


def operands(dtype, kind, *sizes):
    low = 0.0 if kind == "positive" or not dtype.is_signed else -2.0
    x = samples(dtype, *sizes, low=low, high=2.0)
    if kind in ("any", "positive"):
        return x, samples(dtype, *sizes, seed=1, low=low, high=2.0)
    bits = al.arange(x.numel()).reshape(sizes) % 3 == 0
    if kind == "share":
        return x if dtype.is_floating_point else x, bits.to(dtype)
    signs = al.where(bits, 1, -1) if dtype.is_signed and dtype != al.bool else bits.to("int64")
    return x, signs.to(dtype)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", REALS, ids=named)
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_elementwise_losses(name, dtype, reduction):
    call, formula, kind = ELEMENTWISE[name]
    x, t = operands(dtype, kind, 5, 7)
    if name == "bce":
        x = (x.abs() / 2).to(dtype) if dtype.is_floating_point else x != 0
        x = x.to(dtype)
    with np.errstate(divide="ignore"):
        want = REDUCTIONS[reduction](formula(wide(x), wide(t)))
    assert_near(call(x, t, reduction=reduction), want, result_dtype(dtype), scale=8, floor=1.0)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_losses_of_large_and_strided_tensors(reduction):
    x, t = samples("float32", 300, 400), samples("bfloat16", 400, 300, seed=1).T
    want = REDUCTIONS[reduction]((wide(x) - wide(t)) ** 2)
    assert_near(F.mse_loss(x, t, reduction=reduction), want, al.float32)
    want = REDUCTIONS[reduction]((wide(x) - wide(t)[:1]) ** 2)
    assert_near(F.mse_loss(x, t[:1], reduction=reduction), want, al.float32)


def test_the_mean_of_half_precision_does_not_overflow():
    x = al.full((4096,), 200.0, dtype="float16")
    assert F.mse_loss(x, al.zeros(4096, dtype="float16")).item() == 40000.0
    assert F.l1_loss(x, x * 2, reduction="sum").item() == math.inf


def test_weights_of_binary_cross_entropy():
    x, t = samples("float32", 4, 3), (al.arange(12).reshape(4, 3) % 2).to("float32")
    weight, positive = al.tensor([1.0, 2.0, 0.5]), al.tensor([3.0, 1.0, 0.25])
    a, b, w, p = wide(x), wide(t), wide(weight), wide(positive)
    plain = -(p * b * np.log(sigmoid(a)) + (1 - b) * np.log(sigmoid(-a)))
    call = F.binary_cross_entropy_with_logits
    assert_near(call(x, t, pos_weight=positive), plain.mean(), al.float32)
    assert_near(call(x, t, weight, pos_weight=positive), (plain * w).mean(), al.float32)
    chances = x.sigmoid()
    want = -(b * np.log(wide(chances)) + (1 - b) * np.log1p(-wide(chances))) * w
    assert_near(F.binary_cross_entropy(chances, t, weight), want.mean(), al.float32, scale=8)
    assert call(al.tensor([-1000.0, 1000.0]), al.tensor([0.0, 1.0])).item() == 0.0
    with pytest.raises(ValueError, match="probability out of range"):
        F.binary_cross_entropy(al.tensor([1.5]), al.tensor([1.0]))


def cross_entropy(x, t, weight=None, ignore=-100, smoothing=0.0, reduction="mean"):
    logs = np.moveaxis(log_softmax(x, 1), 1, -1)
    count = x.shape[1]
    w = np.ones(count) if weight is None else weight
    kept = t != ignore
    safe = np.where(kept, t, 0)
    losses = -w[safe] * np.take_along_axis(logs, safe[..., None], -1)[..., 0]
    losses = (1 - smoothing) * losses + smoothing * -(logs * w).sum(-1) / count
    losses = np.where(kept, losses, 0.0)
    if reduction == "none":
        return losses
    total = (w[safe] * kept).sum() if reduction == "mean" else 1.0
    with np.errstate(invalid="ignore"):
        return losses.sum() / total


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sizes", [(5, 7), (2, 7, 3), (2, 7, 3, 4)], ids=str)
def test_cross_entropy_by_classes(sizes, weighted, smoothing, reduction):
    x = samples("float32", *sizes)
    classes = np.random.default_rng(2).integers(0, 7, (sizes[0], *sizes[2:]))
    classes.ravel()[1] = -100
    weight = al.tensor([1.0, 2.0, 0.5, 0.25, 3.0, 1.0, 1.5]) if weighted else None
    got = F.cross_entropy(
        x, al.tensor(classes), weight, reduction=reduction, label_smoothing=smoothing
    )
    given = wide(weight) if weighted else None
    want = cross_entropy(wide(x), classes, given, smoothing=smoothing, reduction=reduction)
    assert_near(got, want, al.float32, scale=8)


@pytest.mark.parametrize("target", INTEGERS, ids=named)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "int32", "bool"])
def test_classes_of_every_integer_dtype(dtype, target):
    """Classes of 200 do not wrap, and 255 is not -1."""
    count = 250 if target.iinfo.max >= 250 else 120
    x = samples(dtype, 3, count)
    classes = np.array([0, count - 50, count - 1])
    want = cross_entropy(wide(x), classes)
    result = result_dtype(x.dtype)
    assert_near(F.cross_entropy(x, al.tensor(classes).to(target)), want, result, scale=8)
    chosen = -wide(x)[np.arange(3), classes]
    got = F.nll_loss(x, al.tensor(classes).to(target), reduction="none")
    assert_near(got, chosen, result)


def test_cross_entropy_with_uint8_classes_and_ignored_255():
    x = samples("float32", 4, 256)
    classes = al.tensor([255, 0, 255, 7], dtype="uint8")
    got = F.cross_entropy(x, classes, ignore_index=255)
    want = cross_entropy(wide(x), wide(classes).astype(int), ignore=255)
    assert_near(got, want, al.float32)
    got = F.cross_entropy(x, classes)
    assert_near(got, cross_entropy(wide(x), wide(classes).astype(int)), al.float32)
    huge = al.tensor([2**64 - 100], dtype="uint64")
    with pytest.raises(IndexError):
        F.cross_entropy(x[:1], huge)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("sizes", [(7,), (5, 7), (2, 7, 3)], ids=str)
def test_cross_entropy_by_probabilities(sizes, smoothing, reduction):
    x = samples("float32", *sizes)
    axis = 0 if len(sizes) == 1 else 1
    t = samples("float32", *sizes, seed=4).softmax(axis)
    weight = al.tensor([1.0, 2.0, 0.5, 0.25, 3.0, 1.0, 1.5])
    shape = [1] * len(sizes)
    shape[axis] = 7
    share = wide(t) * (1 - smoothing) + smoothing / 7
    losses = -(log_softmax(wide(x), axis) * share * wide(weight).reshape(shape)).sum(axis)
    got = F.cross_entropy(x, t, weight, reduction=reduction, label_smoothing=smoothing)
    assert_near(got, REDUCTIONS[reduction](losses), al.float32, scale=8)


def test_cross_entropy_of_one_line_and_of_none():
    x = samples("float32", 7)
    got = F.cross_entropy(x, al.tensor(3))
    assert_near(got, -log_softmax(wide(x), 0)[3], al.float32)
    assert math.isnan(F.cross_entropy(al.zeros(2, 3), al.tensor([-100, -100])).item())
    assert F.cross_entropy(al.zeros(2, 3), al.tensor([-100, -100]), reduction="sum").item() == 0
    assert math.isnan(F.cross_entropy(al.zeros(0, 3), al.zeros(0, dtype="int64")).item())
    big = al.tensor([[1e30, 0.0, -1e30]])
    assert F.cross_entropy(big, al.tensor([0])).item() == 0.0
    assert math.isnan(F.cross_entropy(al.full((1, 3), -math.inf), al.tensor([0])).item())
    x = al.randn(8, 50_000)
    classes = np.arange(8) * 6000
    want = cross_entropy(wide(x), classes)
    assert_near(F.cross_entropy(x, al.tensor(classes)), want, al.float32)
    assert_near(F.cross_entropy(x.T.contiguous().T, al.tensor(classes)), want, al.float32)


def test_losses_of_classes_refuse():
    x, t = al.zeros(2, 3), al.tensor([0, 1])
    for call, error, message in [
        (lambda: F.cross_entropy(x, al.tensor([0, 3])), IndexError, "index out of range: 3"),
        (lambda: F.cross_entropy(x, al.tensor([0, -1])), IndexError, "index out of range: -1"),
        (lambda: F.cross_entropy(x, al.tensor([0.0, 1.0])), TypeError, "wrong dtype: float32"),
        (lambda: F.cross_entropy(x, al.tensor([0])), ValueError, r"wrong shape of target: \[1\]"),
        (lambda: F.cross_entropy(x, t, al.ones(2)), ValueError, "wrong shape of weight"),
        (lambda: F.cross_entropy(x, t, label_smoothing=2.0), ValueError, "label_smoothing"),
        (lambda: F.cross_entropy(x, t, reduction="avg"), ValueError, "unknown reduction: 'avg'"),
        (lambda: F.cross_entropy(al.tensor(1.0), al.tensor(0)), ValueError, "wrong shape of input"),
        (lambda: F.multi_margin_loss(x, t, p=3), ValueError, "p out of range: 3"),
        (lambda: F.huber_loss(x, x, delta=0.0), ValueError, "delta out of range"),
        (lambda: F.smooth_l1_loss(x, x, beta=-1.0), ValueError, "beta out of range"),
        (lambda: F.mse_loss(x, al.zeros(4)), ValueError, "shapes do not broadcast"),
        (lambda: F.mse_loss(x.to("complex64"), x), TypeError, "mse_loss: wrong dtype: complex64"),
        (lambda: F.gaussian_nll_loss(x, x, al.zeros(5)), ValueError, "wrong shape of var"),
        (lambda: F.gaussian_nll_loss(x, x, x - 1), ValueError, "var out of range: -1"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_older_arguments_of_reduction():
    x, t = al.tensor([1.0, 3.0]), al.tensor([0.0, 0.0])
    assert F.l1_loss(x, t, size_average=False).item() == 4.0
    assert F.l1_loss(x, t, reduce=False).tolist() == [1.0, 3.0]
    assert F.l1_loss(x, t, True).item() == 2.0
    assert F.kl_div(al.zeros(2, 3), al.ones(2, 3), reduction="batchmean").item() == 0.0
    t = samples("float32", 4, 3, seed=2).softmax(1)
    want = (wide(t) * np.log(wide(t))).sum() / 4
    assert_near(F.kl_div(al.zeros(4, 3), t, reduction="batchmean"), want, al.float32)


@pytest.mark.parametrize("dtype", ["float32", "float16", "float64"])
def test_gaussian_nll(dtype):
    x, t = samples(dtype, 4, 5), samples(dtype, 4, 5, seed=1)
    var = samples(dtype, 4, 5, seed=2).abs()
    for full in (False, True):
        spread = np.maximum(wide(var), 1e-6)
        want = 0.5 * (np.log(spread) + (wide(x) - wide(t)) ** 2 / spread)
        want = want + (0.5 * np.log(2 * np.pi) if full else 0)
        got = F.gaussian_nll_loss(x, t, var, full=full, reduction="none")
        # The least variance is a number of the dtype.
        kept = wide(var) > 0
        near = {"scale": 8, "floor": 8.0}
        assert_near(al.tensor(wide(got)[kept]).to(dtype), want[kept], x.dtype, **near)
    row = var[:, 0] + 1
    want = 0.5 * (np.log(wide(row)[:, None]) + (wide(x) - wide(t)) ** 2 / wide(row)[:, None])
    got = F.gaussian_nll_loss(x, t, row, reduction="none")
    assert_near(got, want, x.dtype, scale=8, floor=8.0)
    assert_near(F.gaussian_nll_loss(x, t, row[:, None], reduction="none"), want, x.dtype, scale=8, floor=8.0)


def test_small_variances_have_the_gradient_of_their_bound():
    var = al.tensor([1e-8, 0.0, 4.0], dtype="float64", requires_grad=True)
    loss = F.gaussian_nll_loss(al.tensor([1.0] * 3), al.tensor([0.0] * 3), var, reduction="sum")
    spread = np.array([1e-6, 1e-6, 4.0])
    assert loss.item() == pytest.approx((0.5 * (np.log(spread) + 1 / spread)).sum(), rel=1e-12)
    loss.backward()
    np.testing.assert_allclose(var.grad.numpy(), 0.5 * (1 / spread - 1 / spread**2), rtol=1e-12)


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_gradients_where_all_classes_are_ignored(loss):
    x = al.randn(2, 3).requires_grad_(True)
    loss(x, al.tensor([-100, -100])).backward()
    assert x.grad.tolist() == [[0.0] * 3] * 2


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_losses_of_vectors(dtype, reduction):
    reduce = REDUCTIONS[reduction]
    x, y, z = (samples(dtype, 6, 5, seed=seed) for seed in range(3))
    a, b, c = wide(x), wide(y), wide(z)
    result, near = result_dtype(x.dtype), {"scale": 8, "floor": 1.0}
    signs = al.tensor([1, -1, 1, -1, 1, -1])
    cosine = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    want = np.where(wide(signs) == 1, 1 - cosine, np.maximum(0, cosine - 0.25))
    got = F.cosine_embedding_loss(x, y, signs, 0.25, reduction=reduction)
    assert_near(got, reduce(want), result, **near)
    for swap in (False, True):
        far = np.linalg.norm(a - c + 1e-6, axis=1)
        if swap:
            far = np.minimum(far, np.linalg.norm(b - c + 1e-6, axis=1))
        want = np.maximum(0, np.linalg.norm(a - b + 1e-6, axis=1) - far + 2)
        got = F.triplet_margin_loss(x, y, z, margin=2.0, swap=swap, reduction=reduction)
        assert_near(got, reduce(want), result, **near)
    signs = al.where(al.arange(30).reshape(6, 5) % 2 == 0, 1, -1)
    want = np.maximum(0, -wide(signs) * (a - b) + 0.5)
    got = F.margin_ranking_loss(x, y, signs.to(dtype), 0.5, reduction=reduction)
    assert_near(got, reduce(want), result, **near)
    labels = (al.arange(30).reshape(6, 5) % 2).to(dtype)
    weight = samples(dtype, 5, seed=7).abs()
    bits = wide(labels)
    want = -(bits * np.log(sigmoid(a)) + (1 - bits) * np.log(sigmoid(-a)))
    got = F.multilabel_soft_margin_loss(x, labels, reduction=reduction)
    assert_near(got, reduce(want.mean(1)), result, **near)
    got = F.multilabel_soft_margin_loss(x, labels, weight, reduction=reduction)
    assert_near(got, reduce((want * wide(weight)).mean(1)), result, **near)


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32"])
def test_losses_of_margins_between_classes(dtype, reduction):
    reduce = REDUCTIONS[reduction]
    x = samples(dtype, 6, 5)
    a, classes = wide(x), np.array([0, 4, 2, 2, 1, 3])
    result, near = result_dtype(x.dtype), {"scale": 8, "floor": 1.0}
    weight = samples("float32", 5, seed=3).abs().to(result)
    for p in (1, 2):
        terms = np.maximum(0, 0.5 - a[np.arange(6), classes][:, None] + a) ** p
        terms[np.arange(6), classes] = 0
        got = F.multi_margin_loss(x, al.tensor(classes), p, 0.5, reduction=reduction)
        assert_near(got, reduce(terms.sum(1) / 5), result, **near)
        got = F.multi_margin_loss(x, al.tensor(classes).to("uint8"), p, 0.5, weight, reduction=reduction)
        assert_near(got, reduce(terms.sum(1) * wide(weight)[classes] / 5), result, **near)
    labels = np.array([[3, 0, -1, 1, 2], [0, 1, 2, 3, 4], [-1, 0, 0, 0, 0]] * 2)
    want = []
    for line, named_ in zip(a, labels):
        right = [k for k in named_[: list(named_).index(-1) if -1 in named_ else 5]]
        wrong = [k for k in range(5) if k not in right]
        want.append(sum(max(0, 1 - (line[r] - line[w])) for r in right for w in wrong) / 5)
    got = F.multilabel_margin_loss(x, al.tensor(labels), reduction=reduction)
    assert_near(got, reduce(np.array(want)), result, **near)
    with pytest.raises(IndexError, match="index out of range: 12"):
        F.multilabel_margin_loss(x, al.tensor(labels) + 9)


def test_one_line_of_margins():
    x = al.tensor([1.0, 2.0, 0.5])
    assert F.multi_margin_loss(x, al.tensor(1)).item() == 0.0
    assert F.multi_margin_loss(x, al.tensor(0), reduction="none").item() == pytest.approx(2.5 / 3)
    assert F.multilabel_margin_loss(x, al.tensor([1, -1, -1])).item() == 0.0
    assert math.isnan(F.multilabel_margin_loss(al.tensor([math.nan, 1.0]), al.tensor([0, -1])).item())


# torch's answers to (1, 2, 4) and (0, 4, 4.5) with weights of (1, 2, 0.5).
WEIGHTED = {
    "mse_loss": ([1.0, 8.0, 0.125], 9.125, 2.607142925262451),
    "l1_loss": ([1.0, 4.0, 0.25], 5.25, 1.5),
    "huber_loss": ([0.5, 3.0, 0.0625], 3.5625, 1.1875),
}


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_of_elements(name):
    loss = getattr(F, name)
    x, target = al.tensor([1.0, 2.0, 4.0]), al.tensor([0.0, 4.0, 4.5])
    weight = al.tensor([1.0, 2.0, 0.5], requires_grad=True)
    for reduction, want in zip(("none", "sum", "mean"), WEIGHTED[name]):
        got = loss(x, target, reduction=reduction, weight=weight)
        np.testing.assert_allclose(got.tolist(), want, rtol=1e-6)
    loss(x, target, reduction="sum", weight=weight).backward()
    assert weight.grad.tolist() == loss(x, target, reduction="none").tolist()
    with pytest.raises(ValueError, match=rf"^{name}: wrong shape of weight: \[1\]"):
        loss(x, target, weight=al.ones(1))


def test_labels_that_are_named_twice_count_twice():
    x = al.tensor([0.1, 0.2, 0.4, 0.8], requires_grad=True)
    for target, want in [([3, 3, -1, 1], 0.65), ([3, -1, -1, 1], 0.325)]:
        target = al.tensor(target)
        assert F.multilabel_margin_loss(x.detach(), target).item() == pytest.approx(want)
        loss = F.multilabel_margin_loss(x, target)
        assert loss.item() == pytest.approx(want)
        (slope,) = al.autograd.grad(loss, x)
        times = target.tolist()[:2].count(3)
        assert slope.tolist() == pytest.approx([times / 4] * 3 + [-3 * times / 4])
