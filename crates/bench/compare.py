"""What libraries are able to do, weigh and take to start: the figures of the README's table.

`python crates/bench/compare.py [name=interpreter …]` asks each interpreter about the library that it
has: allotrope, torch, jax or mlx. Best is an environment for each, made by `pip install` of it alone:
its size is that of the library and of all that it requires. Without arguments this interpreter is
asked about those of the four that it has. `--missing` lists what was refused.

Nothing here is about speed or accuracy. A cell is an operation (`cells.py`) and a dtype for which it
has a mathematical meaning; it counts if the call gives a result, on the CPU, whatever its dtype. A
pair is two of the 19 dtypes; it counts if tensors of them add.
"""

import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import resource
import subprocess
import sys

os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_FP16")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

LIBRARIES = {"allotrope": "allotrope", "torch": "torch", "jax": "jax", "mlx": "mlx.core"}
# The page that is written from the table of dtypes: other libraries are asked where ours is not installed.
PAGE = pathlib.Path(__file__).parent.parent.parent / "book" / "src" / "dtypes.md"


def dtypes():
    """The names of the dtypes by kind: bool, integers, floats, complex."""
    kinds = {"bool": "b", "signed integer": "i", "unsigned integer": "i", "real floating": "f", "complex floating": "c"}
    found = {kind: [] for kind in "bifc"}
    for name, kind in re.findall(r"^\| `(\w+)` \| ([a-z ]+) \|", PAGE.read_text(), re.MULTILINE):
        found[kinds[kind]].append(name)
    return found


DTYPES = dtypes()
ROUNDS = 9


class Library:
    """One library: its names, its dtypes, and tensors made of lists."""

    def __init__(self, name):
        self.name = name
        module = importlib.import_module(LIBRARIES[name])
        self.names = {"xp": module}
        self.column = 1 if name in ("allotrope", "torch") else 2
        if name == "jax":
            module.config.update("jax_enable_x64", True)
            import jax.numpy as jnp

            self.names = {"xp": jnp, "nn": module.nn, "lax": module.lax}
        elif name == "mlx":
            import mlx.nn as nn

            module.set_default_device(module.cpu)
            self.names["nn"] = nn
        else:
            self.names["F"] = module.nn.functional
        self.xp = self.names["xp"]

    def dtype(self, name):
        # MLX and JAX call it bool_.
        return getattr(self.xp, "bool_" if name == "bool" and self.name in ("jax", "mlx") else name)

    def tensor(self, data, name):
        """Numbers in a dtype, by way of the one that the library takes them for."""
        return self.convert(self.xp.tensor(data) if self.column == 1 else self.xp.array(data), name)

    def convert(self, x, name):
        dtype = self.dtype(name)
        return x.to(dtype) if self.column == 1 else x.astype(dtype)

    def finish(self, value):
        """Computes what waits to be computed."""
        if self.name == "mlx":
            self.xp.eval(value)
        elif self.name == "jax":
            import jax

            jax.block_until_ready(value)


def cells(library):
    """How many there are, how many answer, and the others."""
    from cells import CELLS

    total, missing = 0, []
    for row in CELLS:
        for kind in row[3]:
            for dtype in DTYPES[kind]:
                total += 1
                try:
                    names = dict(library.names)
                    ones = kind == "b"
                    names["x"] = library.tensor([[1, 0], [1, 1]] if ones else [[1, 2], [4, 3]], dtype)
                    names["y"] = library.tensor([[1, 1], [0, 1]] if ones else [[2, 1], [1, 3]], dtype)
                    names["v"] = library.tensor([1, 0, 1] if ones else [1, 3, 2], dtype)
                    names["image"] = library.tensor([[[[1] * 4] * 4]], dtype)
                    names["index"] = library.tensor([[0, 1], [1, 0]], "int64")
                    names["ids"] = library.tensor([0, 1], "int64")
                    names["float32"] = library.dtype("float32")
                    library.finish(eval(row[library.column], names))
                except Exception as error:  # noqa: BLE001 - whatever a library refuses with
                    missing.append(f"{row[0]} {dtype}: {type(error).__name__}")
    return total, missing


def pairs(library):
    """How many of the pairs of dtypes add."""
    names = [name for each in DTYPES.values() for name in each]
    added, total = 0, 0
    for i, a in enumerate(names):
        for b in names[i:]:
            total += 1
            try:
                library.finish(library.tensor([1, 0], a) + library.tensor([1, 0], b))
                added += 1
            except Exception:  # noqa: BLE001
                pass
    return added, total


def surprises(library):
    """Questions whose answer is wrong without a word."""
    t, convert = library.tensor, library.convert
    questions = {
        "uint8 1 < -1": lambda: bool((t([1], "uint8") < -1)[0]),
        "int8 1 + 300": lambda: int((t([1], "int8") + 300)[0]) != 301,
        "int64 16777217 == float32 16777216": lambda: bool(
            (t([16777216], "int64") + 1 == t([16777216.0], "float32"))[0]
        ),
        "the sum of uint64 2**63": lambda: int((t([1], "uint64") * 2**62 * 2).sum()) < 0,
        "float32 1e10 and NaN to int8": lambda: [int(n) for n in convert(t([1e10, float("nan")], "float32"), "int8")]
        != [127, 0],
    }
    found = []
    for question, is_wrong in questions.items():
        try:
            if is_wrong():
                found.append(question)
        except Exception:  # noqa: BLE001 - an error is an honest answer
            pass
    return found


def required(name, seen=None):
    """The distributions that one requires, itself included."""
    seen = {} if seen is None else seen
    key = re.sub(r"[-_.]+", "-", name).lower()
    if key in seen:
        return seen
    try:
        found = importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return seen
    seen[key] = found
    for requirement in found.requires or []:
        if "extra ==" not in requirement:
            required(re.match(r"[\w.-]+", requirement)[0], seen)
    return seen


def size(name):
    """The bytes of all files that an installation of it brings."""
    found = required(name)
    if name == "mlx":
        # The backend is chosen by an extra.
        required("mlx-cpu", found)
    files = {os.path.realpath(one.locate_file(file)) for one in found.values() for file in one.files or []}
    return sum(os.path.getsize(file) for file in files if os.path.exists(file) and "__pycache__" not in file)


def start(command):
    """The least processor time of a fresh interpreter, which others on the machine disturb little."""
    best = float("inf")
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", command], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def probe(name):
    seconds = start(f"import {LIBRARIES[name]}") - start("pass")
    library = Library(name)
    total, missing = cells(library)
    added, of = pairs(library)
    found = {
        "version": importlib.metadata.version(name),
        "size": size(name),
        "import": seconds,
        "cells": [total - len(missing), total],
        "float8": float8_cells(missing),
        "pairs": [added, of],
        "wrong": surprises(library),
        "missing": missing,
    }
    print(json.dumps(found))


def float8_cells(missing):
    from cells import CELLS

    every = sum("f" in row[3] for row in CELLS) * 4
    return every - sum(" float8_" in each for each in missing), every


def main():
    arguments = [each for each in sys.argv[1:] if not each.startswith("--")]
    if "--probe" in sys.argv:
        return probe(arguments[0])
    asked = dict(each.split("=", 1) for each in arguments)
    if not asked:
        asked = {name: sys.executable for name in LIBRARIES if importlib.util.find_spec(name)}
    print("| library | version | cells | float8 cells | pairs that add | wrong without a word | installed, MB | import, ms of the processor |")
    print("|---|---|---|---|---|---|---|---|")
    for name, interpreter in asked.items():
        done = subprocess.run(
            [interpreter, __file__, "--probe", name], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            print(f"| {name} | {done.stderr.strip().splitlines()[-1]} |")
            continue
        found = json.loads(done.stdout.splitlines()[-1])
        cell, of = found["cells"]
        float8, every = found["float8"]
        added, pairs_of = found["pairs"]
        print(
            f"| {name} | {found['version']} | {cell:,} of {of:,} | {float8} of {every} | {added} of {pairs_of} "
            f"| {len(found['wrong'])} of 5 | {found['size'] / 1e6:,.0f} | {found['import'] * 1e3:,.0f} |"
        )
        if "--missing" in sys.argv:
            print("\n".join(found["wrong"] + found["missing"]))


if __name__ == "__main__":
    main()
