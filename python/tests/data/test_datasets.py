"""Datasets, samplers, splits and batches of nested samples."""

import collections
import json
import types
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import allotrope as al
from data import samples
from data.samples import lists

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text())


def test_tensor_datasets():
    x, y = np.arange(6, dtype=np.float64).reshape(3, 2), [0, 1, 2]
    data = al.data.TensorDataset(x, y)
    assert len(data) == 3 and lists(data[1]) == [[2.0, 3.0], 1]
    assert [one.dtype for one in data.tensors] == [al.float64, al.int64]
    assert lists(data[:2]) == [[[0.0, 1.0], [2.0, 3.0]], [0, 1]]


CASES = [
    ("float16", {"float64": "float16", "bfloat16": "float16", "complex64": "complex64"}),
    (al.bfloat16, {"float64": "bfloat16", "float16": "bfloat16"}),
    (np.float32, {"float64": "float32"}),
    (al.Float, {"float64": "float64", "float16": "float16", "complex64": "complex64"}),
    ("Float", {"float64": "float64"}),
    (al.complex64, {"float64": "complex64", "complex128": "complex64"}),
    (al.Complex, {"float64": "complex128", "float16": "complex64"}),
]


@pytest.mark.parametrize("dtype, answers", CASES, ids=[str(case[0]) for case in CASES])
def test_dtypes_hold_for_floats(dtype, answers):
    for given, answer in answers.items():
        x, labels = al.ones(2, 3, dtype=given), al.tensor([1, 0], dtype="int16")
        mask = al.tensor([True, False])
        for data in (
            al.data.TensorDataset(x, labels, mask, dtype=dtype),
            al.data.TensorDataset(x, labels, mask).to(dtype),
            al.data.TensorDataset(x, labels, mask).to("cpu", dtype),
            al.data.TensorDataset(x, labels, mask).to(dtype=dtype, device=al.device("cpu")),
        ):
            assert [one.dtype.name for one in data.tensors] == [answer, "int16", "bool"]


def test_tensor_datasets_are_converted_in_place():
    x = al.ones(2, dtype="float64")
    dataset = al.data.TensorDataset(x, [0, 1])
    subset = al.data.Subset(dataset, [1])
    assert dataset.to("float32") is dataset and x.dtype is al.float64
    assert dataset.tensors[0].dtype is al.float32 and subset[0][0].dtype is al.float32
    with pytest.raises(TypeError):
        dataset.to("cpu", al.Int)
    assert dataset.to(al.Float).tensors[0].numeric is al.Float
    assert dataset.to("cpu").tensors[0].numeric is al.Float, "a move leaves the width open"


def test_tensor_datasets_refuse():
    refusals = [
        (lambda: al.data.TensorDataset(), ValueError, "no tensors"),
        (
            lambda: al.data.TensorDataset(al.ones(2), al.ones(3)),
            ValueError,
            r"lengths differ: \[2, 3\]",
        ),
        (lambda: al.data.TensorDataset(al.ones(())), ValueError, "tensor 0 has shape"),
        (
            lambda: al.data.TensorDataset(al.ones(2), dtype="int8"),
            TypeError,
            "not a dtype of floats: int8",
        ),
        (
            lambda: al.data.TensorDataset(al.ones(2), dtype=al.Int),
            TypeError,
            "not a dtype of floats",
        ),
        (
            lambda: al.data.TensorDataset(al.ones(2)).to("nothing"),
            TypeError,
            "unknown name: 'nothing'",
        ),
        (lambda: al.data.TensorDataset(al.ones(2)).to("cpu", "cpu"), TypeError, "given twice"),
    ]
    for call, error, text in refusals:
        with pytest.raises(error, match=text):
            call()


def test_datasets_of_datasets():
    concat = al.data.ConcatDataset(["ab", "", "cde"])
    assert "".join(concat[i] for i in range(-5, 5)) == "abcdeabcde" and len(concat) == 5
    for index in (5, -6):
        with pytest.raises(IndexError, match=f"out of range: {index}; -5 to 4"):
            concat[index]
    assert isinstance(samples.Noisy(2) + samples.Noisy(3), al.data.ConcatDataset)
    chain = samples.Rows([2]) + samples.Rows([3])
    assert list(chain) == [0, 1, 0, 1, 2]
    stack = al.data.StackDataset("abc", [1, 2, 3])
    assert stack[1] == ("b", 2) and stack.__getitems__([2, 0]) == [("c", 3), ("a", 1)]
    named = al.data.StackDataset(x=al.arange(3), y="abc")
    batches = lists(list(al.data.DataLoader(named, 2)))
    assert batches == [{"x": [0, 1], "y": ["a", "b"]}, {"x": [2], "y": ["c"]}]
    subset = al.data.Subset(al.data.Subset("abcdef", [1, 3, 5]), al.tensor([2, 0]))
    assert [subset[i] for i in range(2)] == ["f", "b"] and subset.__getitems__([1]) == ["b"]
    for call, error in [
        (lambda: al.data.ConcatDataset([]), ValueError),
        (lambda: al.data.ConcatDataset([samples.Rows([1])]), TypeError),
        (lambda: al.data.StackDataset("ab", "c"), ValueError),
        (lambda: al.data.StackDataset(), ValueError),
        (lambda: list(al.data.ChainDataset(["ab"])), TypeError),
        (lambda: al.data.Dataset()[0], NotImplementedError),
    ]:
        with pytest.raises(error):
            call()


class AtOnce(al.data.Dataset):
    """Gives the samples of a batch at once."""

    def __len__(self):
        return 5

    def __getitems__(self, indices):
        return [10 * index for index in indices][: 2 if 4 not in indices else 0]


def test_samples_at_once():
    loader = al.data.DataLoader(AtOnce(), 2)
    batches = iter(loader)
    assert lists([next(batches), next(batches)]) == [[0, 10], [20, 30]]
    with pytest.raises(ValueError, match="wrong number of samples: 0; 1 were asked for"):
        next(batches)


@pytest.mark.parametrize("case", RECORDED["split"], ids=lambda case: str(case["lengths"])[:20])
def test_splits_have_the_sizes_of_torch(case):
    generator = al.Generator().manual_seed(1)
    parts = al.data.random_split(range(case["count"]), case["lengths"], generator)
    assert [len(part) for part in parts] == case["sizes"]
    assert sorted(i for part in parts for i in part) == list(range(case["count"]))
    again = al.data.random_split(range(case["count"]), case["lengths"], generator.manual_seed(1))
    assert [part.indices for part in parts] == [part.indices for part in again]


def test_splits_refuse():
    for lengths in ([3, 3], [0.5, 0.4], [11, -1], [2.5, 7.5]):
        with pytest.raises(ValueError, match="^random_split: "):
            al.data.random_split(range(10), lengths)
    splits = [al.data.random_split(range(50), [25, 25])[0].indices for _ in range(2)]
    assert splits[0] != splits[1]


@pytest.mark.parametrize(
    "case",
    RECORDED["distributed"],
    ids=lambda case: f"{case['count']}-{case['replicas']}-{case['drop']}",
)
def test_shares_are_those_of_torch(case):
    for rank, share in enumerate(case["shares"]):
        sampler = al.data.DistributedSampler(
            range(case["count"]), case["replicas"], rank, shuffle=False, drop_last=case["drop"]
        )
        assert list(sampler) == share and len(sampler) == len(share)
    shuffled = [list(al.data.DistributedSampler(range(9), 3, rank, seed=4)) for rank in range(3)]
    assert sorted(sum(shuffled, [])) == list(range(9))


def test_samplers():
    counts = collections.Counter(
        al.data.RandomSampler(range(5), True, 5000, al.Generator().manual_seed(1))
    )
    assert sorted(counts) == list(range(5)) and all(900 < n < 1100 for n in counts.values())
    more = list(al.data.RandomSampler(range(4), num_samples=10))
    assert sorted(more[:4]) == sorted(more[4:8]) == list(range(4)) and len(set(more[8:])) == 2
    assert len(list(al.data.RandomSampler(range(9), num_samples=4))) == 4
    weighted = al.data.WeightedRandomSampler(
        [1, 0, 3], 4000, generator=al.Generator().manual_seed(1)
    )
    counts = collections.Counter(weighted)
    assert counts[1] == 0 and 900 < counts[0] < 1100
    assert sorted(al.data.WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]
    generator = al.Generator().manual_seed(7)
    one = list(al.data.RandomSampler(range(50), generator=generator))
    two = list(al.data.RandomSampler(range(50), generator=generator))
    assert (
        one != two
        and list(al.data.RandomSampler(range(50), generator=generator.manual_seed(7))) == one
    )
    for call, error in [
        (lambda: al.data.RandomSampler(range(3), replacement=1), TypeError),
        (lambda: al.data.RandomSampler(range(3), num_samples=0), ValueError),
        (lambda: list(al.data.RandomSampler([], True, 3)), ValueError),
        (lambda: al.data.WeightedRandomSampler([[1.0]], 1), ValueError),
        (lambda: al.data.BatchSampler(range(3), 0, False), ValueError),
        (lambda: al.data.BatchSampler(range(3), 1, None), TypeError),
        (lambda: al.data.DistributedSampler(range(3), 2, 2), ValueError),
    ]:
        with pytest.raises(error):
            call()


Point = collections.namedtuple("Point", "x y")


def test_batches_of_nested_samples():
    def sample(i):
        return {
            "tensor": al.full((2,), float(i), dtype="bfloat16"),
            "array": np.full(3, i, dtype=ml_dtypes.bfloat16),
            "scalar": np.float16(i),
            "int": i,
            "float": i / 2,
            "bool": i > 0,
            "complex": i * 1j,
            "text": str(i),
            "bytes": b"x",
            "pair": (i, [i, (i, al.tensor(i))]),
            "point": Point(i, {"deep": np.int8(i)}),
        }

    batch = al.data.default_collate([sample(0), sample(1)])
    dtypes = {key: value.dtype.name for key, value in batch.items() if isinstance(value, al.Tensor)}
    assert dtypes == {
        "tensor": "bfloat16",
        "array": "bfloat16",
        "scalar": "float16",
        "int": "int64",
        "float": "float32",
        "bool": "bool",
        "complex": "complex64",
    }
    assert batch["tensor"].tolist() == [[0.0, 0.0], [1.0, 1.0]]
    assert batch["array"].shape == (2, 3) and batch["float"].tolist() == [0.0, 0.5]
    assert (batch["text"], batch["bytes"]) == (["0", "1"], [b"x", b"x"])
    assert lists(batch["pair"]) == [[0, 1], [[0, 1], [[0, 1], [0, 1]]]]
    assert type(batch["pair"]) is list
    assert type(batch["point"]) is Point and batch["point"].y["deep"].dtype is al.int8
    with al.set_default_dtype("float64"):
        assert al.data.default_collate([0.5]).dtype is al.float64
    assert al.data.default_collate([1, 2.5]).tolist() == [1.0, 2.5]
    ordered = al.data.default_collate([collections.OrderedDict(a=1), collections.OrderedDict(a=2)])
    assert type(ordered) is collections.OrderedDict and ordered["a"].tolist() == [1, 2]
    proxy = types.MappingProxyType({"a": 1})
    assert lists(dict(al.data.default_collate([proxy, proxy]))) == {"a": [1, 1]}


def test_samples_that_differ():
    collate = al.data.default_collate
    refusals = [
        ([], ValueError, "no samples"),
        ([None], TypeError, "not collated: NoneType; tensors, arrays"),
        ([{"a": [object()]}], TypeError, r"not collated: object in sample\['a'\]\[0\]"),
        ([{"a": 1}, {"b": 1}], ValueError, "no 'a' in sample 1"),
        ([{"a": 1}, 3], ValueError, "a int in sample 1"),
        ([(1, 2), (1,)], ValueError, r"lengths differ: 2 and 1 \(sample 1\)"),
        ([(1, 2), 1], TypeError, "samples differ: tuple and int"),
        ([al.ones(2), al.ones(3)], ValueError, r"shapes differ: \[2\] and \[3\] \(sample 1\)"),
        ([{"x": np.ones(2)}, {"x": np.ones(3)}], ValueError, r"shapes differ in sample\['x'\]"),
        ([1, "a"], TypeError, "samples differ: int and str"),
        ([al.ones(2), 1], TypeError, "samples differ: Tensor and int"),
    ]
    for batch, error, text in refusals:
        with pytest.raises(error, match="default_collate: .*" + text):
            collate(batch)


def test_samples_alone():
    convert = al.data.default_convert
    assert lists(convert({"a": np.ones(2), "b": (1, "x")})) == {"a": [1.0, 1.0], "b": [1, "x"]}
    assert convert(np.float32(2)).dtype is al.float32
    assert convert(3) == 3 and convert("abc") == "abc" and convert(None) is None
    assert type(convert(Point(1, np.ones(1)))) is Point
