"""Names of torch's and NumPy's that are compositions: against NumPy, and by what defines them."""

import gc
import json
import math
import pickle
import sys

import numpy as np
import pytest

import allotrope as al
from allotrope import _foreach, _more, func, masked
from allotrope.signal import windows

NUMBERS = [0.0, -0.0, 1.0, -3.75, 1e308, 5e-324, 2.0**-1022, math.nextafter(8.0, 0.0), math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_frexp_is_numpys(dtype):
    with np.errstate(over="ignore"):
        given = np.array(NUMBERS, dtype)
    mantissa, exponent = al.frexp(al.tensor(given))
    expected = np.frexp(given)
    finite = np.isfinite(given)
    np.testing.assert_array_equal(mantissa.numpy(), expected[0])
    np.testing.assert_array_equal(exponent.numpy()[finite], expected[1][finite])
    assert mantissa.dtype.name == dtype and exponent.dtype == al.int32


@pytest.mark.parametrize("dtype", ["float8_e5m2", "bfloat16"])
def test_frexp_puts_together_what_it_took_apart(dtype):
    x = al.tensor([0.75, -24.0, 2.0**-14, 3.0], dtype=dtype)
    mantissa, exponent = x.frexp()
    assert al.equal(al.ldexp(mantissa.double(), exponent), x.double())
    assert ((mantissa.double().abs() >= 0.5) & (mantissa.double().abs() < 1)).all()


@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 5, 3), (1, 1)])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_geqrf_and_ormqr_are_a_qr_decomposition(shape, dtype):
    al.manual_seed(1)
    x = al.randn(*shape, dtype=dtype)
    a, tau = al.geqrf(x)
    rows, columns = shape[-2:]
    q = al.linalg.householder_product(a[..., :rows], tau)
    r = a.triu()[..., : min(rows, columns), :]
    assert al.allclose(q @ r, x)
    assert al.allclose(q.mH @ q, al.eye(q.shape[-1], dtype=dtype).expand(q.mH.shape[:-2] + (q.shape[-1],) * 2))
    c = al.randn(*shape[:-2], rows, 2, dtype=dtype)
    back = al.ormqr(a, tau, al.ormqr(a, tau, c), transpose=True)
    assert al.allclose(back, c)
    turned = al.ormqr(a, tau, c.mT, left=False)
    assert al.allclose(al.ormqr(a, tau, turned, left=False, transpose=True), c.mT)


def test_old_names_of_linear_algebra():
    al.manual_seed(2)
    x, b = al.randn(4, 4, dtype="float64"), al.randn(4, 2, dtype="float64")
    assert al.allclose(al.lu_solve(b, *al.lu(x)), al.linalg.solve(x, b))
    u, s, v = al.svd(x)
    assert al.allclose((u * s) @ v.mT, x)
    triangle = x.triu()
    assert al.allclose(triangle @ al.triangular_solve(b, triangle)[0], b)
    assert al.allclose(triangle.mT @ al.triangular_solve(b, triangle, transpose=True)[0], b)
    symmetric, positive = x + x.mT, x @ x.mT + al.eye(4, dtype="float64")
    values, vectors = al.lobpcg(symmetric, 2, positive)
    assert al.allclose(symmetric @ vectors, positive @ vectors * values)
    whole = np.linalg.eigvals(np.linalg.solve(positive.numpy(), symmetric.numpy())).real
    np.testing.assert_allclose(values.numpy(), np.sort(whole)[::-1][:2])
    least = al.lobpcg(symmetric, 1, largest=False)[0]
    np.testing.assert_allclose(least.numpy(), np.linalg.eigvalsh(symmetric.numpy())[:1])


def test_low_rank_decompositions_find_the_greatest():
    al.manual_seed(3)
    x = al.randn(20, 4, dtype="float64") @ al.randn(4, 9, dtype="float64")
    for matrix in (x, x.mT):
        u, s, v = al.svd_lowrank(matrix, q=4)
        assert al.allclose((u * s) @ v.mH, matrix)
        np.testing.assert_allclose(s.numpy(), np.linalg.svd(matrix.numpy())[1][:4])
    centered = (x - x.mean(0)).numpy()
    np.testing.assert_allclose(al.pca_lowrank(x, 4)[1].numpy(), np.linalg.svd(centered)[1][:4])


def test_histogramdd_is_numpys():
    rng = np.random.default_rng(4)
    points, weight = rng.normal(size=(200, 3)), rng.random(200)
    for options in ({}, {"density": True}, {"weight": weight}):
        given = {k: al.tensor(v) if k == "weight" else v for k, v in options.items()}
        ours, edges = al.histogramdd(al.tensor(points), [3, 4, 2], **given)
        other = {"weights" if k == "weight" else k: v for k, v in options.items()}
        theirs, expected = np.histogramdd(points, [3, 4, 2], **other)
        np.testing.assert_allclose(ours.numpy(), theirs)
        for edge, wanted in zip(edges, expected):
            np.testing.assert_allclose(edge.numpy(), wanted)
    ours = al.histogramdd(al.tensor(points), [2, 2, 2], range=(-1, 1, -1, 1, -1, 1))[0]
    np.testing.assert_allclose(ours.numpy(), np.histogramdd(points, 2, range=[(-1, 1)] * 3)[0])


def test_numpys_names_on_tensors():
    given = np.arange(12, dtype="int16").reshape(3, 4)
    x = al.tensor(given)
    assert x.strides == given.strides and x.T.strides == given.T.strides
    assert x.tobytes() == given.tobytes() and x.T.tobytes() == given.T.tobytes()
    assert al.zeros(0).tobytes() == b""
    y = x.copy()
    y += 1
    assert al.equal(x, al.tensor(given))
    assert al.array(x).data_ptr() != x.data_ptr() and al.array(given).dtype == al.int16
    assert al.Size((2, 3)) == (2, 3) and al.Size((2, 3)).numel() == 6


def test_sizes_are_tuples_that_count():
    x = al.zeros(2, 3, 4)
    for sizes in (x.shape, x.size(), x.shape[:], al.broadcast_shapes((2, 1, 4), (3, 1)), pickle.loads(pickle.dumps(x.shape))):
        assert type(sizes) is al.Size and sizes == (2, 3, 4) and hash(sizes) == hash((2, 3, 4)) and repr(sizes) == "(2, 3, 4)"
    sizes = x.shape
    assert [sizes[i] for i in (0, -1, np.int64(1), True)] == [2, 4, 3, 3] and isinstance(sizes, tuple) and len(sizes) == 3
    assert sizes.numel() == 24 and sizes[1:].numel() == 12 and sizes[::2] == (2, 4) and sizes[3:].numel() == 1
    assert (sizes + (5,)).numel() == 120 and type(sizes + ()) is al.Size
    assert (1,) + sizes == (1, 2, 3, 4) and json.dumps(sizes) == "[2, 3, 4]" and al.ones(sizes).shape is not sizes
    first, *others = sizes
    assert first == 2 and others == [3, 4] and type(x.stride()) is tuple and al.zeros(()).shape == ()
    for wrong in (3, -4, 1 << 70):
        with pytest.raises(IndexError):
            sizes[wrong]
    for wrong in ("a", 1.0, None):
        with pytest.raises(TypeError):
            sizes[wrong]
    with pytest.raises(TypeError):
        sizes + [1]
    with pytest.raises(TypeError):
        sizes[0] = 1


def test_no_reference_is_lost_or_kept():
    x, big = al.zeros(1000, 1001), 10**6
    before = sys.getrefcount(big), sys.getrefcount(al.Size)
    for _ in range(100):
        sizes = x.shape
        sizes[0], sizes[:1], sizes + (big,), sizes * 2, sizes.numel()
    del sizes
    gc.collect()
    assert (sys.getrefcount(big), sys.getrefcount(al.Size)) == before


@pytest.mark.parametrize("dtype", [d.name for d in al.dtypes()])
def test_bytes_of_every_dtype(dtype):
    x = al.tensor([1, 0, 1, 1]).to(dtype)
    given = x.tobytes()
    assert type(given) is bytes and len(given) == 4 * x.itemsize
    assert al.equal(al.frombuffer(given, dtype=dtype).to("complex128"), x.to("complex128"))
    assert x[::2].tobytes() == given[: x.itemsize] + given[2 * x.itemsize : 3 * x.itemsize]


@pytest.mark.parametrize("dtype", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
def test_bytes_are_those_of_ml_dtypes(dtype):
    import ml_dtypes

    numbers = np.array([1.5, -2.0, 0.25, 448.0]).astype(getattr(ml_dtypes, dtype))
    assert al.tensor(numbers).tobytes() == numbers.tobytes()


def test_buffers_are_shared():
    memory = bytearray(range(8))
    x = al.frombuffer(memory, dtype=al.uint8)
    x[0] = 200
    assert memory[0] == 200 and al.frombuffer(memory, dtype=al.int16, count=2, offset=3).tolist() == [0x0403, 0x0605]
    assert al.frombuffer(memory, dtype=al.int32, offset=4).tolist() == np.frombuffer(memory, "int32", offset=4).tolist()
    assert al.frombuffer(memory, dtype=al.float32, requires_grad=True).requires_grad
    for options in ({"count": 5}, {"offset": 8}, {"offset": -1}, {"offset": 1}, {"count": 0}):
        with pytest.raises(ValueError, match="frombuffer: "):
            al.frombuffer(memory, dtype=al.int16, **options)


def test_fill_and_resize_as():
    x = al.zeros(2, 2, dtype=al.int8)
    assert al.fill(x, 3).tolist() == [[3, 3], [3, 3]] and not x.any() and al.fill(x, al.tensor(4)).dtype == al.int8
    assert al.arange(4).resize_as_(al.zeros(3, 1)).tolist() == [[0], [1], [2]]


def test_devices_without_a_number_are_the_first():
    assert al.device("gpu") == al.device("gpu:0") == "gpu" and "gpu:0" == al.device("gpu")
    assert al.device("gpu") != al.device("gpu:1") and al.device("cpu") != "gpu" and al.device("cpu") != 1
    assert len({al.device("gpu"), al.device("gpu:0"), al.device("gpu:1")}) == 2 and al.zeros(1).device == "cpu:0"


def test_settings_that_have_one_answer():
    al.use_deterministic_algorithms(False, warn_only=True)
    al.set_float32_matmul_precision("medium")
    al.set_num_interop_threads(3)
    assert al.are_deterministic_algorithms_enabled() and al.get_float32_matmul_precision() == "highest"
    for call in (
        lambda: al.set_float32_matmul_precision("low"), lambda: al.set_deterministic_debug_mode("loud"),
        lambda: al.set_num_interop_threads(0),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="accepted"):
            call()


def test_copies_are_no_views():
    numbers = al.arange(6).reshape(2, 3)
    others = {"view_as_complex": al.arange(6.0).reshape(3, 2), "view_as_real": al.ones(2, dtype="complex64")}
    for name in _more._COPIED:
        x = others.get(name, numbers)
        arguments = {
            "expand": ((2, 2, 3),), "narrow": (0, 0, 1), "permute": ((1, 0),), "select": (0, 1), "transpose": (0, 1),
            "unfold": (1, 2, 1), "unsqueeze": (0,), "view": (3, 2), "split": (1,), "as_strided": ((2,), (1,)),
            "split_with_sizes": ((1, 1),),
        }.get(name, ())
        found = getattr(al, name + "_copy")(x, *arguments)
        expected = getattr(x, name)(*arguments)
        for copied, view in zip(*((a,) if isinstance(a, al.Tensor) else a for a in (found, expected))):
            assert al.equal(copied, view)
            copied += 100
    x = numbers
    assert al.equal(x, al.arange(6).reshape(2, 3))
    assert al.slice_copy(x, 1, 1).tolist() == [[1, 2], [4, 5]]
    assert al.empty_strided((2, 3), (1, 4)).stride() == (1, 4)
    with pytest.raises(ValueError, match="a stride per size"):
        al.empty_strided((2, 3), (1,))


def test_resize_keeps_what_was_there():
    x = al.arange(4)
    assert x.resize_(2, 3).tolist() == [[0, 1, 2], [3, 0, 0]] and x.shape == (2, 3)
    assert x.resize_((2,)).tolist() == [0, 1]
    with pytest.raises(ValueError, match="negative"):
        x.resize_(-1)


@pytest.mark.parametrize("reduction", ["sum", "prod", "amax", "amin", "mean", "var", "std", "argmax", "argmin"])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_masked_reductions_are_those_of_numpys_masked_arrays(reduction, dim):
    rng = np.random.default_rng(5)
    x, mask = rng.normal(size=(4, 5)), rng.random((4, 5)) < 0.6
    mask[:, 0] = mask[0] = True
    names = {"amax": "max", "amin": "min"}
    array = np.ma.array(x, mask=~mask)
    options = {"ddof": 1} if reduction in ("var", "std") else {}
    expected = getattr(array, names.get(reduction, reduction))(axis=dim, **options)
    ours = getattr(masked, reduction)(al.tensor(x), dim, mask=al.tensor(mask))
    np.testing.assert_allclose(ours.numpy(), np.ma.getdata(expected))


def test_masked_softmax_is_that_of_what_counts():
    x, mask = al.tensor([[1.0, 5.0, 2.0]]), al.tensor([[True, False, True]])
    found = masked.softmax(x, 1, mask=mask)
    assert al.allclose(found[:, [0, 2]], al.tensor([[1.0, 2.0]]).softmax(1)) and found[0, 1] == 0
    assert al.allclose(masked.logsumexp(x, 1, mask=mask), al.tensor([[1.0, 2.0]]).logsumexp(1))
    assert masked.amax(al.tensor([1, 2]), mask=al.tensor([False, False])) == al.iinfo(al.int64).min
    with pytest.raises(TypeError, match="bool is accepted"):
        masked.sum(x, mask=x)


@pytest.mark.parametrize("points", [0, 1, 2, 7, 8])
@pytest.mark.parametrize("name", ["hamming", "hanning", "blackman", "bartlett"])
def test_windows_are_numpys(points, name):
    ours = getattr(windows, {"hanning": "hann"}.get(name, name))(points, dtype=al.float64)
    np.testing.assert_allclose(ours.numpy(), getattr(np, name)(points), atol=1e-15)
    periodic = getattr(windows, {"hanning": "hann"}.get(name, name))(points, sym=False, dtype=al.float64)
    if points > 1:
        np.testing.assert_allclose(periodic.numpy(), getattr(np, name)(points + 1)[:-1], atol=1e-15)
    np.testing.assert_allclose(windows.kaiser(points, beta=3.0, dtype=al.float64).numpy(), np.kaiser(points, 3.0))


def test_windows_by_formula():
    n = np.arange(6)
    np.testing.assert_allclose(windows.gaussian(6, std=2.0, dtype="float64").numpy(), np.exp(-0.5 * ((n - 2.5) / 2) ** 2))
    np.testing.assert_allclose(windows.exponential(6, tau=2.0, dtype="float64").numpy(), np.exp(-abs(n - 2.5) / 2))
    np.testing.assert_allclose(windows.cosine(6, dtype="float64").numpy(), np.sin(np.pi / 6 * (n + 0.5)))
    a = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    nuttall = sum((-1) ** k * w * np.cos(2 * np.pi * k * n / 5) for k, w in enumerate(a))
    np.testing.assert_allclose(windows.nuttall(6, dtype="float64").numpy(), nuttall, atol=1e-15)
    assert windows.hann(4, dtype=al.bfloat16).dtype == al.bfloat16
    for call in (lambda: windows.hann(-1), lambda: windows.gaussian(3, std=0)):
        with pytest.raises(ValueError):
            call()


def test_foreach_is_a_loop():
    lists = [al.tensor([1.0, 2.0]), al.tensor([[3.0]])], [al.tensor([4.0, 5.0]), al.tensor([[6.0]])]
    for name in _foreach._UNARY:
        for one, x in zip(_foreach.NAMES["_foreach_" + name](lists[0]), lists[0]):
            assert al.equal(one.nan_to_num(), getattr(al, name)(x).nan_to_num())
    assert [x.tolist() for x in al._foreach_add(*lists)] == [[5.0, 7.0], [[9.0]]]
    assert [x.tolist() for x in al._foreach_add(*lists, alpha=2)] == [[9.0, 12.0], [[15.0]]]
    assert [x.tolist() for x in al._foreach_mul(lists[0], [2, 3])] == [[2.0, 4.0], [[9.0]]]
    assert [x.tolist() for x in al._foreach_addcdiv(lists[0], *lists[::-1], value=2)] == [
        [9.0, 7.0], [[7.0]]
    ]
    own = [x.clone() for x in lists[0]]
    before = [x.data_ptr() for x in own]
    assert al._foreach_mul_(own, 2) is None and al._foreach_lerp_(own, lists[1], 0.5) is None
    assert [x.tolist() for x in own] == [[3.0, 4.5], [[6.0]]] and [x.data_ptr() for x in own] == before
    with pytest.raises(ValueError, match="different lengths"):
        al._foreach_add(lists[0], [1])


def test_choice_and_a_generator_of_its_own():
    rng = al.random.default_rng(7)
    drawn = rng.choice(5, 10_000, p=[0.0, 0.5, 0.25, 0.25, 0.0])
    counts = np.bincount(drawn.numpy(), minlength=5) / 10_000
    np.testing.assert_allclose(counts, [0, 0.5, 0.25, 0.25, 0], atol=0.03)
    rows = al.arange(6).reshape(3, 2)
    assert sorted(rng.choice(rows, 3, replace=False).tolist()) == rows.tolist()
    x = al.arange(50)
    rng.shuffle(x)
    assert sorted(x.tolist()) == list(range(50)) and x.tolist() != list(range(50))
    state = al.get_rng_state()
    again = [al.random.default_rng(7).random(3).tolist() for _ in range(2)]
    assert again[0] == again[1] and al.equal(state, al.get_rng_state())
    assert rng.integers(3, 5, (2, 2)).shape == (2, 2) and rng.integers(1).item() == 0
    with pytest.raises(ValueError, match="more than there are"):
        al.random.choice(3, 4, replace=False)


def test_derivatives_of_functions():
    x = al.tensor([1.0, 2.0, 3.0], dtype=al.float64)
    v = x.numpy()
    product = (v**3).prod()
    expected = product * 9 / np.outer(v, v)
    np.fill_diagonal(expected, product * 6 / v**2)
    np.testing.assert_allclose(func.hessian(lambda x: (x**3).prod())(x).numpy(), expected)
    third = func.grad(func.grad(func.grad(lambda x: x**5)))(al.tensor(2.0))
    assert third.item() == 240.0 and not third.requires_grad
    jacobian = func.jacrev(lambda x, y: {"a": x * y.sum()}, argnums=(0, 1))(x, x)
    np.testing.assert_allclose(jacobian["a"][0].numpy(), np.eye(3) * 6)
    np.testing.assert_allclose(jacobian["a"][1].numpy(), np.repeat(v[:, None], 3, 1))
    tangent = func.jvp(lambda x: (x**2, x.sum()), (x,), (al.ones(3, dtype=al.float64),))[1]
    np.testing.assert_allclose(tangent[0].numpy(), 2 * v)
    assert tangent[1].item() == 3
    mixed = func.grad(lambda x: func.jvp(lambda t: t**3, (x,), (al.ones_like(x),))[1].sum())(x)
    np.testing.assert_allclose(mixed.numpy(), 6 * v)
    assert func.grad(lambda x: al.tensor(1.0))(x).tolist() == [0.0, 0.0, 0.0]


def test_derivatives_of_functions_go_on_in_the_graph_outside():
    w = al.tensor(2.0, requires_grad=True)
    gradient = func.grad(lambda x: x**3)(w)
    gradient.backward()
    assert (gradient.item(), w.grad.item()) == (12.0, 12.0)
    value, aux = func.grad(lambda x: (x * x, "said"), has_aux=True)(al.tensor(3.0))
    assert value.item() == 6.0 and aux == "said"
    with al.no_grad():
        assert func.grad(lambda x: x * x)(al.tensor(3.0)).item() == 6.0


def test_vmap_is_a_loop_with_dimensions():
    x, y = al.randn(2, 3, 4), al.randn(4, 5, 3)
    found = al.vmap(lambda a, b: a @ b, in_dims=(2, 0), out_dims=1)(x, y.transpose(1, 2))
    expected = np.einsum("ijk,kjl->ikl", x.numpy(), y.transpose(1, 2).numpy())
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-5, atol=1e-6)
    nested = al.vmap(al.vmap(lambda a: {"sum": a.sum(), "twice": (a * 2,)}))(x)
    np.testing.assert_allclose(nested["sum"].numpy(), x.sum(2).numpy(), rtol=1e-6)
    assert nested["twice"][0].shape == (2, 3, 4)
    per_sample = al.vmap(func.grad(lambda w, x: (w * x).sum() ** 2), in_dims=(None, 0))(al.ones(3), al.ones(2, 3))
    assert per_sample.tolist() == [[6.0] * 3] * 2
    w = al.ones(3, requires_grad=True)
    al.vmap(lambda row: (row * w).sum())(al.ones(2, 3)).sum().backward()
    assert w.grad.tolist() == [2.0] * 3
    for call in (lambda: al.vmap(al.add)(al.ones(2), al.ones(3)), lambda: al.vmap(al.abs, in_dims=None)(x)):
        with pytest.raises(ValueError):
            call()


def test_models_as_functions():
    models = [al.nn.Linear(3, 2) for _ in range(4)]
    parameters, _ = func.stack_module_state(models)
    x = al.randn(3)
    found = al.vmap(lambda p: func.functional_call(models[0], p, (x,)))(parameters)
    assert al.allclose(found, al.stack([model(x) for model in models]))
    y, pull = func.vjp(lambda p: func.functional_call(models[0], p, (x,)), dict(models[0].named_parameters()))
    assert pull(al.ones(2))[0]["bias"].tolist() == [1.0, 1.0] and y.shape == (2,)


@pytest.mark.parametrize("is_causal", [False, True])
def test_attention_as_a_function_is_the_layer(is_causal):
    layer = al.nn.MultiheadAttention(8, 2)
    query, key = al.randn(5, 3, 8), al.randn(5, 3, 8)
    mask = al.ones(5, 5, dtype=al.bool).triu(1) if is_causal else None
    expected = layer(query, key, key, attn_mask=mask)
    found = al.nn.functional.multi_head_attention_forward(
        query, key, key, 8, 2, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0,
        layer.out_proj.weight, layer.out_proj.bias, attn_mask=mask,
    )
    assert al.allclose(found[0], expected[0]) and al.allclose(found[1], expected[1])
    with pytest.raises(ValueError, match="heads of one size"):
        al.nn.functional.multi_head_attention_forward(
            query, key, key, 8, 3, layer.in_proj_weight, None, None, None, False, 0.0, layer.out_proj.weight, None
        )
