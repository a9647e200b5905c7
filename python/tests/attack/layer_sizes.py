"""Every layer with a huge size for each of its integers: made, or refused in words, within a second.

Run as a program it makes the calls under a limit of memory, and prints a line of JSON for each that is
wrong.
"""

import inspect
import json
import pathlib
import resource
import signal
import sys
import time
import warnings

import numpy

import allotrope as al

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "nn"))
import cases  # noqa: E402

VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
HUGE = [2**31, 2**32, 2**40, 2**62, 2**63, 2**64, 10**30, -1, -(2**62), 0]
#: What a process may have beside what it begins with.
ROOM = 1 << 30
#: Seconds of its own that a call may take; the clock on the wall is other programs', too.
LONGEST = 1.0
MOST_WAITING = 10


def integers(kind, arguments, options):
    """Arguments of a layer, one of whose integers is a huge one."""
    signature = inspect.signature(kind)
    try:
        bound = signature.bind(*arguments, **options)
    except TypeError:
        return
    bound.apply_defaults()
    for name, parameter in signature.parameters.items():
        value = bound.arguments.get(name)
        if name in ("device", "dtype") or parameter.kind in VARIABLE:
            continue
        is_int = isinstance(value, int) and not isinstance(value, bool)
        is_optional = value is None and "int" in str(parameter.annotation)
        is_several = isinstance(value, (tuple, list)) and value and isinstance(value[0], int)
        for huge in HUGE:
            if is_int or is_optional or parameter.annotation in ("Any", "int"):
                yield name, huge, {**bound.arguments, name: huge}
            if is_several:
                yield name, [huge], {**bound.arguments, name: (huge, *value[1:])}


def judge(error, spent):
    if spent > LONGEST:
        return f"{spent:.1f} s"
    if error is None or isinstance(error, MemoryError):
        return None
    text = str(error)
    is_worded = ": " in text and text[0] not in "'(<" and "object" not in text.split(":")[0]
    if isinstance(error, (ValueError, TypeError, OverflowError)) and is_worded:
        return None
    return f"{type(error).__name__}: {text[:150]}"


def too_long(*_):
    raise TimeoutError


def layers():
    """All layers of the cases, once each, with arguments that they accept."""
    seen = {}
    for name, (kind, arguments, options, _) in cases.CASES.items():
        seen.setdefault(kind, (name, arguments, options))
    for kind, (name, arguments, options) in sorted(seen.items()):
        yield name, getattr(al.nn, kind), arguments, options


def made(value):
    if isinstance(value, cases.Layer):
        arguments = [made(one) for one in value.arguments]
        return getattr(al.nn, value.kind)(*arguments, **value.options)
    return al.tensor(value) if isinstance(value, numpy.ndarray) else value


def main(part, parts):
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, too_long)
    with open("/proc/self/statm") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, resource.RLIM_INFINITY))
    count = 0
    for number, (name, kind, arguments, options) in enumerate(layers()):
        if number % parts != part:
            continue
        arguments = [made(one) for one in arguments]
        options = {key: made(one) for key, one in options.items()}
        for place, huge, given in integers(kind, arguments, options):
            error, begin = None, time.process_time()
            signal.alarm(MOST_WAITING)
            try:
                positional = [
                    given.pop(key)
                    for key, parameter in inspect.signature(kind).parameters.items()
                    if parameter.kind is parameter.POSITIONAL_ONLY
                ]
                kind(*positional, **given)
            except Exception as raised:  # noqa: BLE001 - judged here
                error = raised.with_traceback(None)
            finally:
                signal.alarm(0)
            count += 1
            wrong = judge(error, time.process_time() - begin)
            if wrong:
                print(json.dumps([name, place, str(huge), wrong]), flush=True)
    print(json.dumps({"done": count}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
