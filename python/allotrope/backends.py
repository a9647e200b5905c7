"""What torch asks of the libraries below it, as torch.backends.

None of them is below this library: it computes by kernels of its own, which have no modes. A flag that
is about speed alone keeps what it is set to, one that says what results are says what holds, and
questions are answered by what is.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from types import ModuleType
from typing import Any

__all__: list[str] = []


class _Flags(ModuleType):
    """A module whose flags are taken: those that are hints are kept, the others read as they are."""

    _hints: dict[str, Any]
    _facts: dict[str, Any]

    def __init__(self, name: str, hints: dict[str, Any], facts: dict[str, Any], **members: Any) -> None:
        super().__init__(f"allotrope.backends.{name}", f"Flags and questions of torch.backends.{name}.")
        vars(self).update(_hints=dict(hints), _facts=dict(facts), **members)

    def __getattr__(self, name: str) -> Any:
        for flags in (self._hints, self._facts):
            if name in flags:
                return flags[name]
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._hints:
            self._hints[name] = value
        elif name not in self._facts:
            if not (callable(value) or isinstance(value, ModuleType) or name[:1] == "_"):
                known = ", ".join([*self._hints, *self._facts]) or "none"
                short = self.__name__.replace("allotrope", "al", 1)
                raise AttributeError(f"{short}.{name}: no such setting: {value!r}; {known} are accepted")
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*vars(self), *self._hints, *self._facts})


def _answers(value: Any) -> Callable[..., Any]:
    return lambda *_args, **_options: value


@contextmanager
def _for_a_block(*_args: Any, **_options: Any) -> Any:
    yield


# One kernel of its own answers for attention, which is none of torch's.
_ATTENTION = ("flash", "mem_efficient", "cudnn", "math")
_sdp = {f"{name}_sdp_enabled": _answers(name == "math") for name in _ATTENTION}
_sdp |= {f"enable_{name}_sdp": _answers(None) for name in _ATTENTION}

cudnn = _Flags(
    "cudnn", {"benchmark": False, "benchmark_limit": 10},
    {"enabled": False, "deterministic": True, "allow_tf32": False},
    is_available=_answers(False), version=_answers(None), is_acceptable=_answers(False), flags=_for_a_block,
)  # fmt: skip
cuda = _Flags(
    "cuda", {}, {}, is_built=_answers(False), sdp_kernel=_for_a_block, **_sdp,
    matmul=_Flags("cuda.matmul", {}, {
        "allow_tf32": False, "allow_fp16_reduced_precision_reduction": False,
        "allow_bf16_reduced_precision_reduction": False, "allow_fp16_accumulation": False,
    }),
)  # fmt: skip
mps = _Flags("mps", {}, {}, is_available=_answers(False), is_built=_answers(False))
mkl = _Flags("mkl", {}, {}, is_available=_answers(False))
mkldnn = _Flags(
    "mkldnn", {"enabled": False}, {"allow_tf32": False, "deterministic": True}, is_available=_answers(False),
    flags=_for_a_block,
)  # fmt: skip
openmp = _Flags("openmp", {}, {}, is_available=_answers(False))
opt_einsum = _Flags("opt_einsum", {"enabled": False, "strategy": None}, {}, is_available=_answers(False))
