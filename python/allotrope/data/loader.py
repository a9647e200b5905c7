"""The loader: batches of a dataset, made here or by workers, and resumed where a run was left."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from .._accepted import LARGEST, check_choice, check_generator, check_integer, check_keys, check_list
from .._accepted import check_number
from .._core import Generator
from .collate import default_collate, default_convert
from .dataset import IterableDataset, makes_batches
from .iterator import Epoch, Indices, LoaderIterator
from .pool import Threads, Turns
from .sampler import (
    OWN,
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    check_count,
    draw_seed,
)
from .worker import Recipe

T_co = TypeVar("T_co", covariant=True)


class _Indexed(Protocol[T_co]):
    def __getitem__(self, index: Any, /) -> T_co: ...


class DataLoader(Generic[T_co]):
    """Batches of a dataset, in order or shuffled, made here or by workers, as torch's.

    Workers are threads, or with workers="processes" (or a `multiprocessing_context`) processes.
    The order and the random numbers do not depend on them: each epoch draws one seed from
    `generator`, or from that of the process, and each batch has its own, for `al.random` and for
    `al.data.numpy_generator` and `python_generator`. Python's `random` and `numpy.random` are seeded
    from it, too, in processes and without workers; threads share them and leave them alone.

    What a worker raises is raised here, with its traceback as cause. `state_dict` is taken at any
    batch, and a loader that is given it goes on with the next. `pin_memory` has no effect: batches are
    where the samples are (hint: `batch.to(device)`).

    >>> data = al.data.TensorDataset(al.arange(5), [0, 1, 0, 1, 0])
    >>> for x, y in al.data.DataLoader(data, batch_size=2):
    ...     print(x, y)
    tensor([0, 1]) tensor([0, 1])
    tensor([2, 3]) tensor([0, 1])
    tensor([4]) tensor([0])
    """

    def __init__(
        self,
        dataset: _Indexed[T_co] | Iterable[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[Any] | Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        workers: str | None = None,
    ) -> None:
        op = "DataLoader"
        self.dataset: Any = dataset
        self.num_workers = check_count(op, "num_workers", num_workers, least=0)
        if workers is None:
            workers = "threads" if multiprocessing_context is None else "processes"
        if workers not in ("threads", "processes"):
            raise ValueError(f"{op}: workers: {workers!r}; 'threads' and 'processes' are accepted")
        self.workers = workers
        if check_number(op, "timeout", timeout) < 0:
            raise ValueError(
                f"{op}: timeout below zero: {timeout}; seconds, or 0 for none, are accepted"
            )
        for name, truth in (
            ("drop_last", drop_last),
            ("persistent_workers", persistent_workers),
            ("in_order", in_order),
        ):
            check_choice(op, name, truth, (False, True))
        if generator is not None and not isinstance(generator, Generator):
            raise TypeError(
                f"{op}: generator: {type(generator).__name__}; al.Generator and None are accepted"
            )
        if self.num_workers == 0:
            for name, option in (
                ("timeout", timeout),
                ("prefetch_factor", prefetch_factor),
                ("persistent_workers", persistent_workers),
            ):
                if option:
                    raise ValueError(
                        f"{op}: {name}={option!r} without workers; num_workers > 0 is accepted"
                    )
        self.prefetch_factor = (
            2 if prefetch_factor is None else check_count(op, "prefetch_factor", prefetch_factor)
        )
        self.timeout = timeout
        self.persistent_workers = persistent_workers
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.in_order = in_order
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.multiprocessing_context = multiprocessing_context
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            for name, value in (
                ("shuffle", shuffle),
                ("sampler", sampler),
                ("batch_sampler", batch_sampler),
            ):
                if value not in (None, False):
                    raise ValueError(
                        f"{op}: {name}={value!r} with an IterableDataset, whose order is its own; "
                        "datasets with __getitem__ are accepted"
                    )
        if sampler is not None and shuffle:
            raise ValueError(f"{op}: shuffle=True with a sampler; one of them is accepted")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    f"{op}: batch_sampler with batch_size, shuffle, sampler or drop_last; "
                    "it is accepted alone"
                )
            batch_size = None
            drop_last = False
        elif batch_size is None:
            if drop_last:
                raise ValueError(
                    f"{op}: drop_last=True without batch_size; a batch_size is accepted"
                )
        else:
            batch_size = check_count(op, "batch_size", batch_size)
        if sampler is None and batch_sampler is None and not self._is_iterable:
            # Drawn from the seed of the epoch, which comes from the generator.
            kind = RandomSampler if shuffle else SequentialSampler
            sampler = kind(dataset)  # type: ignore[arg-type]
        if batch_size is not None and batch_sampler is None and not self._is_iterable:
            assert sampler is not None
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler: Any = sampler
        self.batch_sampler: Any = batch_sampler
        self._is_batched = batch_sampler is not None or (
            self._is_iterable and batch_size is not None
        )
        if collate_fn is None:
            collate_fn = default_collate if self._is_batched else default_convert
        self.collate_fn = collate_fn
        self._epoch: Epoch | None = None
        self._resume: dict[str, Any] | None = None
        self._pool: Any = None
        self._pool_finalizer: Any = None
        self._user: weakref.ref[LoaderIterator] | None = None
        self._turns = Turns()

    def __iter__(self) -> Iterator[Any]:
        # One of several threads is lent the workers that stay.
        with self._turns:
            iterator = LoaderIterator(self)
            self._user = weakref.ref(iterator)
        return iterator

    def __len__(self) -> int:
        if not self._is_iterable:
            return len(self.batch_sampler if self._is_batched else self.sampler)
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __repr__(self) -> str:
        made = f"num_workers={self.num_workers}" + (f" {self.workers}" if self.num_workers else "")
        return f"DataLoader({type(self.dataset).__name__}, batch_size={self.batch_size}, {made})"

    @property
    def position(self) -> int:
        """How many batches of the current run are behind; 0 where one begins.

        >>> loader = al.data.DataLoader(range(4), batch_size=2)
        >>> batches = iter(loader)
        >>> first = next(batches)
        >>> loader.position
        1
        """
        if self._resume is not None:
            return int(self._resume["position"]) + len(self._resume["ahead"])
        epoch = self._epoch
        if epoch is None or epoch.is_finished:
            return 0
        position, ahead = epoch.taken()
        return position + len(ahead)

    def state_dict(self) -> dict[str, Any]:
        """Where the run through the dataset stands: after the batch that was given out last.

        >>> loader = al.data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> batches = iter(loader)
        >>> first = next(batches)
        >>> state = loader.state_dict()
        >>> other = al.data.DataLoader(range(6), batch_size=2, shuffle=True)
        >>> other.load_state_dict(state)
        >>> [x.tolist() for x in other] == [x.tolist() for x in batches]
        True
        """
        if self._resume is not None:
            return dict(self._resume)
        epoch = self._epoch
        state: dict[str, Any] = {
            "version": 1,
            "is_iterable": self._is_iterable,
            "length": None if self._is_iterable else _length_or_none(self.dataset),
            "workers": [self.num_workers, self.prefetch_factor] if self._is_iterable else None,
            "generator": None if self.generator is None else self.generator.get_state(),
            "base_seed": None,
            "position": 0,
            "ahead": [],
            "samplers": {},
            "samplers_now": self._sampler_states(),
        }
        if epoch is not None and not epoch.is_finished:
            if self._is_iterable and not self.in_order:
                raise RuntimeError(
                    "state_dict: an IterableDataset in no order cannot be resumed; "
                    "in_order=True is accepted"
                )
            position, ahead = epoch.taken()
            state.update(
                base_seed=epoch.base_seed,
                position=position,
                ahead=ahead,
                samplers=epoch.samplers,
            )
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes to where a run stood: the next iteration has the batches that were left of it.

        The number of workers may be another one, but for an IterableDataset.

        >>> loader = al.data.DataLoader(range(4), batch_size=2)
        >>> batches = iter(loader)
        >>> first = next(batches)
        >>> other = al.data.DataLoader(range(4), batch_size=2)
        >>> other.load_state_dict(loader.state_dict())
        >>> list(other)
        [tensor([2, 3])]
        """
        state = self._check_state(state_dict)
        drawn = None if self.generator is None else self.generator.get_state()
        before = self._sampler_states()
        try:
            if self.generator is not None:
                self.generator.set_state(state["generator"])
            self._set_samplers(state["samplers_now"])
        except BaseException:
            # A sampler of somebody else's may refuse what nobody here can check.
            if self.generator is not None and drawn is not None:
                self.generator.set_state(drawn)
            self._set_samplers(before)
            raise
        self._epoch = None
        self._resume = None if state["base_seed"] is None else state

    def _check_state(self, state_dict: Any) -> dict[str, Any]:
        op = "DataLoader.load_state_dict"
        wanted = ("version", "is_iterable", "length", "workers", "generator", "base_seed")
        state = check_keys(op, state_dict, (*wanted, "position", "ahead", "samplers", "samplers_now"))
        if check_integer(op, "version", state["version"]) != 1:
            raise ValueError(f"{op}: unknown version: {state['version']}; 1 is accepted")
        check_choice(op, "is_iterable", state["is_iterable"], (False, True))
        if state["is_iterable"] != self._is_iterable:
            kinds = ("a dataset with __getitem__", "an IterableDataset")
            raise ValueError(
                f"{op}: saved with {kinds[state['is_iterable']]}; this is {kinds[self._is_iterable]}"
            )
        if state["length"] is not None:
            check_integer(op, "length", state["length"])
        length = None if self._is_iterable else _length_or_none(self.dataset)
        if state["length"] != length:
            raise ValueError(
                f"{op}: lengths differ: saved with {state['length']} samples; this dataset has {length}"
            )
        has_begun = state["base_seed"] is not None
        if self._is_iterable:
            workers = check_list(op, "workers", state["workers"], 2)
            workers = [check_integer(op, "workers", number) for number in workers]
            mine = [self.num_workers, self.prefetch_factor]
            if workers != mine and has_begun:
                raise ValueError(
                    f"{op}: saved with num_workers and prefetch_factor {workers}; this loader "
                    f"has {mine}, which changes the order of an IterableDataset"
                )
        else:
            check_choice(op, "workers", state["workers"], (None,))
        if (state["generator"] is None) != (self.generator is None):
            there, here = (("without", "with"), ("with", "without"))[self.generator is None]
            raise ValueError(f"{op}: saved {there} a generator; this loader is {here} one")
        if state["generator"] is not None:
            check_generator(op, "generator", state["generator"])
        if has_begun:
            check_integer(op, "base_seed", state["base_seed"])
        most = self._most_batches() if has_begun else 0
        position = check_integer(op, "position", state["position"], 0, most)
        ahead = check_list(op, "ahead", state["ahead"])
        state["ahead"] = [check_integer(op, "ahead", one, position + 1, most - 1) for one in ahead]
        self._check_samplers(op, "samplers_now", state["samplers_now"])
        if has_begun:
            self._check_samplers(op, "samplers", state["samplers"])
        else:
            check_keys(op, state["samplers"], ())
        return state

    def _most_batches(self) -> int:
        """How many batches a run has at most."""
        if self._is_iterable or not all(type(one) in OWN for one in self._samplers().values()):
            return LARGEST
        return len(self)

    def _check_samplers(self, op: str, key: str, states: Any) -> None:
        """Refuses states that are not those of these samplers, as far as it can be told."""
        samplers = self._samplers()
        states = check_keys(f"{op}: {key}", states, self._sampler_states())
        for name, state in states.items():
            check = getattr(samplers[name], "_check_state", None)
            if callable(check):
                check(state)
            elif not _is_stateful(samplers[name]):
                check_generator(op, f"{key}[{name!r}]", state)

    def _samplers(self) -> dict[str, Any]:
        """The samplers that have a state, by names."""
        inner = getattr(self.batch_sampler, "sampler", self.sampler)
        found = {"sampler": inner, "batch_sampler": self.batch_sampler}
        return {name: one for name, one in found.items() if one is not None}

    def _sampler_states(self) -> dict[str, Any]:
        states = {}
        for name, sampler in self._samplers().items():
            if _is_stateful(sampler):
                states[name] = sampler.state_dict()
            elif isinstance(getattr(sampler, "generator", None), Generator):
                states[name] = sampler.generator.get_state()
        return states

    def _set_samplers(self, states: dict[str, Any]) -> None:
        for name, state in states.items():
            sampler = self._samplers()[name]
            if _is_stateful(sampler):
                sampler.load_state_dict(state)
            else:
                sampler.generator.set_state(state)

    def _indices(self) -> Iterator[Any]:
        """The indices of each batch."""
        if not self._is_batched:
            return iter(self.sampler)
        batches = self.batch_sampler
        if type(batches) is BatchSampler and self._makes_at_once():
            sampler = batches.sampler
            if type(sampler) is RandomSampler and sampler.gives_each_once():
                return _slices(batches, sampler)
            if type(sampler) is SequentialSampler:
                return _slices(batches, None)
        return iter(batches)

    def _makes_at_once(self) -> bool:
        return (
            self.collate_fn is default_collate and self._is_batched and makes_batches(self.dataset)
        )

    def _recipe(self) -> Recipe:
        return Recipe(self.dataset, self.collate_fn, self._is_batched, self._makes_at_once())

    def _begin(self) -> tuple[Epoch, Iterator[Any] | None]:
        """A run that begins, or goes on."""
        resume, self._resume = self._resume, None
        if resume is None:
            epoch = Epoch(draw_seed(self.generator), self._sampler_states())
        else:
            epoch = Epoch(resume["base_seed"], resume["samplers"])
            epoch.position = int(resume["position"])
            epoch.ahead = set(resume["ahead"])
        self._epoch = epoch
        if self._is_iterable:
            return epoch, None
        now = self._sampler_states() if resume is not None else {}
        self._set_samplers(epoch.samplers if resume is not None else {})
        indices = Indices(self, epoch)
        if resume is not None:
            # Ours have drawn by now; whatever else has drawn from their generators since is kept.
            own = {name: type(one) in OWN for name, one in self._samplers().items()}
            self._set_samplers({name: state for name, state in now.items() if own[name]})
        return epoch, indices

    def _workers(self) -> Any:
        """Workers that nobody else uses."""
        options = {
            "num_workers": self.num_workers,
            "workers": self.workers,
            "worker_init_fn": self.worker_init_fn,
            "is_iterable": self._is_iterable,
            "batch_size": self.batch_size,
            "drop_last": self.drop_last,
        }
        if self.workers == "threads":
            return Threads(self._recipe(), options)
        import multiprocessing

        from .processes import Processes

        context = self.multiprocessing_context
        if context is None or isinstance(context, str):
            context = multiprocessing.get_context(context)
        return Processes(self._recipe(), options, context)

    def _lend_workers(self) -> tuple[Any, bool]:
        """Workers for a run, and whether they stay when it ends."""
        user = None if self._user is None else self._user()
        is_free = user is None or user.is_done
        if not self.persistent_workers or not is_free:
            return self._workers(), False
        if self._pool is None or self._pool.pid != os.getpid():
            self._pool = self._workers()
            self._pool_finalizer = weakref.finalize(self, self._pool.close)
        return self._pool, True

    def _drop_workers(self) -> None:
        """Ends workers that would have stayed."""
        if self._pool is not None:
            self._pool_finalizer.detach()
            self._pool = None

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.update(_pool=None, _pool_finalizer=None, _user=None)
        return state


def _is_stateful(sampler: Any) -> bool:
    return callable(getattr(sampler, "state_dict", None)) and callable(
        getattr(sampler, "load_state_dict", None)
    )


def _length_or_none(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except (TypeError, NotImplementedError):
        return None


def _slices(batches: BatchSampler, shuffled: RandomSampler | None) -> Iterator[Any]:
    """Parts of an order, or of all numbers, for batches that are made at once."""
    count, size = len(batches.sampler), batches.batch_size  # type: ignore[arg-type]
    order = None if shuffled is None else shuffled.order()
    end = count // size * size if batches.drop_last else count
    for start in range(0, end, size):
        part = slice(start, min(start + size, end))
        yield part if order is None else order[part]
