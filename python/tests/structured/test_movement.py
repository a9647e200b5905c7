"""Elements that change places, against NumPy: tensors side by side, repeated, rolled and padded."""

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import allotrope as al
from allotrope.nn import functional
from reference import DTYPES, assert_same, named

each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)
# One dtype of each width, and the pair of halves that is no integer.
WIDTHS = ["uint8", "bfloat16", "int32", "float64", "complex64", "complex128"]
each_width = pytest.mark.parametrize("dtype", [al.dtype(name) for name in WIDTHS], ids=named)

LAYOUTS = {
    "rows": lambda x: x,
    "columns": lambda x: x.T.contiguous().T,
    "backwards": lambda x: x.flip(*range(x.ndim))[(slice(None, None, -1),) * x.ndim],
    "spread": lambda x: x.repeat_interleave(2, -1)[..., ::2],
}
each_layout = pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())


def numbered(dtype, *sizes, first=0):
    """Elements that differ from their neighbours, in any dtype."""
    count = int(np.prod(sizes))
    codes = (np.arange(count) * 7 + first) % 31
    return al.tensor(codes.reshape(sizes)).to(dtype)


def check(got, want):
    assert_same(np.asarray(got.numpy()), np.asarray(want))


@each_dtype
@pytest.mark.parametrize("axis", [0, 1, -1])
@each_layout
def test_cat(dtype, axis, layout):
    x, y = layout(numbered(dtype, 3, 4, 2)), layout(numbered(dtype, 3, 4, 2, first=5))
    want = np.concatenate([x.numpy(), y.numpy(), x.numpy()], axis)
    check(al.cat([x, y, x], axis), want)
    check(al.concat((x, y, x), dim=axis), want)
    check(al.concatenate([x, y, x], axis=axis), want)


@each_width
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("parts", [(1, 2), (300, 17), (1,) * 40])
def test_large_cat(dtype, axis, parts):
    sizes = [70, 60, 50]
    pieces = []
    for i, part in enumerate(parts):
        sizes[axis] = part
        x = numbered(dtype, *sizes, first=i)
        # Every third piece is read across its rows.
        pieces.append(x if i % 3 else LAYOUTS["columns"](x))
    check(al.cat(pieces, axis), np.concatenate([x.numpy() for x in pieces], axis))


@pytest.mark.parametrize("axis", [0, 1])
def test_cat_promotes(axis):
    x, y = numbered(al.int8, 2, 3), numbered(al.bfloat16, 2, 3, first=3)
    got = al.cat([x, y, x], axis)
    assert got.dtype == al.bfloat16
    check(got, np.concatenate([x.to(y.dtype).numpy(), y.numpy(), x.to(y.dtype).numpy()], axis))
    with al.promotion("strict"), pytest.raises(TypeError, match="cat: strict"):
        al.cat([x, y], axis)
    with pytest.raises(TypeError, match="cat"):
        al.cat([numbered(al.int8, 2), numbered(al.uint64, 2)])


def test_cat_leaves_out_empty_vectors_as_torch():
    nothing, x = al.zeros(0, dtype="float64"), al.ones(2, 3)
    assert al.cat([nothing, x], 1).dtype == al.float64
    assert al.cat([nothing, x], 1).shape == (2, 3)
    assert al.cat([nothing, nothing]).shape == (0,)
    assert al.cat([al.zeros(0, 3), x]).shape == (2, 3)
    assert al.cat([al.zeros(2, 0), x], 1).shape == (2, 3)


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: al.cat([]), ValueError, "cat: no operands"),
        (lambda: al.cat([al.zeros(2, 3), al.zeros(2, 4)]), ValueError, r"cat: shapes differ: \[2, 3\] and \[2, 4\]"),
        (lambda: al.cat([al.zeros(2, 3), al.zeros(2)]), ValueError, "cat: shapes differ"),
        (lambda: al.cat([al.zeros(2), al.zeros(2)], 1), IndexError, "cat: axis out of range: 1"),
        (lambda: al.cat([al.tensor(1.0)]), ValueError, "cat: too few dimensions: 0.*hint: stack"),
        (lambda: al.concat([al.zeros(2), al.zeros(2)], 1), IndexError, "concat: "),
        (lambda: al.cat(3), TypeError, "cat: not several tensors"),
        (lambda: al.cat([al.zeros(1)], 0, axis=0), TypeError, "cat: an argument is given twice"),
        (lambda: al.stack([al.zeros(2), al.zeros(3)]), ValueError, r"stack: shapes differ: \[2\] and \[3\]"),
        (lambda: al.stack([]), ValueError, "stack: no operands"),
        (lambda: al.stack([al.zeros(2)], 2), IndexError, "stack: axis out of range: 2"),
        (lambda: al.hstack([]), ValueError, "hstack: no operands"),
        (lambda: al.vstack([al.zeros(2), al.zeros(3)]), ValueError, "vstack: shapes differ"),
        (lambda: al.block_diag(al.zeros(1, 1, 1)), ValueError, "block_diag: too many dimensions: 3"),
        (lambda: al.zeros(2, 3).repeat(2), ValueError, "repeat: wrong number of axes: 1; 2.*hint: tile"),
        (lambda: al.zeros(2).repeat(-1), ValueError, "repeat: negative size: -1"),
        (lambda: al.zeros(2).repeat(2**62, 2**62), ValueError, "repeat: too many elements"),
        (lambda: al.zeros(2).repeat_interleave(al.tensor([1, 2, 3])), ValueError, "repeat_interleave: lengths differ: 3 and 2"),
        (lambda: al.zeros(2).repeat_interleave(al.tensor([1, -2])), ValueError, "repeat_interleave: count out of range at index 1: -2"),
        (lambda: al.zeros(2).repeat_interleave(al.tensor([1.0, 2.0])), TypeError, "repeat_interleave: wrong dtype: float32"),
        (lambda: al.zeros(2).repeat_interleave(al.tensor([1, 2]), output_size=4), ValueError, "repeat_interleave: lengths differ: 3 and 4"),
        (lambda: al.zeros(2).repeat_interleave(2, output_size=5), ValueError, "repeat_interleave: lengths differ: 4 and 5"),
        (lambda: al.zeros(2).repeat_interleave(2, 1), IndexError, "repeat_interleave: axis out of range: 1"),
        (lambda: al.zeros(2).repeat_interleave(2**63 - 1), ValueError, "repeat_interleave: too many elements"),
        (lambda: al.zeros(2).repeat_interleave(al.tensor([2**63 - 1, 2**63 - 1])), ValueError, "repeat_interleave: too many elements"),
        (lambda: al.arange(4).roll((1, 2), 0), ValueError, "roll: lengths differ: 2 and 1"),
        (lambda: al.arange(4).roll(1, 1), IndexError, "roll: axis out of range: 1"),
        (lambda: functional.pad(al.zeros(2), (1,)), ValueError, "pad: number of sizes out of range: 1"),
        (lambda: functional.pad(al.zeros(2), (1,) * 4), ValueError, "pad: number of sizes out of range: 4"),
        (lambda: functional.pad(al.zeros(2), (-2, -1)), ValueError, "pad: negative padding out of range: -3"),
        (lambda: functional.pad(al.zeros(2), (2, 0), "reflect"), ValueError, "pad: padding out of range: 2"),
        (lambda: functional.pad(al.zeros(2), (3, 0), "circular"), ValueError, "pad: padding out of range: 3"),
        (lambda: functional.pad(al.zeros(0), (1, 0), "replicate"), ValueError, "pad: padding out of range: 1"),
        (lambda: functional.pad(al.zeros(2), (1, 0), "mirror"), ValueError, "pad: unknown mode: 'mirror'"),
        (lambda: functional.pad(al.zeros(2), (2**63 - 1, 2**63 - 1)), ValueError, "pad: "),
        (lambda: functional.pad(al.arange(2).to("int8"), (1, 1), value=300), OverflowError, "pad: scalar out of range: 300"),
    ],
)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


@each_dtype
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_stack(dtype, axis):
    x, y = numbered(dtype, 3, 4), numbered(dtype, 3, 4, first=2)
    check(al.stack([x, y.T.contiguous().T], axis), np.stack([x.numpy(), y.numpy()], axis))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack_of_many_and_of_a_tensor(axis):
    rows = [numbered(al.int16, 200, 30, first=i) for i in range(30)]
    check(al.stack(rows, axis), np.stack([x.numpy() for x in rows], axis))
    x = numbered(al.int16, 3, 4, 5)
    check(al.stack(x, axis), np.stack(list(x.numpy()), axis))


@each_dtype
def test_stacks_of_rows_and_columns(dtype):
    row, scalar = numbered(dtype, 3), numbered(dtype, 3)[1]
    matrix, cube = numbered(dtype, 2, 3), numbered(dtype, 2, 3, 2)
    numpy = lambda tensors: [np.asarray(x.numpy()) for x in tensors]
    for tensors in ([row, row], [matrix, matrix], [cube, cube], [scalar, row]):
        check(al.hstack(tensors), np.hstack(numpy(tensors)))
    for tensors in ([row, row], [matrix, row], [cube, cube], [scalar, scalar]):
        check(al.vstack(tensors), np.vstack(numpy(tensors)))
        check(al.row_stack(tensors), np.vstack(numpy(tensors)))
    for tensors in ([row, row], [matrix, matrix], [cube, cube], [scalar, scalar]):
        check(al.dstack(tensors), np.dstack(numpy(tensors)))
    for tensors in ([row, row], [matrix, matrix], [row, numbered(dtype, 3, 2)], [scalar, scalar]):
        check(al.column_stack(tensors), np.column_stack(numpy(tensors)))


def test_splits():
    x = numbered(al.int32, 4, 6, 2)
    for ours, theirs in ((al.hsplit, np.hsplit), (al.vsplit, np.vsplit), (al.dsplit, np.dsplit)):
        for how in (2, [1], [1, 2], []):
            got = ours(x, how)
            want = theirs(x.numpy(), how)
            assert len(got) == len(want)
            for part, reference in zip(got, want):
                check(part, reference)
    assert [part.tolist() for part in al.arange(4).hsplit((1,))] == [[0], [1, 2, 3]]
    with pytest.raises(ValueError, match="hsplit: the size is not a multiple of 4: 6.*tensor_split"):
        x.hsplit(4)
    with pytest.raises(ValueError, match="hsplit: .*0"):
        x.hsplit(0)
    for call, least in ((al.hsplit, 1), (al.vsplit, 2), (al.dsplit, 3)):
        with pytest.raises(ValueError, match=f"too few dimensions: {least - 1}; at least {least}"):
            call(al.zeros(*[2] * (least - 1)) if least > 1 else al.tensor(1), 2)


def test_block_diag():
    x, y = numbered(al.int8, 2, 3, first=1), numbered(al.float16, 2, 2, first=1)
    want = np.zeros((6, 9), np.float16)
    want[:2, :3], want[2, 3:6], want[3, 6], want[4:, 7:] = x.numpy(), x[0].numpy(), 9, y.numpy()
    check(al.block_diag(x, x[0], al.tensor(9, dtype="int8"), y), want)
    assert al.block_diag().shape == (1, 0)
    large = numbered(al.int16, 250, 190, first=1)
    want = np.zeros((500, 380), np.int16)
    want[:250, :190] = want[250:, 190:] = large.numpy()
    check(al.block_diag([large, large]), want)


@each_dtype
@each_layout
@pytest.mark.parametrize(
    "shift, axis", [(1, None), (-7, None), (2, 0), (-1, 1), ((1, 2), (0, 2)), ((3, 1, 9), (1, 1, -1)), (0, 0)]
)
def test_roll(dtype, layout, shift, axis):
    x = layout(numbered(dtype, 3, 4, 5))
    check(x.roll(shift, axis), np.roll(x.numpy(), shift, axis))
    check(al.roll(x, shift, axis=axis), np.roll(x.numpy(), shift, axis))


@each_width
@pytest.mark.parametrize("shift, axis", [(5, None), (50, 0), ((1, 2, -3), (0, 1, 2)), (7, 2)])
def test_large_roll(dtype, shift, axis):
    x = numbered(dtype, 130, 31, 29)
    check(x.roll(shift, axis), np.roll(x.numpy(), shift, axis))
    assert al.zeros(0, 3).roll(1, 0).shape == (0, 3)


@each_dtype
@each_layout
def test_repeat_and_tile(dtype, layout):
    x = layout(numbered(dtype, 2, 3, 4))
    for counts in ((1, 1, 1), (2, 3, 1), (2, 1, 1, 3), (0, 1, 2)):
        check(x.repeat(*counts), np.tile(x.numpy(), counts))
        check(x.repeat(counts), np.tile(x.numpy(), counts))
        check(x.tile(counts), np.tile(x.numpy(), counts))
    check(x.tile(2), np.tile(x.numpy(), 2))
    check(al.tile(x, (2, 1)), np.tile(x.numpy(), (2, 1)))
    check(x.tile(()), x.numpy())
    check(x[0, 0, 0].repeat(2, 2), np.tile(x.numpy()[0, 0, 0], (2, 2)))


@each_width
def test_large_repeat(dtype):
    x = numbered(dtype, 37, 3)
    check(x.repeat(500, 7), np.tile(x.numpy(), (500, 7)))


@each_dtype
@each_layout
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_repeat_interleave(dtype, layout, axis):
    x = layout(numbered(dtype, 2, 3, 4))
    for count in (0, 1, 3):
        check(x.repeat_interleave(count, axis), np.repeat(x.numpy(), count, axis))
    size = x.numel() if axis is None else x.shape[axis]
    counts = np.arange(size) * 2 % 3
    for kind in ("uint8", "int16", "uint64", "int64"):
        got = x.repeat_interleave(al.tensor(counts).to(kind), axis, output_size=int(counts.sum()))
        check(got, np.repeat(x.numpy(), counts, axis))
    check(al.repeat_interleave(x, [2], axis=axis), np.repeat(x.numpy(), 2, axis))
    check(x.repeat_interleave(al.tensor(2), axis), np.repeat(x.numpy(), 2, axis))


@each_width
@pytest.mark.parametrize("count", [2, 3, 4, 5, 16, 17])
def test_large_repeat_interleave(dtype, count):
    x = numbered(dtype, 130, 331)
    check(x.repeat_interleave(count), np.repeat(x.numpy(), count))
    check(x.repeat_interleave(count, 1), np.repeat(x.numpy(), count, 1))
    check(x.t().repeat_interleave(count, 1), np.repeat(x.numpy().T, count, 1))


def test_repeat_interleave_of_counts_alone():
    counts = al.tensor([1, 0, 2, 3], dtype="int32")
    assert al.repeat_interleave(counts).tolist() == [0, 2, 2, 3, 3, 3]
    assert al.repeat_interleave(counts).dtype == al.int32
    assert al.repeat_interleave(counts.to("uint8"), output_size=6).dtype == al.int64
    large = numbered(al.int16, 3000, 20)
    counts = np.arange(3000) % 4
    check(large.repeat_interleave(al.tensor(counts), 0), np.repeat(large.numpy(), counts, 0))
    check(large.T.repeat_interleave(al.tensor(counts), 1), np.repeat(large.numpy().T, counts, 1))


MODES = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}


@each_dtype
@each_layout
@pytest.mark.parametrize("mode", MODES)
def test_pad(dtype, layout, mode):
    x = layout(numbered(dtype, 3, 4, 5, first=1))
    check(functional.pad(x, (2, 1, 0, 3, 1, 2), mode), np.pad(x.numpy(), ((1, 2), (0, 3), (2, 1)), MODES[mode]))
    check(functional.pad(x, (1, 1), mode), np.pad(x.numpy(), ((0, 0), (0, 0), (1, 1)), MODES[mode]))
    check(functional.pad(x, (), mode), x.numpy())
    check(functional.pad(x, (-1, -2, -4, 0), mode), x.numpy()[:, 4:, 1:-2])


@each_width
@pytest.mark.parametrize("mode", MODES)
def test_large_pad(dtype, mode):
    x = numbered(dtype, 5, 90, 80)
    check(functional.pad(x, (3, 5, 1, 0, 2, 1), mode), np.pad(x.numpy(), ((2, 1), (1, 0), (3, 5)), MODES[mode]))


def test_pads_that_crop_one_end_and_add_at_the_other():
    x = al.arange(5)
    # As torch: circular padding goes round what is left, reflection reads what was there.
    assert functional.pad(x, (-1, 2), "circular").tolist() == [1, 2, 3, 4, 1, 2]
    assert functional.pad(x, (2, -1), "circular").tolist() == [2, 3, 0, 1, 2, 3]
    assert functional.pad(x, (-3, 3), "reflect").tolist() == [3, 4, 3, 2, 1]
    assert functional.pad(x, (-1, 2), "replicate").tolist() == [1, 2, 3, 4, 4, 4]
    assert functional.pad(x, (1, -1), value=7).tolist() == [7, 0, 1, 2, 3]
    assert functional.pad(al.tensor(3), ()).tolist() == 3


def test_padding_values_promote():
    x = al.tensor([1, 2], dtype="int8")
    assert functional.pad(x, (1, 0), value=5).dtype == al.int8
    got = functional.pad(x, (1, 0), value=0.5)
    assert got.dtype == al.float32 and got.tolist() == [0.5, 1, 2]
    got = functional.pad(al.ones(1, dtype="bfloat16"), (0, 1), value=float("-inf"))
    assert got.dtype == al.bfloat16 and got.tolist() == [1, float("-inf")]
    assert functional.pad(x, (1, 0), value=1j).dtype == al.complex64
    assert functional.pad(al.ones(1, dtype="bool"), (1, 0)).tolist() == [False, True]


@hypothesis.given(st.data())
@hypothesis.settings(max_examples=60)
def test_any_views_side_by_side(data):
    rank = data.draw(st.integers(1, 4))
    axis = data.draw(st.integers(-rank, rank - 1))
    sizes = [data.draw(st.integers(1, 5)) for _ in range(rank)]
    dtype = data.draw(st.sampled_from(WIDTHS))
    pieces = []
    for i in range(data.draw(st.integers(1, 4))):
        sizes[axis] = data.draw(st.integers(0, 5))
        order = data.draw(st.permutations(range(rank)))
        x = numbered(dtype, *[sizes[dim] for dim in order], first=i)
        x = x.permute(*np.argsort(order).tolist())
        flips = data.draw(st.sets(st.integers(0, rank - 1)))
        pieces.append(x.flip(*flips) if flips else x)
    if rank > 1 or any(x.numel() for x in pieces):
        check(al.cat(pieces, axis), np.concatenate([x.numpy() for x in pieces], axis))


def test_padded_truth_values_stay_such():
    x = al.tensor([True, False])
    for got, want in [
        (al.constant_pad_nd(x, (1, 1)), [False, True, False, False]),
        (al.constant_pad_nd(x, (1, 1), 1), [True, True, False, True]),
        (functional.pad(x, (0, 1), value=True), [True, False, True]),
        (functional.pad(x, (0, 1), value=0), [True, False, False]),
    ]:
        assert got.dtype == al.bool and got.tolist() == want
    assert functional.pad(x, (0, 1), value=2).dtype == al.int64


def test_a_single_element_takes_the_first_dimension_for_itself():
    x = al.tensor(2.0, requires_grad=True)
    for got in (x.transpose(0, 0), x.transpose(0, -1), x.movedim(0, 0), x.movedim(-1, 0), x.movedim((), ())):
        assert got.shape == () and got.item() == 2.0
        assert al.autograd.grad(got, x)[0].item() == 1.0
    for wrong in (lambda: x.transpose(0, 1), lambda: x.movedim(0, 1)):
        with pytest.raises(IndexError):
            wrong()


def test_tensordot_spreads_sizes_of_one():
    x = al.arange(6.0).reshape(2, 3).requires_grad_()
    assert al.tensordot(al.arange(3.0), al.tensor([2.0]), 1).item() == 6.0
    got = al.tensordot(x, al.ones(1, 4), 1)
    assert got.tolist() == [[3.0] * 4, [12.0] * 4]
    assert al.autograd.grad(got.sum(), x)[0].tolist() == [[4.0] * 3] * 2
    mixed = al.tensordot(al.ones(2, 1, 3), al.ones(5, 1, 4), dims=([1, 2], [0, 1]))
    assert mixed.tolist() == [[15.0] * 4] * 2
    with pytest.raises(ValueError, match="^tensordot: "):
        al.tensordot(al.ones(2, 3), al.ones(2, 4), 1)
