"""Where in a model an error comes from: a note with the path of the module."""

from __future__ import annotations

from typing import Any


def note_module(module: Any, error: Exception) -> None:
    """Says with an error which module it comes from. Each module on the way out knows a longer path
    to the first one, and replaces what the one before said."""
    first = _innermost_module(error) or module
    path = next((path for path, found in module.named_modules() if found is first), None)
    if path is None:
        return
    kind = type(first).__name__
    note = f"in module {path} ({kind})" if path else f"in module {kind}"
    former = error.__dict__.get("_module_note")
    error.__dict__["_module_note"] = note
    if hasattr(error, "add_note"):
        notes: Any = getattr(error, "__notes__", ())
        if former is not None and former in notes:
            notes.remove(former)
        error.add_note(note)
    elif len(error.args) == 1 and isinstance(error.args[0], str):
        # Python 3.10 has no notes: the message itself says it.
        text = error.args[0]
        text = text.removesuffix(f"\n{former}") if former is not None else text
        error.args = (f"{text}\n{note}",)


def _innermost_module(error: Exception) -> Any:
    """The module whose call is nearest to where an error was raised."""
    from .module import Module

    call, found = Module.__call__.__code__, None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code is call:
            found = trace.tb_frame.f_locals.get("self")
        trace = trace.tb_next
    return found
