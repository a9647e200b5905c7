"""A small language of programs with views and writes, of which torch has recorded the gradients.

A program is {"leaves": [values], "buffers": [values], "steps": [...], "loss": [...]}.
Leaves require gradients, buffers do not. Both become objects 0, 1, …, and each of these steps adds one:

    ["view", of, kind, *arguments]     ["op", name, *operands]     ["detach", of]

These write to the object `to`; with "no_grad" in the place of "write" unrecorded:

    ["write", to, kind, *arguments]

An operand is a number, or {"object": i}. The loss adds up the weighted squares of some objects:
[[object, weight], …], the weight a number times 1, 2, … for its elements.
"""

import numpy as np


def number_of(lib, objects, operand):
    return objects[operand["object"]] if isinstance(operand, dict) else operand


VIEWS = {
    "select": lambda x, d, i: x.select(d, i),
    "narrow": lambda x, d, start, length: x.narrow(d, start, length),
    "index": lambda x, i: x[i],
    "step": lambda x, start, step: x[start::step],
    "column": lambda x, i: x[..., i],
    "transpose": lambda x, i, j: x.transpose(i, j),
    "permute": lambda x, *order: x.permute(*order),
    "reshape": lambda x, *shape: x.reshape(*shape),
    "unsqueeze": lambda x, d: x.unsqueeze(d),
    "diagonal": lambda x: x.diagonal(),
    "as_strided": lambda x, shape, strides, offset: x.as_strided(shape, strides, offset),
    "expand": lambda x, n: x.expand(n, *x.shape),
    "split": lambda x, n, d, i: x.split(n, d)[i],
    "unbind": lambda x, i: x.unbind(0)[i],
    "iterate": lambda x, i: list(x)[i],
    "view": lambda x, *shape: x.view(*shape),
    "everything": lambda x: x[...],
}

OPS = {
    "add": lambda lib, x, y: x + y,
    "mul": lambda lib, x, y: x * y,
    "sin": lambda lib, x: lib.sin(x),
    "tanh": lambda lib, x: lib.tanh(x),
    "exp": lambda lib, x: lib.exp(x),
    "square": lambda lib, x: x * x,
    "scale": lambda lib, x, c: x * c,
    "clone": lambda lib, x: x.clone(),
    "sum": lambda lib, x: x.sum(),
    "cat": lambda lib, x, y: lib.cat([x.reshape(-1), y.reshape(-1)]),
}

# What a write leaves in its target, as a function of the old value, and the write itself.
WRITES = {
    "add_": lambda lib, x, y: x + y,
    "sub_": lambda lib, x, y: x - y,
    "mul_": lambda lib, x, y: x * y,
    "div_": lambda lib, x, y: x / y,
    "copy_": lambda lib, x, y: y + lib.zeros_like(x),
    "fill_": lambda lib, x, y: lib.zeros_like(x) + y,
    "zero_": lambda lib, x: lib.zeros_like(x),
    "sin_": lambda lib, x: lib.sin(x),
    "tanh_": lambda lib, x: lib.tanh(x),
    "exp_": lambda lib, x: lib.exp(x),
    "sigmoid_": lambda lib, x: lib.sigmoid(x),
    "square_": lambda lib, x: x * x,
    "neg_": lambda lib, x: -x,
    "clamp_": lambda lib, x, low, high: x.clamp(low, high),
    "addcmul_": lambda lib, x, y, z: x + y * z,
    "lerp_": lambda lib, x, y, weight: x + weight * (y - x),
    "masked_fill_": lambda lib, x, mask, c: lib.where(mask, lib.zeros_like(x) + c, x),
    "index_fill_": lambda lib, x, d, index, c: x.index_fill(d, index, c),
    "index_add_": lambda lib, x, d, index, y: x.index_add(d, index, y),
    "index_copy_": lambda lib, x, d, index, y: x.index_copy(d, index, y),
    "scatter_": lambda lib, x, d, index, y: x.scatter(d, index, y),
}

OPERATORS = {"+=": "__iadd__", "-=": "__isub__", "*=": "__imul__", "/=": "__itruediv__"}
FUNCTIONS = {"+=": "add_", "-=": "sub_", "*=": "mul_", "/=": "div_"}


def argument_of(lib, objects, argument):
    """An operand, a mask or an index of a write."""
    if isinstance(argument, dict) and "mask" in argument:
        return lib.tensor(np.array(argument["mask"], bool).tolist(), dtype=lib.bool)
    if isinstance(argument, dict) and "index" in argument:
        return lib.tensor(argument["index"], dtype=lib.int64)
    return number_of(lib, objects, argument)


def key_of(lib, key):
    """["int", i], ["slice", start, stop, step], ["list", …], ["mask", …] or ["last", i]."""
    kind, *rest = key
    if kind == "int":
        return rest[0]
    if kind == "slice":
        return slice(*rest)
    if kind == "last":
        return (..., rest[0])
    if kind == "mask":
        return lib.tensor(rest[0], dtype=lib.bool)
    return rest[0]


def write(lib, objects, to, kind, arguments):
    """Write as a user does. Whoever refuses raises."""
    x = objects[to]
    if kind == "set":
        key, value = arguments
        x[key_of(lib, key)] = number_of(lib, objects, value)
        return
    values = [argument_of(lib, objects, a) for a in arguments]
    result = getattr(x, OPERATORS.get(kind, kind))(*values)
    assert result is x


def run(lib, program):
    """The leaves and all objects after a program."""
    objects = []
    for part in ("leaves", "buffers"):
        for base in program[part]:
            x = lib.tensor(base, dtype=lib.float64)
            objects.append(x.requires_grad_(part == "leaves"))
    leaves = objects[: len(program["leaves"])]
    for kind, *rest in program["steps"]:
        if kind == "view":
            of, name, *arguments = rest
            objects.append(VIEWS[name](objects[of], *arguments))
        elif kind == "op":
            name, *operands = rest
            result = OPS[name](lib, *(number_of(lib, objects, o) for o in operands))
            # Which of its shapes are views depends on the order, which torch takes from operands.
            objects.append(result.contiguous())
        elif kind == "detach":
            objects.append(objects[rest[0]].detach())
        elif kind == "no_grad":
            with lib.no_grad():
                write(lib, objects, rest[0], rest[1], rest[2:])
        else:
            write(lib, objects, rest[0], rest[1], rest[2:])
    return leaves, objects


def weights(lib, shape, weight):
    """Numbers that tell every element from the others."""
    count = int(np.prod(shape))
    values = [weight * (1 + 0.1 * i) for i in range(count)]
    return lib.tensor(values, dtype=lib.float64).reshape(tuple(shape))


def loss_of(lib, program, objects):
    """The weighted sum of squares, and of cubes, so that there is a second order everywhere."""
    total = 0.0
    for i, weight in program["loss"]:
        x = objects[i]
        total = total + (x * x * weights(lib, x.shape, weight)).sum() + (x * x * x).sum() * 0.1
    return total


def gradients(lib, loss, leaves):
    """The gradients of both orders: of the loss, and of the weighted sum of its gradients."""
    first = lib.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
    terms = [(g * weights(lib, g.shape, 0.3)).sum() for g in first if g is not None and g.requires_grad]
    second = [None] * len(leaves)
    if terms:
        second = lib.autograd.grad(sum(terms[1:], terms[0]), leaves, allow_unused=True)
    return first, second
