"""Checkpointed computations give the gradients of plain ones."""

import allotrope as al
import pytest
from allotrope.utils.checkpoint import checkpoint, checkpoint_sequential


def gradients(call, *leaves):
    """The results and the gradients of a computation, after one seed."""
    for leaf in leaves:
        leaf.grad = None
    al.manual_seed(3)
    result = call()
    drawn = al.rand(1).item()
    result.sum().backward()
    return result.tolist(), drawn, [leaf.grad.tolist() for leaf in leaves]


def test_keywords_nested_outputs_and_other_arguments():
    x, w = al.randn(4, requires_grad=True), al.randn(4, requires_grad=True)
    calls = []

    def block(x, power, *, pair):
        calls.append(1)
        y = (x * pair["w"]) ** power
        return {"all": [y, (y.exp(), "name")], "none": None}

    def total(made):
        assert made["none"] is None and made["all"][1][1] == "name"
        return made["all"][0] + made["all"][1][0]

    # What goes in has a history of its own, also by keyword.
    plain = gradients(lambda: total(block(x.sin(), 2, pair={"w": w.cos()})), x, w)
    calls.clear()
    again = gradients(lambda: total(checkpoint(block, x.sin(), 2, pair={"w": w.cos()}, use_reentrant=False)), x, w)
    assert again == plain
    assert len(calls) == 2


def test_dropout_draws_the_same_numbers():
    x = al.randn(64, requires_grad=True)
    layer = al.nn.Sequential(al.nn.Linear(64, 64), al.nn.Dropout(0.5), al.nn.Tanh())
    assert gradients(lambda: checkpoint(layer, x), x) == gradients(lambda: layer(x), x)


def test_autocast_is_as_it_was():
    layer, x = al.nn.Linear(8, 8), al.randn(2, 8, requires_grad=True)
    seen = []

    def block(x):
        y = layer(x)
        seen.append(y.dtype)
        return y

    with al.autocast("cpu", dtype=al.bfloat16):
        inside = checkpoint(block, x)
    inside.sum().backward()
    assert seen == [al.bfloat16, al.bfloat16]
    seen.clear()
    outside = checkpoint(block, x)
    with al.autocast("cpu", dtype=al.bfloat16):
        outside.sum().backward()
    assert seen == [al.float32, al.float32]


@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_segments_of_a_sequential(segments):
    layers = al.nn.Sequential(*[layer for _ in range(3) for layer in (al.nn.Linear(6, 6), al.nn.Dropout(0.3))])
    x = al.randn(2, 6, requires_grad=True)
    leaves = [x, *layers.parameters()]
    assert gradients(lambda: checkpoint_sequential(layers, segments, x), *leaves) == gradients(lambda: layers(x), *leaves)


@pytest.mark.parametrize("segments", [0, 3, True, "2"])
def test_segments_are_checked(segments):
    with pytest.raises(ValueError, match="^checkpoint_sequential: segments out of range"):
        checkpoint_sequential([al.sin, al.cos], segments, al.ones(1))


def test_the_older_name_of_schedulers():
    assert al.optim.lr_scheduler._LRScheduler is al.optim.lr_scheduler.LRScheduler
