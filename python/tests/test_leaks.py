"""Cycles of tensors, hooks and gradients: the collector finds what nobody can reach any more."""

import gc
import weakref

import pytest

import allotrope as al


class Mark:
    """Something that is seen to go."""


@pytest.fixture(autouse=True)
def without_automatic_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def leaf():
    return al.ones(3, requires_grad=True)


def is_gone(make):
    """Whether what a function made is gone after a collection; it gives something of it."""
    mark = weakref.ref(make())
    gc.collect()
    return mark() is None


def test_a_hook_that_refers_to_its_leaf():
    def make():
        x = leaf()
        x.register_hook(lambda g: x)
        return x

    assert is_gone(make)


def test_a_hook_after_accumulation_that_refers_to_its_leaf():
    def make():
        x = leaf()
        x.register_post_accumulate_grad_hook(lambda p: x)
        (x * 2).sum().backward()
        return x

    assert is_gone(make)


def test_a_hook_that_refers_to_its_computed_tensor():
    def make():
        y = leaf() * 2
        y.register_hook(lambda g: print(y))
        return y

    assert is_gone(make)


def test_hooks_that_refer_to_each_others_tensors():
    def make():
        x, y = leaf(), leaf()
        x.register_hook(lambda g: y)
        y.register_hook(lambda g: x)
        (x + y).sum().backward()
        return x

    assert is_gone(make)


def test_hooks_that_refer_to_what_was_computed():
    def make():
        x = leaf()
        y = x.exp()
        loss = y.sum()
        y.register_hook(lambda g: loss.item() and None)
        loss.backward()
        return y

    assert is_gone(make)


def test_a_handle_that_its_tensor_keeps():
    def make():
        x = leaf()
        x.handle = x.register_hook(lambda g: x)
        return x

    assert is_gone(make)


def test_a_function_goes_with_its_hook():
    x, mark = leaf(), Mark()
    gone = weakref.ref(mark)
    handle = x.register_hook(lambda g, mark=mark: None)
    del mark
    assert gone() is not None
    handle.remove()
    assert gone() is None


def test_hooks_that_are_removed_leave_nothing():
    x = leaf()
    mark = Mark()
    gone = weakref.ref(mark)
    for _ in range(100):
        with x.register_hook(lambda g, mark=mark: None):
            pass
        x.register_post_accumulate_grad_hook(lambda g, mark=mark: None).remove()
    del mark
    assert gone() is None


def test_attributes_and_gradients():
    def itself():
        x = leaf()
        x.self = x
        return x

    def by_gradient():
        x = leaf()
        (x * 2).sum().backward()
        x.grad.of = x
        return x

    class Kind(al.Tensor):
        pass

    def subclass():
        x = Kind([1.0])
        x.requires_grad_()
        x.self = x
        x.register_hook(lambda g: x)
        return x

    assert is_gone(itself) and is_gone(by_gradient) and is_gone(subclass)


def test_without_a_cycle_nothing_waits_for_the_collector():
    x, mark = leaf(), Mark()
    gone = weakref.ref(mark), weakref.ref(x)
    x.register_hook(lambda g, mark=mark: None)
    x.register_post_accumulate_grad_hook(lambda p, mark=mark: None)
    del x, mark
    assert gone[0]() is None and gone[1]() is None


def test_hooks_outlive_their_tensors_while_gradients_may_come():
    seen = []

    def make(x):
        y = x * 2
        y.register_hook(lambda g: seen.append(g.tolist()) or g * 10)
        return y.sum()

    x = leaf()
    loss = make(x)
    gc.collect()
    loss.backward()
    assert seen == [[1, 1, 1]] and x.grad.tolist() == [20, 20, 20]


@pytest.mark.parametrize("collect", [False, True])
def test_hooks_in_cycles_outlive_their_tensors_too(collect):
    seen = []

    def make(x):
        y = x.exp()
        y.register_hook(lambda g: seen.append(y.shape) or g * 10)
        return y.sum(), weakref.ref(y)

    x = al.zeros(3, requires_grad=True)
    loss, gone = make(x)
    if collect:
        gc.collect()
    loss.backward()
    assert seen == [(3,)] and x.grad.tolist() == [10, 10, 10]
    # And go with the graph.
    del loss
    gc.collect()
    assert gone() is None


def test_hooks_of_other_objects_of_the_same_tensor():
    x = leaf()
    seen = []
    x.to(x.dtype).register_hook(lambda g: seen.append(1))
    gc.collect()
    (x * 2).sum().backward()
    assert seen == [1]


def test_hooks_in_retained_graphs_stay():
    x = leaf()
    y = x.exp()
    seen = []
    y.register_hook(lambda g: seen.append(1))
    loss = y.sum()
    for _ in range(3):
        loss.backward(retain_graph=True)
    assert seen == [1, 1, 1]
    loss.backward()
    assert seen == [1, 1, 1, 1]
