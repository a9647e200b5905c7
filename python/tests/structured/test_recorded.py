"""Operations against values that torch 2.15 gave in float64 (`data_torch.json`), in every float dtype."""

import json
import math
import pathlib

import numpy
import pytest

import allotrope as al
from reference import DTYPES

F = al.nn.functional
DATA = json.loads((pathlib.Path(__file__).parent / "data_torch.json").read_text())
FLOATS = [d for d in DTYPES if d.is_floating_point]
each_float = pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.name)


def array(data, is_complex=False):
    made = numpy.array(data, dtype=object).astype(numpy.float64)
    return made[..., 0] + 1j * made[..., 1] if is_complex else made


def tensor(data, dtype="float64", is_complex=False):
    return al.tensor(array(data, is_complex)).to(dtype)


def close(got, expected, rtol=1e-10, atol=1e-12):
    got = numpy.asarray(got.detach().to(al.complex128 if got.dtype.is_complex else al.float64))
    numpy.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)


def tolerance(dtype):
    """A few roundings of the dtype."""
    return 8 * float(al.finfo(dtype).eps)


@pytest.mark.parametrize("case", DATA["grid_sample"]["cases"], ids=lambda c: "-".join(map(str, list(c.values())[:4])))
def test_grid_sample(case):
    data = DATA["grid_sample"]
    x = tensor(data[f"x{case['rank']}"]).requires_grad_()
    grid = tensor(data[f"g{case['rank']}"]).requires_grad_()
    y = F.grid_sample(x, grid, case["mode"], case["padding"], case["align"])
    close(y, array(case["y"]))
    (y * al.arange(y.numel()).reshape(y.shape).to(y.dtype)).sum().backward()
    close(x.grad, array(case["dx"]), atol=1e-9)
    close(grid.grad, array(case["dgrid"]), atol=1e-8)


@each_float
def test_grid_sample_of_a_dtype_is_rounded_once(dtype):
    data = DATA["grid_sample"]
    x = tensor(data["x2"], dtype)
    # Places that every dtype holds, on and off the elements.
    grid = al.tensor([[-1.0, 0.5], [0.25, -0.5], [1.5, 0.0]]).reshape(1, 1, 3, 2)
    grid = grid.expand(2, 1, 3, 2).to(dtype)
    exact = F.grid_sample(x.to("float64"), grid.to("float64"), align_corners=False)
    got = F.grid_sample(x, grid, align_corners=False)
    assert got.dtype is dtype
    assert got.tolist() == exact.to("float32").to(dtype).tolist()


def test_grid_sample_of_integers_bool_and_complex():
    grid = al.zeros(1, 1, 1, 2)
    for dtype in DTYPES:
        x = al.tensor([[[[0, 1], [1, 1]]]]).to(dtype)
        y = F.grid_sample(x, grid, align_corners=True)
        assert y.dtype is (al.promote_types(dtype, al.float32) if not dtype.is_integer else al.float32)
        assert complex(y.item()) == 0.75
    with pytest.raises(TypeError, match="grid_sample"):
        F.grid_sample(al.ones(1, 1, 2, 2), grid.to("complex64"))


def test_grid_sample_takes_nan_for_the_first_edge():
    x = al.arange(1.0, 5.0).reshape(1, 1, 2, 2)
    nan = al.full((1, 1, 1, 2), float("nan"))
    for padding in ("zeros", "border", "reflection"):
        for mode in ("bilinear", "nearest", "bicubic"):
            edge = F.grid_sample(x, -al.ones(1, 1, 1, 2), mode, padding, True)
            assert F.grid_sample(x, nan, mode, padding, True).item() == edge.item() == 1


def cubic_weights(t, a=-0.75):
    def near(d):
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d):
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("align", [True, False])
def test_bicubic_grid_sample_of_volumes(align, padding):
    """Four neighbours along each of three dimensions, as PyTorch has it."""
    random = numpy.random.default_rng(4)
    x, grid = random.normal(size=(2, 3, 4, 5, 6)), random.uniform(-1.3, 1.3, (2, 1, 2, 3, 3))
    got = F.grid_sample(al.tensor(x), al.tensor(grid), "bicubic", padding, align).numpy()
    sizes = x.shape[2:]
    for item, _, row, column in numpy.ndindex(grid.shape[:4]):
        want = numpy.zeros(3)
        # The width comes first in the grid.
        points = grid[item, 0, row, column][::-1]
        places = [
            (p + 1) / 2 * (n - 1) if align else ((p + 1) * n - 1) / 2 for p, n in zip(points, sizes)
        ]
        weights = [cubic_weights(p - math.floor(p)) for p in places]
        for taps in numpy.ndindex(4, 4, 4):
            at = [math.floor(p) - 1 + t for p, t in zip(places, taps)]
            weight = math.prod(w[t] for w, t in zip(weights, taps))
            inside = all(0 <= a < n for a, n in zip(at, sizes))
            if inside or padding == "border":
                at = [min(max(a, 0), n - 1) for a, n in zip(at, sizes)]
                want += weight * x[item, :, *at]
        numpy.testing.assert_allclose(got[item, :, 0, row, column], want, atol=1e-12)


def test_bicubic_grid_sample_of_volumes_has_gradients():
    random = numpy.random.default_rng(5)
    x = al.tensor(random.normal(size=(1, 1, 3, 3, 3)), requires_grad=True)
    grid = al.tensor(random.uniform(-0.9, 0.9, (1, 1, 1, 2, 3)), requires_grad=True)
    sampled = lambda x, grid: F.grid_sample(x, grid, "bicubic", "zeros", True)  # noqa: E731
    assert al.autograd.gradcheck(sampled, (x, grid))


def test_grid_sample_of_nothing_and_refusals():
    x = al.ones(2, 3, 4, 4)
    assert F.grid_sample(x, al.zeros(2, 0, 5, 2)).shape == (2, 3, 0, 5)
    assert F.grid_sample(x[:0], al.zeros(0, 1, 1, 2)).shape == (0, 3, 1, 1)
    assert F.grid_sample(x[:, :0], al.zeros(2, 1, 1, 2)).shape == (2, 0, 1, 1)
    for wrong in (al.zeros(1, 1, 1, 2), al.zeros(2, 1, 1, 3), al.zeros(2, 1, 2)):
        with pytest.raises(ValueError, match="grid_sample"):
            F.grid_sample(x, wrong)
    with pytest.raises(ValueError, match="bilinear"):
        F.grid_sample(x, al.zeros(2, 1, 1, 2), mode="linear")
    with pytest.raises(ValueError, match="padding_mode"):
        F.grid_sample(x, al.zeros(2, 1, 1, 2), padding_mode="circular")
    with pytest.raises(ValueError, match="grid_sample"):
        F.grid_sample(al.ones(1, 1, 0, 2), al.zeros(1, 1, 1, 2))


@pytest.mark.parametrize("case", DATA["affine_grid"])
def test_affine_grid(case):
    close(F.affine_grid(tensor(case["theta"]), case["size"], case["align"]), array(case["y"]))


@pytest.mark.parametrize("case", DATA["ctc_loss"]["cases"])
def test_ctc_loss(case):
    data = DATA["ctc_loss"]
    x = tensor(data["lp"]).requires_grad_()
    for dtype in ("int8", "uint8", "int64", "uint64"):
        targets = al.tensor(data["targets"], dtype=dtype)
        y = F.ctc_loss(x, targets, case["inputs"], case["targets"], 0, case["reduction"], case["zero"])
        close(y, array(case["y"]))
    # One after the other, lengths as tensors.
    joined = [c for line, n in zip(data["targets"], case["targets"], strict=True) for c in line[:n]]
    lengths = al.tensor(case["inputs"], dtype="uint8"), al.tensor(case["targets"], dtype="int16")
    again = F.ctc_loss(x, al.tensor(joined, dtype="int32"), *lengths, 0, case["reduction"], case["zero"])
    close(again, array(case["y"]))
    if case["d"] is not None:
        # torch's gradients are those of the logits behind the steps; so are these.
        y.sum().backward()
        logits = tensor(data["lp"]).requires_grad_()
        steps = logits.log_softmax(-1)
        loss = F.ctc_loss(steps, targets, case["inputs"], case["targets"], 0, case["reduction"], case["zero"])
        (of_logits,) = al.autograd.grad(loss.sum(), logits)
        probabilities = x.detach().exp()
        through = x.grad - probabilities * x.grad.sum(-1, keepdim=True)
        close(of_logits, through.tolist(), atol=1e-9)
        close(of_logits, array(case["d"]), atol=1e-9)


@each_float
def test_ctc_loss_of_a_dtype(dtype):
    data = DATA["ctc_loss"]
    x = tensor(data["lp"], dtype)
    case = data["cases"][0]
    targets = al.tensor(data["targets"])
    exact = F.ctc_loss(x.to("float64"), targets, case["inputs"], case["targets"])
    got = F.ctc_loss(x, targets, case["inputs"], case["targets"])
    assert got.dtype is dtype
    close(got, exact.item(), rtol=tolerance(dtype))


def test_ctc_loss_of_one_item_of_nothing_and_refusals():
    data = DATA["ctc_loss"]
    x = tensor(data["lp"])
    all_of_them = F.ctc_loss(x, al.tensor(data["targets"]), (6, 6, 6), (3, 3, 3), reduction="none")
    one = F.ctc_loss(x[:, 1], al.tensor(data["targets"][1]), 6, 3, reduction="none")
    assert one.shape == () and one.item() == all_of_them[1].item()
    no_time = F.ctc_loss(x[:0], al.tensor([[1], [1], [1]]), (0, 0, 0), (1, 0, 1), reduction="none")
    assert no_time.tolist() == [float("inf"), 0.0, float("inf")]
    with pytest.raises(IndexError, match="ctc_loss"):
        F.ctc_loss(x, al.tensor([[4], [1], [1]]), (6, 6, 6), (1, 1, 1))
    with pytest.raises(IndexError, match="ctc_loss"):
        F.ctc_loss(x, al.tensor([[-1], [1], [1]]), (6, 6, 6), (1, 1, 1))
    with pytest.raises(IndexError, match="ctc_loss"):
        F.ctc_loss(x, al.tensor([[1], [1], [1]]), (6, 6, 6), (1, 1, 1), blank=4)
    for lengths in (((6, 6), (1, 1, 1)), ((7, 6, 6), (1, 1, 1)), ((6, 6, 6), (2, 1, 1)), ((6, 6, -1), (1, 1, 1))):
        with pytest.raises(ValueError, match="ctc_loss"):
            F.ctc_loss(x, al.tensor([[1], [1], [1]]), *lengths)
    with pytest.raises(TypeError, match="ctc_loss"):
        F.ctc_loss(x, al.tensor([[1.0], [1.0], [1.0]]), (6, 6, 6), (1, 1, 1))


@pytest.mark.parametrize("case", DATA["fractional"], ids=["2d", "3d"])
def test_fractional_max_pool(case):
    rank = len(case["kernel"])
    pool = getattr(F, f"fractional_max_pool{rank}d")
    x, samples = tensor(case["x"]), tensor(case["samples"])
    y, places = pool(x, case["kernel"], case["output"], return_indices=True, _random_samples=samples)
    assert y.tolist() == case["y"] and places.tolist() == case["places"]
    for dtype in FLOATS:
        narrow = x.to(dtype)
        y = pool(narrow, case["kernel"], case["output"], _random_samples=samples)
        assert y.dtype is dtype
        expected = pool(narrow.to("float64"), case["kernel"], case["output"], _random_samples=samples)
        assert y.to("float64").tolist() == expected.tolist()


def test_fractional_max_pool_draws_and_refuses():
    x = al.arange(36.0).reshape(1, 1, 6, 6)
    al.manual_seed(3)
    first = F.fractional_max_pool2d(x, 2, (3, 3))
    al.manual_seed(3)
    assert F.fractional_max_pool2d(x, 2, output_ratio=0.5).tolist() == first.tolist()
    assert first[0, 0, 2, 2].item() == 35
    one = F.fractional_max_pool2d(x[0], 2, (3, 3), _random_samples=al.zeros(1, 1, 2))
    assert one.shape == (1, 3, 3)
    with_nan = al.full((1, 1, 3, 3), float("nan"))
    with_nan[0, 0, 0, 0] = 1.0
    y, places = F.fractional_max_pool2d(with_nan, 3, (1, 1), return_indices=True)
    assert y.isnan().all() and places.item() == 1, "the first NaN"
    for kernel, output in ((7, (1, 1)), (2, (6, 6)), (0, (1, 1))):
        with pytest.raises(ValueError, match="fractional_max_pool2d"):
            F.fractional_max_pool2d(x, kernel, output)
    with pytest.raises(ValueError, match="output_size"):
        F.fractional_max_pool2d(x, 2)


def test_pdist():
    x = tensor(DATA["pdist"]["x"])
    for p, expected in DATA["pdist"]["y"].items():
        close(F.pdist(x, float(p)), array(expected))
    for rows in (0, 1):
        assert F.pdist(al.zeros(rows, 3)).shape == (0,)
    many = al.rand(150, 4, dtype="float64")
    whole = numpy.asarray(al.cdist(many, many))
    close(F.pdist(many), whole[numpy.triu_indices(150, 1)])
    with pytest.raises(ValueError, match="pdist"):
        F.pdist(al.zeros(3))
    with pytest.raises(ValueError, match="pdist"):
        F.pdist(al.zeros(3, 2), -1.0)


def test_pdist_of_equal_rows_has_no_slope():
    x = al.ones(3, 2, dtype="float64", requires_grad=True)
    F.pdist(x).sum().backward()
    assert x.grad.tolist() == al.zeros(3, 2).tolist()


def test_cov_and_corrcoef():
    data = DATA["cov"]
    m, fw = tensor(data["m"]), al.tensor([1, 2, 0, 3, 1], dtype="uint8")
    aw = al.tensor([0.5, 1.0, 0.25, 2.0, 1.0], dtype="float64")
    close(m.cov(), array(data["plain"]))
    close(m.cov(fweights=fw), array(data["f"]))
    close(m.cov(aweights=aw), array(data["a"]))
    close(m.cov(correction=0, fweights=fw, aweights=aw), array(data["fa"]))
    close(m.cov(correction=2, fweights=fw, aweights=aw), array(data["fa2"]))
    close(m[0].cov(), array(data["vector"]))
    close(m.corrcoef(), array(data["corr"]))
    c = tensor(data["mc"], "complex128", is_complex=True)
    close(c.cov(), array(data["covc"], is_complex=True))
    close(c.corrcoef(), array(data["corrc"], is_complex=True))
    ints = al.tensor([[1, 2, 4], [0, 255, 3]], dtype="uint8")
    assert ints.cov().dtype is al.float32
    numpy.testing.assert_allclose(ints.cov().numpy(), numpy.cov(ints.numpy()), rtol=1e-6)
    with pytest.raises(ValueError, match="cov"):
        al.zeros(2, 2, 2).cov()
    with pytest.raises(TypeError, match="cov"):
        m.cov(fweights=aw)
    with pytest.raises(ValueError, match="fweights"):
        m.cov(fweights=al.tensor([1, 2]))
    with pytest.raises(ValueError, match="aweights"):
        m.cov(aweights=-aw)


def test_gradient():
    data = DATA["gradient"]
    x, c0, c1 = tensor(data["x"]), tensor(data["c0"]), tensor(data["c1"])
    cases = {
        "plain": {},
        "second": {"edge_order": 2},
        "step": {"spacing": [2.0, 0.5]},
        "places": {"spacing": (c0, c1)},
        "places2": {"spacing": (c0, c1), "edge_order": 2},
        "one": {"spacing": 2.0, "dim": -1},
    }
    for name, options in cases.items():
        slopes = al.gradient(x, **options)
        assert len(slopes) == len(data[name])
        for got, expected in zip(slopes, data[name], strict=True):
            close(got, array(expected))
    assert al.gradient(al.tensor([1, 4, 9], dtype="int8"))[0].tolist() == [3, 4, 5]
    assert al.gradient(al.tensor([1.0, 4.0]))[0].tolist() == [3, 3]
    for options in ({"edge_order": 3}, {"spacing": [1.0, 2.0, 3.0]}, {"spacing": (c1, c0)}):
        with pytest.raises(ValueError, match="gradient"):
            al.gradient(x, **options)
    with pytest.raises(ValueError, match="gradient"):
        al.gradient(al.ones(1))
    with pytest.raises(IndexError, match="gradient"):
        al.gradient(x, dim=2)


def test_renorm():
    x = tensor(DATA["renorm"]["x"])
    for key, expected in DATA["renorm"]["y"].items():
        p, dim = key.split(",")
        close(x.renorm(float(p), int(dim), 1.5), array(expected), rtol=1e-6)
        close(x.renorm(float(p), int(dim) - 2, 1.5), array(expected), rtol=1e-6)
    kept = x / 1000
    assert kept.renorm(2, 0, 1.0).tolist() == kept.tolist()
    for wrong in ((0.0, 0, 1.0), (2.0, 0, -1.0)):
        with pytest.raises(ValueError, match="renorm"):
            x.renorm(*wrong)
    with pytest.raises(ValueError, match="renorm"):
        x[0].renorm(2, 0, 1.0)


def test_short_time_transforms():
    data = DATA["stft"]
    x = tensor(data["x"])
    for case in data["cases"]:
        options = dict(case["options"])
        if "window" in options:
            options["window"] = tensor(options["window"])
        close(al.stft(x, **options), array(case["y"], is_complex=True))
        parts = al.stft(x, return_complex=False, **options)
        close(parts, array(case["y"]))
    one = al.stft(x[0], 8)
    close(one, array(data["cases"][0]["y"], is_complex=True)[0])
    with pytest.raises(ValueError, match="stft"):
        al.stft(x, 8, win_length=9)
    with pytest.raises(ValueError, match="stft"):
        al.stft(x, 64, center=False)
    with pytest.raises(ValueError, match="stft"):
        al.stft(x, 8, hop_length=0)


def test_signal_of_short_time_transforms():
    data = DATA["istft"]
    spectra = tensor(data["s"], "complex128", is_complex=True)
    options = {"n_fft": 8, "hop_length": 2, "window": al.hann_window(8, dtype="float64")}
    close(al.istft(spectra, **options), array(data["y"]))
    close(al.istft(spectra, length=13, **options), array(data["cut"]))
    close(al.istft(spectra, length=24, **options), array(data["padded"]))
    with pytest.raises(ValueError, match="istft"):
        al.istft(spectra, 8, 2, window=al.zeros(8, dtype="float64"))
    with pytest.raises(ValueError, match="istft"):
        al.istft(spectra, 16)


@pytest.mark.parametrize("key", DATA["windows"])
def test_windows(key):
    name, length, periodic = key.split(",")
    make = getattr(al, f"{name}_window")
    got = make(int(length), periodic == "True", dtype="float64")
    close(got, array(DATA["windows"][key]), atol=1e-14)
    for dtype in FLOATS:
        assert make(int(length), dtype=dtype).dtype is dtype
    with pytest.raises(TypeError, match=f"{name}_window"):
        make(3, dtype="int32")


def test_lu_unpack():
    data = DATA["lu_unpack"]
    for dtype in ("int8", "int32", "uint64"):
        parts = al.lu_unpack(tensor(data["lu"]), al.tensor(data["pivots"], dtype=dtype))
        for got, name in zip(parts, "PLU", strict=True):
            close(got, array(data[name]))
    with pytest.raises(IndexError, match="lu_unpack"):
        al.lu_unpack(al.eye(2), al.tensor([3, 1]))
    with pytest.raises(ValueError, match="pivots"):
        al.lu_unpack(al.eye(2), al.tensor([1]))
    info = al.linalg.lu_factor_ex(al.tensor([[[1.0, 2.0], [2.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]])).info
    assert info.tolist() == [2, 0] and info.dtype is al.int32


def test_sums_without_nan():
    data = DATA["nan"]
    x = tensor(data["x"])
    close(x.nansum(), array(data["sum"]))
    close(x.nansum(1), array(data["sum1"]))
    close(x.nanmean(), array(data["mean"]))
    close(x.nanmean(-1), array(data["mean1"]))
    close(x.nanmean(0, keepdim=True), array(data["mean0"]))
    assert al.tensor([True, True]).nansum().item() == 2
    assert al.tensor([2**31 - 1] * 4, dtype="int32").nanmean().item() == 2.0**31
    assert al.zeros(0).nansum().item() == 0 and al.zeros(0).nanmean().isnan()
    for dtype in FLOATS:
        many = al.ones(3000).to(dtype)
        many[5] = float("nan")
        assert many.nanmean().item() == 1 and many.nanmean().dtype is dtype
    infinite = al.tensor([float("inf"), float("nan")])
    assert infinite.nansum().item() == float("inf")


def test_gradients_stay_away_from_nan():
    x = al.tensor([1.0, float("nan"), 3.0], requires_grad=True)
    x.nanmean().backward()
    assert x.grad.tolist() == [0.5, 0.0, 0.5]


@each_float
def test_rrelu(dtype):
    x = al.tensor([-4.0, -0.5, 0.0, 2.0, float("nan")]).to(dtype)
    y = F.rrelu(x, 0.25, 0.75)
    assert y.dtype is dtype
    assert y.tolist()[:4] == [-2.0, -0.25, 0.0, 2.0] and numpy.isnan(y.tolist()[4])
    drawn = F.rrelu(-al.ones(500).to(dtype), 0.25, 0.5, training=True).to("float64")
    assert drawn.min() >= -0.5 and drawn.max() <= -0.25 and len(set(drawn.tolist())) > 1
    with pytest.raises(ValueError, match="rrelu"):
        F.rrelu(x, 1.0, 0.5)
