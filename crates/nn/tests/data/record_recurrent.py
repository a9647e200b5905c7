"""Records what torch answers for recurrent networks into recurrent.safetensors beside this file.

Run by hand where torch is installed; the tests of both languages read the file.
"""

import pathlib

import torch
from safetensors.torch import save_file

HERE = pathlib.Path(__file__).parent
CASES = {
    # name: (class, options, how the input comes)
    "tanh": ("RNN", {"num_layers": 2}, "padded"),
    "relu": ("RNN", {"nonlinearity": "relu", "bidirectional": True}, "padded"),
    "lstm": ("LSTM", {}, "padded"),
    "lstm_deep": ("LSTM", {"num_layers": 2, "bidirectional": True}, "padded"),
    "lstm_plain": ("LSTM", {"bias": False}, "initial"),
    "lstm_projected": ("LSTM", {"proj_size": 2, "num_layers": 2, "bidirectional": True}, "initial"),
    "lstm_projected_plain": ("LSTM", {"proj_size": 3, "bias": False}, "padded"),
    "lstm_packed": ("LSTM", {"num_layers": 2, "bidirectional": True}, "packed"),
    "lstm_single": ("LSTM", {}, "single"),
    "gru": ("GRU", {"num_layers": 2}, "initial"),
    "gru_plain": ("GRU", {"bias": False, "bidirectional": True}, "padded"),
    "gru_packed": ("GRU", {"num_layers": 2, "bidirectional": True}, "packed"),
    "gru_first": ("GRU", {"batch_first": True}, "initial"),
    "tanh_packed": ("RNN", {"bidirectional": True}, "packed"),
}
FEATURES, HIDDEN, TIME, BATCH = 3, 4, 5, 3


def record(name, kind, options, how, answers, metadata):
    torch.manual_seed(len(name))
    double = {"dtype": torch.float64}
    net = getattr(torch.nn, kind)(FEATURES, HIDDEN, **options, **double)
    parameters = [p for p in net.parameters()]
    sizes = {"single": (TIME, FEATURES)}.get(how, (TIME, BATCH, FEATURES))
    if options.get("batch_first"):
        sizes = (BATCH, TIME, FEATURES)
    x = torch.randn(*sizes, **double, requires_grad=True)
    given, batch_sizes = x, None
    leaves = {"input": x}
    if how == "packed":
        given = torch.nn.utils.rnn.pack_padded_sequence(x.detach(), [5, 3, 2])
        data = given.data.clone().requires_grad_(True)
        leaves["input"] = data
        batch_sizes = given.batch_sizes
        given = torch.nn.utils.rnn.PackedSequence(data, batch_sizes)
    initial = None
    if how in ("initial", "packed"):
        places = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
        out = options.get("proj_size", 0) or HIDDEN
        leaves["h0"] = torch.randn(places, BATCH, out, **double, requires_grad=True)
        initial = leaves["h0"]
        if kind == "LSTM":
            leaves["c0"] = torch.randn(places, BATCH, HIDDEN, **double, requires_grad=True)
            initial = (leaves["h0"], leaves["c0"])
    output, states = net(given, initial)
    if how == "packed":
        output = output.data
    results = {"output": output}
    if kind == "LSTM":
        results["hn"], results["cn"] = states
    else:
        results["hn"] = states
    # Different weights for each result, so that no gradient is another's.
    loss = sum((value.square() * (i + 1)).sum() for i, value in enumerate(results.values()))
    leaves |= {f"parameter.{i}": p for i, p in enumerate(parameters)}
    gradients = torch.autograd.grad(loss, list(leaves.values()), create_graph=True)
    penalty = sum(gradient.square().sum() for gradient in gradients)
    second = torch.autograd.grad(penalty, list(leaves.values()))
    for key, value in leaves.items():
        answers[f"{name}/{key}"] = value.detach()
    for key, value in results.items():
        answers[f"{name}/{key}"] = value.detach()
    for key, value, further in zip(leaves, gradients, second):
        answers[f"{name}/grad/{key}"] = value.detach()
        answers[f"{name}/second/{key}"] = further.detach()
    answers[f"{name}/loss"] = loss.detach()
    if batch_sizes is not None:
        answers[f"{name}/batch_sizes"] = batch_sizes
    words = {"kind": kind, **options}
    metadata[name] = " ".join(f"{key}={value}" for key, value in words.items())


def main():
    answers, metadata = {}, {}
    for name, (kind, options, how) in CASES.items():
        record(name, kind, options, how, answers, metadata)
    answers = {key: value.contiguous() for key, value in answers.items()}
    save_file(answers, HERE / "recurrent.safetensors", metadata)


if __name__ == "__main__":
    main()
