"""`python -m allotrope.torch program.py [arguments]`: a program that imports torch, answered here.

At its end stands, on the standard error stream, what it asked for that is not here. Errors and the exit
code are the program's own. `-m module` runs a module, as `python -m` does.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from types import ModuleType, TracebackType
from typing import Any

from allotrope.torch import install, misses

_USAGE = "usage: python -m allotrope.torch program.py [arguments]\n       python -m allotrope.torch -m module [arguments]"


def _source(arguments: list[str]) -> tuple[str, str | None, Any]:
    """The path of a program, the package that it is in, and how it is read."""
    if arguments[0] == "-m" and len(arguments) > 1:
        sys.path.insert(0, os.getcwd())
        name = arguments[1]
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
        if spec is None or spec.origin is None:
            raise SystemExit(f"python -m allotrope.torch: no such module: {name}")
        sys.argv = [spec.origin, *arguments[2:]]
        return spec.origin, spec.parent, spec
    path = arguments[0]
    if os.path.isdir(path):
        path = os.path.join(path, "__main__.py")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.argv = arguments
    return path, None, None


def _behind_this_file(trace: TracebackType | None) -> TracebackType | None:
    """The part of a traceback that is the program's."""
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    return trace


def main(arguments: list[str]) -> int:
    """Runs a program, and gives its exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, file=sys.stderr if not arguments else sys.stdout)
        return 0 if arguments else 2
    install()
    path, package, spec = _source(arguments)
    program = ModuleType("__main__")
    program.__dict__.update(__file__=path, __package__=package, __spec__=spec, __builtins__=__builtins__)
    sys.modules["__main__"] = program
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
        exec(code, program.__dict__)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return int(end.code or 0)
        print(end.code, file=sys.stderr)
        return 1
    except OSError as error:
        if error.filename == path and error.__traceback__ is not None and error.__traceback__.tb_next is None:
            print(f"python -m allotrope.torch: no such program: {path!r}: {error.strerror}", file=sys.stderr)
            return 2
        return _told(error)
    except BaseException as error:  # noqa: BLE001 - it is the program's
        return _told(error)
    finally:
        found = misses()
        if found:
            lines = "".join(f"\n  {miss}" for miss in found)
            print(f"allotrope.torch: asked for and not here:{lines}", file=sys.stderr)
    return 0


def _told(error: BaseException) -> int:
    """Says what a program failed with, as the interpreter does."""
    trace = _behind_this_file(error.__traceback__)
    sys.excepthook(type(error), error.with_traceback(trace), trace)
    return 130 if isinstance(error, KeyboardInterrupt) else 1


if __name__ == "__main__":
    sys.argv[0] = "allotrope.torch"
    sys.exit(main(sys.argv[1:]))
