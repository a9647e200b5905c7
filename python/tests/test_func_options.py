"""What vmap refuses and draws, parameters in several dicts, and options of derivatives."""

import allotrope as al
import pytest
from allotrope.func import functional_call, jacfwd, jacrev, stack_module_state, vmap


@pytest.mark.parametrize("other", [1.5, None, "x"])
def test_vmap_stacks_tensors_alone(other):
    with pytest.raises(ValueError, match="^vmap: .*something else than tensors"):
        vmap(lambda x: other)(al.ones(2))
    with pytest.raises(ValueError, match="^vmap: .*something else than tensors"):
        vmap(lambda x: (x, other))(al.ones(2))


def test_vmap_refuses_draws_that_nobody_asked_for():
    with pytest.raises(RuntimeError, match="^vmap: the function draws random numbers"):
        vmap(lambda x: x + al.rand(()))(al.zeros(3))


def test_vmap_draws_the_same_or_different_numbers():
    al.manual_seed(5)
    first = [al.rand(2).tolist() for _ in range(3)]
    after_three = al.rand(1).item()
    al.manual_seed(5)
    after_one = [al.rand(2), al.rand(1)][1].item()
    al.manual_seed(5)
    assert vmap(lambda x: x + al.rand(2), randomness="different")(al.zeros(3, 2)).tolist() == first
    assert al.rand(1).item() == after_three
    al.manual_seed(5)
    assert vmap(lambda x: x + al.rand(2), randomness="same")(al.zeros(3, 2)).tolist() == [first[0]] * 3
    assert al.rand(1).item() == after_one


def test_functional_call_takes_parameters_and_buffers_apart():
    layer = al.nn.BatchNorm1d(1).eval()
    parameters = {"weight": al.tensor([2.0]), "bias": al.tensor([1.0])}
    buffers = {"running_mean": al.tensor([3.0]), "running_var": al.tensor([1.0])}
    for given in [(parameters, buffers), [parameters, buffers]]:
        got = functional_call(layer, given, (al.tensor([[5.0]]),))
        # (5 - 3) / sqrt(1 + 1e-5) * 2 + 1
        assert abs(got.item() - (4 / (1 + 1e-5) ** 0.5 + 1)) < 1e-5
    with pytest.raises(ValueError, match="given twice: 'weight'"):
        functional_call(layer, (parameters, {"weight": al.ones(1)}), (al.ones(1, 1),))


def test_ensembles_of_models():
    models = [al.nn.Sequential(al.nn.Linear(3, 4), al.nn.BatchNorm1d(4)).eval() for _ in range(5)]
    parameters, buffers = stack_module_state(models)
    x = al.randn(2, 3)

    def call(parameters, buffers, x):
        return functional_call(models[0], (parameters, buffers), (x,))

    got = vmap(call, in_dims=(0, 0, None))(parameters, buffers, x)
    want = al.stack([model(x) for model in models])
    assert got.shape == (5, 2, 4)
    assert al.allclose(got, want)


@pytest.mark.parametrize("function", [jacrev, jacfwd, vmap])
def test_chunk_size_is_checked(function):
    x = al.tensor([1.0, 2.0])
    assert function(al.sin, chunk_size=1)(x).tolist() == function(al.sin)(x).tolist()
    for wrong, error in [(0, ValueError), (-1, ValueError), ("2", TypeError), (True, TypeError)]:
        with pytest.raises(error, match=f"^{function.__name__}: chunk_size"):
            function(al.sin, chunk_size=wrong)


def test_histogramdd_has_names():
    made = al.histogramdd(al.tensor([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), [2, 2])
    assert made.hist.tolist() == [[0.0, 1.0], [1.0, 1.0]]
    assert [edge.tolist() for edge in made.bin_edges] == [[0.0, 1.0, 2.0]] * 2
