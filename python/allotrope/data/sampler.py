"""Samplers: in which order a loader takes samples, and how they are grouped, as torch.utils.data's.

Those that draw take one seed from their generator, or from that of the process, for each run: so a
run can be repeated from where the generator stood, whatever else draws from it meanwhile.
"""

from __future__ import annotations

import itertools
import math
import reprlib
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from .._accepted import LARGEST, check_integer, check_keys
from .._core import Generator, Tensor, as_tensor, multinomial, randint, randperm

T_co = TypeVar("T_co", covariant=True)

#: Numbers that are drawn at once with replacement.
CHUNK = 1024


def draw_seed(generator: Generator | None = None) -> int:
    """A seed from a generator, or from that of the process."""
    return int(randint(0, 2**62, (1,), generator=generator, device="cpu").item())


def check_count(op: str, name: str, value: Any, least: int = 1) -> int:
    """An int that is not below `least`."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        shown = reprlib.repr(value)
        raise TypeError(f"{op}: {name} is not an int: {shown}; ints from {least} are accepted")
    if int(value) < least:
        raise ValueError(f"{op}: {name} is too small: {value}; ints from {least} are accepted")
    return int(value)


class Sampler(Generic[T_co]):
    """An order of samples: a class with `__iter__`, and `__len__` if it is known.

    A sampler with `state_dict` and `load_state_dict` is asked for its state where a run begins.

    >>> class Backwards(al.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> [batch.tolist() for batch in al.data.DataLoader([5, 6, 7], sampler=Backwards())]
    [[7], [6], [5]]
    """

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}: no __iter__; subclasses have one")


class SequentialSampler(Sampler[int]):
    """The numbers of all samples, in order.

    >>> list(al.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The numbers of samples in random order: all of them, or, with replacement, any.

    With `num_samples` above the number of samples and no replacement, all come again in another
    order.

    >>> sorted(al.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"RandomSampler: replacement: {replacement!r}; a bool is accepted")
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = (
            None
            if num_samples is None
            else check_count("RandomSampler", "num_samples", num_samples)
        )
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """How many numbers a run has.

        >>> al.data.RandomSampler(range(4), replacement=True, num_samples=10).num_samples
        10
        """
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def gives_each_once(self) -> bool:
        """Whether no sample comes twice, so that a run has an `order`.

        >>> al.data.RandomSampler(range(4)).gives_each_once()
        True
        """
        return not self.replacement and self.num_samples <= len(self.data_source)

    def order(self) -> Tensor:
        """The numbers of a run, as a tensor.

        >>> al.data.RandomSampler(range(4)).order().sort().values
        tensor([0, 1, 2, 3])
        """
        generator = Generator().manual_seed(draw_seed(self.generator))
        return randperm(len(self.data_source), generator=generator, device="cpu")[: self.num_samples]

    def __iter__(self) -> Iterator[int]:
        generator = Generator().manual_seed(draw_seed(self.generator))
        count, left = len(self.data_source), self.num_samples
        if count == 0 and left > 0:
            raise ValueError(
                "RandomSampler: no samples to draw from; datasets with some are accepted"
            )
        while left > 0:
            if self.replacement:
                numbers = randint(0, count, (CHUNK,), generator=generator, device="cpu")
            else:
                numbers = randperm(count, generator=generator, device="cpu")
            yield from numbers[:left].tolist()
            left -= numbers.shape[0]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """These numbers, in random order.

    >>> sorted(al.data.SubsetRandomSampler([7, 2, 5]))
    [2, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices.tolist() if isinstance(indices, Tensor) else indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        generator = Generator().manual_seed(draw_seed(self.generator))
        for place in randperm(len(self.indices), generator=generator, device="cpu").tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Numbers drawn in proportion to weights.

    >>> list(al.data.WeightedRandomSampler([0.0, 1.0], num_samples=3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Any,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(
                f"WeightedRandomSampler: replacement: {replacement!r}; a bool is accepted"
            )
        self.weights = as_tensor(weights, device="cpu").to("float64")
        if self.weights.ndim != 1:
            raise ValueError(
                f"WeightedRandomSampler: weights of shape {list(self.weights.shape)}; "
                "one dimension is accepted"
            )
        self.num_samples = check_count("WeightedRandomSampler", "num_samples", num_samples)
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        generator = Generator().manual_seed(draw_seed(self.generator))
        chosen = multinomial(self.weights, self.num_samples, self.replacement, generator=generator)
        yield from chosen.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of what a sampler gives, of one size; the last may be smaller, or be dropped.

    >>> list(al.data.BatchSampler(range(5), batch_size=2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        self.batch_size = check_count("BatchSampler", "batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise TypeError(f"BatchSampler: drop_last: {drop_last!r}; a bool is accepted")
        self.sampler = sampler
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if self.drop_last and len(batch) < self.batch_size:
                return
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


class DistributedSampler(Sampler[int]):
    """The share of one of several processes, in an order that all agree on.

    All shares have one length: samples come twice to that end, or are dropped. The order depends on
    `seed` and the number given to `set_epoch`.

    >>> list(al.data.DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int,
        rank: int,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.num_replicas = check_count("DistributedSampler", "num_replicas", num_replicas)
        self.rank = check_count("DistributedSampler", "rank", rank, least=0)
        if self.rank >= self.num_replicas:
            raise ValueError(
                f"DistributedSampler: rank out of range: {rank}; "
                f"0 to {self.num_replicas - 1} are accepted"
            )
        self.dataset = dataset
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0

    @property
    def num_samples(self) -> int:
        """How many numbers each process has.

        >>> al.data.DistributedSampler(range(5), num_replicas=2, rank=0).num_samples
        3
        """
        count = len(self.dataset)
        if self.drop_last:
            return count // self.num_replicas
        return math.ceil(count / self.num_replicas)

    @property
    def total_size(self) -> int:
        """How many numbers all processes have.

        >>> al.data.DistributedSampler(range(5), num_replicas=2, rank=0).total_size
        6
        """
        return self.num_samples * self.num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = randperm(count, generator=generator, device="cpu").tolist()
        else:
            order = list(range(count))
        if order:
            order = list(itertools.islice(itertools.cycle(order), self.total_size))
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Says which order comes next.

        >>> sampler = al.data.DistributedSampler(range(100), num_replicas=2, rank=0)
        >>> first = list(sampler)
        >>> sampler.set_epoch(1)
        >>> list(sampler) == first
        False
        """
        self.epoch = epoch

    def state_dict(self) -> dict[str, Any]:
        """What the order depends on.

        >>> sampler = al.data.DistributedSampler(range(4), num_replicas=2, rank=0, seed=5)
        >>> sampler.state_dict()
        {'seed': 5, 'epoch': 0}
        """
        return {"seed": self.seed, "epoch": self.epoch}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Goes back to an order.

        >>> sampler = al.data.DistributedSampler(range(4), num_replicas=2, rank=0)
        >>> sampler.load_state_dict({**sampler.state_dict(), "epoch": 3})
        >>> sampler.state_dict()["epoch"]
        3
        """
        self.seed, self.epoch = self._check_state(state_dict)

    def _check_state(self, state_dict: Any) -> tuple[int, int]:
        op = "DistributedSampler.load_state_dict"
        state = check_keys(op, state_dict, ("seed", "epoch"))
        # Their sum seeds a generator.
        epoch = check_integer(op, "epoch", state["epoch"])
        return check_integer(op, "seed", state["seed"], -LARGEST, LARGEST), epoch


#: Samplers that draw one seed where a run begins, and nothing of Python's or NumPy's.
OWN = (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
