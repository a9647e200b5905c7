"""Every structured operation has the gradient of its differences, or says why it has none."""

import pytest

import allotrope as al
from allotrope import _core
from cells import CALLS

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
