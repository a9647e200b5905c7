"""Elementwise operations against NumPy, and against torch and JAX where they are installed.

Each figure is how many times as fast we are as the peer, from the best of several rounds in which
all take turns, on the same number of threads. `python crates/bench/peers.py [elements …]`
"""

import os
import re
import subprocess
import sys
import time

THREADS = os.cpu_count() or 1
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

import allotrope as al  # noqa: E402

try:
    import torch

    torch.set_num_threads(THREADS)
except ImportError:
    torch = None
try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

ROUNDS = 5
TURN = 0.02
# Threads of OpenMP go on turning after their work, on the cores of the next.
PAUSE = 0.02
DTYPES = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "int8", "int32", "int64"]
MIXED = [
    ("float32", "bfloat16"),
    ("float32", "float16"),
    ("uint8", "float32"),
    ("int8", "int64"),
    ("float32", "complex64"),
]
UNARY = ["exp", "tanh", "sqrt"]


def numpy_dtype(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def sample(name, elements):
    """Numbers around one."""
    values = (np.arange(elements) % 251) / 128 + 0.25
    if name.startswith(("int", "uint")):
        values = values * 16
    return values.astype(numpy_dtype(name))


def best(works, pause=PAUSE):
    """The best time of one call of each work; None where it refuses.

    All take turns, a turn being calls for `TURN` seconds after a pause: threads that the work before
    left waiting, or its data in the caches, are not what is measured.
    """
    works = list(works)
    times = [None] * len(works)
    for _ in range(ROUNDS):
        for i, work in enumerate(works):
            if work is None:
                continue
            time.sleep(pause)
            end = time.perf_counter() + TURN
            try:
                while True:
                    start = time.perf_counter()
                    result = work()
                    taken = time.perf_counter() - start
                    del result
                    times[i] = taken if times[i] is None else min(times[i], taken)
                    if start + taken >= end:
                        break
            except Exception:  # noqa: BLE001 - a peer that has no kernel
                works[i] = None
                times[i] = None
    return times


def peers_of(arrays):
    """The same data as tensors of each library, in its own memory."""
    ours = [al.tensor(a) for a in arrays]
    theirs = {"numpy": arrays}
    if torch is not None:
        theirs["torch"] = [
            torch.from_dlpack(al.tensor(a)) for a in arrays
        ]
    if jax is not None:
        theirs["jax"] = [jnp.asarray(a) for a in arrays]
    return ours, theirs


def compare(label, elements, arrays, ours, numpy_work, torch_work, jax_work):
    mine, theirs = peers_of(arrays)
    works = [lambda: ours(*mine), lambda: numpy_work(*theirs["numpy"])]
    works.append((lambda: torch_work(*theirs["torch"])) if torch is not None else None)
    works.append(
        (lambda: jax_work(*theirs["jax"]).block_until_ready()) if jax is not None else None
    )
    with np.errstate(all="ignore"):
        times = best(works)
    ratios = ["-" if t is None else f"{t / times[0]:.1f}" for t in times[1:]]
    nanoseconds = times[0] / elements * 1e9
    print(f"{label:>34}{nanoseconds:>9.2f}" + "".join(f"{r:>8}" for r in ratios))
    return times


def main():
    sizes = [int(a) for a in sys.argv[1:]] or [1 << 20, 1 << 24]
    print(f"{THREADS} threads; times as fast as each peer (higher is better)")
    for elements in sizes:
        print(f"\n{f'{elements} elements':>34}{'ns/el':>9}{'numpy':>8}{'torch':>8}{'jax':>8}")
        for name in DTYPES:
            x = sample(name, elements)
            for op in ["add", "mul"]:
                compare(
                    f"{op} {name}", elements, [x, x.copy()], getattr(al, op),
                    np.add if op == "add" else np.multiply,
                    torch and getattr(torch, op), jax and getattr(jnp, "add" if op == "add" else "multiply"),
                )
            for op in UNARY:
                compare(
                    f"{op} {name}", elements, [x], getattr(al, op), getattr(np, op),
                    torch and getattr(torch, op), jax and getattr(jnp, op),
                )
            compare(f"sum {name}", elements, [x], al.sum, np.sum, torch and torch.sum, jax and jnp.sum)
            grid = x[: elements // 1024 * 1024].reshape(-1, 1024)
            compare(
                f"sum axis 0 {name}", elements, [grid], lambda a: al.sum(a, 0),
                lambda a: np.sum(a, 0), lambda a: torch.sum(a, 0), lambda a: jnp.sum(a, 0),
            )
        for a, b in MIXED:
            compare(
                f"add {a} + {b}", elements, [sample(a, elements), sample(b, elements)],
                al.add, np.add, torch and torch.add, jax and jnp.add,
            )
        in_rust = program_in_rust(elements)
        for name in ["float32", "bfloat16"]:
            x = sample(name, elements)
            eager = compare(
                f"tanh(a * b + c) * a {name}", elements, [x, x.copy(), x.copy()],
                lambda a, b, c: al.tanh(a * b + c) * a,
                lambda a, b, c: np.tanh(a * b + c) * a,
                lambda a, b, c: torch.tanh(a * b + c) * a,
                lambda a, b, c: jnp.tanh(a * b + c) * a,
            )
            if name in in_rust:
                ratios = ["-" if t is None else f"{t / elements * 1e9 / in_rust[name]:.1f}" for t in eager[1:]]
                print(f"{'as one Program, from Rust':>34}{in_rust[name]:>9.2f}" + "".join(f"{r:>8}" for r in ratios))
    latency()


def program_in_rust(elements):
    """Nanoseconds per element of the same work as one Program, by dtype: Python has no Programs."""
    command = ["cargo", "bench", "--quiet", "--package", "allotrope-bench", "--bench", "elementwise"]
    command += ["--", "--only", "program", "--elements", str(elements)]
    try:
        text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {name: float(time) for name, time in re.findall(r"(\w+)\s+[\d.]+ \(\s*([\d.]+)\)", text)}


def latency():
    """One operation on 16 elements."""
    print("\none addition of 16 elements, nanoseconds")
    candidates = {"allotrope": al.ones(16), "numpy": np.ones(16, np.float32)}
    if torch is not None:
        candidates["torch"] = torch.ones(16)
    for name, x in candidates.items():
        fastest = min(
            _time_additions(x) for _ in range(ROUNDS)
        )
        print(f"{name:>34}{fastest:>9.0f}")


def _time_additions(x, count=20_000):
    start = time.perf_counter()
    for _ in range(count):
        x + x  # noqa: B018
    return (time.perf_counter() - start) / count * 1e9


if __name__ == "__main__":
    main()
