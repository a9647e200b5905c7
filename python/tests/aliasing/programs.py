"""A program: live tensors beside the arrays that see the same places, and the lines run so far."""

import copy
import re

import numpy as np
from reference import assert_same

from .copies import COPIES
from .library import HAS_LASTING_ARRAYS, lib, numpy_array, read, tensor
from .memory import is_overlapping, is_repeated, kind_of, with_memory
from .views import VIEWS
from .writes import EVERYWHERE, WRITES, literal, new_operand, number, source_of

NAMES = {"lib": lib, "tensor": tensor, "numpy_array": numpy_array, "copy": copy}


class Program:
    def __init__(self):
        self.tensors, self.arrays, self.memories = {}, {}, {}
        # The bytes of tensors that were made of numbers: where others begin in theirs is not said.
        self.bases = []
        # NumPy arrays that share their memory with tensors, beside those of the model.
        self.shared = {}
        self.kept = []
        self.lines = []
        self.count = 0

    def run(self, line):
        """Run a line of source over the live tensors, and note it."""
        self.lines.append(line)
        exec(line, NAMES, self.tensors)

    def add(self, source, array, memory):
        name = f"v{self.count}"
        self.count += 1
        self.run(f"{name} = {source}")
        self.arrays[name], self.memories[name] = array, memory
        return name

    def add_base(self, choose, dtype, shape):
        return self.add_array(new_operand(choose, dtype, shape)[1])

    def add_array(self, array):
        array, memory = with_memory(array)
        self.bases.append(memory)
        return self.add(literal(array), array, memory)

    def add_shared(self, choose, dtype, shape):
        """A tensor of a NumPy array, which is another view of the memory."""
        array, memory = with_memory(new_operand(choose, dtype, shape)[1])
        name = f"a{self.count}"
        self.run(f"{name} = numpy_array({literal(array)[7:-1]})")
        self.shared[name] = array, memory
        self.bases.append(memory)
        return self.add(f"lib.from_numpy({name})", array, memory)

    def write_to_an_array(self, choose):
        """Write as NumPy does, past the library."""
        if self.shared:
            name = choose.one_of(self.shared)
            array, _ = self.shared[name]
            value = number(choose, array.dtype)
            self.run(f"{name}[...] = {source_of(value)}")
            array[...] = value

    def add_view(self, choose, name, kind):
        """Another object by a kind of view, if it applies."""
        if kind == "as_strided" and not any(self.memories[name] is base for base in self.bases):
            return None
        found = VIEWS[kind](choose, self.arrays[name], self.memories[name])
        if found is None:
            return None
        source, array, memory = found
        return self.add(_with_name(source, name), array, memory)

    def add_copy(self, choose, name):
        """A result with memory of its own, whose order is the model's: C's."""
        source = choose.one_of(COPIES)
        array = COPIES[source](self.arrays[name])
        if array is not None:
            source += "" if self.arrays[name].flags.c_contiguous else ".contiguous()"
            self.add(_with_name(source, name), *with_memory(array))

    def write(self, choose, name, kind):
        """A write through an object, if it applies and its elements are places of their own."""
        array = self.arrays[name]
        found = WRITES[kind](choose, array, list(self.arrays.items()))
        if found is None:
            return
        statement, change = found
        if is_repeated(array) and kind in EVERYWHERE:
            self.expect_refusal(_with_name(statement, name))
        if is_overlapping(array):
            return
        self.run(_with_name(statement, name))
        change(array)

    def expect_refusal(self, line):
        try:
            self.run(line)
        except (RuntimeError, ValueError):
            return
        raise AssertionError(f"a write to repeated elements was not refused: {line}\n{self}")

    def rearrange(self, choose, name):
        """Give an object another layout of the same places, unless it has two names."""
        array = self.arrays[name]
        if sum(x is self.tensors[name] for x in self.tensors.values()) > 1:
            return
        if array.ndim == 2 and choose.is_chosen():
            line, array = choose.one_of(["t_()", "transpose_(0, 1)", "swapaxes_(1, 0)"]), array.T
        elif choose.is_chosen():
            line, array = "squeeze_()", array.squeeze()
        else:
            line, array = "unsqueeze_(0)", array[None]
        self.run(f"{name}.{line}")
        self.arrays[name] = array

    def keep(self, name):
        """Take the values as they are: Python's numbers, and an array."""
        self.kept.append((name, self.tensors[name].tolist(), self.arrays[name].tolist()))
        is_shared = any(self.memories[name] is memory for _, memory in self.shared.values())
        if HAS_LASTING_ARRAYS and not is_shared:
            self.lines.append(f"kept = {name}.numpy()")
            self.kept.append((name, self.tensors[name].numpy(), self.arrays[name].copy()))

    def forget(self, name):
        """Let an object go; the others keep the memory."""
        if len(self.arrays) > 1:
            self.run(f"del {name}")
            del self.arrays[name], self.memories[name]

    def has_nan(self):
        """Whether bits written as integers are NaN to another: operations may change its payload."""
        floats = (a for a in self.arrays.values() if kind_of(a.dtype) in "fc")
        return any((a != a).any() for a in floats)

    def check(self):
        """Every live object has the values of its array, and what was kept is as it was."""
        for name, array in self.arrays.items():
            self._compare(name, read(self.tensors[name]), array)
        for name, (array, _) in self.shared.items():
            self._compare(name, self.tensors[name], array)
        for name, got, want in self.kept:
            self._compare(f"what was kept of {name}", got, want)

    def _compare(self, what, got, want):
        try:
            if isinstance(want, np.ndarray):
                assert_same(np.array(got, order="C"), np.array(want, order="C"))
            else:
                assert got == want
        except AssertionError as error:
            raise AssertionError(f"{what} differs: {error}\n{self}") from None

    def __str__(self):
        return "\n".join(self.lines)


def _with_name(source, name):
    """The source with an object's name for `x`."""
    return re.sub(r"\bx\b", name, source)
