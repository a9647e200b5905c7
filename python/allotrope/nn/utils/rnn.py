"""Sequences of several lengths in one tensor: padded, or packed without the padding."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from ... import Tensor, _core


class _Fields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Fields):
    """Sequences of several lengths, step after step: `batch_sizes` says how many go on at each step.

    It is made by `pack_padded_sequence` and `pack_sequence`, and taken by recurrent networks.

    >>> packed = al.nn.utils.rnn.pack_sequence([al.tensor([1, 2, 3]), al.tensor([4, 5])])
    >>> packed.data, packed.batch_sizes
    (tensor([1, 4, 2, 5, 3]), tensor([2, 2, 1]))
    """

    __slots__ = ()

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Any = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            raise ValueError("PackedSequence: batch_sizes is missing; a vector of integers is accepted")
        if sorted_indices is not None and unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(
            cls, data, _core.as_tensor(batch_sizes, device="cpu"), sorted_indices, unsorted_indices
        )

    def to(self, *args: Any, **options: Any) -> PackedSequence:
        """The sequences in another dtype or on another device.

        >>> al.nn.utils.rnn.pack_sequence([al.ones(2)]).to(al.bfloat16).data.dtype
        allotrope.bfloat16
        """
        return self._replace(data=self.data.to(*args, **options))

    def double(self) -> PackedSequence:
        """The sequences in float64.

        >>> al.nn.utils.rnn.pack_sequence([al.ones(2)]).double().data.dtype
        allotrope.float64
        """
        return self.to(_core.float64)

    def float(self) -> PackedSequence:
        """The sequences in float32.

        >>> al.nn.utils.rnn.pack_sequence([al.tensor([1, 2])]).float().data.dtype
        allotrope.float32
        """
        return self.to(_core.float32)

    def half(self) -> PackedSequence:
        """The sequences in float16.

        >>> al.nn.utils.rnn.pack_sequence([al.ones(2)]).half().data.dtype
        allotrope.float16
        """
        return self.to(_core.float16)

    def cpu(self) -> PackedSequence:
        """The sequences on the CPU.

        >>> al.nn.utils.rnn.pack_sequence([al.ones(2)]).cpu().data.device
        device(type='cpu')
        """
        return self.to(device="cpu")

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a GPU of CUDA.

        >>> al.nn.utils.rnn.pack_sequence([al.ones(2)]).is_cuda
        False
        """
        return self.data.is_cuda


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """Where each place went.

    >>> al.nn.utils.rnn.invert_permutation(al.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def _lengths(op: str, lengths: Any, batch: int, longest: int) -> Tensor:
    # Sizes decide shapes: they stay on the CPU.
    lengths = _core.as_tensor(lengths).to("cpu", _core.int64)
    if lengths.ndim != 1 or lengths.shape[0] != batch:
        raise ValueError(
            f"{op}: wrong shape of lengths: {list(lengths.shape)}; one for each of {batch} sequences "
            "is accepted"
        )
    if batch and (int(lengths.min()) < 1 or int(lengths.max()) > longest):
        raise ValueError(
            f"{op}: a length out of range: {lengths.tolist()}; from 1 to {longest} are accepted"
        )
    found: Tensor = lengths
    return found


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Padded sequences [time, batch, …] without their padding. With enforce_sorted they come from
    the longest to the shortest; else they are put in that order, which is remembered.

    >>> x = al.tensor([[1, 2, 3], [4, 0, 0]])
    >>> al.nn.utils.rnn.pack_padded_sequence(x, [3, 1], batch_first=True).data
    tensor([1, 4, 2, 3])
    """
    op = "pack_padded_sequence"
    if input.ndim < 2:
        raise ValueError(f"{op}: too few dimensions: {list(input.shape)}; 2 are needed")
    if batch_first:
        input = input.transpose(0, 1)
    time, batch = input.shape[:2]
    lengths = _lengths(op, lengths, batch, time)
    order = None
    if enforce_sorted:
        if bool((lengths[1:] > lengths[:-1]).any()):
            raise ValueError(
                f"{op}: lengths are not sorted: {lengths.tolist()}; from the longest to the shortest is "
                "accepted (hint: enforce_sorted=False)"
            )
    else:
        lengths, order = lengths.sort(descending=True, stable=True)
        order = order.to(input.device)
        input = input.index_select(1, order)
    goes_on = _core.arange(int(lengths[0]) if batch else 0, device="cpu").unsqueeze(1) < lengths
    data = input[: goes_on.shape[0]].flatten(0, 1).index_select(0, _places(goes_on, input))
    return PackedSequence(data, goes_on.sum(1), order, invert_permutation(order))


def _places(goes_on: Tensor, data: Tensor) -> Tensor:
    return goes_on.flatten().nonzero().squeeze(1).to(data.device)


def _padding(value: Any, dtype: Any) -> Any:
    """A whole number for integers: torch's default is 0.0 for all dtypes."""
    is_whole = isinstance(value, float) and value.is_integer()
    return int(value) if is_whole and dtype.is_integer else value


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Packed sequences as [time, batch, …] with padding, and their lengths.

    >>> x = al.tensor([[1, 2, 3], [4, 0, 0]])
    >>> packed = al.nn.utils.rnn.pack_padded_sequence(x, [3, 1], batch_first=True)
    >>> al.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 0, 0]]), tensor([3, 1]))
    """
    data, batch_sizes, order, back = sequence
    batch, time = int(batch_sizes[0]), batch_sizes.shape[0]
    total = time if total_length is None else total_length
    if total < time:
        raise ValueError(
            f"pad_packed_sequence: total_length is too small: {total}; at least {time} is accepted"
        )
    goes_on = _core.arange(batch, device="cpu") < batch_sizes.unsqueeze(1)
    lengths = goes_on.sum(0)
    value = _padding(padding_value, data.dtype)
    padded = data.new_full((total * batch, *data.shape[1:]), value)
    padded = padded.index_copy(0, _places(goes_on, data), data).unflatten(0, (total, batch))
    if back is not None:
        padded, lengths = padded.index_select(1, back), lengths.index_select(0, back.cpu())
    return (padded.transpose(0, 1) if batch_first else padded), lengths


def pad_sequence(
    sequences: Any,
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Tensors of several lengths in one, the shorter ones padded.

    >>> al.nn.utils.rnn.pad_sequence([al.tensor([1, 2]), al.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise ValueError(
            f"pad_sequence: unknown side: {padding_side!r}; 'left' and 'right' are accepted"
        )
    sequences = _listed("pad_sequence", sequences)
    longest = max(sequence.shape[0] for sequence in sequences)
    from ..functional import pad

    value = _padding(padding_value, sequences[0].dtype)
    padded = []
    for sequence in sequences:
        missing = longest - sequence.shape[0]
        widths = (0, 0) * (sequence.ndim - 1)
        widths += (missing, 0) if padding_side == "left" else (0, missing)
        padded.append(pad(sequence, widths, "constant", value) if missing else sequence)
    return _core.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Any, batch_first: bool = False) -> list[Tensor]:
    """The sequences of a padded tensor, each with its own length.

    >>> padded = al.tensor([[1, 2, 3], [4, 5, 0]])
    >>> al.nn.utils.rnn.unpad_sequence(padded, al.tensor([3, 2]), batch_first=True)
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    lengths = _core.as_tensor(lengths).tolist()
    return [sequence[:length] for sequence, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Tensors of several lengths, packed.

    >>> al.nn.utils.rnn.pack_sequence([al.tensor([1, 2]), al.tensor([3])]).batch_sizes
    tensor([2, 1])
    """
    sequences = _listed("pack_sequence", sequences)
    lengths = [sequence.shape[0] for sequence in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The tensors that were packed.

    >>> packed = al.nn.utils.rnn.pack_sequence([al.tensor([1, 2, 3]), al.tensor([4, 5])])
    >>> al.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1, 2, 3]), tensor([4, 5])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def _listed(op: str, sequences: Any) -> list[Tensor]:
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    if not isinstance(sequences, Iterable):
        raise TypeError(f"{op}: not sequences: {type(sequences).__name__}; tensors are accepted")
    found = list(sequences)
    if not found:
        raise ValueError(f"{op}: no sequences; at least one tensor is accepted")
    return found


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
