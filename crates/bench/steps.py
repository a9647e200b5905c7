"""Whole training steps with modules and AdamW, beside torch's: the same program runs with either.

Each case is a forward pass, a loss, a backward pass and a step, in float32 and under bfloat16
autocast. The libraries take turns; figures are the best of many turns, and how many times as fast as
torch that is. Without torch only our own times are printed.
"""

from __future__ import annotations

import sys
import time

import allotrope as al

try:
    import torch
except ImportError:
    torch = None

ROUNDS = 12
SECONDS = 0.25


def mlp(lib):
    nn = lib.nn
    model = nn.Sequential(
        nn.Linear(784, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    x, y = lib.randn(128, 784), lib.randint(0, 10, (128,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def convnet(lib):
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 8 * 8, 10),
    )  # fmt: skip
    x, y = lib.randn(32, 3, 32, 32), lib.randint(0, 10, (32,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def lstm(lib):
    nn = lib.nn

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(64, 256, batch_first=True)
            self.head = nn.Linear(256, 10)

        def forward(self, x):
            return self.head(self.lstm(x)[0][:, -1])

    model = Reader()
    x, y = lib.randn(32, 64, 64), lib.randint(0, 10, (32,))
    return model, lambda: nn.functional.cross_entropy(model(x), y)


def gpt(lib, letters=74, width=128, heads=4, layers=4, length=64, batch=16):
    nn, F = lib.nn, lib.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

        def forward(self, x):
            b, n, _ = x.shape
            parts = self.qkv(self.norm1(x)).reshape(b, n, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, n, width))
            return x + self.mlp(self.norm2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tokens, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(layers)))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

        def forward(self, tokens):
            x = self.tokens(tokens) + self.places(lib.arange(tokens.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    model = GPT()
    tokens = lib.randint(0, letters, (batch, length + 1))
    x, y = tokens[:, :-1], tokens[:, 1:].flatten()
    return model, lambda: F.cross_entropy(model(x).flatten(0, 1), y)


def step_of(lib, make, is_half):
    """A training step as a function."""
    lib.manual_seed(0)
    model, loss_of = make(lib)
    optimizer = lib.optim.AdamW(model.parameters(), lr=1e-3)

    def step():
        optimizer.zero_grad()
        with lib.autocast("cpu", lib.bfloat16, enabled=is_half):
            loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def seconds(step, clock):
    """The time of a step, from as many as fit into a turn."""
    start, count = clock(), 0
    while clock() - start < SECONDS:
        step()
        count += 1
    return (clock() - start) / count


def measured(wanted=(), clock=time.perf_counter):
    """Each network and dtype of products, with our best time and, if it is there, torch's."""
    libraries = [al] if torch is None else [al, torch]
    for make in (mlp, convnet, lstm, gpt):
        if wanted and make.__name__ not in wanted:
            continue
        for is_half in (False, True):
            steps = [step_of(lib, make, is_half) for lib in libraries]
            best = [min(times) for times in zip(*([seconds(s, clock) for s in steps] for _ in range(ROUNDS)))]
            yield make.__name__, "bfloat16" if is_half else "float32", *best, *[None][len(best) - 1 :]


def main():
    print(f"{'step':10} {'products':10} {'ms':>8} {'torch ms':>9} {'x torch':>8}")
    for name, products, ours, theirs in measured(set(sys.argv[1:])):
        peer = f"{theirs * 1e3:9.2f} {theirs / ours:8.2f}" if theirs else ""
        print(f"{name:10} {products:10} {ours * 1e3:8.2f} {peer}", flush=True)


if __name__ == "__main__":
    main()
