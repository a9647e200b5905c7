"""Results with named fields: their classes are found by name, and pickle takes them."""

import copy
import pickle

import pytest

import allotrope as al

X = al.tensor([[4.0, 1.0], [2.0, 3.0]])

CALLS = {
    "aminmax": lambda: X.aminmax(),
    "cummax": lambda: X.cummax(0),
    "cummin": lambda: X.cummin(0),
    "histogram": lambda: X.histogram(3),
    "kthvalue": lambda: X.kthvalue(1),
    "linalg_cholesky_ex": lambda: al.linalg.cholesky_ex(X),
    "linalg_eig": lambda: al.linalg.eig(X),
    "linalg_eigh": lambda: al.linalg.eigh(X),
    "linalg_inv_ex": lambda: al.linalg.inv_ex(X),
    "linalg_lstsq": lambda: al.linalg.lstsq(X, X),
    "linalg_lu": lambda: al.linalg.lu(X),
    "linalg_lu_factor": lambda: al.linalg.lu_factor(X),
    "linalg_lu_factor_ex": lambda: al.linalg.lu_factor_ex(X),
    "linalg_qr": lambda: al.linalg.qr(X),
    "linalg_slogdet": lambda: al.linalg.slogdet(X),
    "linalg_solve_ex": lambda: al.linalg.solve_ex(X, X),
    "linalg_svd": lambda: al.linalg.svd(X),
    "lu_unpack": lambda: al.lu_unpack(*al.linalg.lu_factor(X)),
    "max": lambda: X.max(0),
    "median": lambda: X.median(0),
    "min": lambda: X.min(0),
    "mode": lambda: X.mode(0),
    "nanmedian": lambda: X.nanmedian(0),
    "qr": lambda: X.qr(),
    "slogdet": lambda: X.slogdet(),
    "sort": lambda: X.sort(),
    "topk": lambda: X.topk(1),
}


def test_every_class_is_tested():
    assert set(CALLS) == set(al.return_types.__all__) == set(dir(al.return_types))


@pytest.mark.parametrize("name", CALLS)
def test_results_are_pickled(name):
    found = CALLS[name]()
    assert type(found) is getattr(al.return_types, name)
    assert type(found).__module__ == "allotrope.return_types"
    for made in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert type(made) is type(found)
        for field in found._fields:
            assert getattr(made, field).tolist() == getattr(found, field).tolist()


def test_other_names_are_missing():
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        al.return_types.nonsense
