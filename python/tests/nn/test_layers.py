"""What recorded answers cannot say: random layers, first values, wrong arguments, lazy layers,
containers and the summary."""

import math

import numpy
import pytest

import allotrope as al
from allotrope import nn

DROPOUTS = ["Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout"]


def of_rank(name, *batch):
    return {"Dropout1d": (*batch, 4), "Dropout2d": (*batch, 4, 4), "Dropout3d": (*batch, 2, 2, 2)}.get(
        name, (*batch, 4)
    )


@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_at_its_limits(name):
    kind = getattr(nn, name)
    x = al.randn(*of_rank(name, 8, 16))
    assert kind(0.5).eval()(x) is x or kind(0.5).eval()(x).tolist() == x.tolist()
    assert kind(0.0)(x).tolist() == x.tolist()
    if "Alpha" not in name:
        assert bool((kind(1.0)(x) == 0).all())
    for wrong in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match=f"{name}: not a probability"):
            kind(wrong)
    assert repr(kind(0.2)) == f"{name}(p=0.2, inplace=False)"


@pytest.mark.parametrize("dtype", [al.float16, al.bfloat16, al.float32, al.float64], ids=str)
@pytest.mark.parametrize("name", DROPOUTS[:4])
def test_dropout_keeps_the_mean(name, dtype):
    al.manual_seed(1)
    x = al.ones(*of_rank(name, 100, 400), dtype=dtype, requires_grad=True)
    y = getattr(nn, name)(0.3)(x)
    assert y.dtype == dtype
    flat = y.detach().to(al.float64).numpy().reshape(40000, -1)
    if name == "Dropout":
        flat = flat.reshape(-1, 1)
    assert bool((flat == flat[:, :1]).all()), "a channel is dropped as a whole"
    kept = (flat[:, 0] != 0).mean()
    # Six deviations of a share of 0.7 in so many draws.
    assert abs(kept - 0.7) < 6 * math.sqrt(0.21 / len(flat))
    scale = float(al.tensor(1 / 0.7, dtype=al.float64).to(dtype).to(al.float64))
    numpy.testing.assert_allclose(flat[flat != 0], scale, rtol=2 * float(dtype.finfo.eps))
    y.sum().backward()
    assert bool(((x.grad != 0) == (y != 0)).all())


@pytest.mark.parametrize("name", DROPOUTS[4:])
def test_alpha_dropout_keeps_mean_and_variance(name):
    al.manual_seed(2)
    x = al.randn(200, 500)
    y = getattr(nn, name)(0.2)(x)
    # The mean of 100000 numbers, of which some go together.
    assert abs(float(y.mean())) < 0.05 and abs(float(y.std()) - 1) < 0.05


def test_rrelu():
    al.manual_seed(3)
    x = al.full((10000,), -1.0)
    layer = nn.RReLU(0.1, 0.3)
    y = -layer(x).numpy()
    assert y.min() >= 0.1 and y.max() <= 0.3 and abs(y.mean() - 0.2) < 0.005
    numpy.testing.assert_allclose(layer.eval()(x).numpy(), -0.2, rtol=1e-6)


# torch's first values: a bound of uniform numbers, a deviation of normal ones, or a constant.
FIRST = {
    "Linear": (lambda: nn.Linear(50, 80), {"weight": ("u", 1 / math.sqrt(50)), "bias": ("u", 1 / math.sqrt(50))}),
    "Bilinear": (lambda: nn.Bilinear(9, 20, 30), {"weight": ("u", 1 / 3), "bias": ("u", 1 / 3)}),
    "Conv2d": (lambda: nn.Conv2d(4, 60, 5), {"weight": ("u", 0.1), "bias": ("u", 0.1)}),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(60, 4, 5), {"weight": ("u", 0.1), "bias": ("u", 0.1)}),
    "Embedding": (lambda: nn.Embedding(99, 50), {"weight": ("n", 1.0)}),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(99, 50), {"weight": ("n", 1.0)}),
    "LayerNorm": (lambda: nn.LayerNorm(9), {"weight": ("c", 1.0), "bias": ("c", 0.0)}),
    "RMSNorm": (lambda: nn.RMSNorm(9), {"weight": ("c", 1.0)}),
    "BatchNorm1d": (lambda: nn.BatchNorm1d(9), {"weight": ("c", 1.0), "bias": ("c", 0.0)}),
    "GroupNorm": (lambda: nn.GroupNorm(3, 9), {"weight": ("c", 1.0), "bias": ("c", 0.0)}),
    "PReLU": (lambda: nn.PReLU(7), {"weight": ("c", 0.25)}),
    "LSTM": (lambda: nn.LSTM(30, 25), {"weight_ih_l0": ("u", 0.2), "bias_hh_l0": ("u", 0.2)}),
    "GRUCell": (lambda: nn.GRUCell(30, 25), {"weight_hh": ("u", 0.2), "bias_ih": ("u", 0.2)}),
    "MultiheadAttention": (
        lambda: nn.MultiheadAttention(40, 4, add_bias_kv=True),
        {
            "in_proj_weight": ("u", math.sqrt(6 / 160)),
            "in_proj_bias": ("c", 0.0),
            "out_proj.weight": ("u", 1 / math.sqrt(40)),
            "out_proj.bias": ("c", 0.0),
            "bias_k": ("n", math.sqrt(2 / 41)),
        },
    ),
    "Transformer": (
        lambda: nn.Transformer(16, 2, 1, 1, 32),
        {"encoder.layers.0.linear1.weight": ("u", math.sqrt(6 / 48))},
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_first_values_are_torchs(name):
    al.manual_seed(4)
    make, expected = FIRST[name]
    parameters = dict(make().named_parameters())
    for key, (law, size) in expected.items():
        x = parameters[key].detach().numpy().ravel()
        if law == "c":
            assert bool((x == numpy.float32(size)).all()), key
            continue
        deviation = size / math.sqrt(3) if law == "u" else size
        # Means and deviations of n numbers are off by about their deviation over the root of n.
        assert abs(x.mean()) < 6 * deviation / math.sqrt(len(x)), key
        assert abs(x.std() / deviation - 1) < 6 / math.sqrt(len(x)), key
        if law == "u":
            assert numpy.abs(x).max() <= size * (1 + 1e-6), key
            assert numpy.abs(x).max() > size * (1 - 12 / len(x)), key


def test_padding_row_is_zero_and_not_learned():
    layer = nn.Embedding(4, 3, padding_idx=-1)
    assert layer.padding_idx == 3 and layer.weight[3].tolist() == [0.0] * 3
    layer(al.tensor([3, 1])).sum().backward()
    assert layer.weight.grad.tolist() == [[0.0] * 3, [1.0] * 3, [0.0] * 3, [0.0] * 3]
    frozen = nn.Embedding.from_pretrained(al.ones(2, 3))
    assert not frozen.weight.requires_grad and frozen(al.tensor(1, dtype=al.uint8)).tolist() == [1.0] * 3
    assert nn.EmbeddingBag.from_pretrained(al.ones(2, 3), freeze=False).weight.requires_grad


WRONG = {
    "Linear sizes": (lambda: nn.Linear(-1, 2), ValueError, "negative size"),
    "Linear input": (lambda: nn.Linear(3, 2)(al.ones(2, 4)), ValueError, "inner dimensions differ"),
    "Linear dtype": (lambda: nn.Linear(3, 2, dtype="text"), TypeError, "text"),
    "Linear device": (lambda: nn.Linear(3, 2, device="moon"), RuntimeError, "moon"),
    "Bilinear": (lambda: nn.Bilinear(0, 2, 3), ValueError, "in1_features is not positive"),
    "Conv groups": (lambda: nn.Conv2d(3, 4, 1, groups=2), ValueError, "Conv2d: in_channels is not divisible"),
    "Conv kernel": (lambda: nn.Conv2d(3, 4, (1, 2, 3)), ValueError, "wrong number of values for kernel_size"),
    "Conv padding": (lambda: nn.Conv1d(1, 1, 1, padding="some"), ValueError, "unknown padding: 'some'"),
    "Conv same": (lambda: nn.Conv1d(1, 1, 3, stride=2, padding="same"), ValueError, "padding='same' with stride"),
    "Conv mode": (lambda: nn.Conv1d(1, 1, 1, padding_mode="odd"), ValueError, "unknown padding_mode: 'odd'"),
    "Conv input": (lambda: nn.Conv2d(3, 4, 1)(al.ones(1, 2, 5, 5)), ValueError, "conv2d"),
    "ConvTranspose mode": (
        lambda: nn.ConvTranspose1d(1, 1, 1, padding_mode="reflect"),
        ValueError,
        "unknown padding_mode",
    ),
    "ConvTranspose size": (
        lambda: nn.ConvTranspose1d(1, 1, 3, stride=2)(al.ones(1, 1, 3), output_size=[30]),
        ValueError,
        r"no such output size: \[30\]; from \[7\] to \[8\]",
    ),
    "BatchNorm rank": (lambda: nn.BatchNorm2d(3)(al.ones(2, 3)), ValueError, "BatchNorm2d: wrong number of dim"),
    "BatchNorm size": (lambda: nn.BatchNorm1d(3)(al.ones(2, 4)), ValueError, "batch_norm"),
    "InstanceNorm": (
        lambda: nn.InstanceNorm1d(3, affine=True)(al.ones(2, 4, 5)),
        ValueError,
        "wrong number of channels: 4; 3 are accepted",
    ),
    "LayerNorm": (lambda: nn.LayerNorm(3)(al.ones(2, 4)), ValueError, "layer_norm"),
    "GroupNorm": (lambda: nn.GroupNorm(2, 5), ValueError, "not divisible by num_groups"),
    "Embedding index": (lambda: nn.Embedding(3, 2)(al.tensor([3])), IndexError, "embedding"),
    "Embedding dtype": (lambda: nn.Embedding(3, 2)(al.ones(2)), TypeError, "embedding"),
    "Embedding padding": (lambda: nn.Embedding(3, 2, padding_idx=3), ValueError, "padding_idx out of range: 3"),
    "Embedding weight": (lambda: nn.Embedding(3, 2, _weight=al.ones(2, 2)), ValueError, "wrong shape of the weight"),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(3, 2, mode="min"), ValueError, "unknown mode: 'min'"),
    "pretrained": (lambda: nn.Embedding.from_pretrained(al.ones(3)), ValueError, "a matrix is accepted"),
    "RNN input": (lambda: nn.LSTM(3, 4)(al.ones(5, 2, 7)), ValueError, "LSTM: wrong number of features: 7"),
    "RNN rank": (lambda: nn.GRU(3, 4)(al.ones(3)), ValueError, "GRU: wrong number of dimensions"),
    "RNN sizes": (lambda: nn.RNN(0, 4), ValueError, "input_size is not positive"),
    "RNN type": (lambda: nn.RNN(1.5, 4), TypeError, "not a size: input_size=1.5"),
    "RNN dropout": (lambda: nn.RNN(1, 4, dropout=2), ValueError, "not a probability"),
    "RNN mode": (lambda: nn.RNN(1, 4, nonlinearity="cos"), ValueError, "unknown nonlinearity"),
    "projection": (lambda: nn.LSTM(1, 4, proj_size=4), ValueError, "proj_size=4"),
    "LSTM state": (lambda: nn.LSTM(1, 4)(al.ones(2, 1, 1), al.ones(1, 1, 4)), TypeError, "states"),
    "heads": (lambda: nn.MultiheadAttention(5, 2), ValueError, "not divisible by num_heads: 5 by 2"),
    "attention": (
        lambda: nn.MultiheadAttention(4, 2)(al.ones(3, 4), al.ones(3, 5), al.ones(3, 4)),
        ValueError,
        "wrong size of the key: 5; 4 is accepted",
    ),
    "attention mask": (
        lambda: nn.MultiheadAttention(4, 2)(*[al.ones(3, 4)] * 3, attn_mask=al.ones(2, 2)),
        ValueError,
        r"wrong shape of attn_mask: \[2, 2\]; \[3, 3\] and \[2, 3, 3\]",
    ),
    "attention mask dtype": (
        lambda: nn.MultiheadAttention(4, 2)(*[al.ones(3, 4)] * 3, attn_mask=al.ones(3, 3, dtype=al.int8)),
        TypeError,
        "wrong dtype of a mask: int8",
    ),
    "activation": (lambda: nn.TransformerEncoderLayer(4, 2, activation="cos"), ValueError, "unknown activation"),
    "transformer": (lambda: nn.Transformer(4, 2, 1, 1, 4)(al.ones(3, 2, 4), al.ones(3, 5, 4)), ValueError, "batches"),
    "cutoffs": (lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, [5, 3]), ValueError, r"wrong cutoffs: \[5, 3\]"),
    "target": (
        lambda: nn.AdaptiveLogSoftmaxWithLoss(4, 9, [5])(al.ones(1, 4), al.tensor([9])),
        ValueError,
        "target out of range: 9 to 9",
    ),
    "pool": (lambda: nn.MaxPool2d(0)(al.ones(1, 1, 4, 4)), ValueError, "max_pool2d"),
    "unpool": (lambda: nn.MaxUnpool2d((1, 2, 3)), ValueError, "MaxUnpool2d: wrong number of values"),
    "fractional": (lambda: nn.FractionalMaxPool2d(2), ValueError, "one of output_size and output_ratio"),
    "fractional ratio": (lambda: nn.FractionalMaxPool2d(2, output_ratio=2), ValueError, "not between 0 and 1"),
    "pad": (lambda: nn.ZeroPad2d((1, 2)), ValueError, "ZeroPad2d: wrong number of values for padding: 2; one or 4"),
    "hardtanh": (lambda: nn.Hardtanh(2, 1), ValueError, "min_val is above max_val"),
    "softshrink": (lambda: nn.Softshrink(-1), ValueError, "lambd is negative"),
    "softmax2d": (lambda: nn.Softmax2d()(al.ones(2, 2)), ValueError, "Softmax2d: wrong number of dimensions"),
    "unflatten": (lambda: nn.Unflatten(1, (2.5, 1)), TypeError, "not sizes"),
    "reduction": (lambda: nn.MSELoss(reduction="max"), ValueError, "MSELoss: unknown reduction: 'max'"),
    "MSE shapes": (lambda: nn.MSELoss()(al.ones(3), al.ones(4)), ValueError, "mse_loss"),
    "CE classes": (lambda: nn.CrossEntropyLoss()(al.ones(2, 3), al.tensor([0, 3])), (IndexError, ValueError), "3"),
    "CE bool": (lambda: nn.CrossEntropyLoss()(al.ones(2, 3), al.tensor([True, False])), TypeError, "bool"),
    "CE target": (lambda: nn.CrossEntropyLoss()(al.ones(2, 3), al.tensor([0, 1, 2])), ValueError, "cross_entropy"),
    "BCE range": (lambda: nn.BCELoss()(al.full((2,), 1.5), al.ones(2)), ValueError, "binary_cross_entropy"),
    "margin power": (lambda: nn.MultiMarginLoss(p=3), ValueError, "unknown power: 3"),
    "triplet": (lambda: nn.TripletMarginLoss(margin=0), ValueError, "margin is not positive"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_arguments_are_worded(what):
    call, kind, text = WRONG[what]
    with pytest.raises(kind, match=text):
        call()


def test_old_switches_of_losses():
    with pytest.warns(DeprecationWarning, match="use reduction"):
        assert nn.MSELoss(size_average=False).reduction == "sum"
    with pytest.warns(DeprecationWarning):
        assert nn.L1Loss(reduce=False).reduction == "none"


def test_containers():
    model = nn.Sequential(nn.Linear(1, 2), nn.ReLU(), nn.Linear(2, 3), nn.Tanh())
    assert len(model) == 4 and isinstance(model[-1], nn.Tanh) and len(model[1:3]) == 2
    assert list(model[1:]._modules) == ["1", "2", "3"]
    model[1] = nn.GELU()
    assert isinstance(model[1], nn.GELU)
    del model[0]
    assert list(model._modules) == ["0", "1", "2"] and isinstance(model[0], nn.GELU)
    model.append(nn.ReLU()).insert(0, nn.Identity()).extend([nn.Identity()])
    assert [type(m).__name__ for m in model] == ["Identity", "GELU", "Linear", "Tanh", "ReLU", "Identity"]
    assert isinstance(model.pop(-1), nn.Identity) and len(model) == 5
    assert len(nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())) == 2
    assert len(nn.Sequential(nn.ReLU()) * 3) == 3
    named = nn.Sequential({"first": nn.ReLU(), "second": nn.Tanh()})
    assert list(dict(named.named_children())) == ["first", "second"] and named.first is named[0]
    del named[0]
    assert list(named._modules) == ["second"]
    with pytest.raises(IndexError, match="index out of range: 9; there are 5"):
        model[9]
    with pytest.raises(TypeError):
        nn.Sequential(3)
    layers = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    layers += [nn.GELU()]
    assert len(layers) == 3 and len(layers[:2]) == 2 and layers[0] in layers
    del layers[0]
    assert [type(m).__name__ for m in layers] == ["Tanh", "GELU"] and len(layers + [nn.ReLU()]) == 3
    choices = nn.ModuleDict({"a": nn.ReLU()})
    choices.update([("b", nn.Tanh())])
    assert "b" in choices and list(choices.keys()) == ["a", "b"] and isinstance(choices.pop("a"), nn.ReLU)
    with pytest.raises(KeyError):
        choices["forward"] = nn.ReLU()
    choices.clear()
    assert len(choices) == 0


def test_containers_of_parameters():
    values = nn.ParameterList([al.ones(2), nn.Parameter(al.zeros(1)), "text"])
    assert len(values) == 3 and values[2] == "text" and len(list(values.parameters())) == 2
    values[0] = al.zeros(3)
    values += [al.ones(4)]
    assert [tuple(p.shape) for p in values.parameters()] == [(3,), (1,), (4,)]
    assert len(values[:2]) == 2 and isinstance(values[-1], nn.Parameter)
    assert "(0): Parameter([3], dtype=float32)" in repr(values) and "Object of type: str" in repr(values)
    assert list(values.state_dict()) == ["0", "1", "3"]
    named = nn.ParameterDict({"a": al.ones(1)})
    named["b"] = al.ones(2)
    assert set(named.state_dict()) == {"a", "b"} and named.get("c", 5) == 5
    assert named.pop("a").shape == (1,) and list(named) == ["b"]
    named |= {"c": al.ones(3)}
    assert len(named | {"d": al.ones(1)}) == 3 and len(named) == 2 and "c" in named
    with pytest.raises(KeyError):
        named["missing"]
    with pytest.raises(KeyError, match="exists already"):
        named["items"] = al.ones(1)
    for container in (values, named):
        with pytest.raises(RuntimeError, match="not to be called"):
            container(1)


@pytest.mark.parametrize("name", [n for n in nn.__all__ if n.startswith("Lazy") and n != "LazyModuleMixin"])
def test_lazy_layers_become_what_they_stand_for(name):
    kind = getattr(nn, name)
    arguments = {"Conv": (4, 2), "Linear": (4,)}.get(
        "Conv" if "Conv" in name else name.removeprefix("Lazy"), ()
    )
    options = {} if "Norm" not in name else {"affine": True}
    layer = kind(*arguments, **options, dtype=al.float64)
    parameters = list(layer.parameters())
    assert layer.has_uninitialized_params() and "uninitialized" not in repr(layer)
    layer.to(al.bfloat16)
    rank = next((int(c) for c in name if c.isdigit()), 0)
    x = al.randn(3, 6, *[5] * rank, dtype=al.bfloat16)
    y = layer(x)
    plain = getattr(nn, name.removeprefix("Lazy"))
    assert type(layer) is plain and y.dtype == al.bfloat16
    assert all(a is b for a, b in zip(parameters, layer.parameters(), strict=True))
    assert all(type(p) is nn.Parameter and p.dtype == al.bfloat16 for p in layer.parameters())
    expected = plain(6, *arguments, **options)
    assert {k: v.shape for k, v in layer.state_dict().items()} == {
        k: v.shape for k, v in expected.state_dict().items()
    }
    assert repr(layer) == repr(expected.to(al.bfloat16))
    if "Batch" in name:
        assert layer.running_mean.dtype == al.float32, "statistics are not narrowed further"


def test_summary():
    table = nn.Embedding(5, 4)
    head = nn.Linear(4, 5, bias=False)
    head.weight = table.weight
    model = nn.Sequential(table, nn.LSTM(4, 4), nn.Identity())
    model.head = head
    model.forward = lambda x: head(model[1](table(x))[0])
    model.register_buffer("steps", al.zeros(3, dtype=al.int64))
    table.requires_grad_(False)
    model.train()
    found = al.summary(model, al.tensor([[0, 1]]))
    rows = {row.path: row for row in found}
    assert rows["0"].output == (1, 2, 4) and rows["1"].output == [(1, 2, 4), [(1, 2, 4), (1, 2, 4)]]
    assert rows["head"].parameters == 0, "what is tied is counted once"
    count = sum(p.numel() for p in model.parameters())
    assert found.total_parameters == count and found.trained_parameters == count - 20
    assert found.total_bytes == 4 * count + 24 and found.buffer_bytes == 24
    assert model.training and not model[1]._forward_hooks
    text = str(found)
    assert "[1, 2, 4]" in text and f"{count:,} parameters" in text and "1: LSTM" in text
    assert "output" not in str(al.summary(model)) and len(al.summary(model, depth=0)) == 1
    with pytest.raises(TypeError):
        al.summary(model, al.ones(1))
    assert model.training and not model._forward_hooks
