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


def test_differences_of_integers_do_not_wrap():
    one, two = al.tensor([1], dtype=al.uint8), al.tensor([2], dtype=al.uint8)
    assert al.dist(one, two).tolist() == 1.0 and al.dist(one, two).dtype == al.float32
    far = al.tensor([-100], dtype=al.int8), al.tensor([100], dtype=al.int8)
    assert al.dist(*far).item() == 200.0
    assert al.dist(al.tensor([True, False]), al.tensor([False, True]), 1).item() == 2.0
    big = al.tensor([2**40]), al.tensor([2**40 + 1])
    assert al.dist(*big).item() == 1.0


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_sums_to_a_size_are_sums(dtype):
    x = al.ones(300, dtype=dtype)
    want = x.sum(0, keepdim=True)
    got = x.sum_to_size(1)
    assert got.dtype == want.dtype and repr(got) == repr(want)
    # The dtype depends on the dtype alone.
    assert x.sum_to_size(300).dtype == want.dtype


def test_single_numbers_where_vectors_are_expected():
    x = al.tensor(2.0)
    assert F.cosine_similarity(x, al.tensor(-3.0), dim=0).tolist() == -1.0
    assert F.cosine_similarity(x, al.tensor([-3.0, 1.0]), dim=0).item() == pytest.approx(-0.4472136)
    with pytest.raises(IndexError, match="cosine_similarity"):
        F.cosine_similarity(x, x)
    assert al.linalg.vander(x, N=3).tolist() == [[1.0, 2.0, 4.0]]
    for target in (al.tensor(0), al.tensor([0])):
        loss = F.multi_margin_loss(x, target, reduction="none")
        assert loss.shape == () and loss.item() == 0.0
    assert F.multilabel_margin_loss(x, al.tensor(0)).tolist() == 0.0
    with pytest.raises(IndexError, match="multi_margin_loss"):
        F.multi_margin_loss(x, al.tensor(1))


@pytest.mark.parametrize("training", [True, False])
def test_a_batch_of_no_dimensions_to_speak_of(training):
    running = al.zeros(0), al.ones(0)
    x = al.zeros(0, requires_grad=True)
    got = F.batch_norm(x, *running, training=training)
    assert got.shape == (0,) and got.dtype == al.float32
    with pytest.raises(ValueError, match="batch_norm"):
        F.batch_norm(al.zeros(3), al.zeros(3), al.ones(3))


def test_channels_are_dropped_only_if_some_are_chosen():
    x = al.ones(4)
    assert F.feature_alpha_dropout(x, 0.5, False).tolist() == [1.0] * 4
    assert F.feature_alpha_dropout(x, 0.0, True).tolist() == [1.0] * 4
    assert F.feature_alpha_dropout(x, 1.0, True).tolist() == [0.0] * 4
    with pytest.raises(ValueError, match="^feature_alpha_dropout: .*two or more dimensions"):
        F.feature_alpha_dropout(x, 0.5, True)


def test_weights_of_prelu():
    got = F.prelu(al.tensor(-2.0), al.tensor([0.5]))
    assert got.shape == () and got.item() == -1.0
    x = -al.ones(2, 3, 2)
    assert F.prelu(x, al.tensor([1.0, 2.0, 3.0]))[0, :, 0].tolist() == [-1.0, -2.0, -3.0]
    assert F.prelu(-al.ones(2, 3), al.tensor([1.0, 2.0, 3.0])).tolist() == [[-1.0, -2.0, -3.0]] * 2
    for wrong in (x, al.ones(4)):
        with pytest.raises(ValueError, match="^prelu: wrong shape of weight: .*number of channels"):
            F.prelu(wrong, al.tensor([1.0, 2.0]))


@pytest.mark.parametrize("p", [al.float16, al.float32, al.float64], ids=named)
def test_weights_promote_a_covariance(p):
    x = al.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]])
    got = al.cov(x, aweights=al.ones(3, dtype=p))
    assert got.dtype == al.promote_types(al.float32, p)
    assert got.tolist() == al.cov(x).tolist()


def test_a_negative_margin_of_triplets():
    x = al.ones(2, 3)
    for margin in (-1.0, 0.0, float("nan")):
        with pytest.raises(ValueError, match="^triplet_margin_loss: margin out of range"):
            F.triplet_margin_loss(x, x, x, margin=margin)
        with pytest.raises(ValueError, match="^triplet_margin_with_distance_loss: margin out of"):
            F.triplet_margin_with_distance_loss(x, x, x, margin=margin)


def test_answers_that_do_not_vary_have_a_gradient_of_zeros():
    x = al.tensor([3.0, 0.0, 4.0], requires_grad=True)
    for norm in (x.norm(0), al.linalg.vector_norm(x, 0)):
        assert norm.item() == 2.0
        assert al.autograd.grad(norm, x)[0].tolist() == [0.0] * 3
    a = al.ones(2, 2, 2, requires_grad=True)
    power = al.linalg.matrix_power(a, 0)
    assert power.tolist() == [[[1.0, 0.0], [0.0, 1.0]]] * 2
    assert al.autograd.grad(power.sum(), a)[0].tolist() == [[[0.0, 0.0]] * 2] * 2


def test_products_of_few_reflectors():
    a = al.tensor([[0.3], [0.5], [-0.2]], dtype=al.float64, requires_grad=True)
    tau = al.tensor([0.7], dtype=al.float64, requires_grad=True)
    product = al.linalg.householder_product(a, tau)
    # The first column of I - tau v v^T with v = (1, 0.5, -0.2).
    assert product.flatten().tolist() == pytest.approx([0.3, -0.35, 0.14])
    slopes = al.autograd.grad(product.sum(), (a, tau), create_graph=True)
    assert slopes[0].flatten().tolist() == pytest.approx([0.0, -0.7, -0.7])
    assert slopes[1].tolist() == pytest.approx([-1.3])
    assert al.autograd.grad(slopes[0].sum(), tau)[0].tolist() == pytest.approx([-2.0])
    one = al.ones(1, 1, requires_grad=True)
    assert al.autograd.grad(al.linalg.householder_product(one, al.ones(1)), one)[0].tolist() == [[0.0]]
    none = al.ones(5, 3, 2, requires_grad=True)
    identity = al.linalg.householder_product(none, al.ones(5, 0))
    assert identity.shape == (5, 3, 2)
    assert al.autograd.grad(identity.sum(), none)[0].count_nonzero().item() == 0
