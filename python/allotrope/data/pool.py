"""The workers of a loader as threads; those that are processes are in `processes`."""

from __future__ import annotations

import os
import queue
import threading
import time
from contextvars import Context
from typing import Any

from .worker import Maker, Recipe, Task

#: Seconds that a worker has to end after it was told to.
PATIENCE = 5.0


class Died(Exception):
    """A worker process is gone."""


class Turns:
    """A lock for what several threads may share; a process that was forked has it anew."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        if self._pid != os.getpid():
            # Whoever held it is not here.
            self.__init__()  # type: ignore[misc]
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def __reduce__(self) -> Any:
        return Turns, ()


class Answer:
    """What a worker made of a task."""

    __slots__ = ("epoch", "number", "result", "worker")

    def __init__(self, epoch: int, number: int, worker: int, result: Any) -> None:
        self.epoch = epoch
        self.number = number
        self.worker = worker
        self.result = result


class Threads:
    """Workers that are threads of this process, and share its objects."""

    def __init__(self, recipe: Recipe, options: dict[str, Any]) -> None:
        self.pid = os.getpid()
        self._answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._stop = threading.Event()
        self._tasks: list[queue.SimpleQueue[Any]] = []
        self._threads: list[threading.Thread] = []
        for worker in range(options["num_workers"]):
            tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
            maker = Maker(recipe, options, worker)
            thread = threading.Thread(
                target=_serve_thread,
                args=(maker, tasks, self._answers, self._stop, worker),
                name=f"allotrope-loader-{worker}",
                daemon=True,
            )
            self._tasks.append(tasks)
            self._threads.append(thread)
        try:
            for thread in self._threads:
                thread.start()
        except BaseException as error:
            # Those that were started wait for work.
            self.close(0.0)
            if not isinstance(error, RuntimeError):
                raise
            raise RuntimeError(
                f"DataLoader: {len(self._threads)} worker threads cannot be started: {error}; "
                "fewer workers are accepted"
            ) from error

    def put(self, worker: int, task: Task, base_seed: int, context: Context) -> None:
        """Gives a worker a task, which it does with the settings of a context."""
        self._tasks[worker].put((task, base_seed, context))

    def get(self, timeout: float | None) -> Answer:
        """The next answer of any worker; queue.Empty if none comes in time."""
        return self._answers.get(timeout=timeout)

    def close(self, patience: float = PATIENCE) -> None:
        """Ends the workers after what they are at."""
        if self.pid != os.getpid():
            return
        self._stop.set()
        for tasks in self._tasks:
            tasks.put(None)
        deadline = time.monotonic() + patience
        for thread in self._threads:
            # The garbage collector may call from a worker.
            if thread is not threading.current_thread() and thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))


def _serve_thread(
    maker: Maker,
    tasks: queue.SimpleQueue[Any],
    answers: queue.SimpleQueue[Answer],
    stop: threading.Event,
    worker: int,
) -> None:
    while True:
        item = tasks.get()
        if item is None or stop.is_set():
            return
        task, base_seed, context = item
        result = context.run(maker.answer, task, base_seed)
        answers.put(Answer(task.epoch, task.number, worker, result))
        # Nothing is kept while there is nothing to do.
        del item, task, context, result
