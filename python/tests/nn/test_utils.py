"""nn.utils: bounds of gradients, vectors of parameters, parametrizations, packed sequences."""

import copy

import numpy
import pytest

import allotrope as al
from allotrope import nn
from allotrope.nn import utils
from allotrope.nn.utils import parametrizations, parametrize, rnn


def with_gradients(*arrays, dtype=al.float64):
    parameters = []
    for array in arrays:
        parameter = nn.Parameter(al.zeros(*array.shape, dtype=dtype))
        parameter.grad = al.tensor(array).to(dtype)
        parameters.append(parameter)
    return [*parameters, nn.Parameter(al.zeros(1))]


@pytest.mark.parametrize("norm", [1.0, 2.0, 3.5, float("inf")])
def test_norms_of_gradients(norm):
    random = numpy.random.RandomState(0)
    arrays = [random.standard_normal((3, 4)), random.standard_normal(5)]
    together = numpy.concatenate([a.ravel() for a in arrays])
    expected = numpy.linalg.norm(together, norm)
    parameters = with_gradients(*arrays)
    found = utils.clip_grad_norm_(parameters, 0.7, norm)
    numpy.testing.assert_allclose(found.item(), expected, rtol=1e-12)
    factor = 0.7 / (expected + 1e-6)
    for parameter, array in zip(parameters, arrays):
        numpy.testing.assert_allclose(parameter.grad.numpy(), array * factor, rtol=1e-12)
    assert parameters[-1].grad is None
    before = parameters[0].grad.tolist()
    utils.clip_grad_norm_(parameters, 100.0)
    assert parameters[0].grad.tolist() == before, "what is within bounds stays"


def test_norms_of_halves_do_not_overflow():
    parameters = with_gradients(numpy.full(10000, 1000.0), dtype=al.float16)
    total = utils.clip_grad_norm_(parameters, 1.0)
    assert total.dtype == al.float32
    numpy.testing.assert_allclose(total.item(), 1e5, rtol=1e-6)
    numpy.testing.assert_allclose(parameters[0].grad.to(al.float32).numpy(), 0.01, rtol=1e-3)
    assert parameters[0].grad.dtype == al.float16


def test_norms_that_are_not_finite():
    parameters = with_gradients(numpy.array([numpy.inf, 1.0]))
    with pytest.raises(RuntimeError, match="is not finite: inf"):
        utils.clip_grad_norm_(parameters, 1.0, error_if_nonfinite=True)
    assert parameters[0].grad.tolist() == [float("inf"), 1.0]
    assert utils.clip_grad_norm_([nn.Parameter(al.ones(1))], 1.0).item() == 0.0
    assert utils.get_total_norm([]).item() == 0.0


def test_bounds_of_values_and_one_tensor():
    parameters = with_gradients(numpy.array([3.0, -5.0, 0.5]))
    utils.clip_grad_value_(parameters, 2)
    assert parameters[0].grad.tolist() == [2.0, -2.0, 0.5]
    utils.clip_grad_norm_(parameters[0], 1e9)
    utils.clip_grad_norm_((p for p in parameters), 1e-3)
    numpy.testing.assert_allclose(numpy.linalg.norm(parameters[0].grad.numpy()), 1e-3, rtol=1e-3)


def test_vectors_of_parameters():
    layer = nn.Linear(2, 3)
    kept = layer.weight
    vector = utils.parameters_to_vector(layer.parameters())
    assert vector.shape == (9,) and vector.requires_grad
    utils.vector_to_parameters(al.arange(9).to(al.float32), layer.parameters())
    assert layer.weight is kept and layer.weight.tolist() == [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
    assert layer.bias.tolist() == [6.0, 7.0, 8.0] and layer.weight.requires_grad
    for wrong in (8, 10):
        with pytest.raises(ValueError, match="wrong size of the vector"):
            utils.vector_to_parameters(al.zeros(wrong), layer.parameters())


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def test_parametrizations_are_registered_assigned_and_removed():
    layer = nn.Linear(2, 2)
    weight, value = layer.weight, layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert type(layer).__name__ == "ParametrizedLinear" and isinstance(layer, nn.Linear)
    assert layer.parametrizations.weight.original is weight, "an optimizer keeps what it trains"
    assert al.allclose(layer.weight, value) and al.allclose(weight, value / 2)
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    parametrize.register_parametrization(layer, "weight", Doubled())
    assert al.allclose(layer.weight, 2 * value)
    layer.weight = value
    assert al.allclose(layer.weight, value)
    layer(al.ones(1, 2)).sum().backward()
    assert weight.grad.tolist() == [[4.0, 4.0]] * 2
    other = copy.deepcopy(layer)
    with al.no_grad():
        other.parametrizations.weight.original.zero_()
    assert al.allclose(layer.weight, value) and bool((other.weight == 0).all())
    layer.load_state_dict(other.state_dict())
    assert bool((layer.weight == 0).all())
    layer.weight = value
    parametrize.remove_parametrizations(layer, "weight")
    assert type(layer) is nn.Linear and layer.weight is weight and al.allclose(weight, value)
    with pytest.raises(ValueError, match="is not parametrized"):
        parametrize.remove_parametrizations(layer, "weight")
    with pytest.raises(ValueError, match="no parameter or buffer 'nothing'"):
        parametrize.register_parametrization(layer, "nothing", Doubled())
    with pytest.raises(ValueError, match=r"the result is \[2, 1\]"):
        parametrize.register_parametrization(layer, "weight", Narrow())
    assert type(layer) is nn.Linear and layer.weight is weight


class Narrow(nn.Module):
    def forward(self, x):
        return x[:, :1]


def test_cached_parametrizations_are_computed_once():
    calls = []

    class Counted(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Counted())
    calls.clear()
    with parametrize.cached():
        assert layer.weight is layer.weight
    assert len(calls) == 1
    layer.weight
    assert len(calls) == 2


def test_modules_of_one_class_are_parametrized_apart():
    one, other = nn.Linear(2, 2), nn.Linear(2, 2)
    utils.weight_norm(one)
    assert type(other) is nn.Linear and isinstance(other.weight, nn.Parameter)


def test_weight_norm():
    layer = nn.Conv1d(3, 4, 2)
    value = layer.weight.detach().clone()
    utils.weight_norm(layer)
    g, v = layer.parametrizations.weight.original0, layer.parametrizations.weight.original1
    assert g.shape == (4, 1, 1) and al.allclose(layer.weight, value, atol=1e-6)
    numpy.testing.assert_allclose(
        g.detach().numpy().ravel(), numpy.linalg.norm(value.numpy().reshape(4, -1), axis=1), rtol=1e-6
    )
    with al.no_grad():
        g *= 3
    assert al.allclose(layer.weight, 3 * value, atol=1e-6)
    (layer(al.ones(1, 3, 5)) ** 2).sum().backward()
    assert bool((g.grad != 0).all()) and bool((v.grad != 0).any())
    utils.remove_weight_norm(layer)
    assert type(layer) is nn.Conv1d and al.allclose(layer.weight, 3 * value, atol=1e-6)
    whole = utils.weight_norm(nn.Linear(2, 3), dim=None)
    assert whole.parametrizations.weight.original0.shape == ()
    # torch's older names load as well.
    old = {"bias": al.zeros(3), "weight_g": al.tensor(2.0), "weight_v": al.ones(3, 2)}
    whole.load_state_dict(old)
    numpy.testing.assert_allclose(whole.weight.detach().numpy(), 2 / numpy.sqrt(6), rtol=1e-6)
    with pytest.raises(ValueError, match="no such norm"):
        utils.remove_weight_norm(nn.Linear(2, 2))


def test_spectral_norm():
    layer = nn.Linear(6, 5, dtype=al.float64)
    value = layer.weight.detach().numpy().copy()
    parametrizations.spectral_norm(layer, n_power_iterations=50)
    layer.weight
    greatest = numpy.linalg.svd(value)[1][0]
    numpy.testing.assert_allclose(layer.weight.detach().numpy(), value / greatest, rtol=1e-6)
    before = layer.parametrizations.weight[0]._u.tolist()
    layer.eval()
    layer.weight
    assert layer.parametrizations.weight[0]._u.tolist() == before, "evaluation changes nothing"
    layer(al.ones(1, 6, dtype=al.float64)).sum().backward()
    assert bool((layer.parametrizations.weight.original.grad != 0).any())
    utils.remove_spectral_norm(layer)
    assert isinstance(layer.weight, nn.Parameter)
    assert parametrizations.spectral_norm(nn.ConvTranspose1d(2, 3, 4)).parametrizations.weight[0].dim == 1
    with pytest.raises(ValueError, match="n_power_iterations"):
        parametrizations.spectral_norm(nn.Linear(2, 2), n_power_iterations=0)


@pytest.mark.parametrize("is_trivialized", [True, False])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
def test_orthogonal(how, shape, is_trivialized):
    layer = nn.Linear(*reversed(shape), dtype=al.float64)
    start = al.tensor(numpy.linalg.qr(numpy.random.RandomState(1).standard_normal((5, 5)))[0])
    with al.no_grad():
        layer.weight.copy_(start[: shape[0], : shape[1]] if shape == (4, 4) else start[: shape[0], : shape[1]])
    parametrizations.orthogonal(layer, orthogonal_map=how, use_trivialization=is_trivialized)
    q = layer.weight.detach().numpy()
    few = min(shape)
    product = q.T @ q if shape[0] >= shape[1] else q @ q.T
    numpy.testing.assert_allclose(product, numpy.eye(few), atol=1e-10)
    (layer(al.ones(2, shape[1], dtype=al.float64)) ** 2).sum().backward()
    gradient = layer.parametrizations.weight.original.grad
    assert gradient is not None and bool((gradient != 0).any())
    # A step along it leaves the matrix orthogonal.
    with al.no_grad():
        layer.parametrizations.weight.original -= 0.1 * gradient
    q = layer.weight.detach().numpy()
    product = q.T @ q if shape[0] >= shape[1] else q @ q.T
    numpy.testing.assert_allclose(product, numpy.eye(few), atol=1e-10)


def test_orthogonal_takes_and_keeps_values():
    start = numpy.linalg.qr(numpy.random.RandomState(1).standard_normal((4, 3)))[0]
    for is_trivialized in (True, False):
        layer = nn.Linear(3, 4, dtype=al.float64)
        parametrizations.orthogonal(
            layer, orthogonal_map="householder", use_trivialization=is_trivialized
        )
        layer.weight = al.tensor(start)
        numpy.testing.assert_allclose(layer.weight.detach().numpy(), start, atol=1e-12)
        other = parametrizations.orthogonal(
            nn.Linear(3, 4, dtype=al.float64), orthogonal_map="householder", use_trivialization=is_trivialized
        )
        other.load_state_dict(layer.state_dict())
        numpy.testing.assert_allclose(other.weight.detach().numpy(), start, atol=1e-12)
    with pytest.raises(ValueError, match="unknown map: 'other'"):
        parametrizations.orthogonal(nn.Linear(2, 2), orthogonal_map="other")
    with pytest.raises(ValueError, match="too few dimensions"):
        parametrizations.orthogonal(nn.LayerNorm(2))


def test_fusion():
    al.manual_seed(0)
    for conv, transpose, x in [
        (nn.Conv2d(2, 3, 2), False, al.randn(2, 2, 4, 4)),
        (nn.ConvTranspose2d(2, 3, 2, bias=False), True, al.randn(2, 2, 4, 4)),
    ]:
        bn = nn.BatchNorm2d(3)
        for _ in range(3):
            bn(conv(x))
        conv.eval(), bn.eval()
        fused = utils.fuse_conv_bn_eval(conv, bn, transpose)
        assert al.allclose(fused(x), bn(conv(x)), atol=1e-5)
    linear, bn = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval()
    assert al.allclose(utils.fuse_linear_bn_eval(linear, bn)(al.ones(4, 2)), bn(linear(al.ones(4, 2))), atol=1e-5)
    with pytest.raises(RuntimeError, match="in training"):
        utils.fuse_linear_bn_eval(linear, bn.train())


def test_functional_calls():
    layer = nn.Sequential(nn.Linear(2, 1, bias=False))
    own = layer[0].weight
    given = al.ones(1, 2, requires_grad=True)
    utils.functional_call(layer, {"0.weight": given * 2}, al.ones(1, 2)).sum().backward()
    assert given.grad.tolist() == [[2.0, 2.0]] and own.grad is None and layer[0].weight is own
    with pytest.raises(ValueError):
        utils.functional_call(layer, {"0.weight": al.ones(1, 3)}, al.ones(1, 2))
    assert layer[0].weight is own, "an error leaves the module as it was"
    with pytest.raises(ValueError, match="no such parameters"):
        utils.functional_call(layer, {"nothing": given}, al.ones(1, 2))
    with pytest.raises(ValueError, match="missing"):
        utils.functional_call(layer, {}, al.ones(1, 2), strict=True)


def test_packing_and_padding():
    sequences = [al.arange(3).to(al.float32), al.arange(2).to(al.float32) + 10, al.ones(1) * 20]
    padded = rnn.pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    assert padded.tolist() == [[0.0, 1.0, 2.0], [10.0, 11.0, -1.0], [20.0, -1.0, -1.0]]
    left = rnn.pad_sequence(sequences, batch_first=True, padding_side="left")
    assert left.tolist()[2] == [0.0, 0.0, 20.0]
    packed = rnn.pack_sequence(sequences)
    assert packed.data.tolist() == [0.0, 10.0, 20.0, 1.0, 11.0, 2.0]
    assert packed.batch_sizes.tolist() == [3, 2, 1] and packed.sorted_indices is None
    assert [s.tolist() for s in rnn.unpack_sequence(packed)] == [s.tolist() for s in sequences]
    mixed = [sequences[2], sequences[0], sequences[1]]
    with pytest.raises(ValueError, match="lengths are not sorted"):
        rnn.pack_sequence(mixed)
    packed = rnn.pack_sequence(mixed, enforce_sorted=False)
    assert packed.data.tolist() == [0.0, 10.0, 20.0, 1.0, 11.0, 2.0]
    assert packed.sorted_indices.tolist() == [1, 2, 0] and packed.unsorted_indices.tolist() == [2, 0, 1]
    back, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=9.0, total_length=4)
    assert lengths.tolist() == [1, 3, 2] and back.tolist()[0] == [20.0, 9.0, 9.0, 9.0]
    assert packed.to(al.float16).data.dtype == al.float16 and packed.double().data.dtype == al.float64
    for lengths, text in [([1, 0], "out of range"), ([4, 1], "out of range"), ([1], "wrong shape of lengths")]:
        with pytest.raises(ValueError, match=text):
            rnn.pack_padded_sequence(al.ones(3, 2), lengths, enforce_sorted=False)
    with pytest.raises(ValueError, match="total_length is too small"):
        rnn.pad_packed_sequence(packed, total_length=1)
    with pytest.raises(ValueError, match="no sequences"):
        rnn.pad_sequence([])


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_packed_sequences_are_run_each_by_itself(kind):
    al.manual_seed(5)
    layer = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=True, dtype=al.float64)
    sequences = [al.randn(n, 3, dtype=al.float64, requires_grad=True) for n in (2, 5, 3)]
    states = al.randn(4, 3, 4, dtype=al.float64)
    first = (states, states * 2) if kind == "LSTM" else states
    packed, last = layer(rnn.pack_sequence(sequences, enforce_sorted=False), first)
    outputs = rnn.unpack_sequence(packed)
    sum(output.square().sum() for output in outputs).backward()
    found = [sequence.grad.clone() for sequence in sequences]
    gradients = [p.grad.clone() for p in layer.parameters()]
    layer.zero_grad()
    for i, sequence in enumerate(sequences):
        sequence.grad = None
        begin = tuple(s[:, i : i + 1] for s in first) if kind == "LSTM" else first[:, i : i + 1]
        output, end = layer(sequence.unsqueeze(1), begin)
        numpy.testing.assert_allclose(outputs[i].detach().numpy(), output[:, 0].detach().numpy(), rtol=1e-12)
        ends = zip(last, end) if kind == "LSTM" else [(last, end)]
        for ours, alone in ends:
            numpy.testing.assert_allclose(ours[:, i].detach().numpy(), alone[:, 0].detach().numpy(), rtol=1e-12)
        output.square().sum().backward()
        numpy.testing.assert_allclose(sequence.grad.numpy(), found[i].numpy(), rtol=1e-10, atol=1e-12)
    for ours, alone in zip(gradients, layer.parameters(), strict=True):
        numpy.testing.assert_allclose(ours.numpy(), alone.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_dropout_between_layers():
    al.manual_seed(6)
    with pytest.warns(UserWarning, match="does nothing in one layer"):
        nn.GRU(2, 2, dropout=0.5)
    layer = nn.GRU(2, 3, num_layers=2, dropout=0.5)
    x = al.ones(4, 2, 2)
    assert layer(x)[0].tolist() != layer(x)[0].tolist()
    layer.eval()
    assert layer(x)[0].tolist() == layer(x)[0].tolist()


def test_init_functions():
    layer = nn.Linear(3, 3)
    weight = layer.weight
    for name in nn.init.__all__:
        if not name.endswith("_"):
            continue
        function = getattr(nn.init, name)
        arguments = {"constant_": (0.5,), "sparse_": (0.5,)}.get(name, ())
        if name == "dirac_":
            assert function(nn.Conv1d(2, 2, 3).weight).requires_grad
            continue
        assert function(weight, *arguments) is weight, name
        assert weight.requires_grad and weight.is_leaf, name
    with pytest.warns(FutureWarning, match="nn.init.uniform_ is the same"):
        nn.init.uniform(weight)
