"""Checkpoints: all that a training needs to go on bit for bit, in one file.

The file is safetensors, replaced as a whole. A part for each object has its `state_dict`; beside
them stand random states, the caller's own values, and a checksum. Loading looks at everything before
it changes anything, and puts back what was there if an object still refuses.
"""

from __future__ import annotations

import contextlib
import os
import random
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from . import _core
from ._accepted import check_choice, check_generator, check_integer, check_keys, check_list
from ._accepted import check_number, check_words
from ._core import Generator, Tensor, get_rng_state, load, save, set_rng_state
from ._encode import checksum, copied, decode, encode
from .autograd import no_grad

#: The part of the file that describes the others.
HEAD = "__checkpoint__"
VERSION = 1


def save_checkpoint(
    path: Any,
    model: Any = None,
    optimizer: Any = None,
    scaler: Any = None,
    scheduler: Any = None,
    loader: Any = None,
    generator: Any = None,
    **extra: Any,
) -> None:
    """Writes the states of objects, and values beside them, to one file.

    Objects have `state_dict` and `load_state_dict`, or are generators or tensors; each may be a list
    or dict of several. The random states of the process (`al.default_generator`, Python's `random`,
    and `numpy.random` if it is in use) are always in it. Any other keyword is such an object, too, or
    a value: numbers, text, tensors, arrays, None, and containers of them come back exactly.

    The file is replaced as a whole: the end of the process at any moment leaves the old one.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.safetensors")
    >>> w, g = al.ones(2), al.Generator().manual_seed(1)
    >>> al.save_checkpoint(path, model={"w": w}, generator=g, step=3, best=float("inf"))
    >>> w.zero_()
    tensor([0., 0.])
    >>> al.load_checkpoint(path, model={"w": w}, generator=g)
    {'step': 3, 'best': inf}
    >>> w
    tensor([1., 1.])
    """
    op = "save_checkpoint"
    parts = _given(model, optimizer, scaler, scheduler, loader, generator)
    values = {}
    for name, value in extra.items():
        if name == HEAD:
            raise ValueError(f"{op}: not a free name: {name!r}; other ones are accepted")
        if _is_object(value):
            parts[name] = value
        else:
            values[name] = value
    content: dict[str, Any] = {}
    forms = {}
    for name, value in parts.items():
        forms[name] = _form(op, name, value)
        content[name] = encode(op, _map(value, lambda _, one: _state(one)), name)
    content.update({name: encode(op, value, name) for name, value in values.items()})
    head = {
        "version": VERSION,
        "forms": forms,
        "extra": list(values),
        "rng": encode(op, _rng_states(), "rng"),
    }
    content[HEAD] = head
    head["checksum"] = checksum(content)
    with _renamed("save", op):
        save(content, path, {"format": "allotrope checkpoint"})


def load_checkpoint(
    path: Any,
    model: Any = None,
    optimizer: Any = None,
    scaler: Any = None,
    scheduler: Any = None,
    loader: Any = None,
    generator: Any = None,
    rng: bool = True,
    **objects: Any,
) -> dict[str, Any]:
    """Reads a file of `save_checkpoint` into objects; the values that stood beside them.

    Objects that are not given are left out; those of other keywords whose states nobody takes are
    among the values, as states. Random states of the process are set unless rng=False. All is
    checked first, and an error leaves every object as it was.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "last.safetensors")
    >>> al.save_checkpoint(path, epoch=7)
    >>> al.load_checkpoint(path)
    {'epoch': 7}
    >>> al.load_checkpoint(path, model={"w": al.ones(2)})
    Traceback (most recent call last):
    ...
    ValueError: load_checkpoint: no model in ...; it has epoch
    """
    op = "load_checkpoint"
    content, head = _read(op, path)
    parts = _given(model, optimizer, scaler, scheduler, loader, generator)
    parts.update(objects)
    forms = head["forms"]
    states: dict[str, Any] = {}
    for name, value in parts.items():
        if name not in forms:
            there = ", ".join([*forms, *head["extra"]]) or "nothing"
            raise ValueError(f"{op}: no {name} in {_shown(path)}; it has {there}")
        form = _form(op, name, value)
        if form != forms[name]:
            raise ValueError(
                f"{op}: {name} in {_shown(path)} is {_described(forms[name])}; "
                f"{_described(form)} was given"
            )
        states[name] = content[name]
    rng_states = head["rng"] if rng else {}
    steps: list[tuple[str, Any, Any]] = []
    for name, value in parts.items():
        for place, one, state in _pairs(name, value, states[name]):
            _check(op, path, name, place, one, state)
            steps.append((place, one, state))
    extras = {name: content[name] for name in head["extra"]}
    extras.update(
        (name, content[name]) for name in forms if name not in parts and name not in _NAMES
    )
    _apply(op, path, steps, rng_states)
    return extras


#: The objects that have keywords of their own.
_NAMES = ("model", "optimizer", "scaler", "scheduler", "loader", "generator")


def _given(*objects: Any) -> dict[str, Any]:
    pairs = zip(_NAMES, objects, strict=True)
    return {name: value for name, value in pairs if value is not None}


def _shown(path: Any) -> str:
    try:
        return repr(os.fspath(path))
    except TypeError:
        return "the file"


@contextlib.contextmanager
def _renamed(inner: str, op: str) -> Iterator[None]:
    """Errors of one function under the name of another."""
    try:
        yield
    except (OSError, TypeError, ValueError) as error:
        if not str(error).startswith(f"{inner}:"):
            raise
        raise type(error)(str(error).replace(inner, op, 1)) from None


def _read(op: str, path: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parts of a file, and what describes them, whole and of this form."""
    with _renamed("load", op):
        content = load(path)
    head = content.get(HEAD) if isinstance(content, dict) else None
    if not isinstance(head, dict):
        raise OSError(
            f"{op}: not a checkpoint: {_shown(path)}; files of save_checkpoint are accepted "
            "(hint: al.load reads other files)"
        )
    version = head.get("version")
    if type(version) is not int or version != VERSION:
        raise OSError(
            f"{op}: a checkpoint of version {reprlib.repr(version)}: {_shown(path)}; {VERSION} is accepted"
        )
    stored = head.pop("checksum", None)
    missing = [key for key in ("forms", "extra", "rng") if key not in head]
    forms, extra = head.get("forms", {}), head.get("extra", [])
    is_listed = isinstance(forms, dict) and isinstance(extra, (list, tuple))
    if not is_listed or not all(isinstance(name, str) for name in [*forms, *extra]):
        raise OSError(f"{op}: damaged file: {_shown(path)}; its parts have no names")
    missing += [str(name) for name in [*forms, *extra] if name not in content]
    if missing:
        raise OSError(f"{op}: damaged file: {_shown(path)}; no {', '.join(missing)}")
    try:
        is_whole = stored == checksum(content)
        if is_whole:
            content = decode(content)
            head = content[HEAD]
            for name, form in head["forms"].items():
                _check_form(name, form, content[name])
            _check_rng_states(head["rng"])
    except Exception as error:
        raise OSError(
            f"{op}: damaged file: {_shown(path)}; {type(error).__name__}: {error}"
        ) from error
    if not is_whole:
        raise OSError(
            f"{op}: damaged file: {_shown(path)}; its values are not those that were written"
        )
    return content, head


def _check_form(name: str, form: Any, part: Any) -> None:
    """Refuses a part that is not the one state, or the several, that it is said to be."""
    if isinstance(form, (list, tuple)):
        check_keys(name, part, check_list("forms", name, form))
    elif form != "one":
        check_list("parts", name, part, check_integer("forms", name, form))


def _is_object(value: Any) -> bool:
    """Whether a value has a state; or all of several do."""
    if isinstance(value, (list, tuple)):
        return bool(value) and all(_has_state(one) for one in value)
    if isinstance(value, dict):
        return bool(value) and all(_has_state(one) for one in value.values())
    return _has_state(value)


def _has_state(value: Any) -> bool:
    if isinstance(value, (Tensor, type)):
        return False
    return isinstance(value, Generator) or callable(getattr(value, "state_dict", None))


def _form(op: str, name: str, value: Any) -> Any:
    """One object, several in a row (how many), or several by names (which)."""
    several: list[Any] = [value]
    form: Any = "one"
    if isinstance(value, (list, tuple)):
        several, form = list(value), len(value)
    elif isinstance(value, dict):
        several, form = list(value.values()), [str(key) for key in value]
        if len(set(form)) < len(form):
            twice = next(key for key in form if form.count(key) > 1)
            keys = " and ".join(repr(key) for key in value if str(key) == twice)
            raise ValueError(
                f"{op}: {name} has one name twice: {keys}; keys that differ as text are accepted"
            )
    for one in several:
        if not isinstance(one, (Generator, Tensor)) and not (
            callable(getattr(one, "state_dict", None))
            and callable(getattr(one, "load_state_dict", None))
        ):
            raise TypeError(
                f"{op}: {name} has no state: {type(one).__name__}; objects with state_dict and "
                "load_state_dict, generators, tensors, and lists and dicts of them are accepted"
            )
    return form


def _described(form: Any) -> str:
    if form == "one":
        return "one object"
    if isinstance(form, int):
        return f"a list of {form}"
    return f"a dict of {', '.join(form) or 'nothing'}"


def _map(value: Any, act: Callable[[Any, Any], Any]) -> Any:
    if isinstance(value, (list, tuple)):
        return [act(place, one) for place, one in enumerate(value)]
    if isinstance(value, dict):
        return {str(key): act(key, one) for key, one in value.items()}
    return act(None, value)


def _pairs(name: str, value: Any, state: Any) -> list[tuple[str, Any, Any]]:
    """Objects with their states, and what they are called."""
    if isinstance(value, (list, tuple)):
        return [(f"{name}[{i}]", one, state[i]) for i, one in enumerate(value)]
    if isinstance(value, dict):
        return [(f"{name}[{key!r}]", one, state[str(key)]) for key, one in value.items()]
    return [(name, value, state)]


def _state(one: Any) -> Any:
    if isinstance(one, Tensor):
        return one
    return one.get_state() if isinstance(one, Generator) else one.state_dict()


def _set(one: Any, state: Any) -> Any:
    if isinstance(one, Tensor):
        with no_grad():
            one.copy_(state)
        return None
    return one.set_state(state) if isinstance(one, Generator) else one.load_state_dict(state)


def _check(op: str, path: Any, name: str, place: str, one: Any, state: Any) -> None:
    """Refuses what does not fit, as far as it can be told without loading it."""
    where = f"{op}: {place} in {_shown(path)} does not fit"
    if isinstance(one, Tensor):
        _check_tensor(where, "", one, state)
    elif isinstance(one, Generator):
        try:
            Generator().set_state(state)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{where}: {error}") from None
    elif not isinstance(state, dict):
        # Whatever it is, the object made it.
        return
    elif name == "model":
        _check_model(where, one.state_dict(), state)
    elif name == "optimizer":
        _check_groups(where, one.state_dict(), state)
    check = getattr(one, "_check_state", None)
    if callable(check):
        try:
            check(state)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ValueError(f"{where}: {error}") from None


def _check_tensor(where: str, name: str, mine: Tensor, saved: Any) -> None:
    what = f" {name}" if name else ""
    try:
        shape = list(mine.shape)
    except RuntimeError:
        # A parameter that takes its shape from what it is given.
        return
    if not isinstance(saved, Tensor):
        raise ValueError(f"{where}:{what} is no tensor there, but {type(saved).__name__}")
    if shape != list(saved.shape):
        raise ValueError(f"{where}:{what} has shape {list(saved.shape)}; {shape} here")
    if mine.dtype != saved.dtype:
        raise TypeError(
            f"{where}:{what} has dtype {saved.dtype}; {mine.dtype} here "
            f"(hint: convert the model by .to({saved.dtype}) first)"
        )


def _check_model(where: str, mine: Any, saved: Mapping[str, Any]) -> None:
    """Names, shapes and dtypes of all tensors."""
    if not isinstance(mine, Mapping):
        return
    missing = [str(key) for key in mine if key not in saved]
    unknown = [str(key) for key in saved if key not in mine]
    if missing or unknown:
        shown = [f"no {_few(missing)}"] if missing else []
        shown += [f"{_few(unknown)}, which the model lacks"] if unknown else []
        raise ValueError(f"{where}: {'; '.join(shown)}")
    for key, value in mine.items():
        if isinstance(value, Tensor):
            _check_tensor(where, str(key), value, saved[key])


def _few(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _check_groups(where: str, mine: Any, saved: Mapping[str, Any]) -> None:
    """As many groups of as many parameters."""

    def sizes(state: Any) -> list[Any] | None:
        groups = state.get("param_groups") if isinstance(state, Mapping) else None
        if not isinstance(groups, (list, tuple)):
            return None
        params = [group.get("params") if isinstance(group, Mapping) else None for group in groups]
        return [len(given) if isinstance(given, (list, tuple)) else None for given in params]

    here, there = sizes(mine), sizes(saved)
    if here != there:
        raise ValueError(f"{where}: groups of {there} parameters; {here} here")


#: The words of the Mersenne Twister, Python's generator and that of `numpy.random`.
WORDS = 624


def _rng_states() -> dict[str, Any]:
    """Where the random numbers of this process stand."""
    version, numbers, gauss = random.getstate()
    states: dict[str, Any] = {
        "allotrope": get_rng_state(),
        "python": (version, _core.tensor(list(numbers), dtype="uint32", device="cpu"), gauss),
        "numpy": None,
    }
    if "numpy" in sys.modules:
        state = sys.modules["numpy"].random.get_state(legacy=False)
        name, its = state["bit_generator"], state["state"]
        if name != "MT19937":
            raise TypeError(
                f"checkpoint: wrong bit generator of numpy.random: {name}; MT19937 is accepted "
                "(hint: a numpy.random.Generator of your own, whose state is a value of yours)"
            )
        keys = _core.tensor(its["key"], device="cpu")
        states["numpy"] = (name, keys, int(its["pos"]), int(state["has_gauss"]), float(state["gauss"]))
    return states


def _check_rng_states(states: Any) -> None:
    """Refuses what is no state of a generator: NumPy takes a position as it is, and reads there."""
    op = "rng"
    states = check_keys(op, states, ("allotrope", "python", "numpy"))
    if states["allotrope"] is not None:
        check_generator(op, "state of allotrope", states["allotrope"])
    if states["python"] is not None:
        version, numbers, gauss = check_list(op, "state of random", states["python"], 3)
        check_choice(op, "version of random", version, (3,))
        words = check_words(op, "state of random", numbers, WORDS + 1)
        check_integer(op, "position of random", words[WORDS].item(), 0, WORDS)
        if gauss is not None:
            _check_normal("random", gauss)
    if states["numpy"] is not None:
        name, keys, place, has_gauss, cached = check_list(op, "state of numpy", states["numpy"], 5)
        check_choice(op, "bit generator of numpy", name, ("MT19937",))
        check_words(op, "state of numpy", keys, WORDS)
        check_integer(op, "position of numpy", place, 0, WORDS)
        check_choice(op, "has_gauss of numpy", has_gauss, (0, 1))
        _check_normal("numpy", cached)


def _check_normal(source: str, number: Any) -> None:
    """The half of a pair of normal numbers that waits: no larger than one can be."""
    check_number("rng", f"waiting normal number of {source}", number, -100.0, 100.0)


def _set_rng_states(states: Mapping[str, Any]) -> None:
    if states.get("allotrope") is not None:
        set_rng_state(states["allotrope"])
    if states.get("python") is not None:
        version, numbers, gauss = states["python"]
        random.setstate((version, tuple(numbers.tolist()), gauss))
    if states.get("numpy") is not None:
        try:
            import numpy
        except ImportError:
            return
        name, keys, place, has_gauss, cached = states["numpy"]
        numpy.random.set_state((name, keys.numpy(), place, has_gauss, cached))


def _apply(op: str, path: Any, steps: list[tuple[str, Any, Any]], rng: Mapping[str, Any]) -> None:
    """Loads all states, or none: what was there is put back if one is refused."""
    before = [(place, one, copied(_state(one))) for place, one, _ in steps]
    random_before = copied(_rng_states())
    done = 0
    place = ""
    try:
        for place, one, state in steps:
            done += 1
            _set(one, state)
        place = "rng"
        _set_rng_states(rng)
    except BaseException as error:
        for _, one, state in before[:done]:
            with contextlib.suppress(Exception):
                _set(one, state)
        _set_rng_states(random_before)
        if not isinstance(error, Exception):
            raise
        kind = type(error) if type(error) in (TypeError, ValueError, RuntimeError) else ValueError
        raise kind(f"{op}: {place} in {_shown(path)} does not fit: {error}") from error


__all__ = ["load_checkpoint", "save_checkpoint"]
