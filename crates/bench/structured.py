"""Structured operations against NumPy, and against torch where it is installed.

Each figure is how many times as fast we are as the peer, from the best of several rounds in which
all take turns, on the same number of threads; `f32` is our own time for float32 over that for the
dtype. A second table has the dtype of at most 32 bits that takes longest beside float32, for these
and other operations: none is to take more than 1.5 times as long.
`python crates/bench/structured.py [--narrow] [name …]`, with `--narrow` for the second table alone.
"""

import sys

import numpy as np

import allotrope as al
from peers import THREADS, best, numpy_dtype, torch

F = al.nn.functional
FLOATS = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn"]
NARROW = ["float32", "float16", "bfloat16", "float8_e4m3fn", "int8", "uint8", "int16", "int32"]
ALL = [*FLOATS, "int8", "int16", "int32", "int64"]

# Threads of OpenBLAS go on turning for up to 60 ms after their work: a product of torch's took 400 times
# as long, one of ours twice.
PAUSE = 0.1
# How much longer than float32 other dtypes of at most 32 bits may take, and how often more is measured
# again.
BOUND, REPEATS = 1.5, 3
AT_MOST_32_BITS = [d.name for d in al.dtypes() if d.itemsize <= 4 and d != al.float32]


def sample(name, *shape):
    """Numbers in no order."""
    generator = np.random.default_rng(1)
    if name == "bool":
        return generator.integers(0, 2, shape).astype(name)
    if name.startswith(("int", "uint")):
        return generator.integers(0, 50, shape).astype(name)
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


def positive(name, n):
    x = sample("float64", n, n)
    return (x @ x.T + np.eye(n)).astype(name)


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
    **{
        f"matmul {count} x {n} x {n}": (
            ["float32", "float64"], lambda d, s=(count, n, n): [sample(d, *s), sample(d, *s)],
            *[lambda a, b: a @ b] * 3,
        )
        for count, n in [(10_000, 2), (10_000, 3), (1000, 4), (1000, 8), (1000, 16)]
    },
    **{
        f"cholesky {n}": (
            ["float32", "float64"], lambda d, n=n: [positive(d, n)],
            al.linalg.cholesky, np.linalg.cholesky, lambda a: torch.linalg.cholesky(a),
        )
        for n in (200, 500)
    },
    **{
        f"lstsq {m} x {n}": (
            ["float32", "float64"], lambda d, m=m, n=n: [sample(d, m, n), sample(d, m, 1)],
            al.linalg.lstsq, np.linalg.lstsq, lambda a, b: torch.linalg.lstsq(a, b),
        )
        for m, n in [(200, 200), (400, 200)]
    },
    **{
        f"{name} 10000 x {n} x {n}": (
            ["float32", "float64"],
            lambda d, n=n, k=k: [sample(d, 10_000, n, n), *[sample(d, 10_000, n, 1)] * k],
            *[lambda *x, m=m, name=name: getattr(m.linalg, name)(*x) for m in (al, np, torch)],
        )
        for name, k in [("inv", 0), ("det", 0), ("solve", 1)]
        for n in (2, 3, 4, 8)
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
    **{
        f"{name} {rows} x {length}": (
            dtypes, lambda d, rows=rows, length=length: [sample(d, rows, length)],
            lambda x, name=name: getattr(al, name)(x, 1),
            lambda x, name=name: getattr(np, name)(x, 1),
            lambda x, name=name: getattr(torch, name)(x, 1),
        )
        for name, rows, length, dtypes in [
            ("cumsum", 300_000, 3, ["float32"]),
            ("cumsum", 100_000, 10, ["float32", "bfloat16", "int64"]),
            ("cumsum", 30_000, 32, ["float32"]),
            ("cumprod", 100_000, 10, ["float32"]),
        ]
    },
    "unique 1 M": (
        ["float32", "float64", "bool", "uint8", "int16", "int64"], lambda d: [sample(d, 1 << 20)],
        lambda x: al.unique(x), np.unique, lambda x: torch.unique(x),
    ),
    "unique 1 M, inverse, counts": (
        ["float32", "uint8", "int64"], lambda d: [sample(d, 1 << 20)],
        lambda x: al.unique(x, True, True, True), lambda x: np.unique(x, False, True, True),
        lambda x: torch.unique(x, True, True, True),
    ),
    "unique_consecutive 1 M": (
        ["float32", "int64"], lambda d: [sample(d, 1 << 20)],
        lambda x: al.unique_consecutive(x), None, lambda x: torch.unique_consecutive(x),
    ),
    "repeat_interleave 1 M, 3": (
        ALL, lambda d: [sample(d, 1 << 20)],
        lambda x: al.repeat_interleave(x, 3), lambda x: np.repeat(x, 3),
        lambda x: torch.repeat_interleave(x, 3),
    ),
    "cdist 500 x 500 x 64": (
        ["float32", "float64"], lambda d: [sample(d, 500, 64), sample(d, 500, 64)],
        lambda x, y: al.cdist(x, y), None, lambda x, y: torch.cdist(x, y),
    ),
    "pdist 300 x 64": (
        ["float32"], lambda d: [sample(d, 300, 64)], F.pdist, None, lambda x: TF.pdist(x),
    ),
    "huber_loss 1 M": (
        ["float32"], lambda d: [sample(d, 1 << 20), sample(d, 1 << 20)[::-1].copy()],
        F.huber_loss, None, lambda x, y: TF.huber_loss(x, y),
    ),
    "smooth_l1_loss 1 M": (
        ["float32"], lambda d: [sample(d, 1 << 20), sample(d, 1 << 20)[::-1].copy()],
        F.smooth_l1_loss, None, lambda x, y: TF.smooth_l1_loss(x, y),
    ),
    "where 1 M": (
        ["float32", "int8", "float64"],
        lambda d: [sample("bool", 1 << 20), sample(d, 1 << 20), sample(d, 1 << 20)],
        lambda c, x, y: al.where(c, x, y), np.where, lambda c, x, y: torch.where(c, x, y),
    ),
    **{
        name: (
            ["float32", "int8"],
            lambda d, key=key: [sample(d, 1000, 1000), key()],
            *[lambda x, key: x.__setitem__(key, True)] * 3,
        )
        for name, key in {
            "assign 1000 rows": lambda: indices(1000, 1000),
            "assign by a mask of 1 M": lambda: sample("bool", 1000, 1000),
        }.items()
    },
    "isin 1 M, 5": (
        ["float32", "int64"], lambda d: [sample(d, 1 << 20), sample(d, 5)],
        lambda x, y: al.isin(x, y), np.isin, lambda x, y: torch.isin(x, y),
    ),
    "isin 1 M, 100000": (
        ["int64"], lambda d: [indices(1_000_000, 1 << 20), indices(1_000_000, 100_000)],
        lambda x, y: al.isin(x, y), np.isin, lambda x, y: torch.isin(x, y),
    ),
    "histogram 1 M, 100": (
        ["float32"], lambda d: [sample(d, 1 << 20)],
        lambda x: al.histogram(x, 100), lambda x: np.histogram(x, 100),
        lambda x: torch.histogram(x, 100),
    ),
    "embedding_bag 256 x 32 of 10000 x 64": (
        ["float32"], lambda d: [indices(10_000, 256, 32), sample(d, 10_000, 64)],
        lambda i, w: F.embedding_bag(i, w), None, lambda i, w: TF.embedding_bag(i, w),
    ),
    "trapezoid 1 M": (
        ["float32"], lambda d: [sample(d, 1 << 20)],
        lambda x: al.trapezoid(x), np.trapezoid, lambda x: torch.trapezoid(x),
    ),
    "cat 1000 x 16": (
        ["float32"], lambda d: [sample(d, 16) for _ in range(1000)],
        lambda *x: al.cat(x), lambda *x: np.concatenate(x), lambda *x: torch.cat(x),
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
        lambda x: al.tensor(x), np.copy, lambda x: x.clone(),
    ),
}

# Name: arrays of a dtype, our work. Indices and masks do not depend on the dtype.
OTHERS = {
    "log_softmax 4096 x 1024": (
        lambda d: [sample(d, 4096, 1024)], lambda x: al.log_softmax(x, -1),
    ),
    "softmax along axis 0": (
        lambda d: [sample(d, 1024, 1024)], lambda x: al.softmax(x, 0),
    ),
    "softmax 100000 x 10": (
        lambda d: [sample(d, 100_000, 10)], lambda x: al.softmax(x, -1),
    ),
    "rms_norm 4096 x 1024": (
        lambda d: [sample(d, 4096, 1024)], lambda x: F.rms_norm(x, (1024,)),
    ),
    "group_norm 8 x 64 x 56 x 56": (
        lambda d: [sample(d, 8, 64, 56, 56)], lambda x: F.group_norm(x, 8),
    ),
    "batch_norm 8 x 64 x 56 x 56": (
        lambda d: [sample(d, 8, 64, 56, 56)],
        lambda x: F.batch_norm(x, None, None, training=True),
    ),
    "cumprod 1000 x 1000": (
        lambda d: [sample(d, 1000, 1000)], lambda x: al.cumprod(x, 1),
    ),
    "cummax 1000 x 1000": (
        lambda d: [sample(d, 1000, 1000)], lambda x: al.cummax(x, 1),
    ),
    "index_select 1000 of 1000 rows": (
        lambda d: [sample(d, 1000, 1000), indices(1000, 1000)],
        lambda x, i: al.index_select(x, 0, i),
    ),
    "take_along_dim 1000 x 1000": (
        lambda d: [sample(d, 1000, 1000), indices(1000, 1000, 1000)],
        lambda x, i: al.take_along_dim(x, i, 0),
    ),
    "embedding 10000 of 1000 x 256": (
        lambda d: [indices(1000, 10_000), sample(d, 1000, 256)], F.embedding,
    ),
    "embedding_bag 1000 x 20 of 1000 x 256": (
        lambda d: [indices(1000, 1000, 20), sample(d, 1000, 256)], F.embedding_bag,
    ),
    "scatter_add 1000 x 1000": (
        lambda d: [sample(d, 1000, 1000), indices(1000, 1000, 1000), sample(d, 1000, 1000)],
        lambda x, i, y: al.scatter_add(x, 1, i, y),
    ),
    "masked_select 1 M": (
        lambda d: [sample(d, 1 << 20), sample("bool", 1 << 20)], al.masked_select,
    ),
    "nonzero 1 M": (lambda d: [sample(d, 1 << 20)], al.nonzero),
    "max_pool2d 8 x 64 x 56 x 56": (
        lambda d: [sample(d, 8, 64, 56, 56)], lambda x: F.max_pool2d(x, 3, 2, 1),
    ),
    "avg_pool2d 8 x 64 x 56 x 56": (
        lambda d: [sample(d, 8, 64, 56, 56)], lambda x: F.avg_pool2d(x, 3, 2, 1),
    ),
    "interpolate to twice the size": (
        lambda d: [sample(d, 8, 16, 56, 56)],
        lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"),
    ),
}


def narrow_table(wanted):
    """The worst dtype of at most 32 bits of each operation, and all that are beyond the bound."""
    print("\ntimes as long as float32 (lower is better)")
    print(f"{'':>40}{'f32 ms':>10}{'worst':>8}")
    works = {name: (work[1], work[2]) for name, work in WORKS.items()} | OTHERS
    for name, (arrays, work) in works.items():
        if wanted and not any(part in name for part in wanted):
            continue
        plain = [al.tensor(a) for a in arrays("float32")]
        ratios = {}
        for dtype in AT_MOST_32_BITS:
            given = [al.tensor(a) for a in arrays(dtype)]
            both = [lambda: work(*plain), lambda given=given: work(*given)]
            first, own = best(both, 0)
            # A disturbance is as likely as a slow kernel: the least of both, some rounds more.
            for _ in range(REPEATS):
                if own is not None and own / first > BOUND:
                    first, own = map(min, (first, own), best(both, 0))
            if own is not None:
                ratios[dtype] = (own / first, first)
        if not ratios:
            continue
        worst = max(ratios, key=ratios.get)
        beyond = [f"{d} {r:.2f}" for d, (r, _) in ratios.items() if r > BOUND and d != worst]
        milliseconds = min(first for _, first in ratios.values()) * 1e3
        line = f"{name:>40}{milliseconds:>10.3f}{ratios[worst][0]:>8.2f} {worst}"
        print(line + (f"; also {', '.join(beyond)}" if beyond else ""), flush=True)


def measure(work, arrays):
    """Our best time, NumPy's and torch's; None where a peer has no kernel."""
    _, _, ours, numpys, torchs = work
    mine, theirs = [al.tensor(a) for a in arrays], [peer(a) for a in arrays]
    candidates = [lambda: ours(*mine)]
    candidates.append((lambda: numpys(*arrays)) if numpys else None)
    candidates.append((lambda: torchs(*theirs)) if torch is not None else None)
    with np.errstate(all="ignore"):
        return best(candidates, PAUSE)


def main():
    wanted = [a for a in sys.argv[1:] if a != "--narrow"]
    if "--narrow" in sys.argv:
        return narrow_table(wanted)
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
            if times[0] is None:
                continue
            ratios = ["-" if t is None else f"{t / times[0]:.2f}" for t in times[1:]]
            ratios.append(f"{reference / times[0]:.2f}")
            print(f"{f'{name} {dtype}':>46}{times[0] * 1e3:>10.3f}" + "".join(f"{r:>8}" for r in ratios))
    narrow_table(wanted)


if __name__ == "__main__":
    main()
