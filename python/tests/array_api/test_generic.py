"""Code that knows no library but the standard: as in scikit-learn and SciPy."""

import numpy as np
import pytest

from allotrope import array_api


def standardize(x):
    xp = x.__array_namespace__()
    deviation = xp.std(x, axis=0, correction=1)
    return (x - xp.mean(x, axis=0)) / xp.where(deviation == 0, xp.ones_like(deviation), deviation)


def principal_components(x, count):
    xp = x.__array_namespace__()
    u, s, vh = xp.linalg.svd(x - xp.mean(x, axis=0, keepdims=True), full_matrices=False)
    signs = xp.sign(xp.take_along_axis(vh, xp.argmax(xp.abs(vh), axis=1, keepdims=True), axis=1))
    return (signs * vh)[:count, :], s[:count] ** 2 / (x.shape[0] - 1)


def softmax(x, axis=-1):
    xp = x.__array_namespace__()
    e = xp.exp(x - xp.max(x, axis=axis, keepdims=True))
    return e / xp.sum(e, axis=axis, keepdims=True)


def label_encode(labels):
    xp = labels.__array_namespace__()
    classes, codes = xp.unique_inverse(labels)
    hot = xp.astype(xp.expand_dims(codes, axis=1) == xp.arange(classes.shape[0], device=labels.device), xp.int8)
    return classes, codes, hot


def nearest(x, centers):
    xp = x.__array_namespace__()
    squares = xp.sum((x[:, None, :] - centers[None, :, :]) ** 2, axis=-1)
    return xp.argmin(squares, axis=1), xp.sqrt(xp.min(squares, axis=1))


def ridge(x, y, alpha):
    xp = x.__array_namespace__()
    return xp.linalg.solve(x.T @ x + alpha * xp.eye(x.shape[1], dtype=x.dtype), x.T @ y)


DATA = np.random.default_rng(0).normal(size=(20, 4))
PROGRAMS = {
    "standardize": lambda xp, x: standardize(x),
    "principal_components": lambda xp, x: principal_components(x, 2),
    "softmax": lambda xp, x: softmax(x, axis=0),
    "label_encode": lambda xp, x: label_encode(xp.asarray([5, 3, 5, 9, 3])),
    "nearest": lambda xp, x: nearest(x, x[:3, :]),
    "ridge": lambda xp, x: ridge(x[:, :3], x[:, 3], 0.5),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    got = PROGRAMS[name](array_api, array_api.asarray(DATA))
    want = PROGRAMS[name](np, DATA)
    for got, want in zip(got, want) if isinstance(want, tuple) else [(got, want)]:
        assert got.dtype == want.dtype and got.shape == want.shape
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-10, atol=1e-12)


def test_array_api_compat():
    compat = pytest.importorskip("array_api_compat")
    x = array_api.ones((2, 3))
    assert compat.is_array_api_obj(x) and compat.array_namespace(x, x) is array_api
    assert compat.size(x) == x.size == 6 and compat.device(x) == x.device
    assert compat.to_device(x, "cpu").shape == (2, 3)
    with pytest.raises(TypeError, match="[Mm]ultiple namespaces"):
        compat.array_namespace(x, np.ones(1))
