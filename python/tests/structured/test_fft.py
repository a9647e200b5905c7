"""Fourier transforms against NumPy's."""

import numpy
import pytest

import allotrope as al
from reference import DTYPES, named

generator = numpy.random.default_rng(11)

SINGLE = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
TO_REAL = {"irfft", "hfft", "irfft2", "irfftn", "hfft2", "hfftn"}
FROM_REAL = {"rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn"}
NORMS = [None, "backward", "forward", "ortho"]


def values(shape, complex_numbers=False):
    x = generator.standard_normal(shape)
    return x + 1j * generator.standard_normal(shape) if complex_numbers else x


def assert_near(given, expected, length):
    """Within a few rounding errors of the largest result."""
    result = given.numpy()
    assert result.shape == expected.shape
    epsilon = 1.2e-7 if given.dtype in (al.float32, al.complex64) else 2.3e-16
    scale = numpy.abs(expected).max(initial=1e-300)
    bound = epsilon * scale * 4 * (1 + numpy.log2(max(length, 1)))
    assert numpy.abs(result - expected).max(initial=0) <= bound


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 16, 31, 60, 97, 128, 1009])
def test_lengths(name, length, norm):
    x = values(length, name not in FROM_REAL)
    n = None if length > 1 or name not in TO_REAL else 1
    expected = getattr(numpy.fft, name)(x, n, norm=norm)
    for dtype in [al.float64, al.float32]:
        dtype = dtype if name in FROM_REAL else dtype.to_complex()
        result = getattr(al.fft, name)(al.tensor(x).to(dtype), n, norm=norm)
        assert_near(result, expected, length)


@pytest.mark.parametrize("name", ["fft", "ifft"])
@pytest.mark.parametrize("length", [1, 2, 7, 12])
def test_real_input_has_the_whole_spectrum(name, length):
    x = values((3, length))
    assert_near(getattr(al.fft, name)(al.tensor(x)), getattr(numpy.fft, name)(x), length)


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("n", [1, 2, 5, 6, 11, 12, 20])
@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_cut_and_padded_along_any_dimension(name, n, dim):
    x = values((6, 5, 7), name not in FROM_REAL)
    expected = getattr(numpy.fft, name)(x, n, dim)
    assert_near(getattr(al.fft, name)(al.tensor(x), n, dim), expected, n)
    assert_near(getattr(al.fft, name)(al.tensor(x), n, axis=dim), expected, n)


@pytest.mark.parametrize("name", ["fft", "rfft", "irfft"])
def test_layouts(name):
    x = values((12, 10, 8))
    views = [
        (lambda t: t.transpose(0, 2), lambda a: a.transpose(2, 1, 0)),
        (lambda t: t[::2, 1:, ::3], lambda a: a[::2, 1:, ::3]),
        (lambda t: t[:, ::-1], lambda a: a[:, ::-1]),
        (lambda t: t[:1].expand(4, 10, 8), lambda a: numpy.broadcast_to(a[:1], (4, 10, 8))),
    ]
    for ours, theirs in views:
        for dim in range(3):
            given = getattr(al.fft, name)(ours(al.tensor(x)), dim=dim)
            assert_near(given, getattr(numpy.fft, name)(theirs(x), axis=dim), 12)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("name", SEVERAL)
def test_several_dimensions(name, norm):
    x = values((4, 5, 6), name not in FROM_REAL)
    ours, theirs = getattr(al.fft, name), getattr(numpy.fft, name)
    assert_near(ours(al.tensor(x), norm=norm), theirs(x, norm=norm), 120)
    for s, dims in [((7, 3), (0, 2)), ((5, 8), (-1, 0)), ((2, 9), (1, 2))]:
        expected = theirs(x, s, dims, norm)
        assert_near(ours(al.tensor(x), s, dims, norm), expected, 120)
        assert_near(ours(al.tensor(x), s, axes=dims, norm=norm), expected, 120)


@pytest.mark.parametrize("name", ["fftn", "rfftn", "irfftn"])
def test_sizes_without_dimensions_are_those_of_the_last(name):
    x = values((3, 4, 5))
    expected = getattr(numpy.fft, name)(x, (6, 7), (-2, -1))
    assert_near(getattr(al.fft, name)(al.tensor(x), (6, 7)), expected, 60)
    kept = getattr(numpy.fft, name)(x, (4, 7), (-2, -1))
    assert_near(getattr(al.fft, name)(al.tensor(x), (-1, 7)), kept, 60)


@pytest.mark.parametrize("norm", NORMS)
def test_hermitian_signals(norm):
    half = values((5, 4), True)
    given = al.fft.hfftn(al.tensor(half), (5, 7), norm=norm)
    along = numpy.fft.fft(half, axis=0, norm=norm)
    assert_near(given, numpy.fft.hfft(along, 7, axis=1, norm=norm), 35)
    assert_near(al.fft.hfft2(al.tensor(half), (5, 7), norm=norm), given.numpy(), 35)
    real = values((5, 7))
    given = al.fft.ihfftn(al.tensor(real), norm=norm)
    expected = numpy.fft.ifft(numpy.fft.ihfft(real, axis=1, norm=norm), axis=0, norm=norm)
    assert_near(given, expected, 35)
    assert_near(al.fft.ihfft2(al.tensor(real), norm=norm), expected, 35)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_dtypes(dtype):
    x = al.arange(6).reshape(2, 3).to(dtype)
    wide = x.to(al.complex128).numpy()
    if dtype.is_complex:
        spectrum, real = dtype, dtype.to_real()
    elif dtype.is_floating_point:
        spectrum, real = dtype.to_complex(), dtype
    else:
        spectrum, real = al.complex64, al.float32
    result = al.fft.fft(x)
    assert result.dtype == spectrum
    assert_near(result, numpy.fft.fft(wide), 3)
    back = al.fft.irfft(x)
    assert back.dtype == real
    expected = numpy.fft.irfft(wide)
    coarse = 0.3 if dtype.bits == 8 and dtype.is_floating_point else 0.02
    assert numpy.allclose(back.to(al.float64).numpy(), expected, rtol=coarse, atol=1e-6)
    if not dtype.is_complex:
        assert al.fft.rfft(x).dtype == spectrum
        assert_near(al.fft.rfft(x), numpy.fft.rfft(wide.real), 3)


def test_the_default_dtype_is_that_of_integers():
    with al.set_default_dtype(al.float64):
        assert al.fft.fft(al.arange(4)).dtype == al.complex128
        assert al.fft.fftfreq(4).dtype == al.float64


def test_round_trips():
    for shape in [(7,), (3, 8), (2, 3, 5)]:
        x = al.tensor(values(shape))
        assert_near(al.fft.ifftn(al.fft.fftn(x)), x.numpy() + 0j, 30)
        assert_near(al.fft.irfftn(al.fft.rfftn(x), shape), x.numpy(), 30)
        assert_near(al.fft.ihfft(al.fft.hfft(x + 0j, 2 * shape[-1])).real[..., : shape[-1]][..., 1:-1], x.numpy()[..., 1:-1], 30)


def test_many_lines_on_all_threads():
    x = values((700, 3, 100))
    assert_near(al.fft.fft(al.tensor(x)), numpy.fft.fft(x), 100)
    assert_near(al.fft.rfft(al.tensor(x), dim=0), numpy.fft.rfft(x, axis=0), 700)
    assert_near(al.fft.irfft(al.tensor(x), dim=0), numpy.fft.irfft(x, axis=0), 700)


def test_empty():
    assert al.fft.fft(al.zeros(0, 4)).shape == (0, 4)
    assert al.fft.rfft(al.zeros(3, 0, 4)).shape == (3, 0, 3)
    assert al.fft.irfft(al.zeros(0, 4)).shape == (0, 6)
    assert al.fft.fft(al.zeros(2, 0), 3).tolist() == [[0, 0, 0]] * 2
    assert al.fft.fftn(al.tensor(3.0)).item() == 3


def test_nan_and_infinity_do_not_stop_anything():
    x = al.tensor([1.0, float("nan"), float("inf"), 0.0])
    assert bool(al.fft.fft(x).isnan().any())
    assert bool(al.fft.irfft(x).isnan().any())


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("d", [1.0, 0.25, -3.0])
def test_frequencies(n, d):
    given = al.fft.fftfreq(n, d, dtype=al.float64)
    assert numpy.allclose(given.numpy(), numpy.fft.fftfreq(n, d), rtol=1e-15)
    given = al.fft.rfftfreq(n, d, dtype=al.float64)
    assert numpy.allclose(given.numpy(), numpy.fft.rfftfreq(n, d), rtol=1e-15)
    assert al.fft.fftfreq(n, dtype=al.float16).dtype == al.float16


def test_frequencies_as_torch_has_them():
    assert al.fft.fftfreq(0).shape == (0,)
    # The frequency 0 of no samples, 0 / 0.
    assert al.fft.rfftfreq(0).isnan().tolist() == [True]
    for make in (al.fft.fftfreq, al.fft.rfftfreq):
        assert make(4, device="cpu", requires_grad=True).requires_grad
        assert not make(4).requires_grad
        with pytest.raises((RuntimeError, ValueError), match="device"):
            make(4, device="nowhere")


@pytest.mark.parametrize("dim", [None, 0, 1, -1, (0, 2), (1,)])
def test_shifts(dim):
    x = numpy.arange(60).reshape(3, 4, 5)
    for name in ["fftshift", "ifftshift"]:
        expected = getattr(numpy.fft, name)(x, dim)
        assert (getattr(al.fft, name)(al.tensor(x), dim).numpy() == expected).all()
        assert (getattr(al.fft, name)(al.tensor(x), axes=dim).numpy() == expected).all()


def test_arrays_and_lists_are_accepted():
    assert al.fft.fft([1, 2]).dtype == al.complex64
    assert al.fft.fft(numpy.ones(3)).dtype == al.complex128


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: al.fft.fft(al.zeros(3), 0), ValueError, "fft.fft: length of the transform out of range: 0; lengths from 1 on are accepted"),
        (lambda: al.fft.fft(al.zeros(0)), ValueError, "fft.fft: length of the transform out of range: 0"),
        (lambda: al.fft.fft(al.zeros(3), -2), ValueError, "fft.fft: negative size: -2"),
        (lambda: al.fft.irfft(al.zeros(1)), ValueError, "fft.irfft: length of the transform out of range: 0"),
        (lambda: al.fft.fft(al.zeros(3), dim=1), IndexError, "fft.fft: axis out of range: 1"),
        (lambda: al.fft.fft(al.tensor(1.0)), IndexError, "fft.fft: axis out of range: -1"),
        (lambda: al.fft.fft(al.zeros(3), norm="loud"), ValueError, "fft.fft: unknown norm: 'loud'; accepted are backward, forward, ortho"),
        (lambda: al.fft.rfft(al.zeros(3, dtype=al.complex64)), TypeError, "fft.rfft: wrong dtype: complex64"),
        (lambda: al.fft.ihfftn(al.zeros(3, dtype=al.complex64)), TypeError, "fft.ihfftn: wrong dtype: complex64"),
        (lambda: al.fft.fft2(al.zeros(3)), IndexError, "fft.fft2: axis out of range: -2"),
        (lambda: al.fft.fftn(al.zeros(3, 3), dim=(0, 0)), ValueError, "fft.fftn: axis named twice: 0"),
        (lambda: al.fft.fftn(al.zeros(3, 3), (2,), (0, 1)), ValueError, "fft.fftn: wrong number of axes: 2; 1 are needed"),
        (lambda: al.fft.fftn(al.zeros(3, 3), (2, -3)), ValueError, "fft.fftn: length of the transform out of range: -3"),
        (lambda: al.fft.rfftn(al.tensor(1.0)), ValueError, "fft.rfftn: wrong number of axes: 0; 1 are needed"),
        (lambda: al.fft.fftfreq(3, 0.0), ValueError, "fft.fftfreq: distance out of range: 0"),
        (lambda: al.fft.rfftfreq(3, dtype=al.int32), TypeError, "fft.rfftfreq: wrong dtype: int32"),
        (lambda: al.fft.fftshift(al.zeros(3), 2), IndexError, "fft.fftshift: axis out of range: 2"),
        (lambda: al.fft.fft(al.zeros(3), 2**62), (MemoryError, ValueError), "fft.fft"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_errors(call, error, words):
    with pytest.raises(error) as caught:
        call()
    assert words in str(caught.value)


@pytest.mark.parametrize("center", [True, False])
def test_istft_undoes_stft_with_a_complex_window(center):
    x = al.tensor(values(64, True))
    window = al.tensor(numpy.exp(1j * numpy.linspace(0.3, 1.2, 16)) * numpy.hamming(16))
    options = {"hop_length": 4, "window": window, "center": center, "onesided": False}
    spectra = al.stft(x, 16, **options)
    got = al.istft(spectra, 16, **options, return_complex=True)
    assert_near(got, x.numpy()[: got.shape[0]], 64)
    for wrong in ({"return_complex": False}, {"return_complex": True, "onesided": True}):
        with pytest.raises(TypeError, match="^istft: .*complex128.*return_complex=True"):
            frequencies = spectra[:9] if wrong.get("onesided") else spectra
            al.istft(frequencies, 16, **{**options, **wrong})


@pytest.mark.parametrize("dtype", [d for d in DTYPES if not d.is_complex], ids=named)
def test_stft_rounds_no_product_with_the_window(dtype):
    x = al.tensor(numpy.abs(values(64)) * 3).to(dtype)
    window = al.hann_window(16, dtype=al.float64).mul(3).to(dtype)
    if not (dtype.is_floating_point or dtype == al.bool):
        assert window.sum().item() > 0
    got = al.stft(x, 16, window=window, center=False)
    pieces = numpy.lib.stride_tricks.sliding_window_view(x.to(al.float64).numpy(), 16)[::4]
    want = numpy.fft.rfft(pieces * window.to(al.float64).numpy()).T
    assert got.dtype == (al.complex128 if dtype == al.float64 else al.complex64)
    numpy.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=2e-5)
