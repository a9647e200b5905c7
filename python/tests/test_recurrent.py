"""Recurrent networks against torch's recorded answers: results, gradients, gradients of those."""

import doctest
import pathlib

import numpy
import pytest

import allotrope as al
from allotrope import _core

RECORDED = pathlib.Path(__file__).parents[2] / "crates/nn/tests/data/recurrent.safetensors"
ANSWERS = al.load(RECORDED)
CASES = {
    name: dict(word.split("=") for word in words.split())
    for name, words in al.load_metadata(RECORDED).items()
    if "kind=" in words
}
FLOATS = [dtype for dtype in al.dtypes() if dtype.is_floating_point]


def leaves_of(name, dtype):
    parts = {}
    for key, value in ANSWERS.items():
        case, _, part = key.partition("/")
        if case == name and (part in ("input", "h0", "c0") or part.startswith("parameter.")):
            parts[part] = value.clone().to(dtype).requires_grad_(True)
    return dict(sorted(parts.items(), key=lambda item: (len(item[0]), item[0])))


def call(name, leaves, train=False, dropout=0.0):
    words = CASES[name]
    parameters = [value for key, value in leaves.items() if key.startswith("parameter.")]
    initial = leaves.get("h0")
    if "c0" in leaves:
        initial = (leaves["h0"], leaves["c0"])
    options = {
        "has_biases": words.get("bias") != "False",
        "num_layers": int(words.get("num_layers", 1)),
        "bidirectional": words.get("bidirectional") == "True",
        "batch_first": words.get("batch_first") == "True",
        "batch_sizes": ANSWERS.get(f"{name}/batch_sizes"),
        "train": train,
        "dropout": dropout,
    }
    if words["kind"] == "RNN":
        options["nonlinearity"] = words.get("nonlinearity", "tanh")
    return getattr(_core._rnn, words["kind"].lower())(leaves["input"], initial, parameters, **options)


def loss_of(results):
    return sum((value.square() * (i + 1)).sum() for i, value in enumerate(results))


def close(found, expected, rtol=1e-9, atol=1e-11):
    numpy.testing.assert_allclose(found.detach().numpy(), expected.numpy(), rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_torchs(name):
    leaves = leaves_of(name, "float64")
    results = call(name, leaves)
    for key, value in zip(("output", "hn", "cn"), results):
        close(value, ANSWERS[f"{name}/{key}"])
    loss_of(results).backward()
    for key, leaf in leaves.items():
        close(leaf.grad, ANSWERS[f"{name}/grad/{key}"])


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_gradients_are_torchs(name):
    leaves = leaves_of(name, "float64")
    loss = loss_of(call(name, leaves))
    gradients = al.autograd.grad(loss, list(leaves.values()), create_graph=True)
    for key, gradient in zip(leaves, gradients):
        close(gradient, ANSWERS[f"{name}/grad/{key}"])
    penalty = sum(gradient.square().sum() for gradient in gradients)
    for key, second in zip(leaves, al.autograd.grad(penalty, list(leaves.values()))):
        close(second, ANSWERS[f"{name}/second/{key}"], rtol=1e-8)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_every_parameter_has_a_gradient_in_every_float_dtype(name, dtype):
    leaves = leaves_of(name, dtype)
    results = call(name, leaves)
    assert all(value.dtype == dtype for value in results)
    loss_of([value.to("float32") for value in results]).backward()
    step = 2.0 ** -(dtype.bits if dtype.bits > 16 else {"bfloat16": 7, "float16": 10}.get(dtype.name, 2))
    for key, leaf in leaves.items():
        assert leaf.grad.dtype == dtype
        found, expected = leaf.grad.to("float64"), ANSWERS[f"{name}/grad/{key}"]
        assert bool((found != 0).any()), key
        if dtype.bits >= 16:
            error = (found - expected).norm() / expected.norm()
            assert float(error) < max(16 * step, 1e-5), key


def test_results_without_a_record_are_the_same():
    for name in CASES:
        leaves = leaves_of(name, "float32")
        with al.no_grad():
            plain = call(name, leaves)
        for one, other in zip(plain, call(name, leaves)):
            assert one.tolist() == other.tolist()


def test_dropout_is_between_layers_and_in_training():
    leaves = leaves_of("lstm_deep", "float32")
    plain = call("lstm_deep", leaves)[0]
    assert call("lstm_deep", leaves, dropout=0.5)[0].tolist() == plain.tolist()
    assert call("lstm_deep", leaves, train=True, dropout=0.5)[0].tolist() != plain.tolist()
    one_layer = leaves_of("lstm", "float32")
    plain = call("lstm", one_layer)[0]
    assert call("lstm", one_layer, train=True, dropout=0.5)[0].tolist() == plain.tolist()


def test_autocast_computes_all_of_it_in_the_lower_precision():
    leaves = leaves_of("gru", "float32")
    with al.amp.autocast("cpu", dtype=al.bfloat16):
        results = call("gru", leaves)
    assert all(value.dtype == al.bfloat16 for value in results)
    loss_of([value.float() for value in results]).backward()
    for key, leaf in leaves.items():
        assert leaf.grad.dtype == al.float32
        error = (leaf.grad - ANSWERS[f"gru/grad/{key}"]).norm() / ANSWERS[f"gru/grad/{key}"].norm()
        assert float(error) < 0.1


def test_cells_are_networks_of_one_step():
    for kind, gates in (("rnn", 1), ("lstm", 4), ("gru", 3)):
        weights = [al.randn(gates * 4, 3), al.randn(gates * 4, 4), al.randn(gates * 4), al.randn(gates * 4)]
        x, h = al.randn(2, 3), al.randn(2, 4)
        initial = (h, al.randn(2, 4)) if kind == "lstm" else h
        grown = tuple(s[None] for s in initial) if kind == "lstm" else h[None]
        found = getattr(_core._rnn, f"{kind}_cell")(x, initial, *weights)
        found = found if kind == "lstm" else (found,)
        expected = getattr(_core._rnn, kind)(x[None], grown, weights)[1:]
        for one, other in zip(found, expected):
            assert one.tolist() == other[0].tolist()
        single = getattr(_core._rnn, f"{kind}_cell")(x[0], None, *weights)
        assert (single[0] if kind == "lstm" else single).shape == (4,)


@pytest.mark.parametrize(
    "arguments, options, text",
    [
        ((al.ones(5, 2, 3), None, [al.ones(8, 3)]), {"has_biases": False}, "number of parameters"),
        ((al.ones(5, 2, 3), None, [al.ones(8, 4), al.ones(8, 2)]), {"has_biases": False}, "weight of the input"),
        ((al.ones(5, 2, 3), None, [al.ones(8, 3), al.ones(8, 3)]), {"has_biases": False}, "weight of the hidden"),
        ((al.ones(5, 2, 3), (al.ones(1, 1, 2), al.ones(1, 2, 2)), [al.ones(8, 3), al.ones(8, 2)]), {"has_biases": False}, "initial hidden"),
        ((al.ones(5, 3), None, [al.ones(8, 3), al.ones(8, 2)]), {"has_biases": False, "batch_sizes": [1, 4]}, "batch size"),
        ((al.ones(5, 3), None, [al.ones(8, 3), al.ones(8, 2)]), {"has_biases": False, "batch_sizes": [3, 1]}, "\\[3, 1\\]"),
        ((al.ones(0, 2, 3), None, [al.ones(8, 3), al.ones(8, 2)]), {"has_biases": False}, "batch size"),
        ((al.ones(3), None, [al.ones(8, 3), al.ones(8, 2)]), {"has_biases": False}, "dimensions"),
        ((al.ones(5, 2, 3), None, [al.ones(8, 3), al.ones(8, 2)]), {"has_biases": False, "dropout": 2.0}, "dropout"),
        ((al.ones(5, 2, 3), None, []), {"has_biases": False, "num_layers": 0}, "number of parameters"),
        ((al.ones(5, 2, 3), None, []), {"num_layers": 2**62}, "number of parameters"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(arguments, options, text):
    with pytest.raises(ValueError, match=f"^lstm: .*{text}"):
        _core._rnn.lstm(*arguments, **options)


def test_nothing_gives_nothing():
    weights = [al.ones(8, 3, requires_grad=True), al.ones(8, 2, requires_grad=True)]
    for shape in ((5, 0, 3), (2**40, 0, 3)):
        results = _core._rnn.lstm(al.ones(*shape), None, weights, False)
        assert [value.shape for value in results] == [(*shape[:2], 2), (1, 0, 2), (1, 0, 2)]
        results[0].sum().backward()
        assert float(weights[0].grad.abs().sum()) == 0
    without = [al.ones(0, 3), al.ones(0, 0)]
    assert _core._rnn.gru(al.ones(5, 2, 3), None, without, False)[0].shape == (5, 2, 0)
    with pytest.raises((ValueError, MemoryError)):
        _core._rnn.lstm(al.ones(2**40, 2**30, 0), None, [al.ones(8, 0), al.ones(8, 2)], False)


def test_dtypes_are_promoted_or_refused():
    weights = [al.ones(8, 3, dtype="float32"), al.ones(8, 2, dtype="float64")]
    result = _core._rnn.lstm(al.ones(5, 2, 3, dtype="int8"), None, weights, False)
    assert all(value.dtype == al.float64 for value in result)
    with pytest.raises(TypeError, match="lstm"), al.promotion("strict"):
        _core._rnn.lstm(al.ones(5, 2, 3), None, weights, False)
    for dtype in ("int64", "complex64", "bool"):
        with pytest.raises(TypeError, match="lstm: wrong dtype"):
            _core._rnn.lstm(al.ones(5, 2, 3, dtype=dtype), None, [w.to(dtype) for w in weights], False)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru", "rnn_cell", "lstm_cell", "gru_cell"])
def test_examples_run(name):
    text = getattr(_core._rnn, name).__doc__
    examples = doctest.DocTestParser().get_doctest(text, {"al": al}, name, None, 0)
    assert examples.examples
    failures = []
    doctest.DocTestRunner(verbose=False).run(examples, out=failures.append)
    assert not failures, "".join(failures)
