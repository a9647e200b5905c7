"""Where torch's paths lead: which module of the package answers for `torch.a.b`, and the import hook.

A path is answered by the module of the same path here, and what is the same needs no line. `PATHS` has
those that are elsewhere, `FILES` the files of torch's packages whose names are in the package itself
here, and `_names.PLACES` what only torch has.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, NamedTuple

HOME = "allotrope"
INNER = f"{HOME}.torch"

# Paths of torch's, and those of what answers for them here.
PATHS = {
    "_dynamo": "compiler",
    "amp.autocast_mode": "amp",
    "amp.grad_scaler": "amp",
    "cuda.amp.autocast_mode": "cuda.amp",
    "cuda.amp.grad_scaler": "cuda.amp",
    "cuda.random": "cuda",
    "nn.modules": "nn",
    "nn.parallel.data_parallel": "nn.parallel",
    "nn.parallel.distributed": "nn.parallel",
    "utils.data._utils.collate": "data",
}

# Files of torch's packages, whose names the packages have here.
FILES = {
    "autograd": "anomaly_mode grad_mode gradcheck",
    "distributions": "bernoulli beta binomial categorical cauchy constraints dirichlet distribution exponential gamma "
    "geometric gumbel independent kl laplace log_normal multinomial multivariate_normal normal one_hot_categorical "
    "pareto poisson relaxed_bernoulli studentT transformed_distribution uniform utils",
    "nn.modules": "activation adaptive batchnorm channelshuffle container conv distance dropout flatten fold "
    "instancenorm lazy linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling",
    "nn.utils": "fusion init memory_format spectral_norm weight_norm",
    "optim": "adadelta adagrad adam adamax adamw asgd lbfgs nadam optimizer radam rmsprop rprop sgd",
    "utils.data": "_utils dataloader dataset distributed sampler",
}


class Miss(NamedTuple):
    """A name that was asked for and is not here, and the file and the line that asked first.

    >>> from allotrope.torch import Miss
    >>> print(Miss("torch.sparse.mm", "program.py", 7))
    torch.sparse.mm  (program.py:7)
    """

    path: str
    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.path}  ({self.file}:{self.line})"


_MISSES: dict[str, Miss] = {}


def misses() -> list[Miss]:
    """What was asked for so far and is not here, each name once.

    >>> import allotrope.torch as torch
    >>> hasattr(torch.nn, "NoSuchLayer")
    False
    >>> torch.misses()[-1].path
    'torch.nn.NoSuchLayer'
    """
    return list(_MISSES.values())


def _note(path: str) -> None:
    frame: Any = sys._getframe(1)
    while frame is not None and (frame.f_code.co_filename == __file__ or "importlib" in frame.f_code.co_filename):
        frame = frame.f_back
    file, line = ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    _MISSES.setdefault(path, Miss("torch." + path, file, line))


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _module_at(path: str) -> ModuleType | None:
    """The module of the package with a path, if it is one."""
    found: Any = importlib.import_module(HOME)
    for name in path.split(".") if path else ():
        inside = getattr(found, name, None)
        if inside is None and hasattr(found, "__path__") and importlib.util.find_spec(f"{found.__name__}.{name}"):
            inside = importlib.import_module(f"{found.__name__}.{name}")
        if not isinstance(inside, ModuleType):
            return None
        found = inside
    return found  # type: ignore[no-any-return]


def _answer(path: str) -> tuple[ModuleType | None, Any]:
    """The module that answers for a path of torch's, and the names that only torch has there, or in words
    why there are none."""
    from ._names import PLACES

    package, _, file = path.rpartition(".")
    own: Any = PLACES[path]() if path in PLACES else {}
    if isinstance(own, str):
        return None, own
    target = PATHS.get(path, package if file in FILES.get(package, "").split() else path)
    if target != path:
        module, others = _answer(target)
        return module, {**({} if isinstance(others, str) else others), **own}
    if path in ("torch", "array_api"):
        return None, {}
    return _module_at(path), own


class Place(ModuleType):
    """A module under a name of torch's, which answers with the names of a module here."""

    def __init__(self, name: str, path: str, module: ModuleType | None, own: dict[str, Any]) -> None:
        super().__init__(name, getattr(module, "__doc__", None))
        self.__dict__.update(_path=path, _module=module, _own=own, **own)

    def __getattr__(self, name: str) -> Any:
        path = _join(self._path, name)
        value = getattr(self._module, name, self) if name not in ("__path__", "__file__", "__wrapped__") else self
        is_module = isinstance(value, ModuleType)
        if is_module and value is not self and not value.__name__.startswith(HOME):
            return value
        if is_module and (value is not self or not name.startswith("__")):
            # The same module under torch's name, or one that only torch has.
            if _is_place(path):
                return importlib.import_module(f"{self.__name__}.{name}")
            value = self
        if value is self:
            if not name.startswith("__"):
                _note(path)
            raise AttributeError(f"module {_join('torch', self._path).rstrip('.')!r} has no attribute {name!r}", name=name, obj=self)
        if callable(value):
            self.__dict__[name] = value
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        is_own = name.startswith("__") or name in self._own or self._module is None or isinstance(value, ModuleType)
        if not is_own:
            setattr(self._module, name, value)
            self.__dict__.pop(name, None)
        else:
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(self._module)} if self._module else self.__dict__)


def _is_place(path: str) -> bool:
    module, own = _answer(path)
    return module is not None or bool(own)


def forget() -> None:
    """Has every place look its names up again: functions of the package were replaced."""
    for module in list(sys.modules.values()):
        if isinstance(module, Place):
            for name in [name for name in vars(module) if name[:1] != "_" and name not in module._own]:
                if not isinstance(vars(module)[name], ModuleType):
                    del vars(module)[name]


class _Loader(Loader):
    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module, own = _answer(self.path)
        if isinstance(own, str):
            raise ImportError(own, name=self.name)
        return Place(self.name, self.path, module, own)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


class _Finder(MetaPathFinder):
    """Finds what is imported under a name of torch's."""

    def __init__(self, root: str) -> None:
        self.root = root

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        root, inner = self.root, fullname[len(self.root) + 1 :]
        is_below = fullname.startswith(root + ".")
        if not is_below and (fullname != root or root == INNER):
            return None
        if root == INNER and inner in ("_names", "_paths", "__main__"):
            return None
        if not _is_place(inner):
            _note(inner)
            return None
        return ModuleSpec(fullname, _Loader(fullname, inner), is_package=True)


def find_under(root: str) -> None:
    """Has imports of a name and of what is below it answered here."""
    if not any(isinstance(finder, _Finder) and finder.root == root for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(root))


def install() -> None:
    """Has `import torch`, and imports of all that is below it, answered by this library, in this process
    and from now on.

    >>> import allotrope.torch
    >>> allotrope.torch.install()
    >>> import torch
    >>> torch.ones(2) + 1
    tensor([2., 2.])
    >>> allotrope.torch.uninstall()
    """
    found = sys.modules.get("torch")
    if found is not None and not isinstance(found, Place):
        raise RuntimeError(
            f"install: torch is imported already: {getattr(found, '__file__', None)}; a process without it is "
            "accepted (hint: import allotrope.torch as torch)"
        )
    find_under("torch")


def uninstall() -> None:
    """Takes back what `install` did, for what is imported from now on.

    >>> import allotrope.torch
    >>> allotrope.torch.install()
    >>> allotrope.torch.uninstall()
    """
    sys.meta_path[:] = [each for each in sys.meta_path if not (isinstance(each, _Finder) and each.root == "torch")]
    for name in [name for name, module in sys.modules.items() if isinstance(module, Place) and name.split(".")[0] == "torch"]:
        del sys.modules[name]
