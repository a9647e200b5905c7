"""Files: every dtype through every format, other readers and writers, damage, and sudden death."""

import io
import json
import os
import pickle
import random
import struct
import subprocess
import sys
import time
import warnings
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
from reference import DTYPES, named

import allotrope as al


def sample(dtype, *sizes):
    """Elements with as many bit patterns as there are, NaN among them."""
    count = int(np.prod(sizes)) * dtype.itemsize
    data = np.arange(count, dtype=np.uint32) * 37 % (2 if dtype is al.bool else 251)
    return al.tensor(data.astype(np.uint8)).view(dtype).reshape(sizes)


def bytes_of(x):
    return x.contiguous().numpy().tobytes()


def assert_same(x, y):
    assert type(x) is type(y)
    if isinstance(x, al.Tensor):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        assert bytes_of(x) == bytes_of(y)
    elif isinstance(x, dict):
        assert list(x) == list(y)
        for key in x:
            assert_same(x[key], y[key])
    elif isinstance(x, (list, tuple)):
        assert len(x) == len(y)
        for one, other in zip(x, y, strict=True):
            assert_same(one, other)
    else:
        assert repr(x) == repr(y)


def read_safetensors(data):
    """The header and the bytes of each tensor, by the format's own words."""
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    elements = data[8 + length :]
    parts = {}
    for name, entry in header.items():
        if name != "__metadata__":
            start, end = entry["data_offsets"]
            parts[name] = elements[start:end]
    assert sum(map(len, parts.values())) == len(elements)
    return header, parts


def write_safetensors(entries, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, part) in entries.items():
        header[name] = {
            "dtype": dtype,
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(part)],
        }
        data += part
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("suffix", ["safetensors", "npz", "npy", "anything"])
@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_every_dtype_comes_back(dtype, suffix, tmp_path):
    path = tmp_path / f"x.{suffix}"
    shapes = [(2, 3), (), (0, 4), (1000,)]
    for shape in shapes if suffix == "npy" else [shapes]:
        if suffix == "npy":
            obj = sample(dtype, *shape)
        else:
            obj = {str(s): sample(dtype, *s) for s in shape}
        al.save(obj, path)
        assert_same(al.load(path), obj)
        assert_same(al.load(str(path), mmap=True), obj)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_other_readers_open_our_files(dtype, tmp_path):
    x = sample(dtype, 3, 4)
    views = {"plain": x, "turned": x.T, "broadcast": x[:1].expand(5, 4), "back": x.flip(0)}
    path = tmp_path / "x.safetensors"
    al.save(views, path)
    header, parts = read_safetensors(path.read_bytes())
    assert set(parts) == set(views)
    for name, view in views.items():
        shape = [*view.shape, 2] if dtype is al.complex128 else list(view.shape)
        assert header[name]["dtype"] == (dtype.safetensors_name or "F64")
        assert header[name]["shape"] == shape
        assert parts[name] == view.numpy().tobytes()
    assert ("__metadata__" in header) == (dtype is al.complex128)
    al.save(views, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as arrays:
        assert sorted(arrays.files) == sorted(views)
        for name, view in views.items():
            array = arrays[name]
            assert array.dtype.kind == "V" or array.dtype == dtype.numpy_dtype
            assert array.shape == view.shape
            assert array.tobytes() == view.numpy().tobytes()
    al.save(x, tmp_path / "x.npy")
    assert np.load(tmp_path / "x.npy").view(dtype.numpy_dtype).tobytes() == bytes_of(x)


@pytest.mark.parametrize("dtype", DTYPES, ids=named)
def test_files_of_numpy(dtype, tmp_path):
    array = sample(dtype, 3, 4).numpy()
    path = tmp_path / "x.npy"
    for given in (array, np.asfortranarray(array), array[0, 0], array[:0]):
        np.save(path, given)
        if given.dtype.str == "<V1":
            with pytest.raises(TypeError, match="no such dtype in the file .*'<V1'.*hint"):
                al.load(path)
            continue
        for mmap in (False, True):
            x = al.load(path, mmap=mmap)
            assert x.dtype is dtype and x.shape == given.shape
            assert x.numpy().tobytes() == given.tobytes()
    if array.dtype.kind in "iufc":
        np.save(path, array.astype(array.dtype.newbyteorder(">")))
        assert al.load(path).numpy().tobytes() == array.tobytes()
    if dtype.itemsize > 1:
        for write in (np.savez, np.savez_compressed):
            write(tmp_path / "x.npz", first=array, second=array.T)
            for mmap in (False, True):
                loaded = al.load(tmp_path / "x.npz", mmap=mmap)
                assert list(loaded) == ["first", "second"]
                assert loaded["first"].numpy().tobytes() == array.tobytes()
                assert loaded["second"].numpy().tobytes() == array.T.tobytes()


def test_plain_safetensors_of_others(tmp_path):
    path = tmp_path / "theirs.safetensors"
    # Unaligned elements, in another order than their names.
    path.write_bytes(
        write_safetensors(
            {
                "z": ("U8", [3], bytes(3)),
                "a": ("F64", [2], struct.pack("<2d", 1.5, -2.5)),
                "m": ("BF16", [1, 1], b"\x80\x3f"),
                "pair": ("F64", [1, 2], struct.pack("<2d", 3, 4)),
            },
            {"format": "pt"},
        )
    )
    for mmap in (False, True):
        loaded = al.load(path, mmap=mmap)
        assert list(loaded) == ["z", "a", "m", "pair"]
        assert loaded["a"].tolist() == [1.5, -2.5] and loaded["a"].dtype is al.float64
        assert loaded["m"].tolist() == [[1.0]] and loaded["m"].dtype is al.bfloat16
        assert loaded["pair"].tolist() == [[3.0, 4.0]]
    assert al.load_metadata(path) == {"format": "pt"}


NESTED = {
    "model": {"layer.0": {"weight": 1, "bias": 2}, "layer": {"0.weight": 4}},
    "optimizer": {"state": {0: {"step": 4, "momentum": 5}, -1: {}}, "groups": [{"lr": 0.1}]},
    "list": [6, (7, [], ()), None],
    "numbers": (True, False, 3, -(2**127), 2.5, float("inf"), float("nan"), -0.0, 1 - 2j, ""),
    "text \"\\\n\u00e9\U0001f600": "\x00\x1f",
    "__metadata__": 8,
    "": 9,
}


def with_tensors(obj):
    """The same with a tensor for every small integer from 1 on."""
    if isinstance(obj, dict):
        return {key: with_tensors(value) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        return type(obj)(with_tensors(value) for value in obj)
    if type(obj) is int and 0 < obj < 10 and obj != 3:
        return sample(DTYPES[obj], obj)
    return obj


def test_nested_values_come_back(tmp_path):
    obj = with_tensors(NESTED)
    path = tmp_path / "nested"
    al.save(obj, path, metadata={"author": "m\u00e9", "": "x"})
    assert_same(al.load(path), obj)
    assert_same(al.load(path, mmap=True), obj)
    assert al.load_metadata(path) == {"author": "m\u00e9", "": "x"}
    header, parts = read_safetensors(path.read_bytes())
    assert "model.layer.0.weight" in parts and "model.layer.0.weight#2" in parts
    assert len(parts) == 9 and "__metadata__" not in parts
    for plain in (al.ones(2), [al.ones(2)], (), {}, {3: al.ones(1)}, {"a": None}):
        al.save(plain, path)
        assert_same(al.load(path), plain)
    al.save(OrderedDict(b=al.ones(1), a=al.ones(2)), path)
    assert list(al.load(path)) == ["b", "a"]


def test_file_objects_and_paths(tmp_path):
    x = sample(al.bfloat16, 5)
    file = io.BytesIO()
    al.save({"x": x}, file)
    assert_same(al.load(io.BytesIO(file.getvalue())), {"x": x})
    with open(tmp_path / "x", "wb") as file:
        al.save(x, file)
    with open(tmp_path / "x", "rb") as file:
        assert_same(al.load(file), x)
    os.chdir(tmp_path)
    al.save(x, "relative.npy")
    assert_same(al.load(Path("relative.npy")), x)
    with pytest.raises(ValueError, match="load: mmap=True with a file object"):
        al.load(io.BytesIO(b""), mmap=True)
    array = io.BytesIO()
    np.save(array, x.numpy())
    assert_same(al.load(io.BytesIO(array.getvalue())), x)


def test_mapped_tensors_are_the_files_bytes(tmp_path):
    path = tmp_path / "x.safetensors"
    al.save({"x": al.zeros(1000, dtype="uint8")}, path)
    x = al.load(path, mmap=True)["x"]
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x07")
    # Zero-copy: the write is seen, which is why nobody may write.
    assert x[-1].item() == 7
    y = x + 1
    x += 1
    assert y[-1].item() == x[-1].item() == 8 and path.read_bytes()[-1] == 7
    x = al.load(path, mmap=True)["x"]
    al.save({"x": al.ones(3)}, path)
    assert x[-1].item() == 7 and x.shape == (1000,)


class Sub(tuple):
    pass


def itself():
    loop = []
    loop.append(loop)
    return loop


@pytest.mark.parametrize(
    "obj, name, error, message",
    [
        (np.ones(2), "x", TypeError, "save: cannot be saved: array([1., 1.]) of type ndarray; "
         "accepted are tensors, None, bool, int, float, complex and str, "
         "and dicts, lists and tuples of them"),
        ({"a": np.ones(1)}, "x", TypeError, None),
        ({"a": Sub()}, "x", TypeError, None),
        ({"a": object}, "x", TypeError, None),
        ({(1, 2): al.ones(1)}, "x", TypeError,
         "save: not a key: (1, 2) of type tuple; accepted are str and int"),
        ({True: al.ones(1)}, "x", TypeError, None),
        ({"a": 2**200}, "x", OverflowError, None),
        (itself(), "x", ValueError, "save: containers nested too deeply; "
         "fewer levels are accepted"),
        ({"a": al.ones(1)}, "x.npy", ValueError,
         "save: cannot be saved: something else than one tensor in an npy file; "
         "npz files hold a dict of tensors"),
        ({"a": {"b": al.ones(1)}}, "x.npz", ValueError, None),
        (al.ones(1), "no/folder/x", FileNotFoundError, None),
        (al.ones(1), ".", OSError, None),
        (al.ones(1), 3, TypeError,
         "save: not a path: 3 of type int; accepted are str, os.PathLike and binary file objects"),
    ],
    ids=str,
)  # fmt: skip
def test_refused_values(obj, name, error, message, tmp_path):
    os.chdir(tmp_path)
    with pytest.raises(error) as caught:
        al.save(obj, name)
    assert message is None or str(caught.value) == message
    assert os.listdir(tmp_path) == []


def test_refused_metadata(tmp_path):
    with pytest.raises(ValueError, match="metadata under \"allotrope\""):
        al.save(al.ones(1), tmp_path / "x", metadata={"allotrope": ""})
    with pytest.raises(TypeError, match="save: not metadata: 3 of type int; accepted are str"):
        al.save(al.ones(1), tmp_path / "x", metadata={"a": 3})
    with pytest.raises(ValueError, match="metadata in an npy or npz file"):
        al.save(al.ones(1), tmp_path / "x.npy", metadata={"a": "b"})


def test_refused_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="load: no access to the file: .*missing"):
        al.load(tmp_path / "missing")
    with pytest.raises(IsADirectoryError):
        al.load(tmp_path)
    with pytest.raises(RuntimeError, match="no such device"):
        al.load(tmp_path, device="tpu")
    path = tmp_path / "x"
    for name, obj in [("x", {"x": al.ones(3)}), ("x.npy", al.ones(3)), ("x.npz", {"x": al.ones(3)})]:
        al.save(obj, tmp_path / name)
        data = (tmp_path / name).read_bytes()
        for cut in [0, 1, 7, 8, 20, len(data) // 2, len(data) - 1]:
            path.write_bytes(data[:cut])
            for mmap in (False, True):
                with pytest.raises(OSError, match="load: damaged file: '.*x';"):
                    al.load(path, mmap=mmap)
    path.write_bytes(write_safetensors({"x": ("F6_E2M3", [4], bytes(3))}))
    with pytest.raises(TypeError, match="no such dtype in the file .*: F6_E2M3 of \"x\""):
        al.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(OSError, match="\"readme.txt\" that is no array"):
        al.load(path)
    np.save(path.with_suffix(".npy"), np.array([{}], dtype=object))
    with pytest.raises(TypeError, match=r"'\|O'"):
        al.load(path.with_suffix(".npy"))
    np.save(path.with_suffix(".npy"), np.zeros(2, dtype=[("a", "f4")]))
    with pytest.raises(OSError, match="not single numbers"):
        al.load(path.with_suffix(".npy"))


def test_damaged_contents_of_archives(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(1000))
    data = bytearray(path.read_bytes())
    rng = random.Random(5)
    refused = 0
    for _ in range(300):
        damaged = bytearray(data)
        damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        try:
            loaded = al.load(io.BytesIO(bytes(damaged)))
        except (OSError, TypeError):
            refused += 1
        else:
            # What a checksum covers is never wrong in silence.
            assert all(x.tolist() == list(range(1000)) for x in loaded.values())
    assert refused > 100


SAVE_FOR_EVER = """
import sys, allotrope as al
path, round = sys.argv[1], 0
while True:
    for number in (1, 2):
        al.save({"a": al.full((300_000,), number), "b": al.full((1000,), number)}, path)
        if round == 0:
            print("begun", flush=True)
        round += 1
"""


def test_a_killed_process_leaves_a_whole_file(tmp_path):
    path = tmp_path / "state.safetensors"
    rng = random.Random()
    for _ in range(6):
        saver = subprocess.Popen(
            [sys.executable, "-c", SAVE_FOR_EVER, str(path)], stdout=subprocess.PIPE
        )
        assert saver.stdout.readline() == b"begun\n"
        time.sleep(rng.uniform(0.0, 0.1))
        saver.kill()
        assert saver.wait() != 0
        saver.stdout.close()
        loaded = al.load(path)
        (number,) = set(loaded["b"].tolist())
        assert number in (1, 2) and loaded["a"].shape == (300_000,)
        assert (loaded["a"] == number).all().item()


def test_torch_names_of_arguments(tmp_path):
    path = tmp_path / "x.safetensors"
    al.save(obj=al.arange(3), f=path)
    assert al.load(f=path).tolist() == [0, 1, 2]
    assert al.load(path, "cpu", weights_only=True, mmap=None).tolist() == [0, 1, 2]
    assert al.load(path, map_location=al.device("cpu"), weights_only=False).tolist() == [0, 1, 2]
    with pytest.raises(RuntimeError, match="load: no such device"):
        al.load(path, map_location="cuda")
    with pytest.raises(TypeError, match="load: path is missing"):
        al.load()
    with pytest.raises(TypeError, match="save: an argument is given twice"):
        al.save(al.ones(1), path, f=path)


@pytest.mark.parametrize("name", ["m.pt", "m.pth", "m.pkl", "m.pickle"])
def test_a_name_of_a_pickle_is_warned_of(name, tmp_path):
    """What is written is safetensors, which the library reads and torch's load does not."""
    path = tmp_path / name
    with pytest.warns(UserWarning, match=r"save: not a pickle: .* is written as safetensors") as heard:
        al.save({"a": al.ones(2)}, path)
    assert [one.filename for one in heard] == [__file__] and ".safetensors)" in str(heard[0].message)
    assert al.load(path)["a"].tolist() == [1.0, 1.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning):
            al.save(al.zeros(1), path)
        for quiet in ("m.safetensors", "m", "m.bin"):
            al.save({"a": al.ones(2)}, tmp_path / quiet)
        al.save({"a": al.ones(2)}, io.BytesIO())
    # A warning that is made an error leaves the file as it was.
    assert al.load(path)["a"].tolist() == [1.0, 1.0]


def test_pickles_are_named(tmp_path):
    for protocol in range(2, 6):
        path = tmp_path / "plain"
        path.write_bytes(pickle.dumps({"weight": [1.0] * 100}, protocol=protocol))
        with pytest.raises(OSError, match="a pickle; files of torch.save.*save_file"):
            al.load(path)
    with zipfile.ZipFile(tmp_path / "model.zip", "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02}q\x00.")
    assert al.load(tmp_path / "model.zip") == {}
    # A header of 640 bytes begins with the same ones.
    entry = {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]}
    header = json.dumps({"x": entry}).encode().ljust(640)
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", len(header)) + header + bytes(range(3)))
    assert path.read_bytes()[:2] == b"\x80\x02"
    assert al.load(path)["x"].tolist() == [0, 1, 2]


def test_scalars_of_numpy_are_saved_as_numbers(tmp_path):
    given = {"best": np.float64(0.5), "low": np.float32(0.1), "epoch": np.int64(7), "done": np.bool_(True)}
    al.save(given, tmp_path / "x")
    loaded = al.load(tmp_path / "x")
    assert loaded == {"best": 0.5, "low": float(np.float32(0.1)), "epoch": 7, "done": True}
    assert [type(value) for value in loaded.values()] == [float, float, int, bool]
    with pytest.raises(TypeError, match="cannot be saved"):
        al.save({"when": np.datetime64("2020-01-01")}, tmp_path / "x")


@pytest.mark.parametrize("version", [(0, 0), (1, 1), (2, 7), (3, 1), (4, 0), (255, 255)])
def test_versions_of_npy_that_do_not_exist_are_refused(tmp_path, version):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(3))
    data = bytearray(path.read_bytes())
    data[6:8] = bytes(version)
    path.write_bytes(data)
    with pytest.raises(OSError, match=rf"npy of version {version[0]}\.{version[1]}"):
        al.load(path)
