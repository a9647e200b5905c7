"""Networks: layers and losses, as torch.nn. A name is loaded when it is first asked for."""

import importlib as _importlib

from . import functional

# Which file has which names; a test compares it with what the files export.
_FILES = {
    "activation": "CELU ELU GELU GLU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid "
    "LogSoftmax Mish PReLU RReLU ReLU ReLU6 SELU SiLU Sigmoid Softmax Softmax2d Softmin Softplus "
    "Softshrink Softsign Tanh Tanhshrink Threshold",
    "adaptive": "AdaptiveLogSoftmaxWithLoss",
    "attention": "MultiheadAttention",
    "container": "ModuleDict ModuleList ParameterDict ParameterList Sequential",
    "conv": "Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d",
    "dropout": "AlphaDropout Dropout Dropout1d Dropout2d Dropout3d FeatureAlphaDropout",
    "embedding": "Embedding EmbeddingBag",
    "lazy": "LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d LazyConv3d "
    "LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d "
    "LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear LazyModuleMixin",
    "linear": "Bilinear Identity Linear",
    "loss": "BCELoss BCEWithLogitsLoss CTCLoss CrossEntropyLoss GaussianNLLLoss HuberLoss KLDivLoss "
    "L1Loss LinearCrossEntropyLoss MSELoss NLLLoss NLLLoss2d PoissonNLLLoss SmoothL1Loss",
    "margin": "CosineEmbeddingLoss HingeEmbeddingLoss MarginRankingLoss MultiLabelMarginLoss "
    "MultiLabelSoftMarginLoss MultiMarginLoss SoftMarginLoss TripletMarginLoss "
    "TripletMarginWithDistanceLoss",
    "module": "Module",
    "normalization": "BatchNorm1d BatchNorm2d BatchNorm3d GroupNorm InstanceNorm1d InstanceNorm2d "
    "InstanceNorm3d LayerNorm LocalResponseNorm RMSNorm",
    "padding": "CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
    "ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d "
    "ReplicationPad3d ZeroPad1d ZeroPad2d ZeroPad3d",
    "parameter": "Buffer Parameter UninitializedBuffer UninitializedParameter",
    "pooling": "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d "
    "AdaptiveMaxPool2d AdaptiveMaxPool3d AvgPool1d AvgPool2d AvgPool3d FractionalMaxPool2d "
    "FractionalMaxPool3d LPPool1d LPPool2d LPPool3d MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
    "MaxUnpool2d MaxUnpool3d",
    "report": "IncompatibleKeys LossyConversionWarning StateDictError",
    "rnn": "GRU GRUCell LSTM LSTMCell RNN RNNBase RNNCell RNNCellBase",
    "shape": "ChannelShuffle CosineSimilarity Flatten Fold PairwiseDistance PixelShuffle "
    "PixelUnshuffle Unflatten Unfold",
    "transformer": "Transformer TransformerDecoder TransformerDecoderLayer TransformerEncoder "
    "TransformerEncoderLayer",
    "upsampling": "Upsample UpsamplingBilinear2d UpsamplingNearest2d",
}

# Modules that are names themselves.
_MODULES = ("attention", "hooks", "init", "parameter", "serialization", "utils")

_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}

__all__ = ["functional", *_MODULES, *_HOMES]


def __getattr__(name: str):
    if name in _HOMES:
        value = getattr(_importlib.import_module(f".{_HOMES[name]}", __name__), name)
    elif name in _MODULES:
        value = _importlib.import_module(f".{name}", __name__)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
