"""The pieces of a training step against torch, where it is installed: forward, and backward alone.

Each figure is how many times as fast we are as torch, from the best of many short turns that both
take, on the same number of threads; inputs require gradients, and the forward saves what the backward
reads. `bf16` beside the step of a network is our own time for float32 over that under autocast.
`python crates/bench/training.py [--turns n] [name …]`
"""

import argparse
import time

import numpy as np

import allotrope as al
from peers import THREADS, torch

DTYPES = ["float32", "bfloat16"]
TURNS = 12
TURN = 0.012
# Threads of OpenMP go on turning after their work, on the cores of the next.
PAUSE = 0.012


def normal(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def classes(bound, *shape):
    return np.random.default_rng(2).integers(0, bound, shape)


def with_terms(function, *shape, channel=-1):
    """A normalisation with a weight and a bias."""
    count = shape[channel]
    return [normal(*shape), normal(count), normal(count)], function


def batch_norm(training):
    def run(f, x, w, b):
        mean, variance = (b * 0).detach(), (b * 0 + 1).detach()
        return f.batch_norm(x, mean, variance, w, b, training=training)

    return run


def permuted(*order):
    return lambda f, x: x.permute(*order).contiguous()


# Of each piece: what it reads, and what becomes of it in `nn.functional` of either library.
PIECES = {
    "layer_norm 4096x768": with_terms(lambda f, x, w, b: f.layer_norm(x, (768,), w, b), 4096, 768),
    "layer_norm 64x128x64": with_terms(lambda f, x, w, b: f.layer_norm(x, (64,), w, b), 64, 128, 64),
    "rms_norm 4096x768": ([normal(4096, 768), normal(768)], lambda f, x, w: f.rms_norm(x, (768,), w)),
    "group_norm 32x64x28x28": with_terms(
        lambda f, x, w, b: f.group_norm(x, 8, w, b), 32, 64, 28, 28, channel=1
    ),
    "instance_norm 32x64x28x28": with_terms(
        lambda f, x, w, b: f.instance_norm(x, None, None, w, b), 32, 64, 28, 28, channel=1
    ),
    "batch_norm 32x64x28x28": with_terms(batch_norm(True), 32, 64, 28, 28, channel=1),
    "batch_norm 4096x256": with_terms(batch_norm(True), 4096, 256, channel=1),
    "batch_norm eval 32x64x28x28": with_terms(batch_norm(False), 32, 64, 28, 28, channel=1),
    "max_pool1d 32x64x1024": ([normal(32, 64, 1024)], lambda f, x: f.max_pool1d(x, 2)),
    "max_pool2d 32x64x28x28": ([normal(32, 64, 28, 28)], lambda f, x: f.max_pool2d(x, 2)),
    "max_pool2d 3/2/1 16x64x56x56": (
        [normal(16, 64, 56, 56)],
        lambda f, x: f.max_pool2d(x, 3, stride=2, padding=1),
    ),
    "max_pool3d 4x16x16x32x32": ([normal(4, 16, 16, 32, 32)], lambda f, x: f.max_pool3d(x, 2)),
    "gelu 1M": ([normal(1 << 20)], lambda f, x: f.gelu(x)),
    "gelu tanh 1M": ([normal(1 << 20)], lambda f, x: f.gelu(x, approximate="tanh")),
    "relu 1M": ([normal(1 << 20)], lambda f, x: f.relu(x)),
    "silu 1M": ([normal(1 << 20)], lambda f, x: f.silu(x)),
    "cross_entropy 128x10": (
        [normal(128, 10), classes(10, 128)],
        lambda f, x, y: f.cross_entropy(x, y),
    ),
    "cross_entropy 4096x1000": (
        [normal(4096, 1000), classes(1000, 4096)],
        lambda f, x, y: f.cross_entropy(x, y),
    ),
    "embedding 8192 of 10000x256": (
        [classes(10000, 8192), normal(10000, 256)],
        lambda f, i, w: f.embedding(i, w),
    ),
    "permuted 512x512": ([normal(512, 512)], permuted(1, 0)),
    "permuted 64x64x64 (0, 2, 1)": ([normal(64, 64, 64)], permuted(0, 2, 1)),
    "permuted 64x64x64 (2, 0, 1)": ([normal(64, 64, 64)], permuted(2, 0, 1)),
    "permuted 8x128x4x64 (0, 2, 1, 3)": ([normal(8, 128, 4, 64)], permuted(0, 2, 1, 3)),
    "conv2d 3->32 16x64x64": (
        [normal(16, 3, 64, 64), normal(32, 3, 3, 3), normal(32)],
        lambda f, x, w, b: f.conv2d(x, w, b, padding=1),
    ),
    "conv2d 32->64 16x32x32": (
        [normal(16, 32, 32, 32), normal(64, 32, 3, 3), normal(64)],
        lambda f, x, w, b: f.conv2d(x, w, b, padding=1),
    ),
}


def operands(lib, arrays, dtype):
    """The arrays as tensors of a library, floats in a dtype and with gradients."""
    made = []
    for array in arrays:
        if array.dtype.kind == "i":
            made.append(lib.tensor(array))
        else:
            made.append(lib.tensor(array).to(getattr(lib, dtype)).requires_grad_())
    return made


def halves_of(lib, arrays, function, dtype):
    """A piece as two calls: forward, and backward of a result that is made beforehand."""
    xs = operands(lib, arrays, dtype)
    functional = lib.nn.functional
    gradient = lib.ones_like(function(functional, *xs).detach())

    def forward():
        start = time.perf_counter()
        made = function(functional, *xs)
        taken = time.perf_counter() - start
        del made
        return taken

    def backward():
        for x in xs:
            if x.requires_grad:
                x.grad = None
        made = function(functional, *xs)
        start = time.perf_counter()
        made.backward(gradient)
        return time.perf_counter() - start

    return forward, backward


def step_of(lib, autocast):
    """A step of a network of three layers for a batch of 128 rows of 784."""
    functional = lib.nn.functional
    sizes = [784, 1024, 1024, 10]
    made = zip(sizes[1:], sizes[:-1], strict=True)
    weights = [lib.tensor(normal(*size) * 0.03).requires_grad_() for size in made]
    biases = [lib.tensor(normal(size)).requires_grad_() for size in sizes[1:]]
    x, y = lib.tensor(normal(128, 784)), lib.tensor(classes(10, 128))

    def step():
        for parameter in weights + biases:
            parameter.grad = None
        start = time.perf_counter()
        with lib.autocast("cpu", lib.bfloat16, enabled=autocast):
            out = x
            for i, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
                out = functional.linear(out, weight, bias)
                if i < 2:
                    out = functional.relu(out)
            loss = functional.cross_entropy(out, y)
        loss.backward()
        return time.perf_counter() - start

    return step


def take_turns(works, turns):
    """The least time that each work reports."""
    least = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(turns):
        for i, work in enumerate(works):
            time.sleep(PAUSE)
            end = time.perf_counter() + TURN
            while True:
                least[i] = min(least[i], work())
                if time.perf_counter() >= end:
                    break
    return least


def figure(ours, theirs):
    return f"{ours * 1e6:9.1f} us" + (f"{theirs / ours:7.2f}" if theirs else "      -")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    al.set_num_threads(THREADS)
    libraries = [al] if torch is None else [al, torch]
    chosen = [name for name in PIECES if not options.names or any(n in name for n in options.names)]
    print(f"{'':34}" + "".join(f"{dtype + ' ' + way:>20}" for dtype in DTYPES for way in ("->", "<-")))
    for name in chosen:
        arrays, function = PIECES[name]
        row = f"{name:34}"
        for dtype in DTYPES:
            pairs = [halves_of(lib, arrays, function, dtype) for lib in libraries]
            for work in zip(*pairs, strict=True):
                times = take_turns(work, options.turns)
                row += "  " + figure(times[0], times[1] if len(times) > 1 else None)
        print(row, flush=True)
    if not options.names or any("step" in name for name in options.names):
        works = [step_of(lib, autocast) for autocast in (False, True) for lib in libraries]
        times = take_turns(works, options.turns * 2)
        count = len(libraries)
        plain, cast = times[:count], times[count:]
        print(f"{'step 784-1024-1024-10':34}  " + figure(*(plain + [None])[:2]))
        print(f"{'the same under autocast':34}  " + figure(*(cast + [None])[:2]))
        print(f"{'our float32 over autocast':34}{plain[0] / cast[0]:21.2f}")


if __name__ == "__main__":
    main()
