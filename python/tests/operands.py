"""The operands of operations, as the calls of the probes and a few more give them: caught on the way, so that
tests can make each call again with others in their place."""

import allotrope as al

F = al.nn.functional

# Operands that the calls of the probes leave out.
MATRIX, VECTOR = [[1.0, 2.0], [3.0, 5.0]], [1.0, 2.0]
OPTIONAL = {
    "linear": lambda m, v: F.linear(m, m, v),
    "conv2d": lambda m, v: F.conv2d(m[None, None], m[None, None], v[:1]),
    "conv_transpose2d": lambda m, v: F.conv_transpose2d(m[None, None], m[None, None], v[:1]),
    "layer_norm": lambda m, v: F.layer_norm(m, (2,), v, v),
    "rms_norm": lambda m, v: F.rms_norm(m, (2,), v),
    "group_norm": lambda m, v: F.group_norm(m[..., None], 1, v, v),
    "batch_norm": lambda m, v: F.batch_norm(m, v, v, v, v),
    "instance_norm": lambda m, v: F.instance_norm(m[None], v, v, v, v, False),
    "scaled_dot_product_attention": lambda m, v: F.scaled_dot_product_attention(m, m, m, m > 1),
    "cross_entropy": lambda m, v: F.cross_entropy(m, m, v),
    "nll_loss": lambda m, v: F.nll_loss(m, v.long() - 1, v),
    "binary_cross_entropy": lambda m, v: F.binary_cross_entropy(m / 6, m / 6, v),
    "binary_cross_entropy_with_logits": lambda m, v: F.binary_cross_entropy_with_logits(m, m, v, pos_weight=v),
    "gaussian_nll_loss": lambda m, v: F.gaussian_nll_loss(m, m, m),
    "multi_margin_loss": lambda m, v: F.multi_margin_loss(m, v.long() - 1, weight=v),
    "multilabel_soft_margin_loss": lambda m, v: F.multilabel_soft_margin_loss(m, m, v),
    "embedding_bag": lambda m, v: F.embedding_bag(
        v.long() - 1, m, v.long() * 0, mode="sum", per_sample_weights=v
    ),
    "histogram": lambda m, v: al.histogram(m, v, weight=m),
    "bincount": lambda m, v: al.bincount(v.long(), v),
    "diff": lambda m, v: al.diff(m, prepend=m, append=m),
    "trapezoid": lambda m, v: al.trapezoid(m, v),
    "cov": lambda m, v: al.cov(m, fweights=v.long(), aweights=v),
    "gradient": lambda m, v: al.gradient(m, spacing=(v, v)),
    "repeat_interleave": lambda m, v: al.repeat_interleave(m, v.long(), 0),
    "quantile": lambda m, v: al.quantile(m, v / 4),
    "searchsorted": lambda m, v: al.searchsorted(v, m, sorter=v.long() - 1),
    "linalg.pinv": lambda m, v: al.linalg.pinv(m, atol=v[0], rtol=v[0] / 9),
    "linalg.matrix_rank": lambda m, v: al.linalg.matrix_rank(m, atol=v[0], rtol=v[0] / 9),
    "stft": lambda m, v: al.stft(m, 2, 1, window=v, return_complex=True, center=False),
    "bilinear": lambda m, v: F.bilinear(m, m, m[None], v[:1]),
    "addmm": lambda m, v: al.addmm(v, m, m),
    "where": lambda m, v: al.where(m > 2, m, v),
    "clamp": lambda m, v: al.clamp(m, v, v + 1),
    "lerp": lambda m, v: al.lerp(m, v, m),
    "addcmul": lambda m, v: al.addcmul(m, v, m),
    "fractional_max_pool2d": lambda m, v: F.fractional_max_pool2d(
        m[None, None], 1, 2, _random_samples=v[None, None] / 4
    ),
    "normal": lambda m, v: al.normal(m * 0, v * 0),
    "allclose": lambda m, v: al.tensor(al.allclose(m, m)),
    "equal": lambda m, v: al.tensor(al.equal(m, m)),
}


def places(name):
    """Where a call of an operation may be found."""
    if name == "matmul":
        yield al.Tensor, "__matmul__"
    *path, last = name.split(".")
    module = al
    for part in path:
        module = getattr(module, part)
    owners = [module] if path else [al.nn.functional, al._core.functional, al, al.Tensor]
    for owner in owners:
        if callable(getattr(owner, last, None)):
            yield owner, last


def caught(name, make, monkeypatch):
    """The function and the arguments of the call of an operation."""
    calls = []
    with monkeypatch.context() as patch:
        for owner, last in places(name):
            function = getattr(owner, last)

            def note(*arguments, _function=function, **options):
                calls.append((_function, arguments, options))
                return _function(*arguments, **options)

            patch.setattr(owner, last, note)
        make()
    return calls[0] if calls else None


def paths(value, path=()):
    """Where tensors are among nested arguments."""
    if isinstance(value, al.Tensor):
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else ()
    for key, item in items:
        yield from paths(item, (*path, key))


def found(value, path):
    for key in path:
        value = value[key]
    return value


def replaced(value, path, new):
    if not path:
        return new
    key, *rest = path
    if isinstance(value, dict):
        return {**value, key: replaced(value[key], rest, new)}
    items = [replaced(item, rest, new) if place == key else item for place, item in enumerate(value)]
    return type(value)(items)


def answered(name):
    return next(d for d in ("float32", "int64", "bool", "complex64") if al.support(name, d) != "undefined")
