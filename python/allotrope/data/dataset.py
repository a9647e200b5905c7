"""Datasets: collections of samples, by number or in a row, as torch.utils.data's."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from .._core import Family, Generator, Tensor, _check_device_name, as_tensor, randperm, tensor
from .._core import dtype as DType

if TYPE_CHECKING:
    from typing_extensions import Self

T_co = TypeVar("T_co", covariant=True)

#: A batch that a dataset leaves to be made sample by sample.
NO_BATCH: Any = object()


class Dataset(Generic[T_co]):
    """Samples by number: a class with `__getitem__` and, for most samplers, `__len__`.

    One that also has `__getitems__` is asked for the samples of a batch at once.

    >>> class Squares(al.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> [batch.tolist() for batch in al.data.DataLoader(Squares(), batch_size=2)]
    [[0, 1], [4]]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__}: no __getitem__; subclasses have one")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples in a row: a class with `__iter__`.

    Every worker of a loader runs through its own iterator, so that a dataset which does not ask
    `get_worker_info` for its share is seen once by each.

    >>> class Countdown(al.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([3, 2, 1])
    >>> [batch.tolist() for batch in al.data.DataLoader(Countdown(), batch_size=2)]
    [[3, 2], [1]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__}: no __iter__; subclasses have one")

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of one length, whose rows are the samples; arrays and lists are made tensors of.

    A `dtype`, which may be a family, holds for floats: integer labels stay what they are.

    >>> data = al.data.TensorDataset([[0.5, 1.0], [2.0, 4.0]], [0, 1], dtype="float16")
    >>> data[1]
    (tensor([2., 4.], dtype=float16), tensor(1))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Any, dtype: Any = None) -> None:
        if not tensors:
            raise ValueError("TensorDataset: no tensors; one or more are accepted")
        made = tuple(_as_tensor(given) for given in tensors)
        for place, one in enumerate(made):
            if one.ndim == 0:
                raise ValueError(
                    f"TensorDataset: no rows: tensor {place} has shape []; "
                    "tensors of one dimension or more are accepted"
                )
        lengths = [one.shape[0] for one in made]
        if len(set(lengths)) > 1:
            raise ValueError(f"TensorDataset: lengths differ: {lengths}; equal ones are accepted")
        self.tensors = made if dtype is None else _convert(made, None, _float_dtype(dtype))

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(one[index] for one in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])

    def to(self, *args: Any, device: Any = None, dtype: Any = None) -> Self:
        """The dataset itself, as a module's `to`: from now on on a device, or with floats of another
        dtype or family, or both. The tensors that it was made of stay what they are.

        >>> data = al.data.TensorDataset(al.ones(2, 3), [0, 1])
        >>> data.to("cpu", "bfloat16") is data
        True
        >>> [one.dtype.name for one in data.tensors]
        ['bfloat16', 'int64']
        """
        for given in args:
            is_dtype = isinstance(given, (DType, Family)) or not _is_device(given)
            if (dtype if is_dtype else device) is not None:
                raise TypeError(
                    f"to: given twice: {given!r}; one device and one dtype are accepted"
                )
            if is_dtype:
                dtype = given
            else:
                device = given
        dtype = None if dtype is None else _float_dtype(dtype)
        self.tensors = _convert(self.tensors, device, dtype)
        return self

    def batch(self, indices: Any) -> list[Tensor]:
        """The rows of several samples at once, as they would be collated: copies.

        >>> al.data.TensorDataset(al.arange(5) * 10).batch([4, 0])
        [tensor([40,  0])]
        """
        if isinstance(indices, slice):
            return [one[indices].clone() for one in self.tensors]
        if not isinstance(indices, Tensor):
            indices = tensor(list(indices), dtype="int64", device="cpu")
        return [one[indices] for one in self.tensors]


def _as_tensor(given: Any) -> Tensor:
    return given if isinstance(given, Tensor) else as_tensor(given)


def _is_device(given: Any) -> bool:
    if not isinstance(given, str):
        return False
    try:
        _check_device_name(given)
    except Exception:  # noqa: BLE001 - then it is the name of a dtype, or nothing
        return False
    return True


def _float_dtype(given: Any) -> Any:
    """A dtype or family of floats or complex numbers."""
    if isinstance(given, Family) or (isinstance(given, str) and given in _FAMILIES):
        family = _FAMILIES.get(given, given) if isinstance(given, str) else given
        if family.name in ("Float", "Complex"):
            return family
    else:
        dtype = DType(given)
        if dtype.is_floating_point or dtype.is_complex:
            return dtype
    raise TypeError(
        f"TensorDataset: not a dtype of floats: {given}; float and complex dtypes and families are "
        "accepted, since labels keep theirs (hint: convert the tensor)"
    )


def _families() -> dict[str, Any]:
    from .. import _core

    families = (value for value in vars(_core).values() if isinstance(value, Family))
    return {family.name: family for family in families}


_FAMILIES = _families()


def _convert(tensors: Sequence[Tensor], device: Any, dtype: Any) -> tuple[Tensor, ...]:
    def convert(one: Tensor) -> Tensor:
        kind = one.dtype
        # A complex number is no float: a float dtype leaves it alone.
        is_converted = kind.is_floating_point or (kind.is_complex and _is_complex(dtype))
        # In one step: a tensor of a family is moved in the width that the device has.
        to: dict[str, Any] = {"device": device, "dtype": dtype if is_converted else None}
        to = {name: value for name, value in to.items() if value is not None}
        return one.to(**to) if to else one

    return tuple(convert(one) for one in tensors)


def _is_complex(dtype: Any) -> bool:
    if dtype is None:
        return False
    return dtype.name == "Complex" if isinstance(dtype, Family) else bool(dtype.is_complex)


class StackDataset(Dataset[Any]):
    """Datasets of one length side by side: samples are tuples, or dicts if they have names.

    >>> al.data.StackDataset(x=[1, 2], y=["a", "b"])[1]
    {'x': 2, 'y': 'b'}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            given = "both" if args else "none"
            raise ValueError(f"StackDataset: {given}: datasets in a row or by names are accepted")
        lengths = [_length("StackDataset", one) for one in (args or kwargs.values())]
        if len(set(lengths)) > 1:
            raise ValueError(f"StackDataset: lengths differ: {lengths}; equal ones are accepted")
        self._length = lengths[0]
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        if isinstance(self.datasets, dict):
            columns = [_samples(dataset, indices) for dataset in self.datasets.values()]
            return [
                dict(zip(self.datasets, row, strict=True)) for row in zip(*columns, strict=True)
            ]
        return list(zip(*(_samples(one, indices) for one in self.datasets), strict=True))

    def __len__(self) -> int:
        return self._length


def _samples(dataset: Any, indices: Sequence[Any]) -> Sequence[Any]:
    """Samples, at once if the dataset can."""
    ask = getattr(dataset, "__getitems__", None)
    if not callable(ask):
        return [dataset[index] for index in indices]
    samples: Sequence[Any] = ask(indices)
    if len(samples) != len(indices):
        raise ValueError(
            f"{type(dataset).__name__}.__getitems__: wrong number of samples: {len(samples)}; "
            f"{len(indices)} were asked for"
        )
    return samples


def _length(op: str, dataset: Any) -> int:
    try:
        return len(dataset)
    except TypeError:
        raise TypeError(
            f"{op}: no length: {type(dataset).__name__}; datasets with __len__ are accepted"
        ) from None


class Subset(Dataset[T_co]):
    """Samples of a dataset, by their numbers there.

    >>> al.data.Subset("abcd", [3, 0])[0]
    'd'
    """

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices.tolist() if isinstance(indices, Tensor) else indices

    def __getitem__(self, index: Any) -> T_co:
        chosen: Any
        if isinstance(index, (list, tuple)):
            chosen = [self.indices[one] for one in index]
        else:
            chosen = self.indices[index]
        sample: T_co = self.dataset[chosen]
        return sample

    def __getitems__(self, indices: Sequence[int]) -> Sequence[T_co]:
        return _samples(self.dataset, [self.indices[index] for index in indices])

    def __len__(self) -> int:
        return len(self.indices)

    def batch(self, indices: Any) -> Any:
        """A batch at once, if the dataset makes such.

        >>> dataset = al.data.TensorDataset(al.arange(5) * 10)
        >>> al.data.Subset(dataset, [1, 3]).batch([1, 0])
        [tensor([30, 10])]
        """
        if isinstance(indices, slice):
            chosen = list(self.indices[indices])
        else:
            chosen = [self.indices[index] for index in _numbers(indices)]
        return batch_at_once(self.dataset, chosen)


class ConcatDataset(Dataset[T_co]):
    """Datasets one after another, as one.

    >>> al.data.ConcatDataset(["ab", "cde"])[-2]
    'd'
    """

    datasets: list[Any]
    cumulative_sizes: list[int]

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("ConcatDataset: no datasets; one or more are accepted")
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise TypeError(
                    f"ConcatDataset: samples in a row: {type(dataset).__name__}; datasets with "
                    "__getitem__ are accepted (hint: ChainDataset)"
                )
        lengths = (_length("ConcatDataset", dataset) for dataset in self.datasets)
        self.cumulative_sizes = list(itertools.accumulate(lengths))

    def _find(self, index: int) -> tuple[int, int]:
        """Which dataset a sample is in, and its number there."""
        length = len(self)
        place = index + length if index < 0 else index
        if not 0 <= place < length:
            raise IndexError(
                f"ConcatDataset: index out of range: {index}; {-length} to {length - 1} are accepted"
            )
        which = bisect.bisect_right(self.cumulative_sizes, place)
        return which, place - (self.cumulative_sizes[which - 1] if which else 0)

    def __getitem__(self, index: int) -> T_co:
        which, place = self._find(index)
        sample: T_co = self.datasets[which][place]
        return sample

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset[Any]):
    """Iterable datasets one after another, as one.

    >>> class Letters(al.data.IterableDataset):
    ...     def __init__(self, letters):
    ...         self.letters = letters
    ...     def __iter__(self):
    ...         return iter(self.letters)
    >>> list(al.data.ChainDataset([Letters("ab"), Letters("c")]))
    ['a', 'b', 'c']
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(
                    f"ChainDataset: no samples in a row: {type(dataset).__name__}; "
                    "IterableDatasets are accepted (hint: ConcatDataset)"
                )
            yield from dataset

    def __len__(self) -> int:
        return sum(_length("ChainDataset", dataset) for dataset in self.datasets)


def batch_at_once(dataset: Any, indices: Any) -> Any:
    """A batch by one indexing operation, or `NO_BATCH`.

    Only of the classes here: one that inherits from them may have another `__getitem__`.
    """
    if type(dataset) in (TensorDataset, Subset):
        return dataset.batch(indices)
    return NO_BATCH


def makes_batches(dataset: Any) -> bool:
    """Whether batches of the dataset are made by one indexing operation."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) is TensorDataset


def _numbers(indices: Any) -> Sequence[int]:
    numbers: Sequence[int] = indices.tolist() if isinstance(indices, Tensor) else indices
    return numbers


def random_split(
    dataset: Any, lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[Any]]:
    """The dataset in parts of these lengths, or of these fractions of it, which sum up to one.

    Of fractions, what rounding down leaves over goes to the first parts, one sample each.

    >>> parts = al.data.random_split(range(10), [0.75, 0.25], al.Generator().manual_seed(0))
    >>> [len(part) for part in parts], sorted(parts[0].indices + parts[1].indices)
    ([8, 2], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    total, lengths = _length("random_split", dataset), list(lengths)
    if any(length < 0 for length in lengths):
        raise ValueError(f"random_split: below zero: {lengths}; lengths and fractions are accepted")
    sizes: list[int]
    if math.isclose(sum(lengths), 1):
        sizes = [math.floor(total * length) for length in lengths]
        for place in range(total - sum(sizes)):
            sizes[place % len(sizes)] += 1
    else:
        if any(int(length) != length for length in lengths) or sum(lengths) != total:
            raise ValueError(
                f"random_split: the lengths sum up to {sum(lengths)}: {lengths}; "
                f"{total} for this dataset, or fractions that sum up to 1, are accepted"
            )
        sizes = [int(length) for length in lengths]
    order = randperm(total, generator=generator, device="cpu").tolist()
    ends = list(itertools.accumulate(sizes))
    return [Subset(dataset, order[end - size : end]) for size, end in zip(sizes, ends, strict=True)]
