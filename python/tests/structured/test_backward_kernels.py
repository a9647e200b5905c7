"""Backwards that have a kernel of their own against the operations that they are otherwise made of.

`create_graph=True` composes recorded operations. Here both ways are compared over dtypes, layouts, odd
sizes and threads, and with NaN and infinities.
"""

import itertools

import numpy as np
import pytest

import allotrope as al

F = al.nn.functional
FLOATS = [dtype for dtype in al.dtypes() if dtype.is_floating_point]
NAMES = [str(dtype).removeprefix("allotrope.") for dtype in FLOATS]
LAYOUTS = ["contiguous", "turned", "stepped"]


def laid_out(array, layout, dtype):
    """The numbers of an array as a tensor whose memory is in another order."""
    if layout == "turned":
        order = list(range(array.ndim))[::-1]
        return al.tensor(np.ascontiguousarray(array.transpose(order))).to(dtype).permute(*order)
    if layout == "stepped" and array.ndim:
        doubled = np.repeat(array, 2, axis=-1)
        return al.tensor(doubled).to(dtype)[..., ::2]
    return al.tensor(array).to(dtype)


def numbers(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def both(function, inputs, gradient):
    """The gradients of inputs by the kernel, and by recorded operations."""
    leaves = [x.detach().requires_grad_() if x is not None else None for x in inputs]
    wanted = [x for x in leaves if x is not None]
    made = function(*leaves)
    kernel = al.autograd.grad(made, wanted, gradient, retain_graph=True)
    composed = al.autograd.grad(made, wanted, gradient, create_graph=True)
    return [x.detach() for x in kernel], [x.detach() for x in composed]


def assert_alike(kernel, composed, digits=16):
    """Equal up to some of the last digits of the dtype, beside the largest; NaN in the same places."""
    for mine, other in zip(kernel, composed, strict=True):
        assert mine.dtype == other.dtype
        assert mine.shape == other.shape
        eps = al.finfo(mine.dtype).eps
        a, b = (np.array(x.to(al.float64).tolist()) for x in (mine, other))
        assert np.array_equal(np.isnan(a), np.isnan(b))
        assert np.array_equal(np.isinf(a), np.isinf(b))
        is_finite = np.isfinite(a) & np.isfinite(b)
        a, b = np.where(is_finite, a, 0.0), np.where(is_finite, b, 0.0)
        largest = np.abs(b).max(initial=1.0)
        assert np.abs(a - b).max(initial=0.0) <= digits * eps * largest


@pytest.fixture(params=[1, 2, 7])
def threads(request):
    before = al.get_num_threads()
    al.set_num_threads(request.param)
    yield request.param
    al.set_num_threads(before)


def norms(size):
    """Normalisations with the shapes of what they read: numbers, weight, bias."""
    yield lambda x, w, b: F.layer_norm(x, (size,), w, b), (3, 5, size), (size,)
    yield lambda x, w, b: F.layer_norm(x, (2, size), w, b), (4, 2, size), (2, size)
    yield lambda x, w, b: F.rms_norm(x, (size,), w), (7, size), (size,)
    yield lambda x, w, b: F.group_norm(x, 2, w, b), (3, 4, size), (4,)
    yield lambda x, w, b: F.group_norm(x, 3, w, b), (2, 3 * size), (3 * size,)


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_norms_compose_to_the_same(dtype, layout):
    for size in [0, 1, 2, 31, 63, 64, 65, 200]:
        for function, shape, term in norms(size):
            x = laid_out(numbers(*shape), layout, dtype)
            w = laid_out(numbers(*term, seed=1), layout, dtype)
            b = laid_out(numbers(*term, seed=2), layout, dtype)
            g = laid_out(numbers(*shape, seed=3), layout, dtype)
            is_rms = function(x, w, b).equal(function(x, w, b * 0 + 5))
            inputs = [x, w, None] if is_rms else [x, w, b]
            assert_alike(*both(function, inputs, g))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_each_gradient_alone_is_that_of_all(dtype):
    dtype = getattr(al, dtype)
    for size in [1, 65, 130]:
        for function, shape, term in itertools.islice(norms(size), 2):
            x, w, b = (al.tensor(numbers(*s, seed=i)).to(dtype) for i, s in enumerate([shape, term, term]))
            g = al.tensor(numbers(*shape, seed=3)).to(dtype)
            leaves = [t.requires_grad_() for t in (x, w, b)]
            made = function(*leaves)
            every = al.autograd.grad(made, leaves, g, retain_graph=True)
            for leaf, expected in zip(leaves, every, strict=True):
                (alone,) = al.autograd.grad(made, [leaf], g, retain_graph=True)
                assert alone.equal(expected)
            # Without a weight it is one.
            plain = [x.detach().requires_grad_(), None, b.detach().requires_grad_()]
            ones = [x.detach().requires_grad_(), (w * 0 + 1).detach(), b.detach().requires_grad_()]
            a, c = (
                al.autograd.grad(function(*given), [given[0], given[2]], g) for given in (plain, ones)
            )
            assert a[0].equal(c[0])
            assert a[1].equal(c[1])


def test_long_lines_and_many_lines_compose_to_the_same(threads):
    for shape in [(3, 5000), (2, 70000), (5000, 17), (700, 96), (1, 3)]:
        x, g = (al.tensor(numbers(*shape, seed=i)).to(al.float32) for i in range(2))
        w, b = (al.tensor(numbers(shape[1], seed=i)).to(al.float32) for i in (2, 3))
        assert_alike(*both(lambda x, w, b: F.layer_norm(x, (shape[1],), w, b), [x, w, b], g), digits=64)
    x, g = (al.tensor(numbers(6, 8, 9, 11, seed=i)).to(al.float32) for i in range(2))
    w, b = (al.tensor(numbers(8, seed=i)).to(al.float32) for i in (2, 3))
    assert_alike(*both(lambda x, w, b: F.group_norm(x, 4, w, b), [x, w, b], g), digits=64)
    call = lambda x, w, b: F.instance_norm(x, None, None, w, b)  # noqa: E731
    assert_alike(*both(call, [x, w, b], g), digits=64)


def test_threads_change_no_bit_of_a_norm():
    x, g = (al.tensor(numbers(900, 300, seed=i)).to(al.float32) for i in range(2))
    w, b = (al.tensor(numbers(300, seed=i)).to(al.float32) for i in (2, 3))
    before, seen = al.get_num_threads(), []
    for count in [1, 2, 7]:
        al.set_num_threads(count)
        leaves = [t.detach().requires_grad_() for t in (x, w, b)]
        seen.append(al.autograd.grad(F.layer_norm(leaves[0], (300,), *leaves[1:]), leaves, g))
    al.set_num_threads(before)
    for other in seen[1:]:
        assert all(a.equal(b) for a, b in zip(seen[0], other, strict=True))


@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", [0, 1])
def test_norms_with_special_values_compose_to_the_same(special, place):
    for dtype in ["float32", "float64", "float16", "bfloat16", "float8_e5m2"]:
        for size in [3, 70]:
            for function, shape, term in itertools.islice(norms(size), 2):
                arrays = [numbers(*shape), numbers(*shape, seed=3)]
                arrays[place].reshape(-1)[1] = special
                x, g = (al.tensor(a).to(getattr(al, dtype)) for a in arrays)
                w, b = (al.tensor(numbers(*term, seed=i)).to(getattr(al, dtype)) for i in (1, 2))
                assert_alike(*both(function, [x, w, b], g))


def test_a_gradient_of_one_number_reaches_every_element():
    x = al.tensor(numbers(6, 40)).to(al.float32).requires_grad_()
    w = al.tensor(numbers(40, seed=1)).to(al.float32).requires_grad_()
    made = F.layer_norm(x, (40,), w, None)
    kernel = al.autograd.grad(made.sum(), [x, w], retain_graph=True)
    composed = al.autograd.grad(made.sum(), [x, w], create_graph=True)
    # The gradients of the numbers cancel: what is left is beside those of single results.
    assert float((kernel[0] - composed[0]).abs().max()) < 1e-5
    assert_alike([kernel[1]], [composed[1].detach()])


def batch_norms(channels):
    """A normalisation over a batch, and with running numbers."""
    mean = al.tensor(numbers(channels, seed=7))
    variance = al.tensor(numbers(channels, seed=8)).square() + 0.5
    yield lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True)
    yield lambda x, w, b: F.batch_norm(x, mean, variance, w, b, training=False)


SHAPES = [
    (2, 1), (7, 3), (130, 33), (300, 40), (3, 5, 1), (2, 3, 63), (2, 3, 64), (3, 17, 65),
    (4, 2, 5, 13), (2, 20, 9, 9), (2, 2, 3, 4, 5), (1, 3, 70), (5, 4, 100),
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_batch_norms_compose_to_the_same(dtype, layout):
    for shape in SHAPES:
        for function in batch_norms(shape[1]):
            x, g = (laid_out(numbers(*shape, seed=i), layout, dtype) for i in range(2))
            w, b = (laid_out(numbers(shape[1], seed=i), layout, dtype) for i in (2, 3))
            assert_alike(*both(function, [x, w, b], g), digits=32)
            assert_alike(*both(lambda x, f=function: f(x, None, None), [x], g), digits=32)


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES)
def test_batch_norms_are_those_of_plain_arithmetic(dtype):
    for shape in SHAPES:
        x, w, b = (al.tensor(numbers(*s, seed=i)).to(dtype) for i, s in enumerate([shape, shape[1:2], shape[1:2]]))
        wide = [np.array(t.to(al.float64).tolist()).reshape(t.shape) for t in (x, w, b)]
        axes = tuple(dim for dim in range(len(shape)) if dim != 1)
        term = [-1 if dim == 1 else 1 for dim in range(len(shape))]
        mean, variance = (getattr(wide[0], f)(axes, keepdims=True) for f in ("mean", "var"))
        expected = (wide[0] - mean) / np.sqrt(variance + 1e-5) * wide[1].reshape(term) + wide[2].reshape(term)
        made = F.batch_norm(x, None, None, w, b, training=True)
        assert made.dtype == dtype
        made = np.array(made.to(al.float64).tolist()).reshape(shape)
        bound = al.finfo(dtype).eps * 8 * np.abs(expected).max(initial=1.0)
        assert np.abs(made - expected).max() <= bound


def test_running_numbers_are_those_of_the_batch(threads):
    for shape in [(300, 40), (6, 3, 200), (40, 20, 9, 9)]:
        x = numbers(*shape) * 3 + 100
        axes = tuple(dim for dim in range(len(shape)) if dim != 1)
        mean, variance = al.zeros(shape[1]), al.ones(shape[1])
        F.batch_norm(al.tensor(x).to(al.float32), mean, variance, training=True, momentum=1.0)
        assert np.allclose(mean.tolist(), x.mean(axes), rtol=1e-6)
        assert np.allclose(variance.tolist(), x.var(axes, ddof=1), rtol=1e-5)


def test_threads_change_no_bit_of_a_batch_norm():
    for shape in [(3000, 40), (64, 3, 900), (40, 20, 30, 30), (50, 70, 7, 7)]:
        x, g = (al.tensor(numbers(*shape, seed=i)).to(al.float32) for i in range(2))
        w, b = (al.tensor(numbers(shape[1], seed=i)).to(al.float32) for i in (2, 3))
        before, seen = al.get_num_threads(), []
        for count in [1, 2, 7]:
            al.set_num_threads(count)
            leaves = [t.detach().requires_grad_() for t in (x, w, b)]
            made = F.batch_norm(leaves[0], None, None, *leaves[1:], training=True)
            seen.append([made.detach(), *al.autograd.grad(made, leaves, g)])
        al.set_num_threads(before)
        for other in seen[1:]:
            assert all(a.equal(b) for a, b in zip(seen[0], other, strict=True))


@pytest.mark.parametrize("special", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("place", [0, 1])
def test_batch_norms_with_special_values_compose_to_the_same(special, place):
    for shape in [(6, 5), (2, 3, 70)]:
        for function in batch_norms(shape[1]):
            arrays = [numbers(*shape), numbers(*shape, seed=3)]
            arrays[place].reshape(-1)[1] = special
            x, g = (al.tensor(a).to(al.float32) for a in arrays)
            w, b = (al.tensor(numbers(shape[1], seed=i)).to(al.float32) for i in (1, 2))
            assert_alike(*both(function, [x, w, b], g))


POOLS = [
    (F.max_pool1d, F.max_pool1d_with_indices, (2, 3, 33), [{"kernel_size": 2}, {"kernel_size": 3, "stride": 1, "padding": 1}]),
    (F.max_pool2d, F.max_pool2d_with_indices, (3, 2, 9, 14), [
        {"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": (2, 3), "stride": 1, "dilation": 2}, {"kernel_size": 9, "padding": 4},
    ]),
    (F.max_pool3d, F.max_pool3d_with_indices, (2, 2, 5, 6, 7), [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}]),
]  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_max_pools_add_gradients_where_the_greatest_was(dtype, layout):
    for pool, with_indices, shape, calls in POOLS:
        for options in calls:
            x = laid_out(numbers(*shape), layout, dtype).requires_grad_()
            made = pool(x, **options)
            g = laid_out(numbers(*made.shape, seed=1), layout, dtype)
            (slope,) = al.autograd.grad(made, [x], g, retain_graph=True)
            (recorded,) = al.autograd.grad(made, [x], g, create_graph=True)
            assert slope.equal(recorded.detach())
            # Places by plain comparison: the first of the greatest in each window's order.
            values, places = with_indices(x.detach(), **options)
            rank = len(shape) - 2
            planes = np.array(x.detach().to(al.float64).tolist()).reshape(shape[0] * shape[1], -1)
            index = np.array(places.tolist()).reshape(shape[0] * shape[1], -1)
            taken = np.take_along_axis(planes, index, 1)
            assert np.array_equal(taken, np.array(values.to(al.float64).tolist()).reshape(taken.shape))
            expected = np.zeros_like(planes)
            wide = np.array(g.to(al.float64).tolist()).reshape(taken.shape)
            for plane in range(len(planes)):
                np.add.at(expected[plane], index[plane], wide[plane])
            assert rank + 2 == x.dim()
            expected = al.tensor(expected.reshape(shape)).to(al.float32 if dtype != al.float64 else dtype).to(dtype)
            assert_alike([slope], [expected], digits=1)


def test_windows_of_least_numbers_name_their_first_element():
    x = al.full((1, 1, 6, 6), float("-inf"))
    for options in [{"kernel_size": 2}, {"kernel_size": 3, "stride": 2, "padding": 1}]:
        values, places = F.max_pool2d_with_indices(x, **options)
        stride, padding = options.get("stride", options["kernel_size"]), options.get("padding", 0)
        starts = [max(i * stride - padding, 0) for i in range(values.shape[-1])]
        assert places.tolist() == [[[[row * 6 + column for column in starts] for row in starts]]]


def test_pools_of_many_windows_and_adaptive_ones_find_the_same_places():
    """A window of more taps than the table of places has, and windows of unlike sizes."""
    x = al.tensor(numbers(2, 3, 80, 70)).to(al.float32)
    values, places = F.max_pool2d_with_indices(x, (70, 65), stride=1)
    flat = np.array(x.tolist()).reshape(2, 3, -1)
    taken = np.take_along_axis(flat, np.array(places.tolist()).reshape(2, 3, -1), 2)
    assert np.array_equal(taken.reshape(values.shape), np.array(values.tolist()))
    windows = np.lib.stride_tricks.sliding_window_view(np.array(x.tolist()), (70, 65), (2, 3))
    assert np.array_equal(windows.max((4, 5)), np.array(values.tolist()))
    values, places = F.adaptive_max_pool2d_with_indices(x, (7, 9))
    taken = np.take_along_axis(flat, np.array(places.tolist()).reshape(2, 3, -1), 2)
    assert np.array_equal(taken.reshape(values.shape), np.array(values.tolist()))


@pytest.mark.parametrize("dtype", FLOATS, ids=NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("options", [{}, {"label_smoothing": 0.2}, {"reduction": "sum"}, {"reduction": "none"}], ids=str)
def test_cross_entropy_composes_to_the_same(dtype, layout, options):
    for lines, classes in [(0, 3), (1, 1), (5, 2), (3, 63), (4, 64), (2, 65), (70, 130)]:
        x = laid_out(numbers(lines, classes) * 4, layout, dtype)
        weight = al.tensor(np.abs(numbers(classes, seed=4))).to(dtype)
        target = al.tensor(np.random.default_rng(5).integers(0, classes, lines))
        for given in [None, weight]:
            for ignored in [-100, 0]:
                call = lambda x: F.cross_entropy(x, target, given, ignore_index=ignored, **options)  # noqa: B023, E731
                made = call(x)
                g = al.tensor(numbers(*made.shape, seed=6) if made.dim() else 0.75).to(made.dtype)
                assert_alike(*both(call, [x], g))


def test_cross_entropy_of_special_values_composes_to_the_same():
    for special in [float("nan"), float("inf"), float("-inf")]:
        for size in [3, 70]:
            array = numbers(4, size)
            array[1, 1] = special
            target = al.tensor([0, 1, 2, 0])
            call = lambda x: F.cross_entropy(x, target)  # noqa: B023, E731
            assert_alike(*both(call, [al.tensor(array).to(al.float32)], al.tensor(1.0)))


@pytest.mark.parametrize("dtypes", list(itertools.product(["float32", "bfloat16", "float64"], repeat=2)), ids=str)
def test_products_give_each_factor_a_gradient_of_its_own_dtype(dtypes):
    for shape in [(4, 5, 3), (33, 70, 65), (1, 1, 1)]:
        rows, inner, outs = shape
        x = al.tensor(numbers(rows, inner)).to(getattr(al, dtypes[0])).requires_grad_()
        for turned in [True, False]:
            size = (outs, inner) if turned else (inner, outs)
            w = al.tensor(numbers(*size, seed=1)).to(getattr(al, dtypes[1])).requires_grad_()
            made = F.linear(x, w) if turned else x @ w
            g = al.tensor(numbers(rows, outs, seed=2)).to(made.dtype)
            of_x, of_w = al.autograd.grad(made, [x, w], g, retain_graph=True)
            again = al.autograd.grad(made, [x, w], g, create_graph=True)
            assert (of_x.dtype, of_w.dtype) == (x.dtype, w.dtype)
            assert of_w.is_contiguous()
            wide = [np.array(t.detach().to(al.float64).tolist()).reshape(t.shape) for t in (x, w, g)]
            a, b, c = wide
            expected = [c @ b, c.T @ a] if turned else [c @ b.T, a.T @ c]
            for mine, other, recorded in zip((of_x, of_w), expected, again, strict=True):
                rounded = al.tensor(other).to(mine.dtype)
                assert_alike([mine], [rounded], digits=128 if mine.dtype != al.bfloat16 else 2)
                assert_alike([recorded.detach()], [mine])
