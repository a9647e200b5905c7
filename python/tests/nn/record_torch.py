"""Records what torch's layers give: `python record_torch.py`, with torch, writes `data_torch.safetensors`.

For each case of `cases.py`: the state dict, and in training and in evaluation the outputs and the
gradients of the inputs and of all parameters, in float64, and the buffers afterwards.
"""

import pathlib
import warnings

import numpy
import safetensors.numpy
import torch

from cases import CASES, MODES, Inputs, build, cotangent, flat, perturb, prepare

warnings.simplefilter("ignore")
torch.set_default_dtype(torch.float64)

# Losses whose targets torch does not differentiate by.
TARGETS = {
    "BCELoss",
    "HingeEmbeddingLoss",
    "MultiLabelSoftMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SoftMarginLoss",
}


def as_torch(value):
    if isinstance(value, tuple):
        return tuple(map(as_torch, value))
    return torch.tensor(value) if isinstance(value, numpy.ndarray) else value


def record():
    answers = {}
    for name, (kind, arguments, options, make) in CASES.items():
        state = {}
        for mode in MODES:
            layer = build(torch.nn, kind, arguments, options, as_torch)
            for key, value in layer.state_dict().items():
                if value.is_floating_point() and not key.startswith("_random"):
                    value.copy_(torch.tensor(perturb(name, key, tuple(value.shape))))
                state[key] = value.numpy().copy()
            layer.train(mode == "train")
            given = [as_torch(value) for value in make(Inputs(name))]
            leaves = flat(given)
            for value in leaves:
                if isinstance(value, torch.Tensor) and value.is_floating_point():
                    value.requires_grad_(kind not in TARGETS or value is given[0])
            results = flat(layer(*prepare(kind, given)))
            loss = 0
            for place, result in enumerate(results):
                answers[f"{name}/{mode}/output/{place}"] = result.detach().numpy()
                if result.requires_grad:
                    shape = tuple(result.shape)
                    loss = loss + (result * torch.tensor(cotangent(place, shape))).sum()
            if isinstance(loss, torch.Tensor):
                loss.backward()
            for place, value in enumerate(leaves):
                if isinstance(value, torch.Tensor) and value.grad is not None:
                    answers[f"{name}/{mode}/input/{place}"] = value.grad.numpy()
            for key, parameter in layer.named_parameters():
                if parameter.grad is not None:
                    answers[f"{name}/{mode}/parameter/{key}"] = parameter.grad.numpy()
            for key, buffer in layer.named_buffers():
                answers[f"{name}/{mode}/buffer/{key}"] = buffer.numpy()
        for key, value in state.items():
            answers[f"{name}/state/{key}"] = value
    return answers


if __name__ == "__main__":
    answers = {key: numpy.array(value, order="C") for key, value in record().items()}
    # Most layers do the same in evaluation: what equals the answer in training is left out.
    for key in [key for key in answers if "/eval/" in key]:
        if numpy.array_equal(answers[key], answers.get(key.replace("/eval/", "/train/"))):
            del answers[key]
    safetensors.numpy.save_file(answers, pathlib.Path(__file__).parent / "data_torch.safetensors")
