"""What `load_state_dict` did: the report, the error and the warning."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, NamedTuple

from .parameter import is_lazy

# More names than these are counted, not compared or listed.
_LISTED = 20


class LossyConversionWarning(UserWarning):
    """Values of a wider dtype were rounded to the dtype of the module that takes them.

    >>> import warnings
    >>> layer = al.nn.Linear(1, 1, bias=False, dtype=al.bfloat16)
    >>> with warnings.catch_warnings(record=True) as heard:
    ...     warnings.simplefilter("always")
    ...     report = layer.load_state_dict({"weight": al.tensor([[1.001]])})
    >>> heard[0].category is al.nn.LossyConversionWarning, report.lossy
    (True, ['weight'])
    """


class StateDictError(RuntimeError, ValueError):
    """A state dict does not fit a module, which is as it was. `report` says what was found.

    >>> try:
    ...     al.nn.Linear(2, 3).load_state_dict({"weight": al.ones(3, 2)})
    ... except al.nn.StateDictError as error:
    ...     print(error.report.missing_keys)
    ['bias']
    """

    def __init__(self, text: str, report: Any = None) -> None:
        super().__init__(text)
        self.report = report


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class IncompatibleKeys(_Keys):
    """What loading found: `missing_keys` and `unexpected_keys`, as torch's, and more: `loaded`,
    `renamed` (given to used names), `shape_differences` and `dtype_differences` (given, own),
    `lossy` (names whose values were rounded) and `near` (unexpected names to similar missing ones).

    >>> layer = al.nn.Linear(2, 3)
    >>> report = layer.load_state_dict({"weight": al.ones(3, 2), "extra": al.ones(1)}, strict=False)
    >>> report.missing_keys, report.unexpected_keys
    (['bias'], ['extra'])
    """

    def __new__(cls, missing_keys: list[str], unexpected_keys: list[str]) -> IncompatibleKeys:
        made = super().__new__(cls, missing_keys, unexpected_keys)
        made.loaded = []
        made.renamed = {}
        made.shape_differences = {}
        made.dtype_differences = {}
        made.lossy = []
        made.near = {}
        return made

    loaded: list[str]
    renamed: dict[str, str]
    shape_differences: dict[str, tuple[Any, Any]]
    dtype_differences: dict[str, tuple[Any, Any]]
    lossy: list[str]
    near: dict[str, list[str]]

    def find_near_names(self) -> None:
        """Compares unexpected names with missing ones.

        >>> report = al.nn.IncompatibleKeys(["layer.weight"], ["layers.weight"])
        >>> report.find_near_names()
        >>> report.near
        {'layers.weight': ['layer.weight']}
        """
        missing = self.missing_keys[: 10 * _LISTED]
        for key in self.unexpected_keys[:_LISTED]:
            found = get_close_matches(key, missing, n=1, cutoff=0.75)
            if found:
                self.near[key] = found

    @property
    def missing(self) -> list[str]:
        """The names of members that nothing was given for.

        >>> al.nn.Linear(2, 3).load_state_dict({}, strict=False).missing
        ['weight', 'bias']
        """
        return self.missing_keys

    @property
    def unexpected(self) -> list[str]:
        """The names that no member has.

        >>> al.nn.ReLU().load_state_dict({"extra": al.ones(1)}, strict=False).unexpected
        ['extra']
        """
        return self.unexpected_keys

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return (
            f"IncompatibleKeys(missing_keys={self.missing_keys!r}, "
            f"unexpected_keys={self.unexpected_keys!r})"
        )

    __str__ = __repr__


def write_errors(
    module: Any, report: IncompatibleKeys, problems: list[str], strict: bool, expected: dict[str, Any]
) -> str:
    """The text of an error: one line per problem, with the path of the member."""
    lines = list(problems)
    if strict:
        for name in report.missing_keys:
            tensor: Any = expected.get(name)
            is_known = tensor is not None and not is_lazy(tensor)
            what = f" ({list(tensor.shape)}, {tensor.dtype})" if is_known else ""
            lines.append(f"{name}: missing{what}")
        for name in report.unexpected_keys:
            near = report.near.get(name)
            lines.append(f"{name}: unexpected" + (f" (near: {near[0]})" if near else ""))
    shown = lines[:_LISTED]
    if len(lines) > len(shown):
        shown.append(f"and {len(lines) - len(shown)} more")
    count = f"{len(lines)} problem" + ("" if len(lines) == 1 else "s")
    is_about_names = strict and len(problems) < len(lines)
    hint = "\n(hint: strict=False leaves names out, rename= gives them others)" if is_about_names else ""
    return (
        f"load_state_dict: the state dict does not fit {type(module).__name__}: {count}; nothing was "
        "changed\n  " + "\n  ".join(shown) + hint
    )


__all__ = ["IncompatibleKeys", "LossyConversionWarning", "StateDictError"]
