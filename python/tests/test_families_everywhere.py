"""A family stands wherever a keyword names a dtype: every public name that has such a keyword is called with every
family, which is resolved and leaves a bit-free result, or is refused with words that say why."""

import functools
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import allotrope as al

KEYWORDS = ("dtype", "acc_dtype", "state_dtype")

#: What takes an exact dtype alone, since nothing is there that a width could follow.
EXACT = {
    "al.set_autocast_dtype": "a setting of the program, which no data has a say in",
    "al.set_default_dtype": "what Float itself falls back to",
    "al.finfo": "limits are those of a width",
    "al.iinfo": "as finfo",
    "al.is_dtype_supported": "a question about one width",
    "al.supports": "a question about one width",
    "al.support": "a question about one width",
    "al.isdtype": "the second argument is where a family stands",
    "al.array_api.isdtype": "as isdtype",
    "al.frombuffer": "bytes do not say how wide their elements are",
    "al.testing.make_tensor": "torch's ranges of values are those of a width",
}
#: Whose answer is no tensor, no module and no optimizer.
OTHERS = {"al.cast": np.ndarray, "al.check_dtype": bool, "al.data.TensorDataset": al.data.TensorDataset, "al.autocast": al.autocast}
#: Arguments without a default that are given by their names alone.
NEEDED = {"isdtype": {"kind": "numeric"}, "general_cosine": {"a": [0.5, 0.5]}}


def modules(package=al):
    yield package
    for found in pkgutil.iter_modules(getattr(package, "__path__", ())):
        name = f"{package.__name__}.{found.name}"
        if not found.name.startswith("_") and name != "allotrope.inspection":
            yield from modules(importlib.import_module(name))


def keywords_of(function):
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return ()
    return tuple(
        name for name in KEYWORDS if name in parameters and parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY
    )


def named_functions():
    """Every public function, class and method with a keyword that names a dtype, by its name."""
    seen, found = set(), {}
    for module in modules():
        path = module.__name__.replace("allotrope", "al", 1)
        names = [n for n in dir(al) if not n.startswith("_")] if module is al else getattr(module, "__all__", ())
        for name in names:
            value = getattr(module, name)
            if callable(value) and id(value) not in seen and keywords_of(value):
                seen.add(id(value))
                found[f"{path}.{name}"] = value
    for name, value in vars(al.Tensor).items():
        # What is written in place keeps the dtype that it has.
        is_written = name.endswith("_") and name != "to_"
        if callable(value) and not name.startswith("_") and not is_written and keywords_of(value):
            found[f"al.Tensor.{name}"] = value
    return found


FUNCTIONS = named_functions()


def arguments():
    """Arguments that one function or another takes, made anew for every call."""
    x = al.tensor([[1.0, 2.0], [3.0, 4.0]])
    v, index = al.tensor([1.0, 2.0]), al.tensor([0, 1])
    yield from ((x,), (x, 0), (x, x), (v, v), (x, v), (v,), ("ij,jk->ik", x, x), (x[None], x[None]))
    yield from ((3,), (2, 2), (4, 2), (2, 2, 2), (1, 2, 3), (0.0, 1.0, 3), ((2,), 1.0), ((2, 2), (2, 1)), ((2,),), (2, 1.5))
    yield from ((index,), (index, 3), (v, 2, 0), (np.ones(2),), (x, 0, 0), ("RNN_TANH", 2, 2), (2, True, 1), (2, [0.5, 0.5]))
    yield from (([0.5, 0.5],), (v / 4, v), ((v / 4),), (4, 5, [2]), (al.ones(2, 2, 2), 2), (2, 2, True, 4), (0, 2))
    yield from (([al.nn.Parameter(x.clone())],), ([al.nn.Parameter(x.clone())], 0.1), (), ("cpu",), ("sum",), (3, 2.0))


def call_of(name, keyword):
    """The first arguments that a function takes together with an exact dtype."""
    function = FUNCTIONS[name]

    def call(place, dtype):
        return function(*list(arguments())[place], **NEEDED.get(name.rpartition(".")[2], {}), **{keyword: dtype})

    for exact in ("float32", "int64", "bfloat16"):
        for place in range(len(list(arguments()))):
            try:
                call(place, exact)
            except Exception:
                continue
            return functools.partial(call, place)
    raise AssertionError(f"{name}: no call was found")


CELLS = [(name, keyword) for name, function in FUNCTIONS.items() for keyword in keywords_of(function)]


def tensors_of(result):
    if isinstance(result, al.Tensor):
        return [result]
    if isinstance(result, al.nn.Module):
        if any(al.nn.parameter.is_lazy(x) for x in result.parameters()):
            return []
        return [x for x in result.parameters()] + [x for x in result.buffers() if x.dtype.is_floating_point]
    if isinstance(result, tuple | list):
        return [x for part in result for x in tensors_of(part)]
    return []


def test_there_are_many():
    assert len(CELLS) > 200
    assert set(EXACT) | set(OTHERS) <= set(FUNCTIONS)
    assert {keyword for _, keyword in CELLS} == set(KEYWORDS)


@pytest.mark.parametrize(("name", "keyword"), CELLS, ids=lambda part: part.removeprefix("al."))
def test_families_are_resolved_or_refused(name, keyword):
    call, resolved = call_of(name, keyword), 0
    for family in (al.Float, al.Int, al.UInt, al.Complex):
        try:
            result = call(family)
        # A parameter of integers has no gradient, which is an error about gradients.
        except (TypeError, RuntimeError) as error:
            assert re.match(r"[\w.]+: ", str(error)), error
            is_exact = "an exact dtype is needed" in str(error)
            assert is_exact == (name in EXACT), error
            assert any(d.name in str(error) for d in (*al.dtypes(), family)), error
            continue
        resolved += 1
        if keyword == "state_dtype":
            assert isinstance(result, al.optim.Optimizer)
            continue
        if name in OTHERS:
            assert isinstance(result, OTHERS[name])
            continue
        for x in tensors_of(result):
            # A norm of integers is a float, and indices are exact, whatever the values are.
            assert x.dtype not in family or x.numeric is family or x.dtype == al.int64, (family, x.numeric)
    assert (resolved == 0) == (name in EXACT)


def test_a_setting_has_no_data_to_follow():
    with pytest.raises(TypeError, match="autocast: an exact dtype is needed: Float is a family"), al.autocast("cpu", dtype=al.Float):
        pass


def test_what_has_no_shape_yet_stays_bit_free():
    layer = al.nn.LazyLinear(2, dtype=al.Float)
    layer(al.ones(1, 3))
    assert layer.weight.numeric is layer.bias.numeric is al.Float


def test_the_width_is_the_operands_own():
    for name in ("float16", "bfloat16", "float32", "float64"):
        x = al.ones(2, 2, dtype=name)
        for y in (x.sum(dtype=al.Float), x.mean(dtype=al.Float), x.prod(0, dtype=al.Float), x.softmax(0, dtype=al.Float),
                  x.log_softmax(0, dtype=al.Float), x.cumsum(0, dtype=al.Float), x.cumprod(0, dtype=al.Float), x.norm(dtype=al.Float),
                  x.matmul(x, dtype=al.Float), x.matmul(x, acc_dtype=al.Float), al.linalg.norm(x, dtype=al.Float),
                  al.einsum("ij,jk->ik", x, x, dtype=al.Float), x.nansum(dtype=al.Float)):  # fmt: skip
            assert (y.dtype, y.numeric) == (name, al.Float)
        assert x.sum(dtype=al.Complex).dtype == al.dtype(name).to_complex()
    assert al.ones(2, dtype="int8").mean(dtype=al.Float).dtype == al.float32
    with al.set_default_dtype("float64"):
        assert al.ones(2, dtype="int8").softmax(0, dtype=al.Float).dtype == al.float64
    assert al.ones(2, 2, dtype="int8").matmul(al.ones(2, 2, dtype="int16"), dtype=al.Int).dtype == al.int16


def test_sums_of_integers_are_as_wide_as_without_a_dtype():
    """A width of 8 bits would lose what no one asked to lose."""
    x, u = al.tensor([100, 100], dtype="int8"), al.tensor([200, 200], dtype="uint8")
    for name in ("sum", "prod"):
        assert getattr(x, name)(dtype=al.Int).item() == getattr(x, name)().item()
        assert getattr(u, name)(dtype=al.UInt).item() == getattr(u, name)().item()
    assert x.cumsum(0, dtype=al.Int).tolist() == [100, 200]
    assert u.sum(dtype=al.Int).numeric is al.Int and al.tensor([True, True]).sum(dtype=al.Int).item() == 2


def test_an_exact_dtype_makes_results_exact():
    x = al.ones(2, 2, dtype=al.Float)
    assert x.sum().numeric is x.matmul(x).numeric is al.Float
    for y in (x.sum(dtype="float32"), x.matmul(x, dtype="float32"), x.matmul(x, acc_dtype="float32"), x.softmax(0, dtype="float32")):
        assert y.numeric is al.float32


def test_one_hot_follows_no_index():
    one_hot, index = al.nn.functional.one_hot, al.tensor([0, 2], dtype="uint8")
    assert one_hot(index, 3, dtype=al.Float).dtype == al.float32 and one_hot(index, 3, dtype=al.Int).dtype == al.int64
    assert one_hot(index, 3, dtype=al.Float).numeric is al.Float and one_hot(index, 3).numeric is al.int64


def test_in_place_conversion_takes_a_family():
    x = al.ones(2, dtype="float16")
    assert x.to_(al.Float) is x and (x.dtype, x.numeric) == ("float16", al.Float)
    assert (x + x).numeric is al.Float
    assert x.to_(al.float16).numeric is al.float16
    y = al.arange(3)
    y.to_(al.Float)
    assert (y.dtype, y.numeric, y.tolist()) == ("float32", al.Float, [0, 1, 2])
    assert y.to_(al.Complex).dtype == al.complex64
    with pytest.raises(TypeError, match=r"^to.*: complex to real"):
        y.to_(al.Float)


def test_gradients_come_through_families():
    x = al.ones(2, 2, dtype="float64", requires_grad=True)
    (x.sum(dtype=al.Float) + x.matmul(x, dtype=al.Float).sum() + x.softmax(0, dtype=al.Float).sum()).backward()
    assert (x.grad.dtype, x.grad.tolist()) == ("float64", [[5.0, 5.0], [5.0, 5.0]])


@pytest.mark.parametrize("name", ["float16", "bfloat16", "float32", "float64"])
def test_state_of_a_family_is_of_each_parameters_dtype(name):
    p = al.nn.Parameter(al.ones(3, dtype=name))
    optimizer = al.optim.Adam([p], lr=0.1, state_dtype=al.Float)
    p.grad = al.ones(3, dtype=name)
    optimizer.step()
    assert {x.dtype.name for x in optimizer.state[p].values() if isinstance(x, al.Tensor) and x.shape} == {name}
    with pytest.raises(TypeError, match="Adam|adam"):
        al.optim.Adam([p], state_dtype=al.Int)


def test_complex_to_real_is_refused_with_that_reason():
    z = al.ones(2, 2, dtype="complex64")
    for call in (lambda: z.sum(dtype=al.Float), lambda: z.to(al.Float), lambda: z.cumsum(0, dtype=al.Int), lambda: z.mean(dtype=al.Float)):
        with pytest.raises(TypeError, match="complex to real: complex64 to (float32|int64)"):
            call()
