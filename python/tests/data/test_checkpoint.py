"""Checkpoints: every value exactly, all objects or none, and errors that say which part and where."""

import collections
import io
import json
import math
import os
import random
import struct

import numpy as np
import pytest

import allotrope as al
from reference import DTYPES


class Holder:
    """An object with a state."""

    def __init__(self, **state):
        self.state = state
        self.loaded = 0

    def state_dict(self):
        return self.state

    def load_state_dict(self, state):
        self.loaded += 1
        if state.get("refuse"):
            self.state = {"half": "loaded"}
            raise KeyError("refused")
        self.state = state


def same(one, other):
    if isinstance(one, al.Tensor):
        return (
            isinstance(other, al.Tensor)
            and (one.dtype, one.shape) == (other.dtype, other.shape)
            and one.numpy().tobytes() == other.numpy().tobytes()
        )
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    if isinstance(one, complex):
        return same(one.real, other.real) and same(one.imag, other.imag)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and one.tobytes() == other.tobytes()
    return one == other


(PAYLOAD,) = struct.unpack("<d", bytes.fromhex("0102030405060fff")[::-1] + b"")
VALUES = {
    "ints": [0, -1, 2**53 + 1, 2**63, -(2**127), 2**127, 3**500, -(7**400)],
    "floats": [
        0.1,
        -0.0,
        5e-324,
        1.7976931348623157e308,
        math.inf,
        -math.inf,
        math.nan,
        -math.nan,
        PAYLOAD,
    ],
    "complex": [1 + 2j, complex(math.nan, -0.0), complex(math.inf, PAYLOAD)],
    "truths": [True, False, None],
    "texts": ["", "ü€𝄞", "\0", "a\ud800b", "line\n\"'\\", "__allotrope__"],
    "bytes": [b"", b"\x00\xff", bytearray(b"x")],
    "keys": {
        1: "a",
        "1": "b",
        False: "no",
        None: "c",
        2.5: "d",
        (1, "x"): "e",
        2**200: "f",
        "\udcff": "g",
    },
    "marks": {"__allotrope__": 3},
    "marked": {"__allotrope__": ("int", "0x3")},
    "containers": ([], (), {}, [()], ({},), {1, 2, "x"}, frozenset({(1, 2)})),
    "counter": collections.Counter("abca"),
    "dtypes": [al.float16, al.Float, al.bool],
    "arrays": [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.float64(0.1),
        np.bool_(True),
        np.zeros((0, 2)),
    ],
    "names": {"a.b": {"c": al.ones(1)}, "a": {"b.c": al.zeros(1), "b": {"c": al.tensor(3)}}},
    "deep": [[[[[[[[{"x": (al.ones(2),)}]]]]]]]],
}


def test_values_come_back_exactly(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {dtype.name: al.ones(2, 3).to(dtype) for dtype in DTYPES}
    tensors |= {
        "empty": al.ones(0, 2),
        "scalar": al.tensor(1.5),
        "turned": al.arange(6).reshape(2, 3).T,
    }
    al.save_checkpoint(path, **VALUES, tensors=tensors)
    found = al.load_checkpoint(path)
    assert list(found) == [*VALUES, "tensors"]
    for name, value in {**VALUES, "tensors": tensors}.items():
        assert same(value, found[name]), (name, value, found[name])
    assert os.listdir(tmp_path) == ["x.safetensors"]
    file = io.BytesIO()
    al.save_checkpoint(file, **VALUES)
    assert same(al.load_checkpoint(io.BytesIO(file.getvalue()))["ints"], VALUES["ints"])


def test_files_are_readable_by_others(tmp_path):
    path = tmp_path / "x.safetensors"
    al.save_checkpoint(path, model=Holder(weight=al.ones(2, dtype="float16")), step=1)
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header["model.weight"]["dtype"] == "F16" and header["model.weight"]["shape"] == [2]
    assert header["__metadata__"]["format"] == "allotrope checkpoint"


def test_objects_of_all_kinds(tmp_path):
    path = tmp_path / "x.safetensors"

    def build(fill):
        made = {
            "model": Holder(weight=al.full((2,), fill), count=int(fill)),
            "optimizer": [Holder(rate=fill), Holder(rate=-fill)],
            "scheduler": {"warm": Holder(step=int(fill)), "cold": Holder(step=-int(fill))},
            "generator": {"a": al.Generator().manual_seed(int(fill)), "b": al.Generator()},
            "scaler": al.amp.GradScaler(init_scale=2.0**fill),
            "average": Holder(weight=al.full((2,), -fill)),
            "pair": [Holder(x=fill), Holder(x=None)],
        }
        made["generator"]["b"].manual_seed(5).set_offset(int(fill))
        return made

    one, other = build(3.0), build(4.0)
    al.save_checkpoint(path, **one, epoch=2)
    assert al.load_checkpoint(path, **other) == {"epoch": 2}
    assert same(other["model"].state, one["model"].state)
    assert [one.state for one in other["optimizer"]] == [{"rate": 3.0}, {"rate": -3.0}]
    assert other["scheduler"]["cold"].state == {"step": -3}
    assert other["generator"]["a"].initial_seed() == 3 and other["generator"]["b"].get_offset() == 3
    assert other["scaler"].get_scale() == 8.0
    assert same(other["average"].state, one["average"].state)
    assert [one.state for one in other["pair"]] == [{"x": 3.0}, {"x": None}]
    # Some of them; the states of others that nobody takes are among the values.
    third = build(5.0)
    extras = al.load_checkpoint(path, model=third["model"])
    assert same(
        extras, {"epoch": 2, "average": one["average"].state, "pair": [{"x": 3.0}, {"x": None}]}
    )
    assert third["optimizer"][0].state == {"rate": 5.0}


def test_tensors_as_objects(tmp_path):
    path = tmp_path / "x.safetensors"
    weight = al.tensor([1.0, 2.0], requires_grad=True)
    al.save_checkpoint(path, model={"weight": weight})
    other = al.zeros(2, requires_grad=True)
    al.load_checkpoint(path, model={"weight": other})
    assert other.tolist() == [1.0, 2.0] and other.is_leaf and other.requires_grad


def test_random_states(tmp_path):
    path = tmp_path / "x.safetensors"

    def draw():
        return al.rand(3).tolist(), random.random(), random.gauss(0, 1), np.random.randn(3).tolist()

    draw()
    al.save_checkpoint(path)
    expected = draw()
    assert draw() != expected
    assert al.load_checkpoint(path) == {} and draw() == expected
    al.load_checkpoint(path, rng=False)
    assert draw() != expected


def holders():
    """Objects, and how to tell that they are as they were."""
    objects = {
        "model": Holder(weight=al.tensor([1.0, 2.0])),
        "optimizer": Holder(param_groups=[{"params": [0], "lr": 0.1}]),
        "loader": al.data.DataLoader(range(4), 1, True, generator=al.Generator().manual_seed(1)),
        "generator": al.Generator().manual_seed(7),
    }
    next(iter(objects["loader"]))
    return objects


def states(objects):
    return {
        name: one.get_state() if name == "generator" else one.state_dict()
        for name, one in objects.items()
    }


def as_text(objects):
    return repr(states(objects)), al.get_rng_state().tolist(), random.getstate()[1][:5]


REFUSED = {
    "a tensor is missing": (
        {"model": Holder(other=al.ones(2))},
        ValueError,
        "model in .* does not fit: no weight; other, which the model lacks",
    ),
    "a shape": (
        {"model": Holder(weight=al.ones(3))},
        ValueError,
        r"model .* weight has shape \[3\]; \[2\] here",
    ),
    "a dtype": (
        {"model": Holder(weight=al.ones(2, dtype="float64"))},
        TypeError,
        "model .* weight has dtype float64; float32 here .*hint",
    ),
    "no tensor": (
        {"model": Holder(weight=3)},
        ValueError,
        "model .* weight is no tensor there, but int",
    ),
    "groups": (
        {"optimizer": Holder(param_groups=[{"params": [0, 1]}])},
        ValueError,
        r"optimizer .* groups of \[2\] parameters; \[1\] here",
    ),
    "the length of the dataset": (
        {"loader": al.data.DataLoader(range(5), generator=al.Generator())},
        ValueError,
        "loader .* lengths differ: saved with 5 samples; this dataset has 4",
    ),
    "several": (
        {"model": [Holder(weight=al.ones(2))]},
        ValueError,
        "model .* is a list of 1; one object was given",
    ),
    "a generator": ({"generator": Holder(a=1)}, ValueError, "generator in .* does not fit"),
    "what the object finds": (
        {"optimizer": Holder(param_groups=[{"params": [0], "lr": 2.0}], refuse=True)},
        ValueError,
        "optimizer in .* does not fit: 'refused'",
    ),
    "no such part": (
        None,
        ValueError,
        "no scaler in .*; it has model, optimizer, loader, generator, epoch",
    ),
}


@pytest.mark.parametrize("name", list(REFUSED))
def test_what_does_not_fit_changes_nothing(name, tmp_path):
    changed, error, text = REFUSED[name]
    path = tmp_path / "x.safetensors"
    saved = holders()
    saved["model"].state["weight"] = al.tensor([5.0, 6.0])
    al.save_checkpoint(path, **{**saved, **(changed or {})}, epoch=1)
    objects = holders()
    if changed is None:
        objects["scaler"] = al.amp.GradScaler()
    before = as_text(objects)
    with pytest.raises(error, match="^load_checkpoint: " + text):
        al.load_checkpoint(path, **objects)
    assert as_text(objects) == before
    if name != "what the object finds":
        # It was seen before anything was loaded.
        assert objects["model"].loaded == objects["optimizer"].loaded == 0


def test_damaged_files(tmp_path):
    path, other = tmp_path / "x.safetensors", tmp_path / "damaged.safetensors"
    objects = holders()
    al.save_checkpoint(path, **objects, epoch=123456, note="some text")
    data = path.read_bytes()
    before = as_text(objects)
    chance = random.Random(1)
    places = [chance.randrange(len(data)) for _ in range(150)] + [
        data.index(b"123456"),
        data.index(b"some text"),
    ]
    for place in places:
        damaged = bytearray(data)
        damaged[place] ^= 1 << chance.randrange(7)
        other.write_bytes(damaged)
        try:
            extras = al.load_checkpoint(other, **objects)
        except (OSError, TypeError, ValueError) as error:
            assert "load_checkpoint:" in str(error) and "damaged.safetensors" in str(error)
            assert as_text(objects) == before
        else:
            # Whatever it was, it changed nothing: white space, or the order of the header.
            assert extras == {"epoch": 123456, "note": "some text"}
            assert as_text(objects)[0] == before[0]
    for end in (0, 1, 7, 8, 100, len(data) // 2, len(data) - 1):
        other.write_bytes(data[:end])
        with pytest.raises(OSError, match="^load_checkpoint: damaged file: .*damaged.safetensors"):
            al.load_checkpoint(other, **objects)


def test_other_files(tmp_path):
    path = tmp_path / "x.safetensors"
    al.save({"weight": al.ones(2)}, path)
    with pytest.raises(OSError, match="not a checkpoint: .*x.safetensors.*hint: al.load"):
        al.load_checkpoint(path)
    al.save(al.ones(2), tmp_path / "x.npy")
    with pytest.raises(OSError, match="not a checkpoint: .*x.npy"):
        al.load_checkpoint(tmp_path / "x.npy")
    al.save({"__checkpoint__": {"version": 2}}, path)
    with pytest.raises(OSError, match="a checkpoint of version 2"):
        al.load_checkpoint(path)
    al.save({"__checkpoint__": {"version": 1, "forms": {"model": "one"}}}, path)
    with pytest.raises(OSError, match="damaged file: .* no extra, rng, model"):
        al.load_checkpoint(path)
    with pytest.raises(FileNotFoundError, match="^load_checkpoint: no access to the file"):
        al.load_checkpoint(tmp_path / "nothing")


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "x.safetensors"
    al.save_checkpoint(path, epoch=1)
    loop = []
    loop.append(loop)
    refusals = [
        ({"x": [1, {"a": object()}]}, TypeError, r"x\[1\]\['a'\] of type object"),
        ({"model": 3}, TypeError, "model has no state: int"),
        ({"optimizer": [Holder(), 3]}, TypeError, "optimizer has no state: int"),
        ({"average": Holder(function=print)}, TypeError, r"average\['function'\] of type builtin"),
        ({"x": np.array(["text"])}, TypeError, "cannot be saved: x: "),
        ({"x": loop}, ValueError, "nested too deeply"),
        ({"__checkpoint__": 1}, ValueError, "not a free name"),
    ]
    for given, error, text in refusals:
        with pytest.raises(error, match="^save_checkpoint: .*" + text):
            al.save_checkpoint(path, **given)
        assert al.load_checkpoint(path) == {"epoch": 1}
    with pytest.raises(OSError, match="save_checkpoint: "):
        al.save_checkpoint(tmp_path / "no" / "such" / "folder", epoch=1)
