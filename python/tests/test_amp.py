"""Autocast's scopes and casts, and the gradient scaler against recorded steps of torch's."""

import asyncio
import json
import pathlib
import threading

import numpy as np
import pytest

import allotrope as al

TRACES = json.loads((pathlib.Path(__file__).parent / "data_scaler.json").read_text())


def test_matrix_products_compute_lower_and_functions_in_float32():
    x = al.ones(2, 2)
    with al.autocast("cpu", al.bfloat16):
        assert (x @ x).dtype == al.bfloat16
        assert (x @ x).exp().dtype == al.float32
        assert (x @ x).relu().dtype == al.bfloat16
        assert ((x @ x) + x).dtype == al.float32
    assert (x @ x).dtype == al.float32


@pytest.mark.parametrize("dtype", ["float64", "int64", "complex64", "bool"])
def test_other_dtypes_stay(dtype):
    x = al.ones(2, 2, dtype=dtype)
    with al.autocast():
        assert (x @ x).dtype == al.dtype(dtype)
    double = al.ones(2, 2, dtype="float64")
    with al.autocast():
        assert (double @ al.ones(2, 2)).dtype == al.float64


def test_scopes_are_exact():
    assert not al.amp.is_autocast_enabled()
    with pytest.raises(KeyError):
        with al.autocast():
            raise KeyError
    assert not al.amp.is_autocast_enabled()
    with al.autocast("cpu", "float16"):
        with al.autocast(enabled=False):
            assert not al.amp.is_autocast_enabled()
        assert al.amp.get_autocast_dtype() == al.float16
    scope = al.autocast()
    with scope, scope:
        pass
    assert not al.amp.is_autocast_enabled()


def test_threads_have_their_own():
    seen = []
    with al.autocast():
        thread = threading.Thread(target=lambda: seen.append(al.amp.is_autocast_enabled()))
        thread.start()
        thread.join()
    assert seen == [False]


def test_a_waiting_generator_keeps_its_scope_to_itself():
    def steps():
        with al.autocast("cpu", al.float16):
            yield al.amp.is_autocast_enabled()
            yield al.amp.is_autocast_enabled()

    left = steps()
    assert next(left) is True
    assert not al.amp.is_autocast_enabled()
    with al.autocast("cpu", al.bfloat16):
        assert next(left) is True
        assert al.amp.get_autocast_dtype() == al.bfloat16
        left.close()
        assert al.amp.is_autocast_enabled()
    assert not al.amp.is_autocast_enabled()

    @al.autocast()
    def decorated():
        yield al.amp.is_autocast_enabled()

    assert [(seen, al.amp.is_autocast_enabled()) for seen in decorated()] == [(True, False)]


def test_the_whole_program():
    x = al.ones(2, 2)
    al.amp.set_autocast_enabled(True)
    try:
        assert (x @ x).dtype == al.bfloat16
        with al.autocast(enabled=False):
            assert (x @ x).dtype == al.float32
    finally:
        al.amp.set_autocast_enabled(False)
    assert (x @ x).dtype == al.float32


def test_policies_can_be_overridden():
    x = al.ones(2, 2)
    with al.autocast(), al.amp.policy(matmul="float32", exp="keep"):
        assert (x.bfloat16() @ x).dtype == al.float32
        assert x.bfloat16().exp().dtype == al.bfloat16
    assert al.amp.policy()["matmul"] == "lower"
    with al.amp.policy(**{"nn.functional.linear": "float32"}):
        assert al.amp.policy()["linear"] == "float32"
    assert "lower" in repr(al.amp.policy())
    with pytest.raises(ValueError, match="^policy: unknown operation: 'matmull'"):
        al.amp.policy(matmull="lower")
    with pytest.raises(ValueError, match="half"):
        al.amp.policy(matmul="half")


def test_requests_that_cannot_be_met_raise():
    with pytest.raises(RuntimeError, match="int8"):
        with al.autocast("cpu", al.int8):
            pass
    with pytest.raises(RuntimeError, match="cuda"):
        al.autocast("cuda")
    assert not al.amp.is_autocast_enabled()


def test_weights_are_cast_once_and_never_stale():
    weight = al.ones(2, 2, requires_grad=True)
    x = al.ones(1, 2)
    with al.autocast():
        first = (x @ weight).sum()
        second = (x @ weight).sum()
        (first + second).backward()
        assert weight.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]
        with al.no_grad():
            weight.mul_(3)
        assert (x @ weight).tolist() == [[6.0, 6.0]]
        (x @ weight).sum().backward()
    assert weight.grad.dtype == al.float32
    assert weight.grad.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_casts_under_autocast_keep_the_graph_and_the_bias():
    x = al.ones(3, 2)
    weight, bias = al.ones(4, 2, requires_grad=True), al.zeros(4, requires_grad=True)
    with al.autocast():
        y = al.nn.functional.linear(x, weight, bias)
        loss = (y * 2).float().sum()
    loss.backward()
    assert weight.grad.dtype == al.float32
    assert bias.grad.tolist() == [6.0] * 4


class Descent:
    """The least that a scaler asks of an optimizer."""

    def __init__(self, parameters, rate):
        self.param_groups = [{"params": parameters}]
        self.rate = rate

    def zero_grad(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.grad = None

    def step(self):
        with al.no_grad():
            for parameter in self.param_groups[0]["params"]:
                parameter.sub_(parameter.grad * self.rate)


def half_product(x, factor):
    """A product in float16, whose gradient overflows where that does."""
    column = al.full((x.numel(), 1), factor, dtype="float16")
    return (x.half()[None] @ column).float().sum()


@pytest.mark.parametrize("trace", TRACES, ids=["slow", "fast"])
def test_scales_and_skipped_steps_are_torchs(trace):
    a = [al.ones(3, requires_grad=True), al.ones(2, requires_grad=True)]
    b = [al.ones(2, requires_grad=True)]
    first, second = Descent(a, 2**-10), Descent(b, 2**-10)
    scaler = al.amp.GradScaler("cpu", **trace["options"])
    for (of_a, of_b, how), row in zip(trace["pattern"], trace["rows"]):
        first.zero_grad()
        second.zero_grad()
        scaler.scale(sum(half_product(p, g) for p, g in zip(a, of_a))).backward()
        scaler.scale(half_product(b[0], of_b)).backward()
        before = [p.tolist() for p in a + b]
        if how == "unscale":
            scaler.unscale_(first)
        scaler.step(first)
        scaler.step(second)
        scaler.update()
        stepped = [p.tolist() != old for p, old in zip(a + b, before)]
        assert scaler.get_scale() == row["scale"]
        assert scaler.state_dict()["_growth_tracker"] == row["tracker"]
        assert (stepped[0] or stepped[1], stepped[2]) == (row["stepped_a"], row["stepped_b"])
        assert [p.tolist() for p in a + b] == row["values"]


def test_the_order_of_a_scalers_steps():
    x = al.ones(2, requires_grad=True)
    optimizer = Descent([x], 0.1)
    scaler = al.amp.GradScaler()
    with pytest.raises(RuntimeError, match="before it"):
        scaler.update()
    scaler.scale(x.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already"):
        scaler.step(optimizer)
    scaler.update()


def test_a_skipped_step_is_reported():
    x, y = al.ones(2, requires_grad=True), al.ones(3, requires_grad=True)
    optimizer = Descent([x, y], 0.1)
    scaler = al.amp.GradScaler()
    scaler.scale((x.sum() + (y * float("inf")).sum())).backward()
    scaler.step(optimizer)
    scaler.update()
    report = scaler.report()
    assert (report["steps"], report["skipped"]) == (0, 1)
    assert report["overflowed"]["index"] == 1
    assert report["overflowed"]["shape"] == (3,)
    assert x.tolist() == [1.0, 1.0]
    state = scaler.state_dict()
    other = al.amp.GradScaler(init_scale=2.0)
    other.load_state_dict(state)
    assert other.get_scale() == 2.0**15


def test_a_scaler_that_is_off_does_nothing():
    x = al.ones(2, requires_grad=True)
    optimizer = Descent([x], 0.5)
    scaler = al.amp.GradScaler(enabled=False)
    loss = x.sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert x.tolist() == [0.5, 0.5]
    assert scaler.get_scale() == 1.0
    assert scaler.state_dict() == {}


def test_layers_choose_their_precision():
    x, weight = al.rand(2, 3, 8, 8), al.rand(4, 3, 3, 3)
    functional = al.nn.functional
    with al.autocast("cpu", al.float16):
        image = functional.conv2d(x, weight)
        assert image.dtype == al.float16
        assert functional.softmax(image, 1).dtype == al.float32
        assert functional.layer_norm(image, (6,)).dtype == al.float32
        assert image.sum().dtype == al.float32
        assert functional.mse_loss(image, image).dtype == al.float32
        assert functional.max_pool2d(image, 2).dtype == al.float16
        assert al.cat([image, x[:, :1, :6, :6].expand(2, 4, 6, 6)]).dtype == al.float32
        query = al.rand(1, 2, 4, 8)
        attended = functional.scaled_dot_product_attention(query, query, query)
        assert attended.dtype == al.float16
        assert al.argmax(image).dtype == al.int64


def test_a_product_rounds_its_operands_as_a_cast_does():
    x, y = al.randn(40, 50), al.randn(50, 30)
    for dtype in (al.bfloat16, al.float16):
        with al.autocast("cpu", dtype):
            product = x @ y
        expected = x.to(dtype) @ y.to(dtype)
        assert product.dtype == dtype
        assert product.equal(expected)


def test_statistics_of_norms_do_not_drift():
    mean, variance = al.zeros(3), al.ones(3)
    x = al.randn(8, 3, 5)
    with al.autocast():
        y = al.nn.functional.batch_norm(x.bfloat16(), mean, variance, training=True)
    assert (mean.dtype, variance.dtype, y.dtype) == (al.float32, al.float32, al.float32)
    assert mean.abs().sum().item() > 0


def test_gradients_under_autocast_are_near_those_without():
    al.manual_seed(1)
    weight = al.randn(16, 8, requires_grad=True)
    bias = al.randn(16, requires_grad=True)
    x = al.randn(32, 8)

    def loss():
        y = al.nn.functional.linear(x, weight, bias)
        return al.nn.functional.cross_entropy(y, al.arange(32) % 16)

    plain = al.autograd.grad(loss(), [weight, bias])
    with al.autocast():
        lower = loss()
        assert lower.dtype == al.float32
    for exact, found in zip(plain, al.autograd.grad(lower, [weight, bias])):
        assert found.dtype == al.float32
        assert (exact - found).abs().max().item() < 0.01


def test_traces_say_what_was_computed_in_which_dtype():
    x = al.ones(2, 2)
    with al.trace_dtypes() as trace:
        y = x + 1
        with al.autocast():
            z = x @ y
        z.to("float64")
        (al.ones(2, dtype="int8") / 2).sum()
        al.ones(2, dtype="uint8").sum()
    found = {row["op"]: row for row in trace}
    assert found["matmul"]["result"] == "bfloat16"
    assert found["matmul"]["reason"] == "autocast: lower"
    assert found["matmul"]["accumulator"] == "float32"
    assert found["to"]["reason"] == "explicit cast"
    assert found["div"]["result"] == "float32"
    assert trace[-1]["result"] == "uint64"
    assert "test_amp.py:" in trace[0]["line"]
    assert [row["op"] for row in json.loads(trace.to_json())] == [row["op"] for row in trace]
    assert "autocast: lower" in str(trace)
    with al.trace_dtypes() as nothing:
        pass
    assert len(nothing) == 0


def test_traces_belong_to_tasks_and_threads():
    async def traced(op, others):
        with al.trace_dtypes() as trace:
            for _ in range(others):
                await asyncio.sleep(0)
                getattr(al.ones(2), op)()
        return {row["op"] for row in trace}, len(trace)

    async def untraced():
        for _ in range(20):
            await asyncio.sleep(0)
            al.ones(2).cos()

    async def together():
        return await asyncio.gather(traced("exp", 5), traced("sin", 7), untraced())

    assert asyncio.run(together())[:2] == [({"exp"}, 5), ({"sin"}, 7)]
    with al.trace_dtypes() as outer:
        al.ones(2).exp()
        with al.trace_dtypes() as inner:
            al.ones(2).sin()
        thread = threading.Thread(target=lambda: al.ones(2).cos())
        thread.start()
        thread.join()
        al.ones(2).tan()
    assert [row["op"] for row in outer] == ["exp", "sin", "tan"]
    assert [row["op"] for row in inner] == ["sin"]
    al.ones(2).exp()
    assert len(outer) == 3


def reasons(function):
    with al.trace_dtypes() as trace:
        function()
    return [(row["op"], row["inputs"], row["result"], row["reason"]) for row in trace]


def test_traces_say_what_operands_were_before_they_met():
    """Structured operations too: what meets is seen in no other place."""
    x, narrow = al.ones(2, 2), al.ones(2, 2, dtype="bfloat16")
    double, small = al.ones(2, 2, dtype="float64"), al.ones(2, 2, dtype="int8")
    index = al.zeros(2, 2, dtype="int64")
    promoted = "promotion: standard"
    assert reasons(lambda: narrow @ x) == [("matmul", ["bfloat16", "float32"], "float32", promoted)]
    assert reasons(lambda: al.cat([small, x, double])) == [
        ("cat", ["int8", "float32", "float64"], "float64", promoted)
    ]
    assert reasons(lambda: x.scatter_add(0, index, double)) == [
        ("scatter_add", ["float32", "float64"], "float64", promoted)
    ]
    assert reasons(lambda: small.index_fill(0, al.tensor([0]), 1.5)) == [
        ("index_fill", ["int8"], "float32", "promotion: kind of a number")
    ]
    assert reasons(lambda: al.nn.functional.linear(narrow, x, double[0])) == [
        ("linear", ["bfloat16", "float32", "float64"], "float64", promoted)
    ]
    bags = {"offsets": al.tensor([0]), "per_sample_weights": al.ones(1, dtype="float64"), "mode": "sum"}
    found = reasons(lambda: al.nn.functional.embedding_bag(al.tensor([0]), x, **bags))
    assert found[0][:2] == ("embedding_bag", ["float32", "float64"])
    assert reasons(lambda: x @ x) == [("matmul", ["float32", "float32"], "float32", "the operands'")]
    with al.promotion("jax"):
        assert reasons(lambda: narrow @ x)[0][3] == "promotion: jax"
    # Every structured operation of two dtypes shows both.
    with al.autocast("cpu", al.bfloat16):
        lowered = ("matmul", ["bfloat16", "float32"], "bfloat16", "autocast: lower")
        assert reasons(lambda: narrow @ x) == [lowered]


def test_float64_under_autocast_is_said():
    """It is never rounded, and what meets it is not cast: whoever looks is told why."""
    x, array = al.ones(2, 2), np.ones((2, 2))
    exception = "; autocast leaves float64 alone"
    with al.autocast("cpu", al.bfloat16):
        for other in (array, al.from_numpy(array)):
            found = reasons(lambda: x @ other)
            both = ["float32", "float64"]
            assert found == [("matmul", both, "float64", "promotion: standard" + exception)]
            (row,) = al.explain(lambda: x @ other)
            assert row["why"].endswith("autocast does not cast matmul: it never rounds float64.")
            assert row["why"].startswith("float32 with float64 is float64")
        double = al.from_numpy(array)
        assert reasons(double.exp) == [("exp", ["float64"], "float64", "the operands'" + exception)]
        assert reasons(double.sum)[0][3] == "the operands'" + exception
        assert reasons(lambda: al.pow(double, 2))[0][3].endswith(exception)
        why = al.explain(lambda: al.pow(double, 2))[0]["why"]
        assert why.startswith("A Python number has no dtype") and why.endswith("float64.")
        # What autocast has no answer for is no exception of it.
        assert reasons(lambda: x + double) == [("add", both, "float64", "promotion: standard")]
        with al.amp.policy(matmul="keep"):
            assert reasons(lambda: x @ double)[0][3] == "promotion: standard"
        wide = x.to("complex64")
        assert reasons(lambda: wide @ wide)[0][3] == "the operands'; autocast leaves complex64 alone"
    assert reasons(lambda: x @ double)[0][3] == "promotion: standard"


def test_torchs_signatures_of_autocasts_settings():
    assert al.get_autocast_dtype("cpu") == al.get_autocast_dtype() == al.amp.get_autocast_dtype("cuda")
    assert not al.is_autocast_enabled("cpu")
    try:
        al.set_autocast_dtype("cuda", al.float16)
        al.set_autocast_enabled("cuda", True)
        assert al.is_autocast_enabled() and al.get_autocast_dtype("cpu") == al.float16
        al.set_autocast_enabled(False)
        assert not al.is_autocast_enabled("cuda:1")
    finally:
        al.set_autocast_enabled(False)
        al.set_autocast_dtype(al.bfloat16)
    with al.autocast("cpu", al.float16):
        assert al.get_autocast_dtype("cpu") == al.float16 and al.is_autocast_enabled("cpu")
    for call in (al.get_autocast_dtype, al.is_autocast_enabled):
        with pytest.raises(RuntimeError, match="unknown device: toaster"):
            call("toaster")
    with pytest.raises(TypeError, match="set_autocast_dtype: not a device: 3"):
        al.set_autocast_dtype(3, al.float16)
