"""One run of a loader through its dataset: which batches, made by whom, in which order."""

from __future__ import annotations

import contextvars
import os
import queue
import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from .dataset import NO_BATCH
from .pool import Died, Turns
from .sampler import OWN
from .worker import ENDED, Draws, Failure, Recipe, Row, Task, mix

if TYPE_CHECKING:
    from .loader import DataLoader


class Epoch:
    """How far a run through the dataset has come: all that is needed to repeat the rest of it."""

    def __init__(self, base_seed: int, samplers: dict[str, Any]) -> None:
        self.base_seed = base_seed
        #: The states of samplers where the run began.
        self.samplers = samplers
        #: Batches before this one were given out,
        self.position = 0
        #: and these after it.
        self.ahead: set[int] = set()
        self.is_finished = False
        self._turns = Turns()

    def take(self, number: int) -> None:
        """A batch is given out."""
        with self._turns:
            self.ahead.add(number)
            while self.position in self.ahead:
                self.ahead.remove(self.position)
                self.position += 1

    def taken(self) -> tuple[int, list[int]]:
        """The number of the first batch that was not given out, and those after it that were."""
        with self._turns:
            return self.position, sorted(self.ahead)

    def was_taken(self, number: int) -> bool:
        """Whether a batch was given out."""
        return number < self.position or number in self.ahead


class Indices:
    """The indices of the batches of a run that are left, under random numbers of their own."""

    def __init__(self, loader: DataLoader[Any], epoch: Epoch) -> None:
        self._seed = mix(epoch.base_seed, -1)
        # Samplers of others may draw from whatever they like.
        samplers = loader._samplers().values()
        self._shared = "untouched" if all(type(one) in OWN for one in samplers) else "restored"
        self._epoch = epoch
        self._number = 0
        with Draws(self._seed, self._shared):
            self._indices = iter(loader._indices())
        self._ready: list[tuple[int, Any]] = []
        try:
            self._ready.append(self._find())
        except StopIteration:
            pass

    def __iter__(self) -> Iterator[Any]:
        return self

    def _find(self) -> tuple[int, Any]:
        while True:
            number = self._number
            with Draws(mix(self._seed, number), self._shared):
                indices = next(self._indices)
            self._number += 1
            if not self._epoch.was_taken(number):
                return number, indices

    def __next__(self) -> tuple[int, Any]:
        """The number of a batch, and its indices."""
        return self._ready.pop() if self._ready else self._find()


class LoaderIterator:
    """One run through the dataset. Threads that share it take turns."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._loader = loader
        self._pid = os.getpid()
        self._turns = Turns()
        self.is_done = False
        self._pool: Any = None
        self._stays = False
        self._finalizer: Any = None
        self._recipe: Recipe | None = None
        if loader.num_workers:
            self._pool, self._stays = loader._lend_workers()
            if not self._stays:
                self._finalizer = weakref.finalize(self, self._pool.close)
        else:
            self._recipe = loader._recipe()
        try:
            self._epoch, self._indices = loader._begin()
        except BaseException:
            self._end()
            raise
        is_iterable = loader._is_iterable
        self._row: Row | None = None
        if self._recipe is not None:
            self._shared = "untouched" if self._recipe.at_once else "restored"
            if is_iterable:
                self._row = Row(self._recipe, loader.batch_size, loader.drop_last)
                self._sent = 0
            return
        self._tag = id(self._epoch) if not self._stays else draw_tag()
        self._sent = 0
        self._outstanding: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._ended: set[int] = set()
        self._failure: Exception | None = None
        self._turn = 0
        self._context = [contextvars.copy_context() for _ in range(loader.num_workers)]
        try:
            for _ in range(loader.prefetch_factor * loader.num_workers):
                self._send()
        except BaseException:
            self._end(is_failure=True)
            raise

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        with self._turns:
            return self._next()

    def _next(self) -> Any:
        if self.is_done:
            raise StopIteration
        try:
            if self._pool is not None:
                batch = self._receive()
            elif self._row is not None:
                batch = self._make_next(self._row)
            else:
                batch = self._make()
        except BaseException as error:
            # Whoever interrupts does not wait for what workers are at.
            self._end(is_failure=True, patience=None if isinstance(error, Exception) else 0.2)
            raise
        if batch is NO_BATCH:
            self._epoch.is_finished = True
            self._end()
            raise StopIteration
        return batch

    def _make(self) -> Any:
        """The next batch, without workers."""
        assert self._indices is not None and self._recipe is not None
        for number, indices in self._indices:
            with Draws(mix(self._epoch.base_seed, number), self._shared):
                batch = _without_stop(self._recipe.make, indices)
            self._epoch.take(number)
            return batch
        return NO_BATCH

    def _make_next(self, row: Row) -> Any:
        """The next batch of an iterable dataset, without workers."""
        while True:
            number = self._sent
            is_wanted = not self._epoch.was_taken(number)
            with Draws(mix(self._epoch.base_seed, number), "restored"):
                batch = _without_stop(row.make, is_wanted)
            self._sent += 1
            if batch is NO_BATCH:
                return NO_BATCH
            if is_wanted:
                self._epoch.take(number)
                return batch

    def _send(self) -> None:
        """Gives a worker the next task, if there is one."""
        loader, epoch = self._loader, self._epoch
        workers = loader.num_workers
        if self._indices is None:
            if len(self._ended) == workers:
                return
            number, indices = self._sent, None
            is_wanted = not epoch.was_taken(number)
        else:
            if self._failure is not None:
                return
            try:
                number, indices = next(self._indices)
            except StopIteration:
                return
            except Exception as error:  # noqa: BLE001 - it belongs to the consumer
                # It is raised where the batch would have been.
                self._failure = error
                return
            is_wanted = True
        while self._turn % workers in self._ended:
            self._turn += 1
        worker = self._turn % workers
        self._turn += 1
        self._sent += 1
        self._outstanding[number] = worker
        task = Task(self._tag, number, indices, mix(epoch.base_seed, number), is_wanted)
        try:
            self._pool.put(worker, task, epoch.base_seed, self._context[worker])
        except Died:
            # Whoever waits for its answer learns of it.
            pass

    def _receive(self) -> Any:
        """The next batch from the workers."""
        if self._pid != os.getpid():
            raise RuntimeError(
                "DataLoader: the workers belong to the process that was forked; "
                "iterators that begin in this one are accepted"
            )
        while self._outstanding:
            number = next(iter(self._outstanding))
            if not self._loader.in_order and self._arrived:
                number = next(iter(self._arrived))
            if number not in self._arrived:
                self._wait(self._outstanding[number])
                continue
            result = self._arrived.pop(number)
            worker = self._outstanding.pop(number)
            if isinstance(result, Failure):
                raise result.exception()
            is_skipped = self._epoch.was_taken(number)
            if result is ENDED or type(result) is type(ENDED):
                self._ended.add(worker)
                self._epoch.take(number)
            elif not is_skipped:
                self._epoch.take(number)
                self._send()
                return result
            self._send()
        if self._failure is not None:
            raise self._failure
        return NO_BATCH

    def _wait(self, worker: int) -> None:
        """Takes an answer in."""
        timeout = self._loader.timeout or None
        try:
            answer = self._pool.get(timeout)
        except queue.Empty:
            self._end(is_failure=True, patience=0.0)
            raise RuntimeError(
                f"DataLoader: no batch within {timeout} s: worker {worker} is at it; "
                "a longer timeout, or 0 for none, is accepted"
            ) from None
        except Died as error:
            raise RuntimeError(
                f"DataLoader: {error} (hint: num_workers=0 shows where; memory that ran out "
                "ends a process by SIGKILL)"
            ) from None
        if answer.epoch == self._tag:
            self._arrived[answer.number] = answer.result

    def _end(self, is_failure: bool = False, patience: float | None = None) -> None:
        """Ends workers that do not stay, and forgets what is under way."""
        if self.is_done:
            return
        self.is_done = True
        pool, self._pool = self._pool, None
        self._arrived = {}
        self._outstanding = {}
        if pool is None:
            return
        if self._finalizer is not None:
            self._finalizer.detach()
        if self._stays and is_failure:
            self._loader._drop_workers()
        if not self._stays or is_failure:
            pool.close() if patience is None else pool.close(patience)


_tags = iter(range(1, 2**62))


def draw_tag() -> int:
    """A number that no other run has."""
    return next(_tags)


def _without_stop(make: Callable[[Any], Any], given: Any) -> Any:
    """A batch; a StopIteration of the dataset would end the consumer's loop as if all were done."""
    try:
        return make(given)
    except StopIteration as error:
        raise RuntimeError(f"DataLoader: StopIteration in the dataset: {error}") from error
