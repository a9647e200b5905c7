def cumsum(
    input: _Operand, dim: _Dim = None, *, dtype: _DTypeLike = None, axis: _Dim = None
) -> Tensor: ...
def cumprod(
    input: _Operand, dim: _Dim = None, *, dtype: _DTypeLike = None, axis: _Dim = None
) -> Tensor: ...
def cumulative_sum(
    input: _Operand,
    *,
    axis: _Dim = None,
    dtype: _DTypeLike = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
def cumulative_prod(
    input: _Operand,
    *,
    axis: _Dim = None,
    dtype: _DTypeLike = None,
    include_initial: builtins.bool = False,
) -> Tensor: ...
def logcumsumexp(input: _Operand, dim: _Dim = None, *, axis: _Dim = None) -> Tensor: ...
def cummax(input: _Operand, dim: _Dim = None, *, axis: _Dim = None) -> Any: ...
def cummin(input: _Operand, dim: _Dim = None, *, axis: _Dim = None) -> Any: ...
def diff(
    input: _Operand,
    n: builtins.int = 1,
    dim: _Dim = None,
    prepend: _Operand | None = None,
    append: _Operand | None = None,
    *,
    axis: _Dim = None,
) -> Tensor: ...
def trapezoid(
    input: _Operand | None = None,
    x: _Operand | None = None,
    *,
    dx: _Operand | None = None,
    dim: _Dim = None,
    axis: _Dim = None,
    y: _Operand | None = None,
) -> Tensor: ...
def trapz(
    input: _Operand | None = None,
    x: _Operand | None = None,
    *,
    dx: _Operand | None = None,
    dim: _Dim = None,
    axis: _Dim = None,
    y: _Operand | None = None,
) -> Tensor: ...
def cumulative_trapezoid(
    input: _Operand | None = None,
    x: _Operand | None = None,
    *,
    dx: _Operand | None = None,
    dim: _Dim = None,
    axis: _Dim = None,
    y: _Operand | None = None,
) -> Tensor: ...
def sort(
    input: _Operand,
    dim: _Dim = None,
    descending: builtins.bool = False,
    *,
    stable: builtins.bool = False,
    axis: _Dim = None,
) -> Any: ...
def argsort(
    input: _Operand,
    dim: _Dim = None,
    descending: builtins.bool = False,
    stable: builtins.bool = False,
    *,
    axis: _Dim = None,
) -> Tensor: ...
def msort(input: _Operand) -> Tensor: ...
def topk(
    input: _Operand,
    k: builtins.int,
    dim: _Dim = None,
    largest: builtins.bool = True,
    sorted: builtins.bool = True,
    *,
    axis: _Dim = None,
) -> Any: ...
def kthvalue(
    input: _Operand,
    k: builtins.int,
    dim: _Dim = None,
    keepdim: builtins.bool | None = None,
    *,
    axis: _Dim = None,
    keepdims: builtins.bool | None = None,
) -> Any: ...
def median(
    input: _Operand,
    dim: _Dim = None,
    keepdim: builtins.bool | None = None,
    *,
    axis: _Dim = None,
    keepdims: builtins.bool | None = None,
) -> Any: ...
def nanmedian(
    input: _Operand,
    dim: _Dim = None,
    keepdim: builtins.bool | None = None,
    *,
    axis: _Dim = None,
    keepdims: builtins.bool | None = None,
) -> Any: ...
def quantile(
    input: _Operand,
    q: _Operand,
    dim: _Dim = None,
    keepdim: builtins.bool | None = None,
    *,
    interpolation: str = "linear",
    axis: _Dim = None,
    keepdims: builtins.bool | None = None,
) -> Tensor: ...
def nanquantile(
    input: _Operand,
    q: _Operand,
    dim: _Dim = None,
    keepdim: builtins.bool | None = None,
    *,
    interpolation: str = "linear",
    axis: _Dim = None,
    keepdims: builtins.bool | None = None,
) -> Tensor: ...
def mode(
    input: _Operand,
    dim: _Dim = None,
    keepdim: builtins.bool | None = None,
    *,
    axis: _Dim = None,
    keepdims: builtins.bool | None = None,
) -> Any: ...
def unique(
    input: _Operand,
    sorted: builtins.bool = True,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    dim: _Dim = None,
    *,
    axis: _Dim = None,
) -> Any: ...
def unique_consecutive(
    input: _Operand,
    return_inverse: builtins.bool = False,
    return_counts: builtins.bool = False,
    dim: _Dim = None,
    *,
    axis: _Dim = None,
) -> Any: ...
def nansum(input: _Operand, dim: _Ints | None = None, keepdim: builtins.bool | None = None, *, dtype: _DTypeLike = None, axis: _Ints | None = None, keepdims: builtins.bool | None = None) -> Tensor: ...
def nanmean(input: _Operand, dim: _Ints | None = None, keepdim: builtins.bool | None = None, *, dtype: _DTypeLike = None, axis: _Ints | None = None, keepdims: builtins.bool | None = None) -> Tensor: ...
def cov(input: _Operand, *, correction: builtins.float = 1.0, fweights: _Operand | None = None, aweights: _Operand | None = None) -> Tensor: ...
def corrcoef(input: _Operand) -> Tensor: ...
def renorm(input: _Operand, p: builtins.float, dim: _Dim = None, maxnorm: builtins.float | None = None, *, axis: _Dim = None) -> Tensor: ...
def gradient(input: _Operand, *, spacing: Any = None, dim: _Ints | None = None, edge_order: builtins.int = 1, axis: _Ints | None = None) -> tuple[Tensor, ...]: ...
