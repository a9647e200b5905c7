"""Random calls of layers, optimizers, loaders, checkpoints and generators, each made in two ways that
must agree bit for bit: contiguous or strided, in place or not, with one thread or two, with `out=` or
without; and calls with hostile arguments, which are refused in words.

Run as a program it makes so many calls of one kind from a seed, and prints a line of JSON for each that
is wrong, then how many there were.
"""

import inspect
import io
import json
import os
import pathlib
import random
import resource
import sys
import tempfile
import warnings

import numpy

import allotrope as al

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "nn")]
import cases  # noqa: E402
from calls import judge  # noqa: E402
from hostile import HOSTILE  # noqa: E402

MEMORY = 6 << 30
DTYPES = ("float32", "float64", "bfloat16", "float16")


def bits(value):
    """A result as bytes, and what it is."""
    if isinstance(value, al.Tensor):
        value = value.detach()
        raw = value.contiguous().reshape(-1).view("uint8").tolist() if value.numel() else []
        return value.dtype.name, tuple(value.shape), bytes(raw)
    if isinstance(value, dict):
        return {str(key): bits(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(item) for item in value]
    return repr(value)


def strided(x, chance):
    """The same numbers, laid out otherwise."""
    way = chance.randrange(4)
    if not x.ndim or not x.numel():
        return x.clone()
    if way == 0:
        return x.transpose(0, -1).contiguous().transpose(0, -1)
    if way == 1:
        wide = al.zeros(*x.shape[:-1], x.shape[-1] * 2, dtype=x.dtype)
        wide[..., ::2] = x
        return wide[..., ::2]
    if way == 2:
        return al.cat([x, x])[x.shape[0] :]
    return x.flip(0).contiguous().flip(0)


def outcome(work):
    """What a call gives, or how it fails."""
    try:
        return "gives", bits(work())
    except Exception as error:  # noqa: BLE001 - judged by whoever compares
        error.__traceback__ = None
        return "raises", type(error).__name__, judge(error)


def in_threads(count, work):
    before = al.get_num_threads()
    al.set_num_threads(count)
    try:
        return work()
    finally:
        al.set_num_threads(before)


def numbers_of(value):
    """The floats of a result, in order."""
    if isinstance(value, al.Tensor):
        return value.detach().to("float64").reshape(-1).tolist() if value.is_floating_point() else []
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [number for item in value for number in numbers_of(item)]


def close(one, other, dtype):
    """Results that differ by roundings of sums alone: those follow the order of memory."""
    first, second = numbers_of(one()), numbers_of(other())
    bound = 64 * float(al.finfo(dtype).eps)
    return len(first) == len(second) and numpy.allclose(first, second, bound, bound, equal_nan=True)


def pair(one, other, sums=None):
    """Two outcomes that must be the same, but for the order of sums in a dtype."""
    first, second = outcome(one), outcome(other)
    if first[0] == "raises" and first[2]:
        return f"one: {first[2]}"
    if second[0] == "raises" and second[2]:
        return f"other: {second[2]}"
    is_summed = sums and first[0] == second[0] == "gives"
    if first != second and not (is_summed and close(one, other, sums)):
        return f"differ: {str(first)[:150]} and {str(second)[:150]}"
    return None


CASES = list(cases.CASES.items())


def layer(chance):
    name, (kind, arguments, options, inputs) = chance.choice(CASES)
    dtype = chance.choice(DTYPES)

    def made():
        al.manual_seed(7)

        def convert(array):
            if not isinstance(array, numpy.ndarray):
                return array
            x = al.tensor(array)
            return x.to(dtype) if x.is_floating_point() else x

        module = cases.build(al.nn, kind, arguments, options, convert)
        return module.to(dtype).train(training), convert

    training = chance.random() < 0.5
    module, convert = made()
    given = [convert(one) if isinstance(one, numpy.ndarray) else one for one in inputs(cases.Inputs(name))]
    if chance.random() < 0.3:
        place = chance.randrange(len(given))
        given[place] = HOSTILE[chance.choice(list(HOSTILE))]()
        what = outcome(lambda: module(*given))
        return name, what[2] if what[0] == "raises" else None
    seed = chance.random()

    def call(change):
        module, _ = made()
        al.manual_seed(3)
        tensors = [change(x) if isinstance(x, al.Tensor) else x for x in given]
        result = module(*tensors)
        return result, dict(module.named_buffers())

    def laid(x):
        return strided(x, random.Random(seed))

    way = chance.choice(("strided", "threads", "in place"))
    if way == "threads":
        return name, pair(lambda: in_threads(1, lambda: call(al.clone)), lambda: in_threads(2, lambda: call(al.clone)))
    if way == "in place" and hasattr(module, "inplace"):

        def inside():
            module, _ = made()
            module.inplace = True
            al.manual_seed(3)
            result = module(*[x.clone() if isinstance(x, al.Tensor) else x for x in given])
            return result, dict(module.named_buffers())

        return name, pair(lambda: call(al.clone), inside)
    return name, pair(lambda: call(al.clone), lambda: call(laid), dtype)


def elementwise(chance):
    """A function with a result of its own, in place and in `out=`."""
    name = chance.choice(NAMES)
    function, dtype = getattr(al, name), chance.choice(DTYPES[:2])
    shape = [chance.randrange(1, 5) for _ in range(chance.randrange(1, 4))]
    operands = [al.rand(*shape, dtype=dtype) for _ in range(ARITY[name])]
    plain = outcome(lambda: function(*operands))
    if plain[0] != "gives" or not isinstance(plain[1], tuple):
        return name, plain[2] if plain[0] == "raises" else None

    def out():
        target = strided(al.zeros(*plain[1][1], dtype=plain[1][0]), chance)
        function(*operands, out=target)
        return target

    def inside():
        x = strided(operands[0], chance)
        getattr(x, name + "_")(*operands[1:])
        return x

    wrong = pair(lambda: function(*operands), out)
    if not wrong and hasattr(al.Tensor, name + "_") and plain[1][0] == dtype:
        wrong = pair(lambda: function(*operands), inside)
    return name, wrong or pair(
        lambda: in_threads(1, lambda: function(*operands)),
        lambda: in_threads(2, lambda: function(*[strided(x, chance) for x in operands])),
    )


def arity(name):
    """How many tensors a function with `out=` takes, if it is one over elements."""
    x = al.full((2, 2), 0.5)
    for count in (1, 2):
        try:
            result = getattr(al, name)(*[x] * count, out=al.zeros(2, 2))
        except Exception:  # noqa: BLE001 - then it is another function
            continue
        if isinstance(result, al.Tensor) and result.shape == (2, 2):
            return count
    return 0


# Functions that draw are compared elsewhere.
DRAWS = {"bernoulli", "poisson", "normal", "rand_like", "multinomial", "empty_like"}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    ARITY = {
        name: arity(name)
        for name in sorted(dir(al))
        if callable(getattr(al, name)) and not inspect.isclass(getattr(al, name)) and name not in DRAWS
        and not name.startswith(("_", "set_", "get_", "manual", "seed", "save", "load"))
    }
NAMES = [name for name, count in ARITY.items() if count]
RULES = al._core._optim.names()


def optimizer(chance):
    name = chance.choice(RULES)
    kind = getattr(al.optim, name)
    options = {}
    for key, value in inspect.signature(kind).parameters.items():
        if key == "params" or chance.random() < 0.7:
            continue
        default = value.default
        options[key] = chance.choice(
            [default, True, False, 0.0, 0.5, -1.0, 1e-3, float("nan"), (0.5, 0.9), 3, None, "text", 2**70]
        )
    dtype = chance.choice(DTYPES)
    shape = (chance.randrange(1, 4), chance.randrange(1, 4))
    seed = chance.random()

    def steps(change):
        al.manual_seed(5)
        parameters = [change(al.randn(*shape).to(dtype)).requires_grad_() for _ in range(2)]
        made = kind(parameters, **options)
        made.generator = al.Generator().manual_seed(4)
        for _ in range(2):
            for p in parameters:
                p.grad = change(al.randn(*shape).to(dtype))
            made.step()
        return parameters, [list(entry.values()) for entry in made.state.values()]

    def laid(x):
        return strided(x, random.Random(seed))

    if chance.random() < 0.5:
        return f"{name} {options}", pair(lambda: steps(al.clone), lambda: steps(laid))
    return f"{name} {options}", pair(
        lambda: in_threads(1, lambda: steps(al.clone)), lambda: in_threads(2, lambda: steps(al.clone))
    )


def loader(chance):
    count = chance.randrange(1, 12)
    options = {
        "batch_size": chance.choice([None, 1, 2, 5, 100]),
        "shuffle": chance.choice([None, True, False]),
        "drop_last": chance.random() < 0.3,
        "in_order": True,
    }
    if chance.random() < 0.2:
        options[chance.choice(list(options))] = HOSTILE[chance.choice(list(HOSTILE))]()
    stop = chance.randrange(0, 5)
    dataset = al.data.TensorDataset(al.arange(count)) if chance.random() < 0.5 else range(count)

    def run(**more):
        def work():
            made = al.data.DataLoader(dataset, generator=al.Generator().manual_seed(1), **options, **more)
            batches, found = iter(made), []
            for _, batch in zip(range(stop), batches):
                found.append(batch)
            other = al.data.DataLoader(dataset, generator=al.Generator(), **options, **more)
            other.load_state_dict(made.state_dict())
            return found + list(other)

        return work

    shown = f"{count} {stop} {[type(value).__name__ for value in options.values()]}"
    return shown, pair(run(), run(num_workers=chance.randrange(1, 3)))


def value_of(chance, depth=0):
    kinds = ["int", "float", "text", "bytes", "none", "tensor", "truth", "complex"]
    kind = chance.choice(kinds + ["list", "dict", "tuple"] * (depth < 3))
    several = range(chance.randrange(4))
    return {
        "int": lambda: chance.randrange(-(2**140), 2**140) >> chance.randrange(140),
        "float": lambda: chance.choice([0.0, -0.0, float("inf"), chance.gauss(0, 1e9)]),
        "text": lambda: "".join(chr(chance.choice([0, 9, 65, 233, 0x4E00, 0x1F600])) for _ in several),
        "bytes": lambda: chance.randbytes(5),
        "none": lambda: None,
        "truth": lambda: chance.random() < 0.5,
        "complex": lambda: complex(chance.random(), -0.0),
        "tensor": lambda: strided(al.arange(6).reshape(2, 3).to(chance.choice(DTYPES)), chance),
        "list": lambda: [value_of(chance, depth + 1) for _ in several],
        "tuple": lambda: tuple(value_of(chance, depth + 1) for _ in several),
        "dict": lambda: {chance.choice(["a", "b", "1", 1, 2, "é", (1, 2)]): value_of(chance, depth + 1) for _ in several},
    }[kind]()


def checkpoint(chance):
    values = {f"v{i}": value_of(chance) for i in range(3)}
    file = io.BytesIO()
    before = al.get_rng_state()
    al.save_checkpoint(file, **values, generator=al.Generator().manual_seed(chance.randrange(9)))
    data = bytearray(file.getvalue())
    wrong = pair(lambda: values, lambda: al.load_checkpoint(io.BytesIO(bytes(data)), rng=False))
    for _ in range(3):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    what = outcome(lambda: al.load_checkpoint(io.BytesIO(bytes(data)), rng=False) and None)
    if what[0] == "raises" and what[1] not in ("OSError", "ValueError", "TypeError"):
        wrong = wrong or f"a damaged file: {what}"
    if not al.equal(al.get_rng_state(), before):
        wrong = wrong or "the generator of the process moved"
    return repr(values)[:100], wrong


def generator(chance):
    seed, offset = chance.randrange(2**64), chance.randrange(2**chance.randrange(1, 64))
    shape = [chance.randrange(1, 50) for _ in range(chance.randrange(1, 3))]
    draw = chance.choice(
        [
            lambda g: al.rand(shape, generator=g),
            lambda g: al.randn(shape, generator=g, dtype="bfloat16"),
            lambda g: al.randint(0, 2**40, shape, generator=g),
            lambda g: al.randperm(shape[0], generator=g),
            lambda g: al.empty(shape).exponential_(generator=g),
            lambda g: al.bernoulli(al.full(shape, 0.5), generator=g),
        ]
    )

    def first():
        made = al.Generator().manual_seed(seed)
        made.set_offset(offset)
        return draw(made), draw(made), made.get_state()

    def second():
        made = al.Generator()
        source = al.Generator().manual_seed(seed)
        source.set_offset(offset)
        made.set_state(source.get_state())
        one = draw(made)
        again = made.clone_state()
        return one, draw(again), again.get_state()

    wrong = pair(lambda: in_threads(1, first), lambda: in_threads(2, second))
    for name in ("manual_seed", "set_offset", "set_state"):
        junk = HOSTILE[chance.choice(list(HOSTILE))]
        what = outcome(lambda name=name, junk=junk: getattr(al.Generator(), name)(junk()) and None)
        wrong = wrong or (what[2] if what[0] == "raises" else None)
    return f"{seed} {offset} {shape}", wrong


KINDS = {
    "layer": layer,
    "elementwise": elementwise,
    "optimizer": optimizer,
    "loader": loader,
    "checkpoint": checkpoint,
    "generator": generator,
}


def main(kind, seed, count):
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(count):
        chance = random.Random(seed + number)
        name, wrong = KINDS[kind](chance)
        if wrong:
            print(json.dumps([seed + number, name, wrong]), flush=True)
    print(json.dumps({"done": count}), flush=True)


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
