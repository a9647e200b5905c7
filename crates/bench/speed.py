"""Writes the book's page of speed: a selection of `peers.py`, `structured.py` and `steps.py`.

`python crates/bench/speed.py > book/src/speed.md`, where torch and JAX are installed. Each library has one
thread, and what counts is the processor's time, so that others who work on the machine disturb little;
`peers.py` and its kin measure by the clock, on all cores. The page names machine and versions.
"""

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import datetime
import importlib.metadata
import platform
import re
import time

import numpy as np

import allotrope as al
import steps
import structured
from peers import jax, jnp, numpy_dtype, peers_of, torch

al.set_num_threads(1)
if torch is not None:
    torch.set_num_threads(1)

ROUNDS, TURN = 7, 0.03
ELEMENTS = 1 << 22
FLOATS = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn"]


def sample(name, *shape):
    return structured.sample(name, *shape) if name.startswith("int") else (
        np.abs(structured.sample("float32", *shape)) + np.float32(0.25)
    ).astype(numpy_dtype(name))


#: Name, dtypes, sizes, our work and torch's, NumPy's, JAX's.
ROWS = [
    ("x + y, 4 M elements", [*FLOATS, "int8", "int64"], [(ELEMENTS,)] * 2, "xp.add(x, y)", np.add, jax and jnp.add),
    ("exp, 4 M", FLOATS, [(ELEMENTS,)], "xp.exp(x)", np.exp, jax and jnp.exp),
    ("sum, 4 M", [*FLOATS, "int8"], [(ELEMENTS,)], "xp.sum(x)", np.sum, jax and jnp.sum),
    (
        "matmul 512", [*FLOATS, "int8"], [(512, 512)] * 2, "xp.matmul(x, y)",
        lambda x, y: x @ y, lambda x, y: x @ y,
    ),
    (
        "softmax 4096 × 1024", FLOATS, [(4096, 1024)], "xp.softmax(x, -1)",
        structured.softmax, jax and (lambda x: jax.nn.softmax(x, -1)),
    ),
    ("sort, 1 M", ["float32", "bfloat16", "int8", "int64"], [(1 << 20,)], "xp.sort(x)", np.argsort, jax and jnp.argsort),
]  # fmt: skip


def best(works):
    """The least processor time of one call of each work; None where it refuses."""
    times = [None] * len(works)
    for _ in range(ROUNDS):
        for i, work in enumerate(works):
            if work is None:
                continue
            try:
                start, count = time.process_time(), 0
                while count == 0 or time.process_time() - start < TURN:
                    work()
                    count += 1
                taken = (time.process_time() - start) / count
                times[i] = taken if times[i] is None else min(times[i], taken)
            except Exception:  # noqa: BLE001 - a peer that has no kernel
                works[i] = times[i] = None
    return times


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            found = re.search(r"model name\s*: (.*)", file.read())
    except OSError:
        found = None
    return found[1] if found else platform.processor() or platform.machine()


def ratio(theirs, ours):
    return "–" if theirs is None else f"{theirs / ours:.1f}"


def elementwise():
    print("| work | dtype | ms | × NumPy | × torch | × JAX |\n|---|---|---|---|---|---|")
    for name, dtypes, shapes, call, with_numpy, with_jax in ROWS:
        work = eval(f"lambda xp, x, y=None: {call}")
        for dtype in dtypes:
            arrays = [sample(dtype, *shape) for shape in shapes]
            ours, theirs = peers_of(arrays)
            works = [lambda: work(al, *ours), lambda: with_numpy(*theirs["numpy"])]
            works.append((lambda: work(torch, *theirs["torch"])) if torch is not None else None)
            works.append((lambda: with_jax(*theirs["jax"]).block_until_ready()) if jax is not None else None)
            with np.errstate(all="ignore"):
                mine, *others = best(works)
            columns = " | ".join(ratio(other, mine) for other in others)
            print(f"| {name} | {dtype} | {mine * 1e3:.2f} | {columns} |", flush=True)


def version(name):
    try:
        return f"{name} {importlib.metadata.version(name)}"
    except importlib.metadata.PackageNotFoundError:
        return f"without {name}"


def main():
    load = os.getloadavg()[0]
    peers = ", ".join(version(name) for name in ("allotrope", "numpy", "ml_dtypes", "torch", "jax"))
    print(f"""<!-- Written by `python crates/bench/speed.py`; do not edit. -->
# Speed

How many times as fast as each peer, on one thread: 2.0 is half of its time. All take turns, and the
least processor time of several rounds counts; a dash is a dtype that the peer has no kernel for.
float8 and bfloat16 in NumPy are those of ml_dtypes; its and JAX's sort is `argsort`, since ours and torch's
gives indices, too.

Taken on {datetime.date.today()}, on one core of {processor()}, {platform.system()} {platform.machine()}, with a load of {load:.1f}
when it began: {peers}.

## Operations
""")
    elementwise()
    print("""
## Training steps
A forward pass, a loss, a backward pass and a step of AdamW; the same program runs with either library.

| network | precision | ms | × torch |
|---|---|---|---|""")
    for name, precision, ours, theirs in steps.measured(clock=time.process_time):
        print(f"| {name} | {precision} | {ours * 1e3:.1f} | {ratio(theirs, ours)} |", flush=True)


if __name__ == "__main__":
    main()
