"""What happens where a batch is made: its random numbers, its samples, and what they raise.

Random numbers belong to the batch, not to the worker that makes it: a seed is mixed of the epoch's
and the batch's number, and draws of `al.random` start from it, so that they are the same for any
number of workers of any kind. Python's `random` and `numpy.random` have one state for a process: it
is seeded for the batch in worker processes, and without workers (where the state is put back after
the batch). Worker threads leave it alone; `python_generator` and `numpy_generator` are for them.
"""

from __future__ import annotations

import random
import sys
import threading
import traceback
from collections.abc import Iterator
from typing import Any

from .._core import _swap_place_of_thread
from .dataset import NO_BATCH, IterableDataset, _samples, batch_at_once
from .sampler import draw_seed

_MASK = 2**64 - 1


def mix(seed: int, number: int) -> int:
    """A seed of 64 bits for one of many purposes (splitmix64)."""
    z = (seed + (number + 1) * 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


class WorkerInfo:
    """Which worker of a loader this is.

    id: its number, from 0 to num_workers - 1. dataset: its own copy in a process; that of the loader
    in a thread, a shallow copy of it if it is iterable. seed: another one for each worker and epoch.
    workers: "threads" or "processes".

    >>> class Where(al.data.Dataset):
    ...     def __len__(self):
    ...         return 2
    ...     def __getitem__(self, index):
    ...         return al.data.get_worker_info().id
    >>> list(al.data.DataLoader(Where(), num_workers=1))
    [tensor([0]), tensor([0])]
    """

    __slots__ = ("dataset", "id", "num_workers", "seed", "workers")

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any, workers: str) -> None:
        self.id = id
        self.num_workers = num_workers
        self.seed = seed
        self.dataset = dataset
        self.workers = workers

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name}={getattr(self, name)!r}" for name in ("id", "num_workers", "seed")
        )
        return f"WorkerInfo({parts}, workers={self.workers!r})"


class _Local(threading.local):
    """What a thread is at."""

    info: WorkerInfo | None = None
    seed: int | None = None
    python: random.Random | None = None
    numpy: Any = None


_local = _Local()
#: The worker that this process is: also for threads that its dataset starts.
_process: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Which worker of a loader this thread or process is; None outside of workers.

    >>> al.data.get_worker_info() is None
    True
    """
    return _local.info or _process


def python_generator() -> random.Random:
    """A generator of Python's `random` for the batch that is being made.

    Its numbers are the same for any number of workers of any kind.

    >>> 0 <= al.data.python_generator().random() < 1
    True
    """
    if _local.seed is None:
        return random.Random(draw_seed())
    if _local.python is None:
        _local.python = random.Random(_local.seed)
    return _local.python


def numpy_generator() -> Any:
    """A `numpy.random.Generator` for the batch that is being made.

    Its numbers are the same for any number of workers of any kind.

    >>> 0 <= al.data.numpy_generator().random() < 1
    True
    """
    import numpy

    if _local.seed is None:
        return numpy.random.default_rng(draw_seed())
    if _local.numpy is None:
        _local.numpy = numpy.random.default_rng(_local.seed)
    return _local.numpy


class _NumpyState:
    """The state of `numpy.random`, put aside for a batch.

    Getting and setting it takes 120 us. So another bit generator is put in its place, which takes 2.
    NumPy then drops the half of a pair of normal numbers that waits, and this is put back.
    """

    def __init__(self) -> None:
        self._spare: Any = None

    def set_aside(self, numpy: Any) -> tuple[Any, Any]:
        """The bit generator in use, and what waits; or None and the whole state."""
        source = numpy.get_state.__self__
        if not hasattr(numpy, "set_bit_generator") or not hasattr(source, "_bit_generator"):
            return None, numpy.get_state(legacy=False)
        current = numpy.get_bit_generator()
        # Its words are what takes long to get.
        source._bit_generator = _WithoutWords(current)
        try:
            waiting = source.get_state(legacy=False)
        finally:
            source._bit_generator = current
        if self._spare is None or self._spare is current:
            self._spare = numpy.MT19937(0)
        numpy.set_bit_generator(self._spare)
        return current, waiting

    @staticmethod
    def put_back(numpy: Any, generator: Any, state: Any) -> None:
        """Puts back what was set aside."""
        if generator is not None:
            numpy.set_bit_generator(generator)
            if not state["has_gauss"]:
                return
            state = {**numpy.get_state(legacy=False), **state}
        numpy.set_state(state)


class _WithoutWords:
    """A bit generator that gives an empty state, so that NumPy adds what it has beside it."""

    def __init__(self, generator: Any) -> None:
        self._generator = generator
        self.state: dict[str, Any] = {"bit_generator": type(generator).__name__}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._generator, name)


_numpy_state = _NumpyState()


class Draws:
    """The random numbers of a batch, for a block.

    `shared` says what becomes of the state that a process has once: "restored" after the block,
    "seeded" for good, or "untouched".
    """

    __slots__ = ("_before", "_numpy", "_place", "_python", "seed", "shared")

    def __init__(self, seed: int, shared: str) -> None:
        self.seed = seed
        self.shared = shared

    def __enter__(self) -> None:
        self._place = _swap_place_of_thread((self.seed, 0))
        self._before = (_local.seed, _local.python, _local.numpy)
        _local.seed, _local.python, _local.numpy = self.seed, None, None
        self._python = self._numpy = None
        if self.shared != "untouched":
            numpy = sys.modules["numpy"].random if "numpy" in sys.modules else None
            if self.shared == "restored":
                self._python = random.getstate()
                self._numpy = numpy and (numpy, *_numpy_state.set_aside(numpy))
            random.seed(self.seed)
            if numpy is not None:
                numpy.seed(self.seed & 0xFFFFFFFF)

    def __exit__(self, *error: object) -> None:
        _swap_place_of_thread(self._place)
        _local.seed, _local.python, _local.numpy = self._before
        if self._python is not None:
            random.setstate(self._python)
        if self._numpy is not None:
            _numpy_state.put_back(*self._numpy)


class Recipe:
    """How batches of a loader are made, wherever that is."""

    def __init__(self, dataset: Any, collate_fn: Any, batched: bool, at_once: bool) -> None:
        self.dataset = dataset
        self.collate_fn = collate_fn
        #: Whether samples are put together; else each is a batch.
        self.batched = batched
        #: Whether one indexing operation makes a batch.
        self.at_once = at_once

    def make(self, indices: Any) -> Any:
        """The batch of these samples."""
        if self.at_once:
            batch = batch_at_once(self.dataset, indices)
            if batch is not NO_BATCH:
                return batch
        if self.batched:
            return self.collate_fn(_samples(self.dataset, indices))
        return self.collate_fn(self.dataset[indices])


class Row:
    """The batches of an iterable dataset, one after another."""

    def __init__(self, recipe: Recipe, batch_size: int | None, drop_last: bool) -> None:
        self._recipe = recipe
        self._batch_size = batch_size
        self._drop_last = drop_last
        self._samples: Iterator[Any] | None = None

    def make(self, is_wanted: bool) -> Any:
        """The next batch, or only the steps to it; StopIteration as a result: `NO_BATCH`."""
        if self._samples is None:
            self._samples = iter(self._recipe.dataset)
        if self._batch_size is None:
            for sample in self._samples:
                return self._recipe.collate_fn(sample) if is_wanted else None
            return NO_BATCH
        batch = []
        for sample in self._samples:
            batch.append(sample)
            if len(batch) == self._batch_size:
                break
        if not batch or (self._drop_last and len(batch) < self._batch_size):
            return NO_BATCH
        return self._recipe.collate_fn(batch) if is_wanted else None


class Task:
    """A batch to be made: by indices, or the next of an iterable dataset."""

    __slots__ = ("epoch", "indices", "is_wanted", "number", "seed")

    def __init__(self, epoch: int, number: int, indices: Any, seed: int, is_wanted: bool) -> None:
        self.epoch = epoch
        self.number = number
        self.indices = indices
        self.seed = seed
        self.is_wanted = is_wanted

    def __reduce__(self) -> Any:
        return Task, (self.epoch, self.number, self.indices, self.seed, self.is_wanted)


class Failure:
    """What a worker raised, on its way to the consumer."""

    def __init__(self, error: BaseException, worker: int, workers: str) -> None:
        self.error: BaseException | None = error
        self.name = type(error).__name__
        self.text = str(error)
        self.worker = worker
        self.workers = workers
        self.traceback = "".join(
            traceback.format_exception(type(error), error, error.__traceback__)
        )

    def exception(self) -> BaseException:
        """The exception, caused by the worker's traceback."""
        where = f"{'thread' if self.workers == 'threads' else 'process'} {self.worker}"
        error = self.error
        if error is None:
            error = RuntimeError(f"DataLoader: {self.name} in worker {where}: {self.text}")
        elif isinstance(error, (StopIteration, GeneratorExit)):
            # It would end the consumer's loop as if there were no more batches.
            error = RuntimeError(f"DataLoader: {self.name} in worker {where}: {self.text}")
        cause = WorkerTraceback(f"in worker {where}:\n\n{self.traceback}")
        cause.worker = self.worker
        error.__cause__ = cause
        return error


class WorkerTraceback(Exception):
    """The cause of an exception in a worker: the traceback that it had there, as text.

    >>> class Broken(al.data.Dataset):
    ...     def __len__(self):
    ...         return 1
    ...     def __getitem__(self, index):
    ...         raise KeyError(index)
    >>> try:
    ...     list(al.data.DataLoader(Broken(), num_workers=1))
    ... except KeyError as error:
    ...     print(type(error.__cause__).__name__)
    WorkerTraceback
    """

    worker: int = -1


class Ended:
    """The answer of a worker whose iterable dataset has no more batches."""


ENDED = Ended()


class Maker:
    """A worker: makes batches, one task after another."""

    def __init__(self, recipe: Recipe, options: dict[str, Any], worker: int) -> None:
        self._recipe = recipe
        self._options = options
        self._worker = worker
        self._row: Row | None = None
        self._epoch = -1
        self._has_begun = False
        #: What failed before the first batch.
        self._failure: Failure | None = None

    def begin(self, seed: int) -> None:
        """Makes this thread or process a worker, and calls the user's function."""
        global _process
        options, recipe = self._options, self._recipe
        workers = options["workers"]
        if workers == "threads" and isinstance(recipe.dataset, IterableDataset):
            import copy

            recipe = Recipe(
                copy.copy(recipe.dataset), recipe.collate_fn, recipe.batched, recipe.at_once
            )
            self._recipe = recipe
        info = WorkerInfo(
            self._worker, options["num_workers"], seed + self._worker, recipe.dataset, workers
        )
        _local.info = info
        if workers == "processes":
            _process = info
        initialize = options["worker_init_fn"]
        if initialize is not None:
            try:
                with Draws(mix(seed, -2 - self._worker), self._shared):
                    initialize(self._worker)
            except BaseException as error:  # noqa: BLE001 - it belongs to the consumer
                self._failure = Failure(error, self._worker, workers)

    @property
    def _shared(self) -> str:
        return "seeded" if self._options["workers"] == "processes" else "untouched"

    def answer(self, task: Task, base_seed: int) -> Any:
        """The batch of a task, or what became of it."""
        options = self._options
        try:
            if not self._has_begun:
                self._has_begun = True
                self.begin(base_seed)
            if self._failure is not None:
                return self._failure
            if task.epoch != self._epoch:
                self._epoch = task.epoch
                self._row = None
                info = get_worker_info()
                if info is not None:
                    info.seed = base_seed + self._worker
                if options["is_iterable"]:
                    self._row = Row(self._recipe, options["batch_size"], options["drop_last"])
            with Draws(task.seed, self._shared):
                if self._row is None:
                    return self._recipe.make(task.indices)
                batch = self._row.make(task.is_wanted)
                return ENDED if batch is NO_BATCH else batch
        except BaseException as error:  # noqa: BLE001 - it belongs to the consumer
            return Failure(error, self._worker, options["workers"])
