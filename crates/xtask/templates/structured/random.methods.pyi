    def multinomial(
        self,
        num_samples: builtins.int,
        replacement: builtins.bool = False,
        *,
        generator: Generator | None = None,
    ) -> Tensor: ...
    def exponential_(
        self, lambd: builtins.float = 1.0, *, generator: Generator | None = None
    ) -> Self: ...
    def cauchy_(
        self,
        median: builtins.float = 0.0,
        sigma: builtins.float = 1.0,
        *,
        generator: Generator | None = None,
    ) -> Self: ...
    def log_normal_(
        self,
        mean: builtins.float = 1.0,
        std: builtins.float = 2.0,
        *,
        generator: Generator | None = None,
    ) -> Self: ...
    def geometric_(self, p: builtins.float, *, generator: Generator | None = None) -> Self: ...
    def trunc_normal_(
        self,
        mean: builtins.float = 0.0,
        std: builtins.float = 1.0,
        a: builtins.float = -2.0,
        b: builtins.float = 2.0,
        *,
        generator: Generator | None = None,
    ) -> Self: ...
