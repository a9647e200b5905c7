"""A dtype is one object with several names."""

import copy
import pickle

import pytest

import allotrope as al
from reference import DTYPES, named

FAMILIES = [al.Int, al.UInt, al.Float, al.Complex]
each_dtype = pytest.mark.parametrize("dtype", DTYPES, ids=named)
each_family = pytest.mark.parametrize("family", FAMILIES, ids=named)


@each_dtype
def test_every_name_is_the_same_object(dtype):
    for name in (dtype.name, *dtype.aliases):
        assert getattr(al, name) is dtype
        assert al.dtype(name) is dtype
    assert al.dtype(dtype) is dtype


def test_names_do_not_collide():
    names = [name for d in DTYPES for name in (d.name, *d.aliases)]
    assert len(names) == len(set(names))


def test_torch_names():
    torch = {
        "half": "float16",
        "bf16": "bfloat16",
        "float": "float32",
        "double": "float64",
        "short": "int16",
        "int": "int32",
        "long": "int64",
        "cfloat": "complex64",
        "cdouble": "complex128",
    }
    assert {alias: getattr(al, alias).name for alias in torch} == torch


@each_dtype
def test_repr_and_str(dtype):
    assert repr(dtype) == f"allotrope.{dtype.name}"
    assert str(dtype) == f"{dtype}" == dtype.name


@each_dtype
def test_equality_and_hash_agree_with_the_name(dtype):
    assert dtype == dtype.name and dtype.name == dtype
    assert not dtype != dtype.name
    assert hash(dtype) == hash(dtype.name)
    assert {dtype: 1}[dtype.name] == 1
    assert {dtype.name: 1}[dtype] == 1
    assert len({dtype, dtype.name}) == 1
    for alias in dtype.aliases:
        assert dtype == alias and hash(dtype) != hash(alias), "a dict finds dtypes by their names alone"


@each_dtype
def test_equal_to_nothing_else(dtype):
    assert sum(dtype == other for other in DTYPES) == 1
    for other in (None, 3, 1.5, b"float32", object(), *FAMILIES):
        assert dtype != other
        assert dtype.__eq__(other) is NotImplemented
        assert dtype.__ne__(other) is NotImplemented


@pytest.mark.parametrize("singleton", DTYPES + FAMILIES, ids=named)
def test_pickle_and_copy_return_the_same_object(singleton):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(singleton, protocol)) is singleton
    assert copy.copy(singleton) is singleton
    assert copy.deepcopy({"key": [singleton]})["key"][0] is singleton


@each_dtype
def test_attributes_are_consistent(dtype):
    assert dtype.itemsize * 8 == dtype.bits
    kinds = {
        "bool": (False, False, False, False),
        "unsigned integer": (False, False, False, True),
        "signed integer": (False, False, True, True),
        "real floating": (True, False, True, False),
        "complex floating": (False, True, True, False),
    }
    flags = (dtype.is_floating_point, dtype.is_complex, dtype.is_signed, dtype.is_integer)
    assert flags == kinds[dtype.kind]
    narrow_float = dtype.is_floating_point and dtype.bits <= 16
    assert dtype.compute_dtype is (al.float32 if narrow_float else dtype)


@each_dtype
def test_real_and_complex_partners(dtype):
    assert not dtype.to_real().is_complex
    assert dtype.to_complex().is_complex
    if dtype.is_complex:
        assert dtype.to_complex() is dtype
        assert dtype.to_real().bits * 2 == dtype.bits
        assert dtype.to_real().to_complex() is dtype
    else:
        assert dtype.to_real() is dtype


def test_codes_of_other_systems_are_distinct():
    for attribute in ("dlpack_code", "safetensors_name", "triton_name", "wgsl_name"):
        codes = [getattr(d, attribute) for d in DTYPES]
        codes = [code for code in codes if code is not None]
        assert len(codes) == len(set(codes)), attribute
    assert al.bfloat16.dlpack_code == (4, 16)
    assert al.float8_e4m3fn.safetensors_name == "F8_E4M3"


def test_attributes_are_read_only():
    with pytest.raises(AttributeError):
        al.float32.name = "other"


@each_family
def test_family(family):
    assert repr(family) == f"allotrope.{family.name}"
    assert getattr(al, family.name) is family
    assert {family: 1}[family] == 1
    assert family.members == tuple(d for d in DTYPES if d.kind == family.kind)
    for dtype in DTYPES:
        assert (dtype in family) == (dtype.kind == family.kind)
        assert family != dtype and dtype != family
        if dtype in family:
            assert family.resolve(dtype) is dtype
        else:
            assert family.resolve(dtype) in family
    assert family.name != family


def test_family_defaults():
    assert al.Int.resolve() is al.Int.resolve("float32") is al.int64
    assert al.UInt.resolve() is al.UInt.resolve("int8") is al.uint64
    assert al.Float.resolve() is al.Float.resolve("int8") is al.float32
    assert al.Complex.resolve() is al.Complex.resolve("float16") is al.complex64
    assert al.Complex.resolve("int64") is al.complex64
    assert al.Complex.resolve("float64") is al.complex128
    with al.set_default_dtype("float64"):
        assert al.Float.resolve() is al.float64
        assert al.Complex.resolve() is al.complex128
        assert al.Float.resolve("float16") is al.float16
