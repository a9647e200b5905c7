"""Record random programs of views and writes with their gradients by torch, for tests without torch.

    cd python/tests && python -m aliasing.record_torch

Each program is run by torch in place, with copies of what the graph saves, and as a functional
rewrite: they must agree. Where torch refuses a write nevertheless (through one of several views) or
promises nothing (for operands that overlap the target), the rewrite's numbers are recorded alone. A
view of what required no gradient when it was taken is a leaf to some of torch's methods: the same.
"""

import json
import random
import warnings
from pathlib import Path

import numpy as np
import torch

from .functional_rewrite import State
from .gradient_programs import gradients, loss_of, run
from .idioms import IDIOMS

FILE = Path(__file__).with_name("data_torch_programs.json")
IDIOMS_FILE = Path(__file__).with_name("data_torch_idioms.json")
SHAPES = [(3,), (4,), (2, 3), (3, 2), (2, 2), (3, 3), (2, 1, 3), (2, 2, 2)]


class Author:
    """Writes one program, and runs its rewrite to know what fits."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.steps = []
        self.is_defined_in_torch = True
        leaves = [self.values(self.one(SHAPES)) for _ in range(self.random.choice([1, 1, 2]))]
        buffers = [self.values(self.one(SHAPES)) for _ in range(self.random.choice([0, 1]))]
        self.program = {"leaves": leaves, "buffers": buffers, "steps": self.steps}
        self.state = State(leaves, buffers)

    @property
    def objects(self):
        return self.state.objects

    def one(self, items):
        return self.random.choice(list(items))

    def number(self):
        return round(self.random.uniform(0.3, 1.5) * self.one([1, -1]), 2)

    def values(self, shape):
        count = int(np.prod(shape))
        return np.array([self.number() for _ in range(count)]).reshape(shape).tolist()

    def do(self, *step):
        self.state.run(step)
        self.steps.append(list(step))

    def write_program(self, length):
        if self.one([True, True, False]):
            self.do("op", "scale", {"object": 0}, self.number())
        for _ in range(length):
            step = self.one(["view"] * 5 + ["op"] * 2 + ["write"] * 7 + ["detach"])
            getattr(self, f"add_{step}")(self.random.randrange(len(self.objects)))
        count = len(self.objects)
        chosen = self.random.sample(range(count), min(count, 3)) + [count - 1]
        self.program["loss"] = [[i, self.number()] for i in sorted(set(chosen))]
        return self.program

    def add_detach(self, i):
        self.do("detach", i)

    def add_op(self, i):
        name = self.one(["add", "mul", "sin", "tanh", "square", "scale", "clone", "sum", "cat"])
        if name in ("add", "mul", "cat"):
            shape = self.objects[i].shape
            fitting = [j for j, x in enumerate(self.objects) if x.shape in (shape, ())]
            self.do("op", name, {"object": i}, {"object": self.one(fitting)})
        elif name == "scale":
            self.do("op", name, {"object": i}, self.number())
        else:
            self.do("op", name, {"object": i})

    def add_view(self, i):
        shape = self.objects[i].shape
        if len(shape) == 0:
            return
        d = self.random.randrange(len(shape))
        first, size = self.random.randrange(shape[0]), self.objects[i].places.size
        start = self.random.randrange(shape[d])
        kind = self.one([
            "select", "narrow", "index", "step", "column", "transpose", "permute", "reshape", "view",
            "unsqueeze", "diagonal", "as_strided", "expand", "split", "unbind", "iterate", "everything",
        ])
        arguments = {
            "select": (d, start),
            "narrow": (d, start, self.random.randint(1, shape[d] - start)),
            "index": (first,), "unbind": (first,), "iterate": (first,), "everything": (),
            "step": (first, self.one([1, 2])),
            "column": (self.random.randrange(shape[-1]),),
            "transpose": (d, self.random.randrange(len(shape))),
            "permute": tuple(self.random.sample(range(len(shape)), len(shape))),
            "reshape": (size,) if self.one([True, False]) else (1, size),
            "view": (size,),
            "unsqueeze": (d,),
            "diagonal": (),
            "as_strided": self.strided(self.objects[i]),
            "expand": (2,),
            "split": (1, d, start),
        }[kind]
        is_contiguous = self.objects[i].places.flags.c_contiguous
        if (kind == "diagonal" and len(shape) != 2) or (kind == "view" and not is_contiguous):
            return
        # Of a part, torch's gradients do not reach the places around it.
        is_whole = is_contiguous and size == self.objects[i].storage.places.size
        if kind != "as_strided" or is_whole:
            self.do("view", i, kind, *arguments)

    def strided(self, x):
        """Every second place, as a line or as columns of pairs, within the storage."""
        size = x.storage.places.size
        if size >= 4 and self.one([True, False]):
            return [2, size // 2 - 1], [1, 2], 0
        return [(size + 1) // 2], [2], 0

    def add_write(self, i):
        x = self.objects[i]
        if x.is_overlapping() or x.places.size == 0:
            return
        is_recorded = not x.history.is_leaf and self.random.random() < 0.85
        kind = self.one([
            "+=", "-=", "*=", "/=", "add_", "mul_", "copy_", "copy_", "fill_", "zero_", "sin_", "tanh_",
            "exp_", "sigmoid_", "square_", "neg_", "clamp_", "addcmul_", "lerp_", "masked_fill_",
            "index_fill_", "index_add_", "index_copy_", "scatter_", "set", "set", "set",
        ])
        arguments = self.arguments(kind, x)
        if arguments is not None:
            self.is_defined_in_torch &= not any(self.overlaps(x, a) for a in arguments)
            self.do("write" if is_recorded else "no_grad", i, kind, *arguments)

    def overlaps(self, x, argument):
        """Whether an operand has places of the target elsewhere, for which torch promises nothing."""
        if not isinstance(argument, dict) or "object" not in argument:
            return False
        y = self.objects[argument["object"]]
        if y.storage is not x.storage or np.array_equal(x.places, y.places):
            return False
        return bool(np.intersect1d(x.places, y.places).size)

    def operand(self, shape, has_numbers=True, is_exact=False):
        fitting = [
            j for j, x in enumerate(self.objects)
            if x.shape == shape or (not is_exact and x.shape in ((), shape[1:], (1,) * len(shape)))
        ]
        if fitting and (not has_numbers or self.random.random() < 0.7):
            return {"object": self.one(fitting)}
        return self.number() if has_numbers else None

    def arguments(self, kind, x):
        """The arguments of a write, or None where it does not fit."""
        mask = {"mask": (np.array(self.random.choices([True, False], k=x.places.size))
                         .reshape(x.shape).tolist())}
        if kind in ("zero_", "sin_", "tanh_", "exp_", "sigmoid_", "square_", "neg_"):
            return ()
        if kind in ("/=", "fill_"):
            return (self.number(),)
        if kind == "clamp_":
            return (-0.437, 0.731)
        if kind == "masked_fill_":
            return mask, self.number()
        if kind == "set":
            return self.key_and_value(x, mask["mask"])
        if kind in ("+=", "-=", "*=", "add_", "mul_"):
            return (self.operand(x.shape),)
        if kind.startswith(("index_", "scatter_")):
            return self.lines(kind, x)
        first = self.operand(x.shape, has_numbers=False, is_exact=kind != "copy_")
        second = self.operand(x.shape, has_numbers=False, is_exact=True)
        if first is None:
            return None
        return {"copy_": (first,), "addcmul_": (first, second), "lerp_": (first, 0.3)}[kind]

    def lines(self, kind, x):
        if not x.shape:
            return None
        d = self.random.randrange(len(x.shape))
        chosen = {"index": [self.random.randrange(x.shape[d])]}
        if kind == "index_fill_":
            return d, chosen, self.number()
        shape = (*x.shape[:d], 1, *x.shape[d + 1 :])
        if kind == "scatter_":
            chosen = {"index": np.full(shape, chosen["index"][0]).tolist()}
        source = self.operand(shape, has_numbers=False, is_exact=True)
        return None if source is None else (d, chosen, source)

    def key_and_value(self, x, mask):
        if not x.shape:
            return None
        i = self.random.randrange(x.shape[0])
        key = self.one([
            ["int", i], ["slice", i, None, None], ["slice", None, None, 2], ["list", [i]],
            ["last", self.random.randrange(x.shape[-1])], ["mask", mask],
        ])
        part = {"int": x.places[i], "last": x.places[..., -1], "list": x.places[[i]]}.get(key[0])
        if key[0] == "slice":
            part = x.places[slice(*key[1:])]
        return key, self.number() if part is None else self.operand(np.shape(part))


def numbers(tensors, leaves):
    """Gradients as arrays; of leaves that take no part, zeros."""
    pairs = zip(tensors, leaves)
    return [np.zeros(leaf.shape) if t is None else t.detach().numpy() for t, leaf in pairs]


def record(seed):
    """A program with its values and gradients, or None if it says nothing."""
    author = Author(seed)
    program = author.write_program(6 + seed % 8)
    state = author.state
    objects = [x.read() for x in state.objects]
    loss = loss_of(torch, program, objects)
    if not loss.requires_grad or max(float(x.detach().abs().max()) for x in objects) > 20:
        return None
    first, second = (numbers(g, state.leaves) for g in gradients(torch, loss, state.leaves))
    if not any(g.any() for g in first):
        return None
    is_refused = not author.is_defined_in_torch or not agrees(program, objects, first, second)
    values = [objects[i].detach().tolist() for i, _ in program["loss"]]
    first, second = [g.tolist() for g in first], [g.tolist() for g in second]
    return {**program, "values": values, "first": first, "second": second, "refused": is_refused}


def agrees(program, objects, first, second):
    """Whether torch runs the program in place; if so it must give the same numbers."""
    keeping = torch.autograd.graph.saved_tensors_hooks(torch.clone, lambda kept: kept)
    try:
        with keeping:
            leaves, seen = run(torch, program)
            loss = loss_of(torch, program, seen)
            got = gradients(torch, loss, leaves)
    except RuntimeError as error:
        expected = ("multiple views", "single memory location", "modified by an inplace", "a leaf Var")
        assert any(text in str(error) for text in expected), error
        return False
    for x, want in zip(seen, objects):
        np.testing.assert_allclose(x.detach().numpy(), want.detach().numpy(), rtol=1e-12, atol=1e-13)
    for tensors, wants in zip(got, (first, second)):
        for x, want in zip(numbers(tensors, leaves), wants):
            np.testing.assert_allclose(x, want, rtol=1e-9, atol=1e-11)
    return True


def record_idioms():
    results = {
        name: [x.detach().tolist() for x in idiom(torch)] for name, idiom in IDIOMS.items()
    }
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(r)}" for name, r in results.items())
    IDIOMS_FILE.write_text(f"{{\n{lines}\n}}\n")


def main(count=400):
    warnings.simplefilter("ignore")
    record_idioms()
    programs, seed = [], 0
    while len(programs) < count:
        program = record(seed)
        seed += 1
        if program:
            programs.append(program)
    lines = ",\n".join(json.dumps(p, separators=(",", ":")) for p in programs)
    FILE.write_text(f"[\n{lines}\n]\n")
    print(f"{count} of {seed} programs, {sum(p['refused'] for p in programs)} refused by torch,"
          f" {FILE.stat().st_size // 1000} kB")


if __name__ == "__main__":
    main()
