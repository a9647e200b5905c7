"""Every structured operation obeys the policy of overflow: what is lost is refused, and nothing else is."""

import pytest

import allotrope as al
from allotrope import _core
from allotrope._probes import CALLS

NAMES = _core._structured_operations()

#: Operations that are told by their steps, of which one is lost though the result is not.
BY_STEPS = {
    ("renorm", "float32"),
    ("local_response_norm", "float32"),
    ("normalize", "float32"),
    ("linalg.lstsq", "float32"),
}


def flat(made):
    if isinstance(made, (tuple, list)):
        return [y for each in made for y in flat(each)]
    return [made] if isinstance(made, al.Tensor) else []


def is_finite(tensor):
    kind = tensor.dtype
    return not (kind.is_floating_point or kind.is_complex) or bool(tensor.isfinite().all())


def scaled_calls(monkeypatch, dtype, factor):
    """Makes operands larger, and lists them."""
    original, operands = al.Tensor.to, []

    def to(tensor, *arguments, **options):
        made = original(tensor, *arguments, **options)
        if made.dtype == dtype and factor != 1:
            with al.overflow("saturate"):
                made = made * factor
        operands.append(made)
        return made

    monkeypatch.setattr(al.Tensor, "to", to)
    return operands


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [("int8", 1), ("int64", 1), ("float32", 1), ("complex64", 1), ("float16", 50000), ("float32", 3e38), ("int64", 2**62)],
    ids=lambda value: str(value),
)
@pytest.mark.parametrize("name", NAMES)
def test_every_structured_operation_obeys(monkeypatch, name, dtype, factor):
    dtype = al.dtype(dtype)
    operands = scaled_calls(monkeypatch, dtype, factor)
    call = CALLS[name]

    def answer():
        al.manual_seed(0)
        operands.clear()
        return flat(call(dtype))

    try:
        plain = answer()
    except Exception as error:  # noqa: BLE001 - the operation has its own reason
        with al.overflow("raise"), pytest.raises((type(error), OverflowError)):
            answer()
        return
    is_lost = all(map(is_finite, operands)) and not all(map(is_finite, plain))
    with al.overflow("raise"):
        if is_lost:
            with pytest.raises(OverflowError):
                answer()
            return
        try:
            same = answer()
        except OverflowError as error:
            # Integers beyond their range are held to exact ones elsewhere.
            assert factor != 1 and (dtype.is_integer or (name, dtype.name) in BY_STEPS), error
            return
    for before, after in zip(plain, same, strict=True):
        assert before.dtype == after.dtype and str(before) == str(after)
