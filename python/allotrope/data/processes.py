"""The workers of a loader as processes."""

from __future__ import annotations

import contextlib
import os
import pickle
import queue
import signal
import socket
import threading
import time
import warnings
from collections import deque
from contextvars import Context
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from .._core import (
    get_default_dtype,
    get_promotion,
    set_default_dtype,
    set_num_threads,
    set_promotion,
)
from .pool import PATIENCE, Answer, Died
from .transport import can_share, pack, unpack
from .worker import Failure, Maker, Recipe, Task

#: Seconds between looks whether a process that says nothing is still there.
WATCH = 2.0


class Processes:
    """Workers that are processes, with copies of the dataset."""

    def __init__(self, recipe: Recipe, options: dict[str, Any], context: Any) -> None:
        self.pid = os.getpid()
        self._connections: list[Any] = []
        self._processes: list[Any] = []
        self._waiting: deque[Answer] = deque()
        options = {**options, "shares": can_share()}
        is_fork = context.get_start_method() == "fork"
        try:
            for worker in range(options["num_workers"]):
                ours, theirs = context.Pipe(duplex=True)
                self._connections.append(ours)
                # A child has copies of what the parent holds: they are closed there, else nobody
                # would learn that the parent is gone.
                inherited = list(self._connections) if is_fork else []
                process = context.Process(
                    target=_serve_process,
                    args=(theirs, inherited, recipe, options, worker, self.pid),
                    name=f"allotrope-loader-{worker}",
                    daemon=True,
                )
                with warnings.catch_warnings():
                    if threading.active_count() == 1:
                        # The threads that Python counts are the library's, which a fork does not harm.
                        warnings.filterwarnings(
                            "ignore", ".*multi-threaded.*fork.*", DeprecationWarning
                        )
                    process.start()
                self._processes.append(process)
                theirs.close()
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            self.close(0.0)
            raise TypeError(
                f"DataLoader: not sent to worker processes: {error}; datasets and functions that "
                "pickle takes are accepted (hint: functions of a module, or workers='threads')"
            ) from error
        except OSError as error:
            self.close(0.0)
            raise RuntimeError(
                f"DataLoader: {options['num_workers']} worker processes cannot be started: {error}; "
                "fewer workers are accepted"
            ) from error
        except BaseException:
            self.close(0.0)
            raise

    def put(self, worker: int, task: Task, base_seed: int, context: Context) -> None:
        """Gives a worker a task, which it does with the dtype settings of this moment."""
        settings = (get_default_dtype().name, get_promotion())
        message = pickle.dumps((task, base_seed, settings), pickle.HIGHEST_PROTOCOL)
        try:
            self._connections[worker].send_bytes(message)
        except (BrokenPipeError, ConnectionResetError, OSError):
            raise self._died(worker) from None

    def get(self, timeout: float | None) -> Answer:
        """The next answer of any worker; queue.Empty if none comes in time, `Died` if one is gone."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not self._waiting:
            left = WATCH if deadline is None else min(WATCH, deadline - time.monotonic())
            ready = connection.wait(self._connections, max(0.0, left))
            for one in ready:
                worker = self._connections.index(one)
                try:
                    answer = self._read(worker, one)
                except (EOFError, OSError):
                    raise self._died(worker) from None
                self._waiting.append(answer)
            if not ready:
                for worker, process in enumerate(self._processes):
                    # One that is gone may have answered before.
                    if not process.is_alive() and not self._connections[worker].poll():
                        raise self._died(worker)
                if deadline is not None and time.monotonic() >= deadline:
                    raise queue.Empty
        return self._waiting.popleft()

    @staticmethod
    def _read(worker: int, link: Any) -> Answer:
        epoch, number, is_shared, payload = pickle.loads(link.recv_bytes())
        descriptor = None
        if is_shared:
            with socket.socket(fileno=os.dup(link.fileno())) as pair:
                _, descriptors, _, _ = socket.recv_fds(pair, 1, 1)
            if not descriptors:
                raise EOFError
            descriptor = descriptors[0]
        try:
            result = pickle.loads(payload) if is_shared is None else unpack(payload, descriptor)
        except Exception as error:  # noqa: BLE001 - whatever a class of the user raises
            result = Failure(error, worker, "processes")
        return Answer(epoch, number, worker, result)

    def _died(self, worker: int) -> Died:
        process = self._processes[worker]
        process.join(1.0)
        code = process.exitcode
        if code is None:
            how = "and closed its connection"
        elif code < 0:
            try:
                how = f"by signal {signal.Signals(-code).name}"
            except ValueError:
                how = f"by signal {-code}"
        else:
            how = f"with exit code {code}"
        return Died(f"worker process {worker} (pid {process.pid}) ended {how}")

    def close(self, patience: float = PATIENCE) -> None:
        """Ends the workers: after what they are at, or at once if that takes too long."""
        if self.pid != os.getpid():
            return
        for one in self._connections:
            _hang_up(one)
        deadline = time.monotonic() + patience
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
        for end in ("terminate", "kill"):
            alive = [process for process in self._processes if process.is_alive()]
            for process in alive:
                getattr(process, end)()
            for process in alive:
                process.join(1.0)
        self._waiting.clear()


def _hang_up(link: Any) -> None:
    """Closes a connection for good, even if processes that were forked meanwhile have copies of it."""
    if os.name == "posix" and not link.closed:
        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(link.fileno())) as pair:
            pair.shutdown(socket.SHUT_RDWR)
    link.close()


def _serve_process(
    link: Any,
    inherited: list[Any],
    recipe: Recipe,
    options: dict[str, Any],
    worker: int,
    parent: int,
) -> None:
    """What a worker process does from its beginning to its end."""
    for one in inherited:
        one.close()
    # Ctrl-C is the parent's matter, and its handlers are not this process's.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    set_num_threads(1)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    stop = threading.Event()
    reader = threading.Thread(target=_read_tasks, args=(link, tasks, stop, parent), daemon=True)
    reader.start()
    maker = Maker(recipe, options, worker)
    while True:
        item = tasks.get()
        if item is None or stop.is_set():
            return
        task, base_seed, (dtype, promotion) = item
        set_default_dtype(dtype)
        set_promotion(promotion)
        result = maker.answer(task, base_seed)
        is_shared, payload, descriptor = _packed(result, worker, options["shares"])
        message = pickle.dumps((task.epoch, task.number, is_shared, payload), 5)
        del item, result, payload
        try:
            link.send_bytes(message)
            if descriptor is not None:
                with socket.socket(fileno=os.dup(link.fileno())) as pair:
                    socket.send_fds(pair, [b"m"], [descriptor])
        except OSError:
            return
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _read_tasks(link: Any, tasks: Any, stop: threading.Event, parent: int) -> None:
    """Takes tasks as they come, so that nobody waits to send one, until the parent is gone."""
    try:
        while True:
            if link.poll(WATCH):
                tasks.put(pickle.loads(link.recv_bytes()))
            elif os.getppid() != parent:
                # A copy of its end of the connection lives on in some other child.
                os._exit(1)
    except (EOFError, OSError):
        stop.set()
        tasks.put(None)
        # A parent that is there waits for the batch, or ends this process; nobody else does.
        while os.getppid() == parent:
            time.sleep(0.1)
        os._exit(1)
    except BaseException:
        os._exit(1)


def _packed(result: Any, worker: int, shares: bool) -> tuple[bool | None, bytes, int | None]:
    """Whether memory is shared (None: nobody asks), a message, and the descriptor of that memory."""
    if isinstance(result, Failure):
        try:
            copy = pickle.loads(pickle.dumps(result.error))
            is_same = type(copy) is type(result.error) and str(copy) == result.text
        except Exception:  # noqa: BLE001 - whatever a class of the user raises
            is_same = False
        if not is_same:
            result.error = None
    try:
        if not shares:
            return None, bytes(ForkingPickler.dumps(result, 5)), None
        payload, descriptor = pack(result)
        return descriptor is not None, payload, descriptor
    except Exception as error:  # noqa: BLE001 - whatever a class of the user raises
        failure = Failure(error, worker, "processes")
        failure.error = TypeError(
            f"DataLoader: a batch cannot be sent from its process: {error}; what pickle takes is "
            "accepted (hint: workers='threads')"
        )
        return None, pickle.dumps(failure, 5), None
