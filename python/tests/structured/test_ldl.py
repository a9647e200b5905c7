"""L D Lᵀ against LAPACK's factors and pivots, and by what it solves."""

import json
from pathlib import Path

import numpy as np
import pytest

import allotrope as al

RECORDED = json.loads((Path(__file__).parent / "data_ldl.json").read_text())


def array(row, name):
    found = np.asarray(row[name])
    return found[0] + 1j * found[1] if row["complex"] else found


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: f"{len(row['pivots'])}{'h' * row['hermitian']}")
def test_factors_and_pivots_are_lapacks(row):
    a = al.from_numpy(array(row, "a"))
    factors, pivots, info = al.linalg.ldl_factor_ex(a, hermitian=row["hermitian"])
    numbers = row["pivots"]
    assert pivots.tolist() == numbers and pivots.dtype == al.int32
    assert info.item() == row["info"]
    np.testing.assert_allclose(factors.numpy(), array(row, "factors"), rtol=1e-9, atol=1e-12)
    if row["info"]:
        with pytest.raises(al.linalg.LinAlgError, match="ldl_factor: singular matrix: pivot 0 is zero"):
            al.linalg.ldl_factor(a)
        with pytest.raises(al.linalg.LinAlgError, match="ldl_factor_ex: singular"):
            al.linalg.ldl_factor_ex(a, check_errors=True)
        return
    # Only the lower triangle is read.
    lower = al.linalg.ldl_factor(a.tril(), hermitian=row["hermitian"])
    assert lower.LD.tolist() == factors.tolist() and lower.pivots.tolist() == numbers
    b = al.tensor(np.random.default_rng(1).standard_normal((len(numbers), 3)))
    found = al.linalg.ldl_solve(factors, pivots, b, hermitian=row["hermitian"])
    np.testing.assert_allclose((a @ found.to(a.dtype)).numpy(), b.to(a.dtype).numpy(), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dtype", [d for d in al.dtypes() if d.is_floating_point or d.is_complex], ids=str)
def test_every_dtype_is_rounded_once(dtype):
    wide = al.tensor([[0.5, 1.0, -2.0], [1.0, 0.25, 1.5], [-2.0, 1.5, 1.0]], dtype=al.float64).to(dtype)
    exact = wide.to(al.complex128 if dtype.is_complex else al.float64)
    factors, pivots = al.linalg.ldl_factor(wide)
    want, places = al.linalg.ldl_factor(exact)
    assert factors.dtype == dtype and pivots.tolist() == places.tolist()
    np.testing.assert_array_equal(factors.to(want.dtype).numpy(), want.to(dtype).to(want.dtype).numpy())
    assert al.linalg.ldl_factor(al.eye(2, dtype="int64")).LD.dtype == al.float32


def test_batches_are_broadcast():
    rng = np.random.default_rng(3)
    a = rng.standard_normal((2, 1, 4, 4))
    a = al.tensor(a + np.swapaxes(a, -1, -2))
    b = al.tensor(rng.standard_normal((3, 4, 2)))
    factors, pivots = al.linalg.ldl_factor(a)
    assert factors.shape == (2, 1, 4, 4) and pivots.shape == (2, 1, 4)
    for i in range(2):
        one = al.linalg.ldl_factor(a[i, 0])
        assert one.LD.tolist() == factors[i, 0].tolist()
    found = al.linalg.ldl_solve(factors, pivots, b)
    assert found.shape == (2, 3, 4, 2)
    np.testing.assert_allclose((a @ found).numpy(), b.expand(2, 3, 4, 2).numpy(), atol=1e-9)
    empty = al.linalg.ldl_factor(al.zeros(0, 3, 3))
    assert empty.LD.shape == (0, 3, 3) and empty.pivots.shape == (0, 3)
    none = al.linalg.ldl_factor(al.zeros(2, 0, 0))
    assert none.LD.shape == (2, 0, 0) and none.pivots.shape == (2, 0)
    assert al.linalg.ldl_solve(*none, al.zeros(2, 0, 3)).shape == (2, 0, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: al.linalg.ldl_factor(al.ones(2, 3)), r"not square: \[2, 3\]"),
        (lambda: al.linalg.ldl_solve(al.eye(2), al.tensor([1, 2]), al.ones(3, 1)), r"wrong shape of B: \[3, 1\]"),
        (lambda: al.linalg.ldl_solve(al.eye(2), al.tensor([1, 3]), al.ones(2, 1)), "not pivots of 2 columns"),
        (lambda: al.linalg.ldl_solve(al.eye(2), al.tensor([-2, 1]), al.ones(2, 1)), "not pivots"),
        (lambda: al.linalg.ldl_solve(al.eye(2), al.tensor([1.0, 2.0]), al.ones(2, 1)), "not pivots"),
        (lambda: al.linalg.ldl_solve(al.eye(2), al.tensor([0, 2]), al.ones(2, 1)), "not pivots"),
    ],
)
def test_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
