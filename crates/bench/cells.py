"""Operations in torch's words, which are ours, and in NumPy's, which JAX and MLX have.

A row is a name, the call of either, and the kinds of dtypes that it has a meaning for: `b`ool,
`i`ntegers, `f`loats, `c`omplex numbers. x and y are matrices, v is a vector.
"""


def same(names, kinds, arguments="x"):
    """Functions that both call alike."""
    return [(name, f"xp.{name}({arguments})", f"xp.{name}({arguments})", kinds) for name in names.split()]


CELLS = [
    # elementwise
    *same("add multiply", "bifc", "x, y"),
    *same("subtract", "ifc", "x, y"),
    *same("divide", "bifc", "x, y"),
    *same("maximum minimum", "bif", "x, y"),
    *same("floor_divide remainder", "if", "x, y"),
    *same("logical_and logical_or", "bifc", "x, y"),
    *same("logical_not", "bifc"),
    ("equal", "xp.eq(x, y)", "xp.equal(x, y)", "bifc"),
    ("less", "xp.less(x, y)", "xp.less(x, y)", "bif"),
    ("less_equal", "xp.less_equal(x, y)", "xp.less_equal(x, y)", "bif"),
    ("bitwise_and", "x & y", "x & y", "bi"),
    ("bitwise_xor", "x ^ y", "x ^ y", "bi"),
    ("left_shift", "x << y", "x << y", "i"),
    ("right_shift", "x >> y", "x >> y", "i"),
    ("pow", "x ** y", "x ** y", "ifc"),
    ("pow of a number", "x ** 2", "x ** 2", "ifc"),
    *same("abs sign square", "ifc"),
    ("neg", "-x", "-x", "ifc"),
    *same("exp log sqrt sin cos tanh log1p expm1", "bifc"),
    *same("sinh cosh tan", "bifc"),
    ("sigmoid", "xp.sigmoid(x)", "nn.sigmoid(x)", "bif"),
    ("relu", "xp.relu(x)", "nn.relu(x)", "if"),
    ("gelu", "F.gelu(x)", "nn.gelu(x)", "f"),
    ("silu", "F.silu(x)", "nn.silu(x)", "f"),
    *same("floor ceil round", "if"),
    *same("isnan isfinite isinf", "bifc"),
    ("clip", "xp.clip(x, 1, 2)", "xp.clip(x, 1, 2)", "if"),
    ("where", "xp.where(x == y, x, y)", "xp.where(x == y, x, y)", "bifc"),
    ("to float32", "x.to(float32)", "x.astype(float32)", "bif"),
    # reductions
    *same("sum prod", "bifc"),
    *same("mean", "bifc"),
    *same("std var", "bifc"),
    ("amax", "xp.amax(x)", "xp.max(x)", "bif"),
    ("amin", "xp.amin(x)", "xp.min(x)", "bif"),
    *same("argmax argmin", "bif"),
    *same("any all", "bifc"),
    ("sum along an axis", "xp.sum(x, 0)", "xp.sum(x, 0)", "bifc"),
    ("logsumexp", "xp.logsumexp(x, 0)", "(xp.logsumexp if hasattr(xp, 'logsumexp') else nn.logsumexp)(x, 0)", "if"),
    ("cumsum", "xp.cumsum(x, 0)", "xp.cumsum(x, 0)", "bifc"),
    ("cumprod", "xp.cumprod(x, 0)", "xp.cumprod(x, 0)", "bifc"),
    ("norm", "xp.linalg.norm(x)", "xp.linalg.norm(x)", "bifc"),
    # products
    ("matmul", "x @ y", "x @ y", "bifc"),
    ("inner", "xp.inner(v, v)", "xp.inner(v, v)", "bifc"),
    ("outer", "xp.outer(v, v)", "xp.outer(v, v)", "bifc"),
    ("einsum", "xp.einsum('ij,jk->ik', x, y)", "xp.einsum('ij,jk->ik', x, y)", "bifc"),
    ("trace", "xp.trace(x)", "xp.trace(x)", "bifc"),
    # order
    ("sort", "xp.sort(v)", "xp.sort(v)", "bif"),
    ("argsort", "xp.argsort(v)", "xp.argsort(v)", "bif"),
    ("topk", "xp.topk(v, 2)", "lax.top_k(v, 2) if 'lax' in globals() else xp.topk(v, 2)", "bif"),
    # movement and indices
    ("cat", "xp.cat([x, y])", "xp.concatenate([x, y])", "bifc"),
    ("stack", "xp.stack([x, y])", "xp.stack([x, y])", "bifc"),
    ("roll", "xp.roll(x, 1)", "xp.roll(x, 1)", "bifc"),
    *same("tril triu", "bifc"),
    ("gather", "xp.gather(x, 1, index)", "xp.take_along_axis(x, index, 1)", "bifc"),
    ("index_select", "xp.index_select(x, 0, ids)", "xp.take(x, ids, 0)", "bifc"),
    ("index by a tensor", "x[ids]", "x[ids]", "bifc"),
    ("diag", "xp.diag(v)", "xp.diag(v)", "bifc"),
    ("tile", "xp.tile(x, (2, 1))", "xp.tile(x, (2, 1))", "bifc"),
    ("scatter_add", "xp.scatter_add(x, 1, index, y)", "x.at[ids].add(y)", "ifc"),
    ("index_put", "xp.index_put(x, (ids,), y)", "x.at[ids].set(y) if 'lax' in globals() else x.at[ids].add(y - x[ids])", "bifc"),
    # networks
    ("softmax", "xp.softmax(x, 0)", "(xp.softmax if hasattr(xp, 'softmax') else nn.softmax)(x, 0)", "if"),
    ("log_softmax", "xp.log_softmax(x, 0)", "nn.log_softmax(x, 0)", "if"),
    ("layer_norm", "F.layer_norm(x, (2,))", "(x - x.mean(-1, keepdims=True)) / xp.sqrt(x.var(-1, keepdims=True) + 1)", "f"),
    ("linear", "F.linear(x, y, x[0])", "x @ y.T + x[0]", "ifc"),
    (
        "conv2d",
        "F.conv2d(image, image[..., :2, :2])",
        "lax.conv(image, image[..., :2, :2], (1, 1), 'VALID') if 'lax' in globals()"
        " else xp.conv2d(image.reshape(1, 4, 4, 1), image[..., :2, :2].reshape(1, 2, 2, 1))",
        "ifc",
    ),
    # linear algebra and Fourier transforms
    ("solve", "xp.linalg.solve(y, x)", "xp.linalg.solve(y, x)", "fc"),
    ("inv", "xp.linalg.inv(y)", "xp.linalg.inv(y)", "fc"),
    ("det", "xp.linalg.det(y)", "xp.linalg.det(y)", "fc"),
    ("svd", "xp.linalg.svd(y)", "xp.linalg.svd(y)", "fc"),
    ("qr", "xp.linalg.qr(y)", "xp.linalg.qr(y)", "fc"),
    ("cholesky", "xp.linalg.cholesky(y @ y.T)", "xp.linalg.cholesky(y @ y.T)", "fc"),
    ("fft", "xp.fft.fft(v)", "xp.fft.fft(v)", "fc"),
    ("rfft", "xp.fft.rfft(v)", "xp.fft.rfft(v)", "f"),
]
