"""No way to a tensor leads beyond the most dimensions that one has."""

import pickle

import pytest

import allotrope as al

MOST = 128
x = al.ones(1)


def rebuilt(rank):
    call, (bytes_, _, *rest) = x.__reduce__()
    return call(bytes_, (1,) * rank, *rest)


MAKERS = {
    "key of None": lambda rank: x[(None,) * (rank - 1)],
    "key beside an array": lambda rank: x[(None,) * (rank - 1) + ([0],)],
    "zeros": lambda rank: al.zeros([1] * rank),
    "reshape": lambda rank: x.reshape([1] * rank),
    "expand": lambda rank: x.expand([1] * rank),
    "as_strided": lambda rank: x.as_strided([1] * rank, [1] * rank),
    "broadcast_to": lambda rank: al.broadcast_to(x, [1] * rank),
    "repeat": lambda rank: x.repeat([1] * rank),
    "tile": lambda rank: al.tile(x, [1] * rank),
    "unflatten": lambda rank: x.unflatten(0, [1] * rank),
    "rand": lambda rank: al.rand([1] * rank),
    "unpickled": rebuilt,
    "tensordot": lambda rank: al.tensordot(x.reshape([1] * 64), x.reshape([1] * (rank - 64)), 0),
    "outer sums": lambda rank: al.tensor(1.0).expand([1] * rank),
}


@pytest.mark.parametrize("rank", [MOST + 1, 3000, 30_000])
@pytest.mark.parametrize("name", MAKERS)
def test_too_many_dimensions_are_refused(name, rank):
    with pytest.raises((ValueError, IndexError), match="too many"):
        MAKERS[name](rank)


# They lay each dimension out as two.
HALVES = {"repeat", "tile"}


@pytest.mark.parametrize("name", MAKERS)
def test_the_most_dimensions_work(name):
    most = MOST // 2 if name in HALVES else MOST
    y = MAKERS[name](most)
    assert y.ndim == most and repr(y) and y.numel() == 1
    assert pickle.loads(pickle.dumps(y)).shape == y.shape
    assert y.sum() == y.flatten()[0] and y.reshape(1).tolist() == y.flatten().tolist()


@pytest.mark.parametrize("grow", ["unsqueeze", "stack", "unfold", "diag_embed", "view_as_real", "atleast"])
def test_one_more_dimension_is_refused(grow):
    y = x.reshape([1] * MOST)
    grown = {
        "unsqueeze": lambda: y.unsqueeze(0),
        "stack": lambda: al.stack([y, y]),
        "unfold": lambda: y.unfold(0, 1, 1),
        "diag_embed": lambda: al.diag_embed(y),
        "view_as_real": lambda: al.view_as_real(y.to(al.complex64)),
        "atleast": lambda: y[None],
    }
    with pytest.raises(ValueError, match="too many dimensions: 129; at most 128"):
        grown[grow]()
