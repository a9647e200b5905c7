"""Memory of NumPy that another thread writes to while it is read: any values, but never a panic.

Each kind of operation has a process of its own, since what is out of range may end it.
"""

import os
import subprocess
import sys

import pytest

RACING = """
import sys, threading, time
import numpy as np
import allotrope as al

name, seconds = sys.argv[1], float(sys.argv[2])
COUNT = 200_000
draws = np.random.default_rng(20)
indices = draws.integers(0, COUNT, COUNT)
floats = draws.standard_normal(COUNT).astype("float32")
narrow = draws.standard_normal(COUNT).astype("float16")
bools = draws.integers(0, 2, COUNT).astype(bool)
matrix = draws.standard_normal((400, 500)).astype("float64")
i, f, h, b, m = map(al.from_numpy, (indices, floats, narrow, bools, matrix))
plain = al.arange(COUNT, dtype="float32")
small = i % 100
works = {
    "sort": [
        lambda: f.sort(),
        lambda: i.sort(),
        lambda: h.sort(),
        lambda: m.sort(0),
        lambda: f.argsort(),
        lambda: i[:2000].sort(),
    ],
    "select": [
        lambda: f.topk(100),
        lambda: f.median(),
        lambda: f.kthvalue(5000),
        lambda: f.quantile(0.3),
        lambda: m.median(1),
        lambda: f.nanmedian(),
    ],
    "gather": [
        lambda: plain.gather(0, i),
        lambda: f.gather(0, i),
        lambda: plain.take(i),
        lambda: plain.index_select(0, i),
    ],
    "scatter": [
        lambda: plain.scatter(0, i, f),
        lambda: plain.scatter_add(0, i, f),
        lambda: plain.index_add(0, i, f),
        lambda: plain.index_copy(0, i, f),
        lambda: plain.scatter_reduce(0, i, f, "amax"),
    ],
    "index": [
        lambda: plain[i],
        lambda: f[i],
        lambda: plain.index_put((i,), f),
        lambda: plain.put(i, f),
    ],
    "mask": [
        lambda: plain[b],
        lambda: f[b],
        lambda: b.nonzero(),
        lambda: plain.masked_scatter(b, f),
        lambda: al.where(b, f, plain),
        lambda: f[f > 0],
        lambda: plain.masked_fill(b, 1),
    ],
    "search": [
        lambda: al.searchsorted(f, plain),
        lambda: al.searchsorted(plain, f),
        lambda: al.bucketize(f, plain),
    ],
    "unique": [
        lambda: f.unique(),
        lambda: al.unique(i, return_inverse=True, return_counts=True),
        lambda: al.unique(m[:, :3], dim=0),
        lambda: al.unique_consecutive(i, return_inverse=True),
    ],
    "count": [
        lambda: al.bincount(i),
        lambda: al.histc(f, bins=50),
        lambda: f.count_nonzero(),
        lambda: al.bincount(i, minlength=7),
    ],
    "repeat": [
        lambda: plain[:1000].repeat_interleave(i[:1000] % 5),
        lambda: f.cumsum(0),
        lambda: f.mode(),
    ],
    "embedding": [
        lambda: al.nn.functional.embedding(i, plain.reshape(-1, 1)),
        lambda: al.nn.functional.embedding_bag(i.reshape(-1, 4), plain.reshape(-1, 1)),
    ],
    "loss": [
        lambda: al.nn.functional.nll_loss(m[:, :100], i[:400] % 100),
        lambda: al.nn.functional.one_hot(i[:100] % 9, 9),
        lambda: al.nn.functional.cross_entropy(m[:, :100], i[:400]),
    ],
    "draw": [
        lambda: al.multinomial(f.abs() + 0.001, 100),
        lambda: al.bernoulli(f.abs().clip(0, 1)),
    ],
    "divide": [
        lambda: plain.to(al.int64) // i,
        lambda: plain.to(al.int64) % i,
        lambda: al.tensor(2) ** i,
    ],
    "shape": [
        lambda: f.tolist()[:3],
        lambda: m.T.contiguous(),
        lambda: al.diff(f),
        lambda: m @ m.T,
        lambda: al.linalg.inv(m[:50, :50]),
    ],
}
stop = False

def write():
    turn = 0
    while not stop:
        turn += 1
        indices[:] = draws.integers(0, COUNT, COUNT) if turn % 3 else draws.integers(-2**62, 2**62, COUNT)
        floats[turn % 7 :: 3] = [np.nan, np.inf, -1, 0, 5][turn % 5]
        narrow[turn % 5 :: 2] = turn % 11
        bools[turn % 3 :: 2] ^= True
        matrix[turn % 400] *= -1

writer = threading.Thread(target=write, daemon=True)
writer.start()
end, done = time.monotonic() + seconds, 0
while time.monotonic() < end:
    for work in works[name]:
        try:
            work()
        except Exception:
            # Whatever was read may be out of range; a panic is no Exception.
            pass
        done += 1
stop = True
writer.join()
print(done)
"""

NAMES = [
    "sort", "select", "gather", "scatter", "index", "mask", "search", "unique", "count", "repeat",
    "embedding", "loss", "draw", "divide", "shape",
]


@pytest.mark.parametrize("name", NAMES)
def test_memory_that_changes(name):
    seconds = "10" if os.environ.get("ALLOTROPE_ATTACK") == "long" else "1"
    command = [sys.executable, "-c", RACING, name, seconds]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr[-2000:]
    assert "panicked" not in run.stderr, run.stderr[-2000:]
    assert int(run.stdout) > 0
