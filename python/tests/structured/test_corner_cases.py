"""Corner cases of structured operations: nothing at all, one number, NaN among others, infinities."""

import pytest
from reference import DTYPES, FLOATS, INTEGERS, named

import allotrope as al

F = al.nn.functional


@pytest.mark.parametrize("dtype", FLOATS, ids=named)
def test_no_lines(dtype):
    x = al.zeros((0, 3), dtype=dtype)
    for got in [F.softmax(x, 1), F.log_softmax(x, -1), F.layer_norm(x, (3,)), F.rms_norm(x, (3,))]:
        assert tuple(got.shape) == (0, 3) and got.dtype == dtype


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("kind", ["avg", "max"])
def test_no_output_size(kind, rank):
    name = f"adaptive_{kind}_pool{rank}d"
    with pytest.raises(ValueError, match=name):
        getattr(F, name)(al.ones(2, *[3] * rank), [])


@pytest.mark.parametrize("dtype", INTEGERS, ids=named)
def test_powers_of_integers_are_exact(dtype):
    x = al.tensor([[3, 1], [1, 2]], dtype=dtype)
    for n in range(4):
        got = al.linalg.matrix_power(x, n)
        want = al.eye(2, dtype=dtype)
        for _ in range(n):
            want = want @ x
        assert got.dtype == dtype and got.tolist() == want.tolist()


def test_a_variance_of_nan_hides_no_other():
    one, nan = 1.0, float("nan")
    x, t = al.tensor([one, one]), al.tensor([one, one])
    got = F.gaussian_nll_loss(x, t, al.tensor([nan, 0.0]), reduction="none")
    assert got[0].isnan() and got[1].item() == pytest.approx(-6.907755)
    with pytest.raises(ValueError, match="gaussian_nll_loss: var out of range: -1"):
        F.gaussian_nll_loss(x, t, al.tensor([nan, -1.0]))


def test_a_probability_of_nan_hides_no_other():
    with pytest.raises(ValueError, match="binary_cross_entropy"):
        F.binary_cross_entropy(al.tensor([float("nan"), 2.0]), al.tensor([1.0, 1.0]))


def test_a_complex_number_is_no_float():
    z = al.tensor(1j)
    for function in (float, int):
        with pytest.raises(TypeError, match=f"^{function.__name__}: .*complex"):
            function(z)
    with pytest.raises(TypeError, match="^float: "):
        F.dropout(al.ones(2), z)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_bags_of_a_table_that_is_a_view(dtype):
    table = al.arange(12).reshape(3, 4).to(dtype)
    index = al.tensor([[0, 2, 1], [1, 1, 2]])
    for view in (table[:, 1::2], table.t().contiguous().t()[:, :3], table[:, ::-1]):
        want = F.embedding_bag(index, view.contiguous(), mode="sum")
        got = F.embedding_bag(index, view, mode="sum")
        assert got.dtype == want.dtype and got.tolist() == want.tolist()
        assert got.tolist() == view.to(want.dtype)[index].sum(1, dtype=want.dtype).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_windows_of_a_single_number(dtype):
    assert tuple(al.ones((), dtype=dtype).unfold(0, 1, 1).shape) == (1,)


def test_certain_logits():
    inf = float("inf")
    got = F.binary_cross_entropy_with_logits(
        al.tensor([inf, -inf]), al.tensor([0.0, 1.0]), reduction="none"
    )
    assert got.tolist() == [inf, inf]


@pytest.mark.parametrize("name", ["outer", "kron"])
def test_products_take_dtype(name):
    x = al.tensor([100, 100], dtype=al.int8)
    assert getattr(al, name)(x, x, dtype=al.int32).tolist()[0] in (10000, [10000, 10000])


def test_the_covariance_of_one_variable_is_a_number():
    assert tuple(al.cov(al.ones(1, 4)).shape) == () == tuple(al.corrcoef(al.ones(1, 4)).shape)
