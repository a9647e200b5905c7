"""The signatures of the array API standard 2024.12, and of what 2025.12 adds, from its text."""

CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]

DTYPES = [
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "float32", "float64", "complex64", "complex128",
]

UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf
    isnan log log1p log2 log10 logical_not negative positive real reciprocal round sign signbit sin sinh square
    sqrt tan tanh trunc
""".split()

BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal
    floor_divide greater greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum
    minimum multiply nextafter not_equal pow remainder subtract
""".split()

NAMESPACE = """
    arange(start, /, stop=None, step=1, *, dtype=None, device=None)
    asarray(obj, /, *, dtype=None, device=None, copy=None)
    empty(shape, *, dtype=None, device=None)
    empty_like(x, /, *, dtype=None, device=None)
    eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
    from_dlpack(x, /, *, device=None, copy=None)
    full(shape, fill_value, *, dtype=None, device=None)
    full_like(x, /, fill_value, *, dtype=None, device=None)
    linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
    meshgrid(*arrays, indexing='xy')
    ones(shape, *, dtype=None, device=None)
    ones_like(x, /, *, dtype=None, device=None)
    tril(x, /, *, k=0)
    triu(x, /, *, k=0)
    zeros(shape, *, dtype=None, device=None)
    zeros_like(x, /, *, dtype=None, device=None)
    astype(x, dtype, /, *, copy=True, device=None)
    can_cast(from_, to, /)
    finfo(type, /)
    iinfo(type, /)
    isdtype(dtype, kind)
    result_type(*arrays_and_dtypes)
    clip(x, /, min=None, max=None)
    take(x, indices, /, *, axis=None)
    take_along_axis(x, indices, /, *, axis=-1)
    matmul(x1, x2, /)
    matrix_transpose(x, /)
    tensordot(x1, x2, /, *, axes=2)
    vecdot(x1, x2, /, *, axis=-1)
    broadcast_arrays(*arrays)
    broadcast_to(x, /, shape)
    concat(arrays, /, *, axis=0)
    expand_dims(x, /, axis)
    flip(x, /, *, axis=None)
    moveaxis(x, source, destination, /)
    permute_dims(x, /, axes)
    repeat(x, repeats, /, *, axis=None)
    reshape(x, /, shape, *, copy=None)
    roll(x, /, shift, *, axis=None)
    squeeze(x, /, axis)
    stack(arrays, /, *, axis=0)
    tile(x, repetitions, /)
    unstack(x, /, *, axis=0)
    argmax(x, /, *, axis=None, keepdims=False)
    argmin(x, /, *, axis=None, keepdims=False)
    count_nonzero(x, /, *, axis=None, keepdims=False)
    nonzero(x, /)
    searchsorted(x1, x2, /, *, side='left', sorter=None)
    where(condition, x1, x2, /)
    unique_all(x, /)
    unique_counts(x, /)
    unique_inverse(x, /)
    unique_values(x, /)
    argsort(x, /, *, axis=-1, descending=False, stable=True)
    sort(x, /, *, axis=-1, descending=False, stable=True)
    cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
    cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
    max(x, /, *, axis=None, keepdims=False)
    mean(x, /, *, axis=None, keepdims=False)
    min(x, /, *, axis=None, keepdims=False)
    prod(x, /, *, axis=None, dtype=None, keepdims=False)
    std(x, /, *, axis=None, correction=0.0, keepdims=False)
    sum(x, /, *, axis=None, dtype=None, keepdims=False)
    var(x, /, *, axis=None, correction=0.0, keepdims=False)
    all(x, /, *, axis=None, keepdims=False)
    any(x, /, *, axis=None, keepdims=False)
    diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
    broadcast_shapes(*shapes)
    isin(x1, x2, /, *, invert=False)
"""

LINALG = """
    cholesky(x, /, *, upper=False)
    cross(x1, x2, /, *, axis=-1)
    det(x, /)
    diagonal(x, /, *, offset=0)
    eig(x, /)
    eigh(x, /)
    eigvals(x, /)
    eigvalsh(x, /)
    inv(x, /)
    matmul(x1, x2, /)
    matrix_norm(x, /, *, keepdims=False, ord='fro')
    matrix_power(x, n, /)
    matrix_rank(x, /, *, rtol=None)
    matrix_transpose(x, /)
    outer(x1, x2, /)
    pinv(x, /, *, rtol=None)
    qr(x, /, *, mode='reduced')
    slogdet(x, /)
    solve(x1, x2, /)
    svd(x, /, *, full_matrices=True)
    svdvals(x, /)
    tensordot(x1, x2, /, *, axes=2)
    trace(x, /, *, offset=0, dtype=None)
    vecdot(x1, x2, /, *, axis=-1)
    vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""

FFT = """
    fft(x, /, *, n=None, axis=-1, norm='backward')
    ifft(x, /, *, n=None, axis=-1, norm='backward')
    fftn(x, /, *, s=None, axes=None, norm='backward')
    ifftn(x, /, *, s=None, axes=None, norm='backward')
    rfft(x, /, *, n=None, axis=-1, norm='backward')
    irfft(x, /, *, n=None, axis=-1, norm='backward')
    rfftn(x, /, *, s=None, axes=None, norm='backward')
    irfftn(x, /, *, s=None, axes=None, norm='backward')
    hfft(x, /, *, n=None, axis=-1, norm='backward')
    ihfft(x, /, *, n=None, axis=-1, norm='backward')
    fftfreq(n, /, *, d=1.0, dtype=None, device=None)
    rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
    fftshift(x, /, *, axes=None)
    ifftshift(x, /, *, axes=None)
"""

INFO = """
    capabilities()
    default_device()
    default_dtypes(*, device=None)
    devices()
    dtypes(*, device=None, kind=None)
"""

ATTRIBUTES = ["dtype", "device", "mT", "ndim", "shape", "size", "T"]

METHODS = """
    __abs__ __add__ __and__ __array_namespace__ __bool__ __complex__ __dlpack__ __dlpack_device__ __eq__ __float__
    __floordiv__ __ge__ __getitem__ __gt__ __index__ __int__ __invert__ __le__ __lshift__ __lt__ __matmul__ __mod__
    __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __rshift__ __setitem__ __sub__ __truediv__ __xor__ to_device
    __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __ipow__ __imod__ __iand__ __ior__ __ixor__ __ilshift__
    __irshift__ __radd__ __rsub__ __rmul__ __rtruediv__ __rfloordiv__ __rpow__ __rmod__ __rand__ __ror__ __rxor__
    __rlshift__ __rrshift__ __rmatmul__
""".split()


def lines(text):
    return [line.strip() for line in text.strip().splitlines()]


def namespace():
    """Every signature of the namespace itself."""
    unary = [f"{name}(x, /)" for name in UNARY]
    binary = [f"{name}(x1, x2, /)" for name in BINARY]
    return [*unary, *binary, *lines(NAMESPACE)]
