"""Every public function with a call that it accepts, found by trying, and hostile arguments in it.

Run as a program it makes the calls of `test_arguments.py`, every so many from one on, and says in a
file which call it is at: whoever waits for it knows what it died of.
"""

import inspect
import itertools
import json
import mmap
import os
import random
import resource
import struct
import sys
import warnings

import allotrope as al

from hostile import HOSTILE

# A process may have only so many threads.
LEFT_OUT = {"set_num_threads", "set_num_interop_threads"}
NAMESPACES = {
    "al": al,
    "al.nn.functional": al.nn.functional,
    "al.linalg": al.linalg,
    "al.fft": al.fft,
    "al.random": al.random,
    "al.special": al.special,
}
# What one process may have; nothing here needs a hundredth of it.
MEMORY = 6 << 30
LONGEST_TEXT = 2000
# Calls with two hostile arguments: all public functions together have some 150 000 with one.
PAIRS = 1_400_000 if os.environ.get("ALLOTROPE_ATTACK") == "long" else 20_000


def bases(name):
    """Tensors to begin with, the likely one first."""
    square = al.eye(3) * 2
    grids = [al.ones(1, 2, *[4] * rank) for rank in (1, 2, 3)]
    plain = [al.ones(2, 3), square, al.arange(6), al.ones(3) > 0, al.ones(4).to(al.complex64)]
    for rank, grid in enumerate(grids, 1):
        if name.endswith(f"{rank}d"):
            return [grid, *plain]
    return plain + grids


ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def parameters_of(name, call, is_method):
    """What a function takes; in place a method takes what it takes elsewhere."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):
        parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_POSITIONAL)]
    if is_method and parameters and parameters[0].name in ("self", "this", "input"):
        parameters = parameters[1:]
    plain = getattr(al.Tensor, name.removesuffix("_"), None)
    if is_method and plain and name.endswith("_") and all(p.kind in ANY for p in parameters):
        return parameters_of(name[:-1], plain, is_method)
    return parameters


# What trying does not find.
STARTS = {
    "bmm": lambda: (al.ones(2, 2, 2), {"mat2": al.ones(2, 2, 2)}),
    "constant_pad_nd": lambda: (al.ones(2, 3), {"pad": (1, 1)}),
    "expand": lambda: (al.ones(2, 3), {"size": (2, 3)}),
    "expand_copy": lambda: (al.ones(2, 3), {"size": (2, 3)}),
    "fractional_max_pool2d": lambda: (al.ones(1, 2, 4, 4), {"kernel_size": 2, "output_size": 2}),
    "fractional_max_pool3d": lambda: (al.ones(1, 2, 4, 4, 4), {"kernel_size": 2, "output_size": 2}),
    "interpolate": lambda: (al.ones(1, 2, 4), {"size": 2}),
    "affine_grid": lambda: (al.ones(1, 2, 3), {"size": (1, 1, 2, 2)}),
    "narrow": lambda: (al.ones(2, 3), {"dim": 0, "start": 0, "length": 1}),
    "pad": lambda: (al.ones(2, 3), {"pad": (1, 1)}),
    "permute": lambda: (al.ones(2, 3), {"dims": (0, 1)}),
}


class Function:
    """A public function or method."""

    def __init__(self, path, call, is_method):
        self.path, self.call, self.is_method = path, call, is_method
        self.name = path.rsplit(".", 1)[1]
        self.parameters = parameters_of(self.name, call, is_method)
        empty = inspect.Parameter.empty
        self.needed = [p.name for p in self.parameters if p.default is empty and p.kind not in ANY]
        self.start = None

    def find_start(self):
        """Arguments that are accepted, or the first ones tried."""
        if self.start is None and self.name in STARTS:
            self.start = STARTS[self.name]()
            base, arguments = self.start
            if self.needed and not self.is_method:
                arguments[self.needed[0]] = base
            self.run(base, dict(arguments))
        if self.start is None:
            found = (self.try_from(base) for base in bases(self.name))
            self.start = next((start for start in found if start), None)
            self.start = self.start or (bases(self.name)[0], dict.fromkeys(self.needed, 1))
        return self.start

    def try_from(self, base):
        choices = [base, 1, (2,), 0, 2.0]
        tries = itertools.product(choices, repeat=min(len(self.needed), 3))
        for values in tries:
            arguments = dict(zip(self.needed, values, strict=False))
            try:
                self.run(base, dict(arguments))
            except Exception as error:
                # Some are needed although they have a default: another may be given instead.
                missing = str(error).removesuffix(" is missing").rsplit(" ", 1)[-1]
                names = [p.name for p in self.parameters if p.name not in self.needed]
                if str(error).endswith(" is missing") and missing in names:
                    self.needed.append(missing)
                    return self.try_from(base)
                continue
            return base, arguments
        return None

    def run(self, base, arguments, *more):
        target = getattr(base.clone(), self.name) if self.is_method else self.call
        kinds = {parameter.name: parameter.kind for parameter in self.parameters}
        placed = [
            arguments.pop(name)
            for name in list(arguments)
            if kinds[name] is inspect.Parameter.POSITIONAL_ONLY
        ]
        return target(*placed, *more, **arguments)

    def run_with(self, changes):
        base, arguments = self.find_start()
        arguments, more = dict(arguments), []
        for name, value in changes.items():
            kind = next(p.kind for p in self.parameters if p.name == name)
            if kind is inspect.Parameter.VAR_POSITIONAL:
                more = [value] if self.is_method or not arguments else [*arguments.values(), value]
                arguments = {} if more[1:] else arguments
            elif kind is not inspect.Parameter.VAR_KEYWORD:
                arguments[name] = value
        return self.run(base, arguments, *more)


def functions():
    """Every public function once, in an order that stays."""
    seen, found = set(), []
    for path, namespace in NAMESPACES.items():
        for name in sorted(vars(namespace)):
            call = getattr(namespace, name)
            is_own = callable(call) and not inspect.isclass(call) and not inspect.ismodule(call)
            if name.startswith("_") or name in LEFT_OUT or not is_own or id(call) in seen:
                continue
            seen.add(id(call))
            found.append(Function(f"{path}.{name}", call, False))
    for name in sorted(dir(al.Tensor)):
        call = getattr(al.Tensor, name)
        if not name.startswith("_") and callable(call):
            found.append(Function(f"al.Tensor.{name}", call, True))
    return found


def calls(seed=0):
    """Functions with a name of something hostile for one parameter, or for two."""
    every, chooser = functions(), random.Random(seed)
    for function in every:
        for parameter in function.parameters:
            for hostile in HOSTILE:
                yield function, {parameter.name: hostile}
    several = [function for function in every if len(function.parameters) > 1]
    for _ in range(PAIRS):
        function = chooser.choice(several)
        chosen = chooser.sample(function.parameters, 2)
        yield function, {parameter.name: chooser.choice(list(HOSTILE)) for parameter in chosen}


def judge(error):
    """What is wrong with an exception, if something is."""
    if not isinstance(error, Exception) or "Panic" in type(error).__name__:
        return f"panic: {str(error)[:200]}"
    if isinstance(error, SystemError):
        return f"broken: {str(error)[:200]}"
    try:
        text = str(error)
    except ValueError:
        # An exception of Python's own with an int that it does not print.
        return None
    if len(text) >= LONGEST_TEXT:
        return f"{len(text)} characters: {text[:60]}"
    return None


def make(number, function, changes):
    """Makes a call, and says what was wrong with it."""
    try:
        function.run_with({name: HOSTILE[hostile]() for name, hostile in changes.items()})
    except BaseException as error:
        # Nothing holds what the call made any longer.
        error.__traceback__ = None
        wrong = judge(error)
        if wrong:
            return {"number": number, "call": f"{function.path}({changes})", "wrong": wrong}
    return None


def main(place, start, step):
    """Makes every `step`th call from `start` on, with its number in the file `place`."""
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(place, "r+b") as file, mmap.mmap(file.fileno(), 8) as at:
        for number, (function, changes) in enumerate(calls()):
            if number < start or (number - start) % step:
                continue
            at[:8] = struct.pack("q", number)
            wrong = make(number, function, changes)
            if wrong:
                print(json.dumps(wrong), flush=True)
            if number % 64 < step:
                al.set_default_dtype("float32")
                al.set_promotion("standard")
    print(json.dumps({"done": True}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
