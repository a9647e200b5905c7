"""Derivatives column by column: the same as row by row, with as many passes as there are inputs."""

import numpy as np
import pytest

import allotrope as al
from allotrope import func


def tall(x):
    """Twelve elements of three."""
    return al.stack([x.sin(), x * x.sum(), (x * 2).exp(), x.prod() * al.ones(3, dtype=x.dtype)])


def pair(x, y):
    return {"sum": (x.sum() + y) * al.arange(1, 6), "product": x.outer(y).exp()}


@pytest.mark.parametrize(
    "dtype", [al.float64, al.float32, al.bfloat16, al.complex128], ids=lambda dtype: dtype.name
)
def test_columns_are_rows(dtype):
    x = al.tensor([0.5, -1.0, 0.25]).to(dtype)
    rows, columns = func.jacrev(tall)(x), func.jacfwd(tall)(x)
    assert rows.shape == columns.shape == (4, 3, 3) and rows.dtype == columns.dtype == dtype
    wide = al.complex128 if dtype.is_complex else al.float64
    tolerance = 1e-12 if dtype in (al.float64, al.complex128) else 0.05 if dtype == al.bfloat16 else 1e-5
    np.testing.assert_allclose(columns.to(wide).numpy(), rows.to(wide).numpy(), rtol=tolerance, atol=tolerance)
    assert not columns.requires_grad


def test_columns_of_trees_and_of_several_arguments():
    x, y = al.tensor([0.5, 0.25], dtype=al.float64), al.tensor([2.0, 3.0, 1.0, 0.5, -1.0], dtype=al.float64)
    for argnums in (0, 1, (0, 1), (1, 0)):
        rows, columns = func.jacrev(pair, argnums)(x, y), func.jacfwd(pair, argnums)(x, y)
        assert list(rows) == list(columns)
        for name in rows:
            both = zip(*(found[name] if isinstance(argnums, tuple) else (found[name],) for found in (rows, columns)))
            for row, column in both:
                np.testing.assert_allclose(column.numpy(), row.numpy(), rtol=1e-12)
    value, aux = func.jacfwd(lambda t: (t * al.ones(4), "said"), has_aux=True)(al.tensor(2.0))
    assert value.tolist() == [1.0] * 4 and aux == "said"
    # What does not depend on an input has a derivative of zero, and no input has none.
    assert func.jacfwd(lambda t: al.ones(3))(al.tensor(2.0)).tolist() == [0.0] * 3
    assert func.jacfwd(lambda t: al.ones(3) + t.sum())(al.zeros(0)).shape == (3, 0)


def test_passes_are_counted(monkeypatch):
    """A pass per element of the fewer: of two inputs and a thousand outputs, not a thousand."""
    passes = []
    plain = func._gradients
    monkeypatch.setattr(func, "_gradients", lambda *given, **options: passes.append(1) or plain(*given, **options))
    grid = al.linspace(0, 1, 1000)
    found = func.jacfwd(lambda p: p[0] * grid + p[1])(al.tensor([1.0, 2.0]))
    assert found.shape == (1000, 2) and len(passes) == 3
    np.testing.assert_allclose(found.numpy(), np.stack([grid.numpy(), np.ones(1000)], 1), rtol=1e-6)
    passes.clear()
    func.jacfwd(lambda x: (x * x).sum(-1))(al.ones(2, 50))
    assert len(passes) == 2


def test_columns_can_be_differentiated():
    """As a transform inside of another one."""
    x = al.tensor([0.5, -1.0, 0.25], dtype=al.float64)
    one = func.jacrev(lambda x: func.jacfwd(tall)(x).sum(0))(x)
    other = func.jacrev(lambda x: func.jacrev(tall)(x).sum(0))(x)
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)
    expected = np.diag(6 * x.numpy())
    np.testing.assert_allclose(func.hessian(lambda x: (x**3).sum())(x).numpy(), expected, rtol=1e-12)
