"""Gradients against torch, where it is installed: overhead, chains, and memory of training.

Every figure is a ratio within one run: above 1 is faster, or less memory, than torch.
"""

import argparse
import os
import subprocess
import sys
import time

CHAIN = [
    "tanh", "sigmoid", "exp", "neg", "sin", "cos", "square", "sigmoid", "log1p", "sqrt",
    "tanh", "sin", "exp", "neg", "sigmoid", "cos", "square", "log1p", "sqrt", "tanh",
]  # fmt: skip


def best(call, seconds=1.0):
    """The least time of a call, after one to warm up."""
    call()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def load(name):
    if name == "allotrope":
        import allotrope

        return allotrope
    import torch

    torch.set_num_threads(os.cpu_count())
    return torch


def tiny(lib):
    """Seconds per operation, forward and back, of 100 operations on 16 elements."""
    x = lib.ones(16).requires_grad_()

    def run():
        y = x
        for _ in range(50):
            y = y * 1.5
            y = y.sin()
        y.sum().backward()
        x.grad = None

    return best(run) / 100


def tiny_forward(lib):
    x = lib.ones(16).requires_grad_()

    def run():
        y = x
        for _ in range(50):
            y = y * 1.5
            y = y.sin()

    return best(run) / 100


def chain(lib):
    """Seconds of the backward of 20 operations on a million elements."""
    x = (lib.rand(1_000_000) * 0.5 + 0.25).requires_grad_()
    times = []
    for _ in range(12):
        y = x
        for name in CHAIN:
            y = getattr(y, name)()
        loss = y.sum()
        start = time.perf_counter()
        loss.backward()
        times.append(time.perf_counter() - start)
        x.grad = None
    return min(times)


def mlp(lib):
    """A training step of three layers, of a batch of 512 rows of 1024."""
    functional = lib.nn.functional
    weights = [(lib.randn(1024, 1024) * 0.03).requires_grad_() for _ in range(6)]
    x = lib.randn(512, 1024)
    for _ in range(3):
        y = x
        for weight in weights:
            y = functional.gelu(functional.linear(y, weight))
        y.square().mean().backward()


def attention(lib):
    """A training step of a block of attention, 4 heads of 64 over 1024 places, twice."""
    functional = lib.nn.functional
    weights = [(lib.randn(256, 256) * 0.06).requires_grad_() for _ in range(4)]
    x = lib.randn(4, 1024, 256)
    for _ in range(3):
        q, k, v = (functional.linear(x, w).reshape(4, 1024, 4, 64).transpose(1, 2) for w in weights[:3])
        y = functional.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(4, 1024, 256)
        functional.layer_norm(functional.linear(y, weights[3]), (256,)).square().mean().backward()


def resident():
    """The most memory that this process has had, in MB."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return 0.0


def memory(lib, case):
    """What a case adds to the memory of a process that has only imported the library."""
    (lib.ones(8, 8) @ lib.ones(8, 8)).sum()
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    before = resident()
    case(lib)
    return resident() - before


CASES = {
    "tiny": lambda lib: tiny(lib),
    "tiny_forward": lambda lib: tiny_forward(lib),
    "chain": lambda lib: chain(lib),
    "mlp": lambda lib: memory(lib, mlp),
    "attention": lambda lib: memory(lib, attention),
}
TITLES = {
    "tiny": ("an operation on 16 elements, there and back", 1e6, "us"),
    "tiny_forward": ("the same, there alone", 1e6, "us"),
    "chain": ("back through 20 operations, 1 M elements", 1e3, "ms"),
    "mlp": ("memory of a step of six layers", 1, "MB"),
    "attention": ("memory of a step of attention", 1, "MB"),
}


def measure(name, case):
    """One case in a process of its own; None where the library is not there."""
    command = [sys.executable, __file__, "--library", name, "--case", case]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library")
    parser.add_argument("--case")
    options = parser.parse_args()
    if options.library:
        print(CASES[options.case](load(options.library)))
        return
    print(f"{'':45}{'allotrope':>12}{'torch':>12}{'ratio':>8}")
    for case, (title, scale, unit) in TITLES.items():
        ours, theirs = (measure(name, case) for name in ("allotrope", "torch"))
        row = f"{title:45}{ours * scale:9.2f} {unit}"
        if theirs is not None:
            row += f"{theirs * scale:9.2f} {unit}{theirs / ours:8.2f}"
        print(row)


if __name__ == "__main__":
    main()
