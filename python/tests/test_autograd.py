"""Gradients from Python: modes, leaves, functions of one's own, hooks, and mistakes."""

import asyncio
import copy
import gc
import pickle
import threading

import pytest

import allotrope as al
from allotrope.autograd import Function, functional

FLOATS = [dtype for dtype in al.dtypes() if dtype.is_floating_point]


def leaf(*values, dtype="float64"):
    return al.tensor(list(values), dtype=dtype, requires_grad=True)


def test_backward_adds_up():
    x = leaf(1.0, 2.0)
    (x * x).sum().backward()
    (x * x).sum().backward()
    assert x.grad.tolist() == [4.0, 8.0]
    x.grad = None
    assert x.grad is None
    x.exp().backward(al.tensor([1.0, 0.0], dtype="float64"))
    assert x.grad.tolist()[1] == 0.0


def test_a_gradient_changed_in_place_is_the_leafs():
    x = leaf(3.0)
    (x * 2).sum().backward()
    x.grad.zero_()
    assert x.grad.tolist() == [0.0]
    x.grad.add_(5)
    x.grad[0] += 1
    assert x.grad.tolist() == [6.0]


def test_retain_graph():
    x = leaf(1.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0]
    with pytest.raises(RuntimeError, match="retain_graph=True"):
        y.backward()


def test_gradients_to_any_order():
    x = leaf(2.0)
    y = (x**4).sum()
    for expected in (32.0, 48.0, 48.0, 24.0):
        (y,) = al.autograd.grad(y, x, create_graph=True)
        assert y.item() == pytest.approx(expected)
        y = y.sum()


def test_inputs_alone_get_gradients():
    x, w = leaf(1.0), leaf(2.0)
    (x * w).sum().backward(inputs=[w])
    assert x.grad is None
    assert w.grad.tolist() == [1.0]
    unused = leaf(1.0)
    assert al.autograd.grad((x * w).sum(), [x, unused], allow_unused=True)[1] is None
    with pytest.raises(RuntimeError, match="input 1 is not used"):
        al.autograd.grad((x * w).sum(), [x, unused])


@pytest.mark.parametrize("mode", [al.no_grad, al.inference_mode])
def test_nothing_is_recorded(mode):
    x = leaf(1.0)

    @mode()
    def called():
        return (x * 2).requires_grad

    @mode
    def bare():
        return (x * 2).requires_grad

    @mode()
    def generated():
        yield (x * 2).requires_grad
        yield (x * 2).requires_grad

    @mode()
    async def awaited():
        await asyncio.sleep(0)
        return (x * 2).requires_grad

    assert not called()
    assert not bare()
    assert [(seen, al.is_grad_enabled()) for seen in generated()] == [(False, True)] * 2
    assert asyncio.run(awaited()) is False
    with mode():
        assert not (x * 2).requires_grad
        with al.enable_grad():
            assert (x * 2).requires_grad == (mode is al.no_grad)
    with pytest.raises(KeyError):
        with mode():
            raise KeyError
    assert al.is_grad_enabled()


def test_modes_belong_to_their_thread():
    seen = []
    with al.no_grad():
        thread = threading.Thread(target=lambda: seen.append(al.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_set_grad_enabled_as_a_statement():
    before = al.set_grad_enabled(False)
    assert not al.is_grad_enabled()
    al.set_grad_enabled(True)
    assert al.is_grad_enabled()
    del before
    with al.set_grad_enabled(False):
        assert not al.is_grad_enabled()
    assert al.is_grad_enabled()


def test_a_leaf_is_changed_only_without_recording():
    x = leaf(1.0, 2.0)
    for change in (lambda: x.add_(1), lambda: x.__setitem__(0, 5), lambda: x.zero_()):
        with pytest.raises(RuntimeError, match="no_grad"):
            change()
    with al.no_grad():
        x.add_(1)
        x[0] = 9
    assert x.tolist() == [9.0, 3.0]
    assert x.requires_grad and x.is_leaf
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_values_changed_in_place_keep_their_history():
    x = leaf(1.0, 2.0)
    y = x * 1
    y.mul_(3)
    y[0] = x[1] * 5
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 8.0]


def test_likes_do_not_inherit():
    x = leaf(1.0)
    made = [al.zeros_like(x), al.ones_like(x), al.full_like(x, 2), al.rand_like(x), al.randn_like(x)]
    assert not any(y.requires_grad for y in made)
    assert not al.tensor(x).requires_grad
    assert al.zeros_like(x, requires_grad=True).requires_grad


def test_other_libraries_do_not_lose_a_history():
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with pytest.raises(RuntimeError, match="detach"):
        x.__dlpack__()
    assert x.detach().numpy().tolist() == [1.0]
    assert pickle.loads(pickle.dumps(x)).tolist() == [1.0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_gradients_have_the_dtype_of_their_leaf(dtype):
    x = al.tensor([0.5, 1.0, -2.0], dtype=dtype, requires_grad=True)
    y = (x * al.tensor([[1.0], [2.0]], dtype="float32")).tanh().sum()
    y.backward()
    assert x.grad.dtype == dtype
    wide = x.detach().to("float64").requires_grad_()
    (wide * al.tensor([[1.0], [2.0]], dtype="float64")).tanh().sum().backward()
    error = (x.grad.to("float64") - wide.grad).abs()
    # One minus a square loses digits in float32, which sums and products are formed in.
    bound = wide.grad.abs() * al.finfo(dtype).eps + 4 * al.finfo("float32").eps
    assert bool((error <= bound).all())


def test_casts_keep_the_graph():
    x = al.tensor([1.0, 2.0], requires_grad=True)
    y = x.to("bfloat16").to("float64").half().float()
    y.sum().backward()
    assert x.grad.dtype == al.float32
    assert x.grad.tolist() == [1.0, 1.0]


def test_complex_gradients_are_conjugated():
    z = al.tensor([1 + 2j], dtype="complex128", requires_grad=True)
    (z * z).real.sum().backward()
    # d Re(z²) = 2a da - 2b db.
    assert z.grad.tolist() == [2 - 4j]


class Scaled(Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        return x * factor, x > 0

    @staticmethod
    def backward(ctx, gradient, _):
        assert ctx.needs_input_grad == (True, False)
        return gradient * ctx.factor, None


def test_functions_of_ones_own():
    x = leaf(1.0, -2.0)
    y, positive = Scaled.apply(x, 3.0)
    assert not positive.requires_grad
    assert y.grad_fn.name() == "Scaled"
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    assert al.autograd.gradcheck(lambda x: Scaled.apply(x, 2.0)[0], x)


@pytest.mark.parametrize(
    "answer, text",
    [
        (lambda g: g[:1], "shape"),
        (lambda g: (g, g), "wrong number of gradients"),
        (lambda g: g.to("int64"), "wrong dtype"),
        (lambda g: "nothing", "not a tensor"),
    ],
)
def test_wrong_gradients_of_functions(answer, text):
    class Wrong(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return answer(gradient)

    with pytest.raises((RuntimeError, TypeError), match=text):
        Wrong.apply(leaf(1.0, 2.0)).sum().backward()


def test_what_a_function_raises_comes_through():
    class Failing(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            raise LookupError("lost")

    with pytest.raises(LookupError, match="lost"):
        Failing.apply(leaf(1.0)).sum().backward()


def test_hooks():
    x = leaf(1.0)
    y = x * 2
    seen = []
    handle = y.register_hook(lambda gradient: seen.append(gradient.tolist()))
    doubled = y.register_hook(lambda gradient: gradient * 2)
    y.retain_grad()
    y.sum().backward(retain_graph=True)
    assert seen == [[1.0]]
    assert y.grad.tolist() == [2.0]
    assert x.grad.tolist() == [4.0]
    handle.remove()
    doubled.remove()
    y.sum().backward()
    assert len(seen) == 1
    assert x.grad.tolist() == [6.0]


def test_checkpoints_compute_again():
    calls = []

    def block(x):
        calls.append(1)
        return al.nn.functional.dropout(x.exp() * weight, 0.5)

    weight = leaf(1.0, 2.0, 3.0)
    x = leaf(0.1, 0.2, 0.3)
    al.manual_seed(5)
    plain = al.autograd.grad(block(x).sum(), [x, weight])
    al.manual_seed(5)
    al.autograd.checkpoint(block, x).sum().backward()
    assert len(calls) == 3
    assert x.grad.tolist() == plain[0].tolist()
    assert weight.grad.tolist() == plain[1].tolist()


def test_anomalies_name_the_operation_and_the_line():
    x = leaf(0.0)
    with al.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match=r"log.*test_autograd.py:\d+"):
            x.log()
        y = x.sqrt()
        with pytest.raises(RuntimeError, match=r"gradient of sqrt.*test_autograd.py:\d+"):
            y.sum().backward()
    assert not al.autograd.is_anomaly_enabled()


def test_mistakes():
    with pytest.raises(RuntimeError, match="int64 has no gradient"):
        al.tensor([1], requires_grad=True)
    with pytest.raises(RuntimeError, match="does not require a gradient"):
        al.ones(1).sum().backward()
    with pytest.raises(RuntimeError, match=r"\[2\] needs one"):
        leaf(1.0, 2.0).exp().backward()
    with pytest.raises(RuntimeError, match="shape"):
        leaf(1.0, 2.0).exp().backward(al.ones(3))
    # One that is larger would be summed, and the gradient as often as large.
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="shape"):
        x.sum().backward(al.ones(5))
    with pytest.raises(RuntimeError, match="shape"):
        al.autograd.grad(x * 2, x, al.ones(3, 2))
    y = x * 2
    y.register_hook(lambda gradient: al.ones(3, 2))
    with pytest.raises(RuntimeError, match="shape"):
        y.sum().backward()
    y = leaf(1.0).sum()
    with al.inference_mode(), pytest.raises(RuntimeError, match="inference mode"):
        y.backward()
    with pytest.raises(RuntimeError, match="not a leaf"):
        y.requires_grad_(False)


def test_derivatives_as_functions():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product, (by_x, by_y) = functional.vjp(lambda x, y: x * y, (x, y), al.ones(2, dtype="float64"))
    assert (product.tolist(), by_x.tolist(), by_y.tolist()) == ([3, 8], [3, 4], [1, 2])
    _, along = functional.jvp(lambda x, y: x * y, (x, y), (al.ones_like(x), al.zeros_like(y)))
    assert along.tolist() == [3.0, 4.0]
    rows = functional.jacobian(lambda x, y: (x * y).sum() * x, (x, y))
    assert rows[0].shape == (2, 2)
    assert rows[0].tolist() == [[14.0, 4.0], [6.0, 19.0]]
    second = functional.hessian(lambda x, y: (x * x * y).sum(), (x, y))
    assert second[0][1].tolist() == [[2.0, 0.0], [0.0, 4.0]]
    _, along = functional.hvp(lambda x: (x**3).sum(), x, al.ones_like(x))
    assert along.tolist() == [6.0, 12.0]


def test_a_graph_is_freed_without_the_collector():
    gc.disable()
    try:
        x = al.ones(1000, requires_grad=True)
        y = x.exp()
        seen = []

        class Watch:
            def __del__(self):
                seen.append(True)

        watch = Watch()
        y.register_hook(lambda gradient, watch=watch: None)
        del watch, y
        assert seen == [True]
    finally:
        gc.enable()


def test_long_graphs():
    x = al.ones(1, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y * 1.0
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y


class TestData:
    """The elements of a tensor: a change of them is a change of the tensor that is not recorded."""

    def test_a_step_by_hand(self):
        w = leaf(1.0, 2.0)
        (w * w).sum().backward()
        w.data.sub_(0.25 * w.grad)
        assert w.tolist() == [0.5, 1.0] and w.grad.tolist() == [2.0, 4.0]
        w.data -= 0.25 * w.grad
        assert w.tolist() == [0.0, 0.0]
        w.data[1] = 3.0
        w.data.add_(al.ones(2))
        assert w.tolist() == [1.0, 4.0]
        w.data = al.tensor([5.0, 6.0], dtype="float64")
        assert w.tolist() == [5.0, 6.0]
        assert w.is_leaf and w.requires_grad and w.grad_fn is None
        w.grad = None
        (w * w).sum().backward()
        assert w.grad.tolist() == [10.0, 12.0]

    def test_it_is_the_value_now(self):
        w = leaf(1.0, 2.0)
        data = w.data
        assert not data.requires_grad and data.data_ptr() == w.data_ptr()
        with al.no_grad():
            w.mul_(3)
        assert data.tolist() == [3.0, 6.0]
        data.zero_()
        assert w.tolist() == [0.0, 0.0]

    def test_other_views_see_it_and_values_do_not(self):
        w = leaf(1.0, 2.0)
        view, part, value = w.detach(), w[1:], w + 0
        w.data.fill_(7)
        assert view.tolist() == [7.0, 7.0] and part.tolist() == [7.0] and w.tolist() == [7.0, 7.0]
        assert value.tolist() == [1.0, 2.0]

    def test_nothing_is_recorded(self):
        w, v = leaf(1.0), leaf(2.0)
        w.data.mul_(v)
        assert w.is_leaf and w.tolist() == [2.0]
        plain = al.ones(1)
        plain.data.mul_(v)
        assert not plain.requires_grad and plain.tolist() == [2.0]

    def test_a_computed_tensor_keeps_its_history(self):
        x = leaf(2.0)
        y = x * 3
        y.data.zero_()
        assert y.tolist() == [0.0] and y.grad_fn is not None
        y.sum().backward()
        assert x.grad.tolist() == [3.0]

    def test_another_shape_is_a_new_leaf(self):
        w = leaf(1.0)
        w.data = al.ones(2, 2)
        assert w.shape == (2, 2) and w.is_leaf and w.requires_grad
        w.sum().backward()
        assert w.grad.shape == (2, 2)

    def test_a_leaf_of_its_own(self):
        w = leaf(1.0)
        other = w.data.requires_grad_()
        (other * 2).sum().backward()
        assert other.grad.tolist() == [2.0] and w.grad is None
        w.data.detach_()
        assert w.requires_grad


def test_copies_require_a_gradient_as_their_original():
    for x in (leaf(1.0, 2.0), al.ones(2)):
        copies = [pickle.loads(pickle.dumps(x, protocol)) for protocol in range(6)]
        for y in (*copies, copy.copy(x), copy.deepcopy(x)):
            assert y is not x and y.requires_grad == x.requires_grad and y.is_leaf
            assert y.tolist() == x.tolist()
    with al.no_grad():
        assert copy.deepcopy(leaf(1.0)).requires_grad


def test_a_reduction_is_named_by_itself():
    for dtype in FLOATS:
        x = leaf(1.0, 2.0, dtype=dtype)
        for name in ("sum", "mean", "var", "std", "amax", "prod", "norm", "logsumexp"):
            assert getattr(x, name)().grad_fn.name() == name
        assert x.sum(0, keepdim=True).grad_fn.name() == "sum"
    assert "grad_fn=<sum>" in repr(x.sum())
