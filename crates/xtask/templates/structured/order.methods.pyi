    def cumsum(
        self, dim: _Dim = None, *, dtype: _DTypeLike = None, axis: _Dim = None
    ) -> Tensor: ...
    def cumprod(
        self, dim: _Dim = None, *, dtype: _DTypeLike = None, axis: _Dim = None
    ) -> Tensor: ...
    def cumulative_sum(
        self, *, axis: _Dim = None, dtype: _DTypeLike = None, include_initial: builtins.bool = False
    ) -> Tensor: ...
    def cumulative_prod(
        self, *, axis: _Dim = None, dtype: _DTypeLike = None, include_initial: builtins.bool = False
    ) -> Tensor: ...
    def logcumsumexp(self, dim: _Dim = None, *, axis: _Dim = None) -> Tensor: ...
    def cummax(self, dim: _Dim = None, *, axis: _Dim = None) -> Any: ...
    def cummin(self, dim: _Dim = None, *, axis: _Dim = None) -> Any: ...
    def diff(
        self,
        n: builtins.int = 1,
        dim: _Dim = None,
        prepend: _Operand | None = None,
        append: _Operand | None = None,
        *,
        axis: _Dim = None,
    ) -> Tensor: ...
    def trapezoid(
        self,
        x: _Operand | None = None,
        *,
        dx: _Operand | None = None,
        dim: _Dim = None,
        axis: _Dim = None,
    ) -> Tensor: ...
    def trapz(
        self,
        x: _Operand | None = None,
        *,
        dx: _Operand | None = None,
        dim: _Dim = None,
        axis: _Dim = None,
    ) -> Tensor: ...
    def cumulative_trapezoid(
        self,
        x: _Operand | None = None,
        *,
        dx: _Operand | None = None,
        dim: _Dim = None,
        axis: _Dim = None,
    ) -> Tensor: ...
    def sort(
        self,
        dim: _Dim = None,
        descending: builtins.bool = False,
        *,
        stable: builtins.bool = False,
        axis: _Dim = None,
    ) -> Any: ...
    def argsort(
        self,
        dim: _Dim = None,
        descending: builtins.bool = False,
        stable: builtins.bool = False,
        *,
        axis: _Dim = None,
    ) -> Tensor: ...
    def msort(self) -> Tensor: ...
    def topk(
        self,
        k: builtins.int,
        dim: _Dim = None,
        largest: builtins.bool = True,
        sorted: builtins.bool = True,
        *,
        axis: _Dim = None,
    ) -> Any: ...
    def kthvalue(
        self,
        k: builtins.int,
        dim: _Dim = None,
        keepdim: builtins.bool | None = None,
        *,
        axis: _Dim = None,
        keepdims: builtins.bool | None = None,
    ) -> Any: ...
    def median(
        self,
        dim: _Dim = None,
        keepdim: builtins.bool | None = None,
        *,
        axis: _Dim = None,
        keepdims: builtins.bool | None = None,
    ) -> Any: ...
    def nanmedian(
        self,
        dim: _Dim = None,
        keepdim: builtins.bool | None = None,
        *,
        axis: _Dim = None,
        keepdims: builtins.bool | None = None,
    ) -> Any: ...
    def quantile(
        self,
        q: _Operand,
        dim: _Dim = None,
        keepdim: builtins.bool | None = None,
        *,
        interpolation: str = "linear",
        axis: _Dim = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor: ...
    def nanquantile(
        self,
        q: _Operand,
        dim: _Dim = None,
        keepdim: builtins.bool | None = None,
        *,
        interpolation: str = "linear",
        axis: _Dim = None,
        keepdims: builtins.bool | None = None,
    ) -> Tensor: ...
    def mode(
        self,
        dim: _Dim = None,
        keepdim: builtins.bool | None = None,
        *,
        axis: _Dim = None,
        keepdims: builtins.bool | None = None,
    ) -> Any: ...
    def unique(
        self,
        sorted: builtins.bool = True,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: _Dim = None,
        *,
        axis: _Dim = None,
    ) -> Any: ...
    def unique_consecutive(
        self,
        return_inverse: builtins.bool = False,
        return_counts: builtins.bool = False,
        dim: _Dim = None,
        *,
        axis: _Dim = None,
    ) -> Any: ...
    def nansum(self, dim: _Ints | None = None, keepdim: builtins.bool | None = None, *, dtype: _DTypeLike = None, axis: _Ints | None = None, keepdims: builtins.bool | None = None) -> Tensor: ...
    def nanmean(self, dim: _Ints | None = None, keepdim: builtins.bool | None = None, *, dtype: _DTypeLike = None, axis: _Ints | None = None, keepdims: builtins.bool | None = None) -> Tensor: ...
    def cov(self, *, correction: builtins.float = 1.0, fweights: _Operand | None = None, aweights: _Operand | None = None) -> Tensor: ...
    def corrcoef(self) -> Tensor: ...
    def renorm(self, p: builtins.float, dim: _Dim = None, maxnorm: builtins.float | None = None, *, axis: _Dim = None) -> Tensor: ...
