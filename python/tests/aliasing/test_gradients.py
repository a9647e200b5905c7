"""Writes are recorded: gradients of programs with views and writes are torch's, of both orders."""

import json
from pathlib import Path

import numpy as np
import pytest

from .gradient_programs import gradients, loss_of, run
from .library import IS_TORCH, lib

PROGRAMS = json.loads(Path(__file__).with_name("data_torch_programs.json").read_text())

only_in_allotrope = pytest.mark.skipif(IS_TORCH, reason="torch refuses this")


def leaf(*values):
    return lib.tensor(list(values), dtype=lib.float64, requires_grad=True)


def described(program):
    return "\n".join(map(str, program["steps"])) + f"\nloss of {program['loss']}"


@only_in_allotrope
@pytest.mark.parametrize("index", range(len(PROGRAMS)))
def test_recorded_programs(index):
    program = PROGRAMS[index]
    leaves, objects = run(lib, program)
    for (i, _), want in zip(program["loss"], program["values"]):
        compare(objects[i], want, f"value of object {i}", program)
    results = gradients(lib, loss_of(lib, program, objects), leaves)
    for order, got in zip(("first", "second"), results):
        for i, (gradient, want) in enumerate(zip(got, program[order])):
            compare(gradient, want, f"{order} order gradient of leaf {i}", program)


def compare(got, want, what, program):
    want = np.array(want)
    got = np.zeros(want.shape) if got is None else got.detach().numpy()
    scale = 1e-12 * max(np.abs(want).max(initial=0.0), 1.0)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=scale, err_msg=f"{what}\n{described(program)}")


WRITES_OF_A_LEAF = [
    "x.add_(1)", "x += 1", "x.zero_()", "x[0] = 5", "x.fill_(2)", "x.copy_(x + 1)", "x[0].fill_(3)",
    "x[1:][0] = 4", "x.view(-1).mul_(2)", "x.unsqueeze(0).T.sin_()", "x[None].squeeze(0).neg_()",
    "x.masked_fill_(x > 1, 0.0)", "x.split(2)[0].zero_()", "x.index_fill_(0, index, 0.0)",
    "x.normal_()", "x[x > 1] = 0",
]


@pytest.mark.parametrize("line", WRITES_OF_A_LEAF)
def test_a_leaf_is_written_without_recording_only(line):
    x = leaf(1.0, 2.0, 3.0)
    view, index = x[:2], lib.tensor([0])
    hooked = []
    x.register_hook(lambda gradient: hooked.append(gradient.tolist()))
    (x * x).sum().backward()
    gradient = x.grad
    with pytest.raises(RuntimeError):
        exec(line, {"x": x, "index": index})
    assert x.tolist() == [1.0, 2.0, 3.0] and view.tolist() == [1.0, 2.0]
    with lib.no_grad():
        exec(line, {"x": x, "index": index})
    assert x.tolist() != [1.0, 2.0, 3.0] and view.tolist() == x.tolist()[:2]
    assert x.is_leaf and x.requires_grad and x.grad_fn is None
    assert x.grad is gradient and gradient.tolist() == [2.0, 4.0, 6.0]
    value = x.tolist()
    (x * x).sum().backward()
    assert hooked == [[2.0, 4.0, 6.0], [2 * v for v in value]]
    assert gradient.tolist() == [2.0 + 2 * value[0], 4.0 + 2 * value[1], 6.0 + 2 * value[2]]


def test_a_view_of_a_leaf_gives_gradients_after_a_write():
    x = leaf(1.0, 2.0)
    view = x[1]
    with lib.no_grad():
        x.mul_(10)
    (view * view).backward()
    assert x.grad.tolist() == [0.0, 40.0]


@pytest.mark.parametrize("source", ["x.detach()", "x.data", "x.detach()[:]", "x.data.view(-1)"])
def test_writes_past_the_graph_are_seen_and_not_recorded(source):
    x = leaf(1.0, 2.0)
    y = x * 3
    part = eval(source, {"x": y})
    assert not part.requires_grad
    part.mul_(2)
    assert y.tolist() == [6.0, 12.0] and y.requires_grad
    (y * y).sum().backward()
    assert x.grad.tolist() == [36.0, 72.0]
    eval(source, {"x": x}).add_(1)
    assert x.tolist() == [2.0, 3.0] and x.is_leaf


def test_a_write_to_a_view_is_a_write_to_its_base():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    row, other = y[0], y[:2]
    row.mul_(5)
    other[1] = x[2] * 7
    assert y.tolist() == [5.0, 21.0, 3.0]
    y.sum().backward()
    assert x.grad.tolist() == [5.0, 0.0, 8.0]


def test_a_write_to_a_base_is_a_write_to_its_views():
    x = leaf(1.0, 2.0)
    y = x * 1
    view = y.view(2, 1).T
    y.mul_(x)
    assert view.tolist() == [[1.0, 4.0]]
    view.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_buffer_becomes_part_of_the_graph():
    x = leaf(1.0, 2.0)
    buffer = lib.zeros(3, dtype=lib.float64)
    before, row = buffer.detach(), buffer[1]
    buffer[1:] = x * 2
    assert buffer.requires_grad and not buffer.is_leaf and buffer.grad_fn is not None
    assert row.requires_grad and row.tolist() == 2.0
    assert not before.requires_grad and before.tolist() == [0.0, 2.0, 4.0]
    (row * row + buffer.sum()).backward()
    assert x.grad.tolist() == [10.0, 2.0]


def test_zeros_keep_the_history():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.zero_()
    assert y.requires_grad and not y.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_the_node_of_a_written_tensor_is_another():
    x = leaf(1.0, 2.0)
    y = x * 3
    view = y[0]
    node, node_of_view = y.grad_fn, view.grad_fn
    y.add_(1)
    assert y.grad_fn is not None and y.grad_fn is not node
    assert view.grad_fn is not None and view.grad_fn is not node_of_view
    node = y.grad_fn
    view.mul_(2)
    assert y.grad_fn is not node


@pytest.mark.parametrize("is_before", [True, False])
def test_retained_gradients_are_of_the_latest_value(is_before):
    x = leaf(1.0, 2.0)
    y = x * 3
    if is_before:
        y.retain_grad()
    y.mul_(5)
    if not is_before:
        y.retain_grad()
    assert y.retains_grad
    (y * y).sum().backward()
    assert y.grad.tolist() == [30.0, 60.0]
    assert x.grad.tolist() == [450.0, 900.0]


@pytest.mark.parametrize("write", ["y.mul_(5)", "view.mul_(5)", "y[:1].mul_(5)"])
def test_retained_gradients_of_views_are_of_the_latest_value(write):
    x = leaf(1.0, 2.0)
    y = x * 3
    view = y[0]
    view.retain_grad()
    exec(write, {"y": y, "view": view})
    (view * view).backward()
    assert view.grad.tolist() == 30.0 and x.grad.tolist() == [450.0, 0.0]


def test_hooks_stay_with_the_value_they_were_given_to():
    x = leaf(1.0)
    y = x * 3
    old, new = [], []
    y.register_hook(lambda gradient: old.append(gradient.tolist()))
    y.mul_(5)
    y.register_hook(lambda gradient: new.append(gradient.tolist()))
    (y * 2).sum().backward()
    assert old == [[10.0]] and new == [[2.0]]


def test_hooks_that_change_gradients_do_so_once():
    x = leaf(1.0)
    y = x * 3
    y.register_hook(lambda gradient: gradient * 100)
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [300.0]


@only_in_allotrope
class TestValuesThatWereTaken:
    """Where torch says "modified by an inplace operation", the values of that time count."""

    def test_of_outputs(self):
        x = leaf(0.5, 1.0)
        y = x.exp()
        y.mul_(2)
        y.sum().backward()
        np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp([0.5, 1.0]), rtol=1e-14)

    def test_of_operands_written_through_views(self):
        x = leaf(1.0, 2.0)
        y = x * 1
        z = y * y
        y[0].fill_(100)
        y.detach().zero_()
        z.sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]

    def test_of_functions_of_ones_own(self):
        class Square(lib.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, gradient):
                (x,) = ctx.saved_tensors
                return gradient * x * 2

        x = leaf(1.0, 2.0)
        y = x * 1
        z = Square.apply(y)
        y.zero_()
        z.sum().backward()
        assert x.grad.tolist() == [2.0, 4.0]

    def test_of_leaves_between_steps(self):
        x = leaf(3.0)
        loss = (x * x).sum()
        with lib.no_grad():
            x.zero_()
        loss.backward()
        assert x.grad.tolist() == [6.0]

    def test_of_weights_of_a_product(self):
        weight = leaf(1.0, 2.0)
        x = leaf(5.0, 7.0)
        product = (weight * x).sum()
        weight.detach().mul_(0)
        product.backward()
        assert x.grad.tolist() == [1.0, 2.0] and weight.tolist() == [0.0, 0.0]


def test_all_parts_of_a_tensor_may_be_written():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = x * 1
    if IS_TORCH:
        parts = [y[:2], y[2:]]
    else:
        parts = y.split(2)
    parts[0].mul_(2)
    parts[1].mul_(parts[0].clone() if IS_TORCH else parts[0])
    (y * y).sum().backward()
    # y is [2 a, 2 b, 2 a c, 2 b d].
    assert x.grad.tolist() == [8 + 72, 16 + 256, 24.0, 128.0]


def test_iteration_writes_are_recorded():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    for i in range(3) if IS_TORCH else []:
        y[i].mul_(i)
    for i, element in enumerate([] if IS_TORCH else y):
        element.mul_(i)
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 2.0]


def test_detached_in_place_forgets():
    x = leaf(1.0, 2.0)
    y = x * 3
    y.detach_()
    assert not y.requires_grad and y.is_leaf
    y.mul_(2)
    assert y.tolist() == [6.0, 12.0]


def test_augmented_assignments_to_parts():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 1
    y[0] += x[1]
    y[1:] *= 2
    y[[0, 2]] -= x[:2]
    y[y > 4] *= x[0] * 10
    # y is [b, 2 * b, 2 * c - b] with the last one above 4 times 10 a: [2, 4, 4] has none.
    assert y.tolist() == [2.0, 4.0, 4.0]
    (y * y).sum().backward()
    assert x.grad.tolist() == [0.0, 4.0 + 16.0 - 8.0, 16.0]


def test_parts_of_complex_numbers():
    z = lib.tensor([1 + 2j, 3 + 4j], dtype=lib.complex128, requires_grad=True)
    y = z * 1
    y.imag.mul_(3)
    y.real[0] = 5
    lib.view_as_real(y)[1, 0] = 7.0
    assert y.tolist() == [5 + 6j, 7 + 12j]
    (y.real**2 + y.imag**2).sum().backward()
    assert z.grad.tolist() == [36j, 72j]


def test_numbers_beside_a_graph_are_not_recorded():
    x = lib.tensor([1.0, 2.0], dtype=lib.float64)
    view = x[:1]
    view.mul_(2)
    assert not x.requires_grad and x.grad_fn is None and x.is_leaf


@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_unrecorded_modes_write_for_all(mode):
    x = leaf(1.0, 2.0)
    y = x * 2
    view = y[0]
    with lib.no_grad() if IS_TORCH else getattr(lib, mode)():
        y.add_(1)
        view.mul_(10)
    assert y.tolist() == [30.0, 5.0] and view.tolist() == 30.0
    (y * y).sum().backward()
    assert x.grad.tolist() == [120.0, 20.0]


def test_parts_may_become_functions_of_each_other():
    x = leaf(1.0, 2.0)
    y = x * 1
    y[0] = y[1]
    y[1] = y[0].clone() ** 2 if IS_TORCH else y[0] * y[0]
    y.sum().backward()
    assert y.tolist() == [2.0, 4.0] and x.grad.tolist() == [0.0, 5.0]


def test_layouts_in_place_keep_the_history():
    x = leaf(1.0, 2.0, 3.0, 4.0)
    y = (x * 1).view(2, 2)
    y.t_()
    y[0].mul_(10)
    y.unsqueeze_(0)
    y.add_(1)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 1.0, 10.0, 1.0]
