"""NumPy's functions and operators take tensors, and what follows is as NumPy's own."""

import doctest
import inspect

import numpy as np
import pytest

import allotrope as al
from allotrope import _ufunc

X = np.array([[0.5, -0.25, 0.75], [0.125, 0.9, -0.6]])
UFUNCS = [name for name in dir(np) if isinstance(getattr(np, name), np.ufunc)]


@pytest.mark.parametrize("function", [_ufunc.array_ufunc, _ufunc.array_function])
def test_example(function):
    text = inspect.getdoc(function)
    examples = doctest.DocTestParser().get_doctest(text, {"al": al, "numpy": np}, function.__name__, None, 0)
    failures = []
    doctest.DocTestRunner(verbose=False).run(examples, out=failures.append)
    assert not failures, "".join(failures)


@pytest.mark.parametrize("name", UFUNCS)
def test_every_ufunc_gives_numpys_numbers_or_says_what_to_do(name):
    ufunc = getattr(np, name)
    arrays = [X, X[::-1] + 0.25][: ufunc.nin]
    if name in ("matmul", "vecdot", "matvec", "vecmat"):
        arrays = [np.eye(2), np.eye(2)]
    elif name in ("ldexp",):
        arrays = [X, np.array([1, 2, 3])]
    elif name.startswith(("bitwise", "left", "right", "invert", "gcd", "lcm")):
        arrays = [np.array([6, 4]), np.array([2, 1])][: ufunc.nin]
    elif name in ("isnat",) or ufunc.nout > 1 and name not in ("frexp",):
        arrays = [X + 3, X[::-1] + 2][: ufunc.nin]
    with np.errstate(all="ignore"):
        try:
            expected = ufunc(*arrays)
        except TypeError:
            return
        try:
            found = ufunc(*map(al.tensor, arrays))
        except TypeError as error:
            assert "hint: x.numpy()" in str(error)
            return
    for one, wanted in zip(*((x,) if not isinstance(x, tuple) else x for x in (found, expected))):
        assert isinstance(one, al.Tensor)
        np.testing.assert_allclose(one.numpy(), wanted, rtol=1e-12, atol=1e-14)


def test_most_ufuncs_are_there():
    missing = set()
    for name in UFUNCS:
        if _ufunc._function(getattr(np, name)) is None:
            missing.add(name)
    assert missing <= {
        "divmod", "gcd", "isnat", "lcm", "matvec", "modf", "spacing", "vecmat",
        "_ones_like", "clip", "ones_like",
    }, missing


def test_operators_work_both_ways():
    array, tensor = np.ones(3, "float32"), al.arange(3.0)
    for found in (array + tensor, tensor + array, array - tensor, array * tensor, array / (tensor + 1), array == tensor):
        assert isinstance(found, al.Tensor)
    assert (array + tensor).tolist() == [1.0, 2.0, 3.0] and (array + tensor).dtype == al.float32
    assert (array @ tensor).item() == 3.0
    array += tensor
    assert isinstance(array, np.ndarray) and array.tolist() == [1.0, 2.0, 3.0]
    tensor += array
    assert isinstance(tensor, al.Tensor) and tensor.tolist() == [1.0, 3.0, 5.0]
    whole = np.arange(3)
    with pytest.raises(TypeError):
        whole += al.tensor([0.5, 0.5, 0.5])
    assert whole.tolist() == [0, 1, 2]


def test_methods_of_ufuncs():
    tensor = al.tensor(X)
    np.testing.assert_allclose(np.add.reduce(tensor).numpy(), np.add.reduce(X))
    np.testing.assert_allclose(np.add.reduce(tensor, axis=None).numpy(), X.sum())
    np.testing.assert_allclose(np.multiply.reduce(tensor, axis=(0, 1)).numpy(), X.prod())
    np.testing.assert_allclose(np.maximum.reduce(tensor, axis=1, keepdims=True).numpy(), X.max(1, keepdims=True))
    np.testing.assert_allclose(np.add.accumulate(tensor, axis=1).numpy(), X.cumsum(1))
    np.testing.assert_allclose(np.multiply.outer(tensor, tensor[0]).numpy(), np.multiply.outer(X, X[0]))
    with pytest.raises(TypeError, match="hint: x.numpy()"):
        np.add.reduceat(tensor, [0, 1])
    with pytest.raises(TypeError, match="with where"):
        np.add(tensor, tensor, where=X > 0)


def test_results_where_they_are_asked_for():
    place, tensor = np.zeros(2), al.zeros(2)
    assert np.exp(al.zeros(2, dtype=al.float64), out=place) is place and place.tolist() == [1.0, 1.0]
    assert np.add(np.ones(2), al.ones(2), out=tensor) is tensor and tensor.tolist() == [2.0, 2.0]


def test_gradients_go_through_numpys_functions():
    x = al.tensor([1.0, 2.0], requires_grad=True)
    np.multiply(np.array([2.0, 3.0], "float32"), np.square(x)).sum().backward()
    assert x.grad.tolist() == [4.0, 12.0]


def test_other_functions_of_numpys_take_tensors_as_arrays():
    tensor = al.tensor(X)
    assert isinstance(np.linalg.svd(tensor)[1], np.ndarray)
    np.testing.assert_allclose(np.concatenate([tensor, X]), np.concatenate([X, X]))
    for function in (np.mean, np.sum, np.max, np.std, np.argmax, np.cumsum, np.transpose, np.round):
        found = function(tensor, 0) if function not in (np.transpose, np.round) else function(tensor)
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, function(X, 0) if function not in (np.transpose, np.round) else function(X))
    np.testing.assert_allclose(np.median(tensor, axis=0), np.median(X, axis=0))
    assert np.asarray(al.ones(2, dtype=al.bfloat16)).dtype.name == "bfloat16"
