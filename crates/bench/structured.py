"""Structured operations against NumPy, and against torch where it is installed.

Each figure is how many times as fast we are as the peer, from the best of several rounds in which
all take turns, on the same number of threads; `f32` is our own time for float32 over that for the
dtype, which is to stay above 0.67 for dtypes of at most 32 bits.
`python crates/bench/structured.py [name …]`
"""

import sys

import numpy as np

import allotrope as al
from peers import THREADS, best, numpy_dtype, torch

F = al.nn.functional
FLOATS = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn"]
NARROW = ["float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "uint8", "int16", "int32"]
ALL = [*FLOATS, "int8", "int16", "int32", "int64"]


def sample(name, *shape):
    """Numbers in no order."""
    generator = np.random.default_rng(1)
    if name.startswith(("int", "uint")):
        return generator.integers(0, 100, shape).astype(name)
    return generator.standard_normal(shape).astype(numpy_dtype(name))


def indices(bound, *shape):
    return np.random.default_rng(2).integers(0, bound, shape)


def peer(array):
    return None if torch is None else torch.from_dlpack(al.tensor(array))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(q, k, v):
    return softmax(q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(q.shape[-1]))) @ v


TF = torch and torch.nn.functional

# Name: dtypes, arrays of a dtype, our work, NumPy's, torch's.
WORKS = {
    **{
        f"matmul {n}": (
            NARROW if n in (512, 1024) else ["float32"],
            lambda d, n=n: [sample(d, n, n), sample(d, n, n)],
            lambda a, b: a @ b,
            lambda a, b: a @ b,
            lambda a, b: a @ b,
        )
        for n in (128, 256, 512, 1024, 2048)
    },
    "softmax 4096 x 1024": (
        FLOATS, lambda d: [sample(d, 4096, 1024)],
        lambda x: al.softmax(x, -1), softmax, lambda x: torch.softmax(x, -1),
    ),
    "layer_norm 4096 x 1024": (
        FLOATS, lambda d: [sample(d, 4096, 1024)],
        lambda x: F.layer_norm(x, (1024,)), layer_norm, lambda x: TF.layer_norm(x, (1024,)),
    ),
    "sort 1 M": (
        ALL, lambda d: [sample(d, 1 << 20)],
        lambda x: al.sort(x), np.argsort, lambda x: torch.sort(x),
    ),
    "sort 1000 x 1000": (
        ALL, lambda d: [sample(d, 1000, 1000)],
        lambda x: al.sort(x), lambda x: np.argsort(x, -1), lambda x: torch.sort(x),
    ),
    "topk 100 of 1 M": (
        ALL, lambda d: [sample(d, 1 << 20)],
        lambda x: al.topk(x, 100), lambda x: np.argpartition(x, -100)[-100:],
        lambda x: torch.topk(x, 100),
    ),
    "cumsum 1000 x 1000": (
        ALL, lambda d: [sample(d, 1000, 1000)],
        lambda x: al.cumsum(x, 1), lambda x: np.cumsum(x, 1), lambda x: torch.cumsum(x, 1),
    ),
    "cumsum along axis 0": (
        ALL, lambda d: [sample(d, 1000, 1000)],
        lambda x: al.cumsum(x, 0), lambda x: np.cumsum(x, 0), lambda x: torch.cumsum(x, 0),
    ),
    "gather 1000 x 1000": (
        ALL, lambda d: [sample(d, 1000, 1000), indices(1000, 1000, 1000)],
        lambda x, i: al.gather(x, 1, i), lambda x, i: np.take_along_axis(x, i, 1),
        lambda x, i: torch.gather(x, 1, i),
    ),
    "conv2d 8 x 64 x 56 x 56, 3 x 3": (
        NARROW, lambda d: [sample(d, 8, 64, 56, 56), sample(d, 64, 64, 3, 3)],
        lambda x, w: F.conv2d(x, w, padding=1), None, lambda x, w: TF.conv2d(x, w, padding=1),
    ),
    "attention 4 x 8 x 1024 x 64": (
        ["float32", "float16", "bfloat16"], lambda d: [sample(d, 4, 8, 1024, 64) for _ in range(3)],
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v), attention,
        lambda q, k, v: TF.scaled_dot_product_attention(q, k, v),
    ),
    "cat 2 x 4 M": (
        ALL, lambda d: [sample(d, 1 << 22), sample(d, 1 << 22)],
        lambda a, b: al.cat([a, b]), lambda a, b: np.concatenate([a, b]),
        lambda a, b: torch.cat([a, b]),
    ),
    "transposed copy 4096 x 4096": (
        ALL, lambda d: [sample(d, 4096, 4096)],
        lambda x: x.t().contiguous(), lambda x: np.ascontiguousarray(x.T),
        lambda x: x.t().contiguous(),
    ),
    "memcpy of the same": (
        ALL, lambda d: [sample(d, 4096, 4096)],
        lambda x: x.clone(), np.copy, lambda x: x.clone(),
    ),
}


def measure(work, arrays):
    """Our best time, NumPy's and torch's; None where a peer has no kernel."""
    _, _, ours, numpys, torchs = work
    mine, theirs = [al.tensor(a) for a in arrays], [peer(a) for a in arrays]
    candidates = [lambda: ours(*mine)]
    candidates.append((lambda: numpys(*arrays)) if numpys else None)
    candidates.append((lambda: torchs(*theirs)) if torch is not None else None)
    with np.errstate(all="ignore"):
        return best(candidates)


def main():
    wanted = sys.argv[1:]
    print(f"{THREADS} threads; times as fast as each peer (higher is better)")
    print(f"{'':>36}{'ms':>10}{'numpy':>8}{'torch':>8}{'f32':>8}")
    for name, work in WORKS.items():
        if wanted and not any(part in name for part in wanted):
            continue
        reference = None
        for dtype in work[0]:
            ours_alone = name.startswith(("matmul", "conv2d")) and dtype != "float32"
            # Peers multiply integers, and NumPy halves, element by element: seconds.
            is_integer = dtype.startswith(("int", "uint"))
            peers = (None if ours_alone else work[3], None if ours_alone and is_integer else work[4])
            times = measure((*work[:3], *peers), work[1](dtype))
            reference = reference or times[0]
            ratios = ["-" if t is None else f"{t / times[0]:.2f}" for t in times[1:]]
            ratios.append(f"{reference / times[0]:.2f}")
            print(f"{f'{name} {dtype}':>46}{times[0] * 1e3:>10.3f}" + "".join(f"{r:>8}" for r in ratios))


if __name__ == "__main__":
    main()
