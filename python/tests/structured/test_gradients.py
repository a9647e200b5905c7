"""Every structured operation has the gradient of its differences, or says why it has none."""

import pytest

import allotrope as al
from allotrope import _core
from allotrope._probes import CALLS

NAMES = _core._structured_operations()
REASONS = _core._without_gradient()

# Operations that read one triangle of a symmetric matrix, or whose vectors are known but for a
# phase: single elements cannot be moved alone. And probabilities at both ends of their range. Their
# gradients are checked where they are defined.
DEFINED_ELSEWHERE = {
    ("binary_cross_entropy", "float64"),
    ("linalg.cholesky", "float64"),
    ("linalg.cholesky", "complex128"),
    ("linalg.cholesky_ex", "float64"),
    ("linalg.cholesky_ex", "complex128"),
    ("linalg.eigh", "float64"),
    ("linalg.eigh", "complex128"),
    ("linalg.eigvalsh", "float64"),
    ("linalg.eigvalsh", "complex128"),
    ("linalg.eig", "complex128"),
    ("linalg.qr", "complex128"),
    ("linalg.svd", "complex128"),
}

# How far operands are moved from the tested values, which may stand where there is no slope.
AWAY = 0.0371


# How many of the dtype's last digits a gradient may be off, beside the largest of its elements.
FACTOR = 16
SMALLEST = 0.1


class Inputs:
    """Makes the tensors of a call leaves, and gives them back another time in the same order."""

    def __init__(self, dtype):
        self.dtype = al.dtype(dtype)
        self.leaves = []
        self.next = 0
        self.collects = True
        self.original = al.Tensor.to

    def to(self, tensor, *arguments, **options):
        made = self.original(tensor, *arguments, **options)
        if made.dtype != self.dtype:
            return made
        if self.collects:
            # Apart from each other, so that nothing is a tie.
            away = al.arange(1, made.numel() + 1).reshape(made.shape)
            away = self.original(away, self.dtype) * 0.0013 + (1 + len(self.leaves)) / 2
            away = away * AWAY
            made = (made.detach() + away).requires_grad_()
            self.leaves.append(made)
            return made
        if self.next == len(self.leaves_now):
            # A tensor that has this dtype whatever the others have.
            return made
        leaf = self.leaves_now[self.next]
        self.next += 1
        return leaf

    def call(self, name, leaves):
        self.collects, self.next, self.leaves_now = False, 0, leaves
        al.manual_seed(0)
        made = CALLS[name](self.dtype)
        return [y for y in flat(made) if isinstance(y, al.Tensor)]


def flat(made):
    if isinstance(made, (tuple, list)):
        return [y for each in made for y in flat(each)]
    return [made]


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("name", NAMES)
def test_gradient(name, dtype, monkeypatch):
    if al.support(name, dtype) == "undefined":
        pytest.skip("not of this dtype")
    inputs = Inputs(dtype)
    monkeypatch.setattr(al.Tensor, "to", lambda x, *a, **o: inputs.to(x, *a, **o))
    if name == "binary_cross_entropy":
        monkeypatch.setattr(f"{__name__}.AWAY", 0.0)
    al.manual_seed(0)
    made = [y for y in flat(CALLS[name](inputs.dtype)) if isinstance(y, al.Tensor)]
    has_gradient = any(y.requires_grad for y in made)
    if name in REASONS:
        assert not has_gradient, f"{name} has a gradient, whatever its row says"
        return
    assert has_gradient, f"{name} loses the gradient without a reason"
    if (name, dtype) in DEFINED_ELSEWHERE:
        return
    leaves = tuple(inputs.leaves)

    def function(*leaves):
        return inputs.call(name, leaves)

    assert al.autograd.gradcheck(function, leaves)
    assert al.autograd.gradgradcheck(function, leaves)

    # Once more with every leaf used twice, in memory of two other orders.
    def twice(*leaves):
        spread = inputs.call(name, [al.stack([x, x], -1)[..., 1] for x in leaves])
        turned = [x.transpose(0, -1).contiguous().transpose(0, -1) if x.ndim else x for x in leaves]
        return spread + inputs.call(name, turned)

    assert al.autograd.gradcheck(twice, leaves)


NARROW = [
    d.name
    for d in al.dtypes()
    if d.is_floating_point and d.bits < 64 or d.is_complex and d.bits < 128
]


def gradients_of(outputs, leaves):
    """What a sum of all results, each with a weight of its own, gives back."""
    total = al.zeros((), dtype=al.float64)
    for y in outputs:
        if not y.requires_grad:
            continue
        parts = [y.real, y.imag] if y.dtype.is_complex else [y]
        for place, part in enumerate(parts):
            weights = (al.arange(part.numel(), dtype=al.float64) * 0.7 + 0.3 + place).cos()
            total = total + (part * weights.reshape(part.shape)).sum()
    return al.autograd.grad(total, leaves, allow_unused=True)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("name", NAMES)
def test_gradient_of_narrow_dtype(name, dtype, monkeypatch):
    """The gradient has the dtype of its leaf, and errs from that in float64 as the dtype does."""
    if al.support(name, dtype) == "undefined" or name in REASONS:
        pytest.skip("not of this dtype")
    if name == "binary_cross_entropy":
        pytest.skip("probabilities at both ends of their range")
    inputs = Inputs(dtype)
    with monkeypatch.context() as patch:
        patch.setattr(al.Tensor, "to", lambda x, *a, **o: inputs.to(x, *a, **o))
        al.manual_seed(0)
        outputs = [y for y in flat(CALLS[name](inputs.dtype)) if isinstance(y, al.Tensor)]
    leaves = inputs.leaves
    given = gradients_of(outputs, leaves)
    inputs.dtype = wide = al.dtype("complex128" if inputs.dtype.is_complex else "float64")
    wide_leaves = [x.detach().to(wide).requires_grad_() for x in leaves]
    with monkeypatch.context() as patch:
        patch.setattr(al.Tensor, "to", lambda x, *a, **o: inputs.to(x, *a, **o))
        outputs = inputs.call(name, wide_leaves)
    expected = gradients_of(outputs, wide_leaves)
    for leaf, got, want in zip(leaves, given, expected):
        assert (got is None) == (want is None)
        if got is None:
            continue
        assert got.dtype == leaf.dtype
        if want.numel():
            # Gradients beyond the range of the dtype become what a cast makes of them.
            fits = want.to(leaf.dtype).to(wide).isfinite()
            error = al.where(fits, (got.to(wide) - want).abs(), 0.0).max().item()
            scale = max(want.abs().max().item(), SMALLEST)
            assert error <= FACTOR * al.finfo(leaf.dtype).eps * scale


@pytest.mark.parametrize("dtype", [name for name in NARROW if not name.startswith("complex")])
def test_probabilities_of_narrow_dtype(dtype):
    x = al.tensor([0.25, 0.5, 0.75], dtype=dtype, requires_grad=True)
    loss = al.nn.functional.binary_cross_entropy(x, al.tensor([0.0, 1.0, 1.0], dtype=dtype))
    (gradient,) = al.autograd.grad(loss, [x])
    assert gradient.dtype == x.dtype
    # A third of 1 / (1 - p), -1 / p, -1 / p.
    expected = al.tensor([4 / 9, -2 / 3, -4 / 9], dtype=al.float64)
    assert (gradient.to(al.float64) - expected).abs().max().item() <= al.finfo(x.dtype).eps
