"""Runs the Python blocks of one page, as its reader would: in order, and with one set of names.

A block with `>>>` prints what it says. One without is a program, and a ```text block right after it
is what it prints; `...` stands for anything. `python,gpu` wants a GPU, `python,device` the second
device of the tests. `python run_page.py page.md`
"""

import contextlib
import doctest
import io
import re
import sys
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GPU = "python,gpu"
DEVICE = "python,device"


class Block(NamedTuple):
    """What stands between two fences."""

    language: str
    text: str
    line: int
    #: What the page says that a program prints.
    printed: str | None


def blocks(text):
    found = list(FENCE.finditer(text))
    for this, after in zip(found, [*found[1:], None]):
        follows = after and after[1] == "text" and not text[this.end() : after.start()].strip()
        line = text.count("\n", 0, this.start(2))
        yield Block(this[1], this[2], line, after[2] if follows else None)


def run_examples(page, block, names):
    examples = doctest.DocTestParser().get_doctest(block.text, {}, page.name, str(page), block.line)
    examples.globs = names
    failures = []
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.ELLIPSIS)
    runner.run(examples, out=failures.append, clear_globs=False)
    return "".join(failures)


def run_program(page, block, names):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * block.line + block.text, str(page), "exec"), names)
    if block.printed is None:
        return ""
    example = doctest.Example("", block.printed)
    checker = doctest.OutputChecker()
    if checker.check_output(example.want, printed.getvalue(), doctest.ELLIPSIS):
        return ""
    return checker.output_difference(example, printed.getvalue(), doctest.ELLIPSIS)


def has_gpu():
    import allotrope as al

    return hasattr(al, "gpu") and al.gpu.is_available()


def main(page):
    names = {"__name__": "__main__"}
    failures = ""
    for block in blocks(page.read_text()):
        if not block.language.startswith("python") or block.language == GPU and not has_gpu():
            continue
        run = run_examples if ">>>" in block.text else run_program
        failures += run(page, block, names)
    sys.exit(failures or 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
