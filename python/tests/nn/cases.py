"""The layers that are compared with torch's: how each is made, and what it is called with.

`record_torch.py` makes torch's from these lines, `test_recorded.py` those of the library: the
library is handed in, so that this file needs neither.
"""

import numpy

MODES = ("train", "eval")


class Inputs:
    """Numbers for a case, the same at every run."""

    def __init__(self, name):
        self.random = numpy.random.RandomState(sum(map(ord, name)))

    def normal(self, *shape):
        return self.random.standard_normal(shape)

    def positive(self, *shape):
        return self.random.uniform(0.2, 2.0, shape)

    def probability(self, *shape):
        return self.random.uniform(0.05, 0.95, shape)

    def log_probability(self, *shape):
        x = self.random.standard_normal(shape)
        return x - numpy.log(numpy.exp(x).sum(-1, keepdims=True))

    def distribution(self, *shape):
        return numpy.exp(self.log_probability(*shape))

    def distinct(self, *shape):
        """Numbers without ties, for what chooses the greatest."""
        count = int(numpy.prod(shape))
        return (self.random.permutation(count) / count * 4 - 2).reshape(shape)

    def sign(self, *shape):
        return numpy.where(self.random.uniform(size=shape) < 0.5, -1.0, 1.0)

    def integers(self, high, *shape):
        return self.random.randint(0, high, shape)

    def truth(self, *shape):
        return self.random.uniform(size=shape) < 0.3


class Layer:
    """A layer among the arguments of another."""

    def __init__(self, kind, *arguments, **options):
        self.kind, self.arguments, self.options = kind, arguments, options


def build(nn, kind, arguments, options, convert):
    """A layer of a library, whose arrays are made by `convert`."""

    def made(value):
        if isinstance(value, Layer):
            return build(nn, value.kind, value.arguments, value.options, convert)
        return convert(value)

    options = {key: made(value) for key, value in options.items()}
    return getattr(nn, kind)(*map(made, arguments), **options)


def simple(*shape, kind="normal"):
    """One input of a shape."""
    return lambda inputs: [getattr(inputs, kind)(*shape)]


def pair(first, second):
    return lambda inputs: [first(inputs), second(inputs)]


# name of the case: (class, arguments, options, inputs)
CASES = {
    "linear": ("Linear", (4, 3), {}, simple(5, 4)),
    "linear_no_bias": ("Linear", (4, 3), {"bias": False}, simple(2, 5, 4)),
    "bilinear": ("Bilinear", (3, 4, 2), {}, lambda i: [i.normal(5, 3), i.normal(5, 4)]),
    "identity": ("Identity", (), {}, simple(2, 3)),
    "flatten": ("Flatten", (), {}, simple(2, 3, 4)),
    "unflatten": ("Unflatten", (1, (3, 2)), {}, simple(2, 6)),
    "conv1d": ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1, "dilation": 2, "groups": 2}, simple(2, 4, 11)),
    "conv1d_same": ("Conv1d", (2, 3, 4), {"padding": "same", "padding_mode": "reflect"}, simple(2, 2, 9)),
    "conv2d": ("Conv2d", (3, 4, (3, 2)), {"stride": (2, 1), "padding": (1, 0)}, simple(2, 3, 7, 6)),
    "conv2d_circular": ("Conv2d", (2, 4, 3), {"padding": 1, "padding_mode": "circular", "bias": False}, simple(2, 5, 6)),
    "conv2d_replicate": ("Conv2d", (2, 4, 3), {"padding": (1, 2), "padding_mode": "replicate"}, simple(1, 2, 5, 6)),
    "conv3d": ("Conv3d", (2, 3, 2), {"padding": 1}, simple(2, 2, 3, 4, 3)),
    "conv_transpose1d": ("ConvTranspose1d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}, simple(2, 4, 5)),
    "conv_transpose2d": ("ConvTranspose2d", (3, 2, 3), {"stride": 2, "padding": 1, "dilation": 2}, simple(2, 3, 4, 3)),
    "conv_transpose3d": ("ConvTranspose3d", (2, 3, 2), {"bias": False}, simple(1, 2, 3, 2, 3)),
    "fold": ("Fold", ((4, 5), 2), {"padding": 1, "stride": 2}, simple(2, 8, 9)),
    "unfold": ("Unfold", ((2, 3),), {"dilation": 2, "padding": 1, "stride": 2}, simple(2, 3, 7, 8)),
    "max_pool1d": ("MaxPool1d", (3,), {"stride": 2, "padding": 1}, simple(2, 3, 9, kind="distinct")),
    "max_pool2d": ("MaxPool2d", ((3, 2),), {"ceil_mode": True}, simple(2, 3, 7, 5, kind="distinct")),
    "max_pool3d": ("MaxPool3d", (2,), {"stride": 1, "dilation": 2}, simple(1, 2, 4, 5, 4, kind="distinct")),
    "avg_pool1d": ("AvgPool1d", (3,), {"stride": 2, "padding": 1, "count_include_pad": False}, simple(2, 3, 9)),
    "avg_pool2d": ("AvgPool2d", (3,), {"padding": 1, "divisor_override": 5}, simple(2, 3, 7, 5)),
    "avg_pool3d": ("AvgPool3d", (2,), {"ceil_mode": True}, simple(1, 2, 3, 4, 5)),
    "lp_pool1d": ("LPPool1d", (3, 2), {}, simple(2, 3, 8, kind="positive")),
    "lp_pool2d": ("LPPool2d", (2, (2, 3)), {"stride": 2}, simple(2, 3, 6, 7, kind="positive")),
    "lp_pool3d": ("LPPool3d", (2, 2), {}, simple(1, 2, 4, 4, 4, kind="positive")),
    "adaptive_avg_pool1d": ("AdaptiveAvgPool1d", (3,), {}, simple(2, 3, 8)),
    "adaptive_avg_pool2d": ("AdaptiveAvgPool2d", ((2, None),), {}, simple(2, 3, 7, 5)),
    "adaptive_avg_pool3d": ("AdaptiveAvgPool3d", (2,), {}, simple(2, 2, 3, 4, 5)),
    "adaptive_max_pool1d": ("AdaptiveMaxPool1d", (3,), {}, simple(2, 3, 8, kind="distinct")),
    "adaptive_max_pool2d": ("AdaptiveMaxPool2d", ((2, 3),), {}, simple(2, 3, 7, 5, kind="distinct")),
    "adaptive_max_pool3d": ("AdaptiveMaxPool3d", (2,), {}, simple(2, 2, 3, 4, 5, kind="distinct")),
    "fractional_max_pool2d": (
        "FractionalMaxPool2d",
        (2,),
        {"output_size": 3, "_random_samples": numpy.full((2, 3, 2), 0.37)},
        simple(2, 3, 7, 7, kind="distinct"),
    ),
    "fractional_max_pool3d": (
        "FractionalMaxPool3d",
        (2,),
        {"output_ratio": 0.5, "_random_samples": numpy.full((1, 2, 3), 0.61)},
        simple(1, 2, 6, 6, 6, kind="distinct"),
    ),
    "max_unpool1d": ("MaxUnpool1d", (2,), {}, lambda i: [i.normal(1, 2, 3), numpy.array([[[1, 2, 4], [0, 3, 5]]])]),
    "max_unpool2d": (
        "MaxUnpool2d",
        (2,),
        {},
        lambda i: [i.normal(1, 1, 2, 2), numpy.array([[[[5, 3], [8, 14]]]])],
    ),
    "max_unpool3d": (
        "MaxUnpool3d",
        (2,),
        {},
        lambda i: [i.normal(1, 1, 1, 2, 2), numpy.array([[[[[5, 19], [8, 14]]]]])],
    ),
    "batch_norm1d": ("BatchNorm1d", (3,), {}, simple(6, 3)),
    "batch_norm1d_length": ("BatchNorm1d", (3,), {"momentum": None}, simple(4, 3, 5)),
    "batch_norm2d": ("BatchNorm2d", (3,), {"momentum": 0.3}, simple(4, 3, 3, 2)),
    "batch_norm3d": ("BatchNorm3d", (2,), {"affine": False}, simple(3, 2, 2, 3, 2)),
    "batch_norm_batch": ("BatchNorm2d", (3,), {"track_running_stats": False}, simple(4, 3, 3, 2)),
    "layer_norm": ("LayerNorm", ((3, 4),), {}, simple(5, 3, 4)),
    "layer_norm_no_bias": ("LayerNorm", (4,), {"bias": False, "eps": 1e-3}, simple(5, 4)),
    "layer_norm_plain": ("LayerNorm", (4,), {"elementwise_affine": False}, simple(5, 4)),
    "rms_norm": ("RMSNorm", (4,), {}, simple(5, 4)),
    "group_norm": ("GroupNorm", (2, 6), {}, simple(3, 6, 4)),
    "instance_norm1d": ("InstanceNorm1d", (3,), {"affine": True, "track_running_stats": True}, simple(4, 3, 5)),
    "instance_norm1d_single": ("InstanceNorm1d", (3,), {}, simple(3, 5)),
    "instance_norm2d": ("InstanceNorm2d", (3,), {"affine": True}, simple(4, 3, 3, 2)),
    "instance_norm3d": ("InstanceNorm3d", (2,), {}, simple(2, 2, 2, 3, 2)),
    "local_response_norm": ("LocalResponseNorm", (3,), {"alpha": 0.5, "k": 2.0}, simple(2, 5, 4, 3)),
    "embedding": ("Embedding", (7, 3), {"padding_idx": 2}, lambda i: [i.integers(7, 4, 5)]),
    "embedding_frequency": ("Embedding", (5, 3), {"scale_grad_by_freq": True}, lambda i: [i.integers(5, 9)]),
    "embedding_max_norm": ("Embedding", (7, 3), {"max_norm": 0.5}, lambda i: [i.integers(7, 4)]),
    "embedding_bag_sum": (
        "EmbeddingBag",
        (7, 3),
        {"mode": "sum"},
        lambda i: [i.integers(7, 8), numpy.array([0, 3, 4]), i.normal(8)],
    ),
    "embedding_bag_mean": ("EmbeddingBag", (7, 3), {"padding_idx": 1}, lambda i: [i.integers(7, 3, 4)]),
    "embedding_bag_max": ("EmbeddingBag", (7, 3), {"mode": "max"}, lambda i: [i.integers(7, 3, 4)]),
    "upsample": ("Upsample", (), {"scale_factor": 2}, simple(2, 3, 4)),
    "upsample_linear": ("Upsample", (), {"size": 9, "mode": "linear", "align_corners": True}, simple(2, 3, 4)),
    "upsample_bicubic": ("Upsample", (), {"scale_factor": (1.5, 2.0), "mode": "bicubic"}, simple(1, 2, 4, 3)),
    "upsample_trilinear": ("Upsample", (), {"size": (3, 4, 5), "mode": "trilinear"}, simple(1, 2, 2, 3, 2)),
    "upsampling_nearest2d": ("UpsamplingNearest2d", (), {"size": (5, 3)}, simple(1, 2, 3, 2)),
    "upsampling_bilinear2d": ("UpsamplingBilinear2d", (), {"scale_factor": 2}, simple(1, 2, 3, 2)),
    "pixel_shuffle": ("PixelShuffle", (2,), {}, simple(2, 8, 3, 2)),
    "pixel_unshuffle": ("PixelUnshuffle", (2,), {}, simple(2, 2, 4, 6)),
    "channel_shuffle": ("ChannelShuffle", (3,), {}, simple(2, 6, 3, 2)),
    "cosine_similarity": ("CosineSimilarity", (), {}, lambda i: [i.normal(4, 3), i.normal(4, 3)]),
    "pairwise_distance": ("PairwiseDistance", (3.0,), {"keepdim": True}, lambda i: [i.normal(4, 3), i.normal(4, 3)]),
}

# Functions of each number, and of lines of numbers.
for _name, _arguments, _options in [
    ("CELU", (), {"alpha": 1.3}),
    ("ELU", (), {"alpha": 0.7}),
    ("GELU", (), {}),
    ("GELU", (), {"approximate": "tanh"}),
    ("GLU", (), {}),
    ("Hardshrink", (), {"lambd": 0.3}),
    ("Hardsigmoid", (), {}),
    ("Hardswish", (), {}),
    ("Hardtanh", (), {"min_val": -0.5, "max_val": 0.8}),
    ("LeakyReLU", (0.2,), {}),
    ("LogSigmoid", (), {}),
    ("LogSoftmax", (1,), {}),
    ("Mish", (), {}),
    ("PReLU", (), {}),
    ("PReLU", (4,), {"init": 0.1}),
    ("ReLU", (), {}),
    ("ReLU6", (), {}),
    ("SELU", (), {}),
    ("SiLU", (), {}),
    ("Sigmoid", (), {}),
    ("Softmax", (), {"dim": -1}),
    ("Softmax2d", (), {}),
    ("Softmin", (1,), {}),
    ("Softplus", (), {"beta": 2.0, "threshold": 3.0}),
    ("Softshrink", (), {}),
    ("Softsign", (), {}),
    ("Tanh", (), {}),
    ("Tanhshrink", (), {}),
    ("Threshold", (0.1, -3.0), {}),
]:
    CASES[f"activation_{_name}_{len(_arguments) + len(_options)}"] = (
        _name,
        _arguments,
        _options,
        simple(3, 4, 6),
    )

for _kind, _rank in [(k, r) for k in ("Circular", "Reflection", "Replication", "Zero", "Constant") for r in (1, 2, 3)]:
    _widths = tuple(range(1, 2 * _rank + 1)) if _kind in ("Zero", "Constant") else (1, 2, 0, 1, 1, 0)[: 2 * _rank]
    CASES[f"pad_{_kind}{_rank}d"] = (
        f"{_kind}Pad{_rank}d",
        (_widths, 1.5) if _kind == "Constant" else (_widths,),
        {},
        simple(*((2, 2) + (4, 3, 5)[:_rank])),
    )

LOSSES = {
    "L1Loss": ({}, lambda i: [i.normal(3, 4), i.normal(3, 4)]),
    "MSELoss": ({"reduction": "sum"}, lambda i: [i.normal(3, 4), i.normal(3, 4)]),
    "SmoothL1Loss": ({"beta": 0.6}, lambda i: [i.normal(3, 4), i.normal(3, 4)]),
    "HuberLoss": ({"delta": 0.6}, lambda i: [i.normal(3, 4), i.normal(3, 4)]),
    "NLLLoss": ({"weight": numpy.array([0.5, 1.0, 2.0, 0.3])}, lambda i: [i.log_probability(5, 4), i.integers(4, 5)]),
    "NLLLoss2d": ({"ignore_index": 1}, lambda i: [i.normal(2, 4, 3, 3), i.integers(4, 2, 3, 3)]),
    "CrossEntropyLoss": (
        {"weight": numpy.array([0.5, 1.0, 2.0, 0.3]), "label_smoothing": 0.1},
        lambda i: [i.normal(5, 4), i.integers(4, 5)],
    ),
    "BCELoss": ({}, lambda i: [i.probability(4, 3), i.probability(4, 3)]),
    "BCEWithLogitsLoss": (
        {"pos_weight": numpy.array([0.5, 2.0, 1.5])},
        lambda i: [i.normal(4, 3), i.probability(4, 3)],
    ),
    "PoissonNLLLoss": ({"full": True}, lambda i: [i.normal(4, 3), i.positive(4, 3) * 3]),
    "GaussianNLLLoss": ({}, lambda i: [i.normal(4, 3), i.normal(4, 3), i.positive(4, 3)]),
    "KLDivLoss": ({"reduction": "batchmean"}, lambda i: [i.log_probability(4, 3), i.distribution(4, 3)]),
    "HingeEmbeddingLoss": ({"margin": 0.5}, lambda i: [i.normal(4, 3), i.sign(4, 3)]),
    "SoftMarginLoss": ({}, lambda i: [i.normal(4, 3), i.sign(4, 3)]),
    "MultiLabelMarginLoss": ({}, lambda i: [i.normal(2, 4), numpy.array([[3, 0, -1, 1], [1, -1, 0, 2]])]),
    "MultiLabelSoftMarginLoss": ({}, lambda i: [i.normal(4, 3), i.probability(4, 3)]),
    "MultiMarginLoss": ({"p": 2, "margin": 0.8}, lambda i: [i.normal(5, 4), i.integers(4, 5)]),
    "CosineEmbeddingLoss": ({"margin": 0.2}, lambda i: [i.normal(5, 4), i.normal(5, 4), i.sign(5)]),
    "MarginRankingLoss": ({"margin": 0.2}, lambda i: [i.normal(5), i.normal(5), i.sign(5)]),
    "TripletMarginLoss": ({"swap": True}, lambda i: [i.normal(5, 4), i.normal(5, 4), i.normal(5, 4)]),
    "TripletMarginWithDistanceLoss": ({}, lambda i: [i.normal(5, 4), i.normal(5, 4), i.normal(5, 4)]),
    "CTCLoss": (
        {},
        lambda i: [
            i.normal(7, 2, 5),
            i.integers(4, 2, 3) + 1,
            numpy.array([7, 6]),
            numpy.array([3, 2]),
        ],
    ),
}

CAUSAL = numpy.triu(numpy.ones((5, 5), dtype=bool), 1)
PADDED = numpy.array([[False] * 5, [False] * 3 + [True] * 2])
ATTENTION = {"dropout": 0.0, "batch_first": True}
ENCODER = Layer("TransformerEncoderLayer", 6, 2, 8, **ATTENTION)
DECODER = Layer("TransformerDecoderLayer", 6, 2, 8, **ATTENTION, activation="gelu")

CASES |= {
    "rnn": ("RNN", (3, 4), {"num_layers": 2, "bidirectional": True}, simple(5, 2, 3)),
    "rnn_relu": ("RNN", (3, 4), {"nonlinearity": "relu", "bias": False}, lambda i: [i.normal(5, 3), i.normal(1, 4)]),
    "lstm": (
        "LSTM",
        (3, 4),
        {"num_layers": 2, "bidirectional": True, "batch_first": True},
        lambda i: [i.normal(2, 5, 3), (i.normal(4, 2, 4), i.normal(4, 2, 4))],
    ),
    "lstm_projected": ("LSTM", (3, 4), {"proj_size": 2, "num_layers": 2}, simple(5, 2, 3)),
    "gru": ("GRU", (3, 4), {"num_layers": 2, "bidirectional": True}, lambda i: [i.normal(5, 2, 3), i.normal(4, 2, 4)]),
    "rnn_cell": ("RNNCell", (3, 4), {"nonlinearity": "relu"}, lambda i: [i.normal(2, 3), i.normal(2, 4)]),
    "lstm_cell": ("LSTMCell", (3, 4), {}, lambda i: [i.normal(2, 3), (i.normal(2, 4), i.normal(2, 4))]),
    "gru_cell": ("GRUCell", (3, 4), {"bias": False}, lambda i: [i.normal(3), i.normal(4)]),
    "attention": ("MultiheadAttention", (6, 2), {}, lambda i: [i.normal(5, 2, 6), i.normal(4, 2, 6), i.normal(4, 2, 6)]),
    "attention_masked": (
        "MultiheadAttention",
        (6, 2),
        {"batch_first": True},
        lambda i: [*[i.normal(2, 5, 6)] * 3, PADDED, True, CAUSAL, False],
    ),
    "attention_added": (
        "MultiheadAttention",
        (6, 3),
        {"add_bias_kv": True, "add_zero_attn": True, "kdim": 4, "vdim": 5},
        lambda i: [i.normal(5, 2, 6), i.normal(5, 2, 4), i.normal(5, 2, 5), i.normal(2, 5), False, i.normal(6, 5, 5)],
    ),
    "attention_single": (
        "MultiheadAttention",
        (6, 2),
        {"bias": False},
        lambda i: [i.normal(5, 6), i.normal(4, 6), i.normal(4, 6), numpy.array([False, True, False, False])],
    ),
    "encoder_layer": (
        "TransformerEncoderLayer",
        (6, 2, 8),
        {"dropout": 0.0, "norm_first": True},
        lambda i: [i.normal(5, 2, 6), CAUSAL, PADDED],
    ),
    "decoder_layer": (
        "TransformerDecoderLayer",
        (6, 2, 8),
        {"dropout": 0.0, "bias": False, "activation": "gelu"},
        lambda i: [i.normal(5, 2, 6), i.normal(4, 2, 6), CAUSAL],
    ),
    "encoder": (
        "TransformerEncoder",
        (ENCODER, 2),
        {"norm": Layer("LayerNorm", 6)},
        lambda i: [i.normal(2, 5, 6), CAUSAL],
    ),
    "decoder": ("TransformerDecoder", (DECODER, 2), {}, lambda i: [i.normal(2, 5, 6), i.normal(2, 4, 6)]),
    "transformer": (
        "Transformer",
        (6, 2, 1, 1, 8),
        ATTENTION,
        lambda i: [i.normal(2, 4, 6), i.normal(2, 5, 6), None, CAUSAL],
    ),
    "linear_cross_entropy": (
        "LinearCrossEntropyLoss",
        (4, 3),
        {"bias": True, "label_smoothing": 0.1},
        lambda i: [i.normal(5, 4), i.integers(3, 5)],
    ),
    "adaptive": (
        "AdaptiveLogSoftmaxWithLoss",
        (8, 12, [3, 6]),
        {"div_value": 2.0, "head_bias": True},
        lambda i: [i.normal(7, 8), numpy.array([0, 2, 3, 5, 6, 11, 1])],
    ),
}

for _name, (_options, _inputs) in LOSSES.items():
    CASES[f"loss_{_name}"] = (_name, (), _options, _inputs)

del _name, _arguments, _options, _kind, _rank, _widths, _inputs


def perturb(name, key, shape):
    """Numbers for a parameter or buffer, so that nothing is one or zero by chance."""
    random = numpy.random.RandomState(sum(map(ord, name + key)) % 1000)
    if key.endswith("running_var"):
        return random.uniform(0.5, 1.5, shape)
    return random.uniform(-0.7, 0.7, shape)


def cotangent(place, shape):
    """What the gradients of an output are taken with."""
    count = int(numpy.prod(shape))
    return numpy.cos(numpy.arange(count) * 0.7 + place).reshape(shape)


def is_float(array):
    return array.dtype.kind == "f"


def prepare(kind, given):
    """torch's gradient of CTC is right only behind a log_softmax."""
    return [given[0].log_softmax(-1), *given[1:]] if kind == "CTCLoss" else given


def flat(result):
    """The tensors in what a layer returns."""
    if isinstance(result, (tuple, list)):
        return [x for part in result for x in flat(part)]
    return [] if result is None else [result]
