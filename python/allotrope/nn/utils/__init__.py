"""Helpers for training and for weights, as torch.nn.utils. A name is loaded when first asked for."""

import importlib as _importlib

# Which file has which names; a test compares it with what the files export.
_FILES = {
    "clip_grad": "clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
    "convert_parameters": "parameters_to_vector vector_to_parameters",
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "parametrizations": "remove_spectral_norm remove_weight_norm spectral_norm weight_norm",
    "stateless": "functional_call",
}

_MODULES = ("parametrizations", "parametrize", "prune", "rnn", "stateless")

_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}

__all__ = [*_MODULES, *_HOMES]


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
