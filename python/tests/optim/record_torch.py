"""Records what torch's optimizers and schedulers do, for the tests: python record_torch.py."""

import json
from pathlib import Path

import torch

import traces


def optimizer_trace(name, options, dtype, shapes):
    dtype = getattr(torch, dtype)
    params = []
    for values, shape in zip(traces.parameters(name), shapes):
        params.append(value_of(values, shape, dtype).requires_grad_())
    optimizer = getattr(torch.optim, name)(params, foreach=False, **options) if name != "Muon" else (
        torch.optim.Muon(params, **options)
    )
    for step in range(traces.STEPS):
        for param, values, shape in zip(params, traces.gradients(name, step), shapes):
            param.grad = None if values is None else value_of(values, shape, dtype)
        optimizer.step()
    state = {}
    for number, entry in optimizer.state_dict()["state"].items():
        state[number] = {key: flat(value) for key, value in entry.items() if value is not None}
    return {"params": [flat(param) for param in params], "state": state}


def resumed_trace(name, options):
    """A state_dict in the middle, and the parameters at the end."""
    shapes = traces.shapes_of(name)
    firsts = zip(traces.parameters(name), shapes)
    params = [value_of(values, shape, torch.float32).requires_grad_() for values, shape in firsts]
    optimizer = getattr(torch.optim, name)(params, **options)
    for step in range(traces.STEPS):
        if step == traces.STEPS // 2:
            saved = optimizer.state_dict()
            middle = {
                "params": [flat(param) for param in params],
                "groups": saved["param_groups"],
                "state": {
                    number: {
                        key: [list(value.shape), str(value.dtype).removeprefix("torch."), flat(value)]
                        for key, value in entry.items()
                    }
                    for number, entry in saved["state"].items()
                },
            }
        for param, values, shape in zip(params, traces.gradients(name, step), shapes):
            param.grad = None if values is None else value_of(values, shape, torch.float32)
        optimizer.step()
    return {"middle": middle, "params": [flat(param) for param in params]}


def value_of(values, shape, dtype):
    if dtype.is_complex:
        return torch.tensor([complex(x, -x * 0.5 + 0.1) for x in values], dtype=dtype).reshape(shape)
    return torch.tensor(values, dtype=torch.float64).to(dtype).reshape(shape)


def flat(tensor):
    if not isinstance(tensor, torch.Tensor):
        return tensor
    tensor = tensor.detach()
    if tensor.is_complex():
        tensor = torch.view_as_real(tensor)
    return tensor.double().reshape(-1).tolist()


def lbfgs_trace(options, dtype):
    x = torch.tensor(traces.numbers(5, 3), dtype=getattr(torch, dtype), requires_grad=True)
    optimizer = torch.optim.LBFGS([x], **options)

    def closure():
        optimizer.zero_grad()
        loss = traces.loss_of(torch, x)
        loss.backward()
        return loss

    losses = [float(optimizer.step(closure)) for _ in range(traces.LBFGS_STEPS)]
    state = optimizer.state[x]
    return {"x": flat(x), "losses": losses, "evals": state["func_evals"], "iterations": state["n_iter"]}


def main():
    optimizers = []
    for name, cases in traces.OPTIMIZERS.items():
        shapes = traces.shapes_of(name)
        for case, options in enumerate(cases):
            for dtype in traces.REAL:
                trace = optimizer_trace(name, options, dtype, shapes)
                optimizers.append([name, case, dtype, trace])
        if name in traces.COMPLEX:
            trace = optimizer_trace(name, cases[-1], "complex64", shapes)
            optimizers.append([name, len(cases) - 1, "complex64", trace])
    # One rounding a step, as here, for a rate that bfloat16 holds: torch rounds rates to the dtype.
    optimizers.append(["SGD", 1, "bfloat16", optimizer_trace("SGD", {"lr": 0.125}, "bfloat16", traces.SHAPES)])

    def make():
        params = [torch.ones(1, requires_grad=True) for _ in traces.LRS]
        groups = [{"params": [param], "lr": lr} for param, lr in zip(params, traces.LRS)]
        return torch.optim.SGD(groups, lr=0.5, momentum=0.9)

    schedulers = traces.trace_schedulers(torch.optim.lr_scheduler, torch.optim.swa_utils, make)
    lbfgs = [[case, dtype, lbfgs_trace(options, dtype)]
             for case, options in enumerate(traces.LBFGS) for dtype in traces.REAL]
    resumed = [[name, case, resumed_trace(name, options)]
               for name, cases in traces.OPTIMIZERS.items() for case, options in enumerate(cases)
               if name != "Muon"]
    answers = {
        "resumed": resumed,
        "torch": torch.__version__,
        "optimizers": optimizers,
        "schedulers": schedulers,
        "lbfgs": lbfgs,
    }
    Path(__file__).with_name("torch.json").write_text(json.dumps(answers))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
