"""Gradients where a function has several slopes, which are torch's, and losses of shapes that differ."""

import warnings

import allotrope as al
import pytest
from allotrope.nn import functional as F


def gradient(call, values):
    x = al.tensor(values, dtype="float64", requires_grad=True)
    call(x).sum().backward()
    return x.grad.tolist()


@pytest.mark.parametrize("call", [al.std, lambda x: al.std_mean(x)[0], lambda x: x.std(correction=0)])
def test_elements_that_do_not_deviate_have_no_gradient(call):
    assert gradient(call, [2.0, 2.0, 2.0]) == [0.0, 0.0, 0.0]


def test_deviations_elsewhere_keep_both_derivatives():
    # Rows 0 and 2 do not deviate; of [1, 3] the deviation is |a - b| / sqrt(2), which is linear there.
    got = gradient(lambda x: x.std(1), [[5.0, 5.0], [1.0, 3.0], [0.0, 0.0]])
    root = 0.5**0.5
    assert got[0] == [0.0, 0.0] and got[2] == [0.0, 0.0]
    assert got[1] == pytest.approx([-root, root], rel=1e-12)
    x = al.tensor([1.0, 2.0, 4.0], dtype="float64", requires_grad=True)
    assert al.autograd.gradcheck(lambda x: x.std(), (x,))
    assert al.autograd.gradgradcheck(lambda x: x.std(), (x,))


@pytest.mark.parametrize("name", ["max", "min"])
@pytest.mark.parametrize("keepdim", [False, True])
def test_the_element_that_is_named_has_the_whole_gradient(name, keepdim):
    sign = 1.0 if name == "max" else -1.0
    rows = [[sign, 3 * sign, 3 * sign], [0.0, 0.0, 0.0]]
    call = getattr(al, name)
    assert gradient(lambda x: call(x, 1, keepdim=keepdim).values, rows) == [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    x = al.tensor(rows)
    assert call(x, 1).indices.tolist() == [1, 0]
    assert call(x, 1).values.tolist() == [3 * sign, 0.0]
    # Without an index it is shared among equals.
    assert gradient(lambda x: getattr(al, "a" + name)(x, 1), rows) == [[0.0, 0.5, 0.5], [pytest.approx(1 / 3)] * 3]


def test_hardtanh_ends_where_its_bounds_are():
    values = [-2.0, -1.0, 0.5, 1.0, 2.0]
    assert gradient(F.hardtanh, values) == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert gradient(al.nn.Hardtanh(), values) == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert gradient(lambda x: x.hardtanh(), values) == [0.0, 0.0, 1.0, 0.0, 0.0]
    assert gradient(lambda x: x.clamp(-1, 1), values) == [0.0, 1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("loss", [F.binary_cross_entropy, F.binary_cross_entropy_with_logits])
def test_binary_cross_entropies_refuse_other_shapes(loss):
    with pytest.raises(ValueError, match=r"target.*\[3\].*\[3, 1\]"):
        loss(al.full((3, 1), 0.5), al.ones(3))
    assert loss(al.full((3, 1), 0.5), al.ones(3, 1), al.ones(1)).shape == ()


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_losses_warn_that_they_broadcast(loss):
    with pytest.warns(UserWarning, match=r"\[3\] and \[3, 1\]; they are broadcast to \[3, 3\]") as seen:
        loss(al.zeros(3, 1), al.ones(3))
    assert [one.filename for one in seen] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loss(al.zeros(3, 1), al.ones(3, 1))
        loss(al.zeros(3, 1), 1.0)


@pytest.mark.parametrize("layer", [al.nn.MSELoss, al.nn.L1Loss, al.nn.SmoothL1Loss, al.nn.HuberLoss])
def test_layers_of_losses_warn_at_the_line_of_the_user(layer):
    with pytest.warns(UserWarning, match="broadcast") as seen:
        layer()(al.zeros(3, 1), al.ones(3))
    assert [one.filename for one in seen] == [__file__]


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_impossible_sizes_are_refused_before_tables_are_made(mode):
    with pytest.raises(MemoryError, match="^interpolate"):
        F.interpolate(al.ones(1, 1, 2, 2), scale_factor=1e9, mode=mode)


def test_gradients_of_unused_inputs_are_zeros_on_request():
    x, y = al.ones(2, requires_grad=True), al.ones(3, dtype="float64", requires_grad=True)
    used, unused = al.autograd.grad((x * 2).sum(), [x, y], materialize_grads=True)
    assert used.tolist() == [2.0, 2.0]
    assert unused.tolist() == [0.0] * 3 and unused.dtype == al.float64
    with pytest.raises(ValueError, match="materialize_grads"):
        al.autograd.grad((x * 2).sum(), [x, y], allow_unused=False, materialize_grads=True)


def test_the_name_of_a_type():
    x = al.ones(1, dtype="bfloat16")
    assert x.type() == "bfloat16"
    assert x.type(x.double().type()).dtype == al.float64
