"""Examples of what is made of something else: forms in place, copies, forms with an option, old
names, classes of results.

Each is an example of the original, called as the form is. The tests run them all.
"""

from __future__ import annotations


def _first(doc: str) -> tuple[list[str], list[str]]:
    """What the first example of a docstring types, and what that prints."""
    typed: list[str] = []
    printed: list[str] = []
    _, prompt, rest = doc.partition(">>>")
    for line in (prompt + rest).splitlines():
        if not line.startswith((">>>", "...")):
            printed.append(line)
        elif printed:
            break
        else:
            typed.append(line)
    return typed, printed


def _summary(doc: str) -> str:
    """What a docstring says before its examples."""
    return doc.partition(">>>")[0].strip()


def documented(doc: str, original: str, form: str, what: str, result: str | None = None) -> str:
    """The docstring of a form: that of the original, what is different, and the example with the
    method or function of another name, and another result if it has one."""
    typed, printed = _first(doc)
    example = [line.replace(f".{original}(", f".{form}(") for line in typed]
    return "\n".join([_summary(doc), "", what, "", *example, *([result] if result else printed)]).strip()


def as_copy(doc: str, original: str, is_method: bool) -> str:
    """The docstring of a function or method that copies what a view gives."""
    what, form = f"A copy of what `{original}` gives.", f"{original}_copy"
    typed, printed = _first(doc)
    if not typed:
        return what
    before, _, after = typed[-1].partition(f".{original}(")
    if is_method:
        typed[-1] = f"{before}.{form}({after}"
    else:
        comma = "" if after.startswith(")") else ", "
        typed[-1] = f">>> al.{form}({before.removeprefix('>>> ')}{comma}{after}"
    return "\n".join([what, "", *typed, *printed]).strip()


def with_option(doc: str, original: str, form: str, option: str) -> str:
    """The docstring of a function of `nn.functional` with an option that is true."""
    what = f"`{original}` with {option}=True."
    typed, printed = _first(doc)
    if not typed:
        return what
    before, _, after = typed[-1].partition(f"{original}(")
    before = before.replace("nn.functional.", "").replace("al.", "al.nn.functional.")
    depth, end = 1, 0
    while depth and end < len(after):
        depth += {"(": 1, ")": -1}.get(after[end], 0)
        end += 1
    # A pair, the first of which is what the original gives alone.
    first = "[0]" if option == "return_indices" else ""
    typed[-1] = f"{before}{form}({after[:end]}{first}{after[end:]}"
    return "\n".join([what, "", *typed, *printed]).strip()


def as_result(doc: str, function: str, fields: tuple[str, ...]) -> str:
    """The docstring of the class of what a function gives."""
    _, prompt, examples = doc.partition(">>>")
    return f"What `al.{function}` gives: {', '.join(fields)}.\n\n{prompt}{examples}".strip()
