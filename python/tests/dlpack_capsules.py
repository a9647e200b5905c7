"""DLPack by hand: a producer whose capsules can hold anything, and count their deletions."""

import ctypes
import types

NEW = ctypes.pythonapi.PyCapsule_New
NEW.restype = ctypes.py_object
NEW.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
NAME = ctypes.pythonapi.PyCapsule_GetName
NAME.restype, NAME.argtypes = ctypes.c_char_p, [ctypes.py_object]
POINTER = ctypes.pythonapi.PyCapsule_GetPointer
POINTER.restype, POINTER.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]

DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
OWN = object()


def name_of(capsule):
    return NAME(capsule)


class View(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class Legacy(ctypes.Structure):
    _fields_ = [("view", View), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("view", View),
    ]


def numbers(values):
    """A C array, or a null pointer for None."""
    return None if values is None else (ctypes.c_int64 * len(values))(*values)


class Producer:
    """An object with `__dlpack__` over an array; every field of its struct can be replaced."""

    def __init__(
        self, array, *, versioned=True, version=(1, 0), flags=0, data=OWN, device=(1, 0),
        capsule_device=None, rank=None, code=None, bits=None, lanes=1, sizes=OWN, strides=OWN,
        byte_offset=0, deleter=OWN, takes_keywords=True, moves=False,
    ):
        self.array, self.versioned, self.device = array, versioned, device
        self.takes_keywords, self.moves = takes_keywords, moves
        self.deleted, self.asked, self.capsule = 0, None, None
        code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[array.dtype.kind] if code is None else code
        sizes = list(array.shape) if sizes is OWN else sizes
        strides = [s // array.itemsize for s in array.strides] if strides is OWN else strides
        self.sizes, self.strides = numbers(sizes), numbers(strides)
        self.struct = Versioned() if versioned else Legacy()
        if versioned:
            self.struct.major, self.struct.minor = version
            self.struct.flags = flags
        self.callback = DELETER(self.delete)
        is_missing = deleter is None
        self.struct.deleter = None if is_missing else ctypes.cast(self.callback, ctypes.c_void_p)
        view = self.struct.view
        view.data = array.__array_interface__["data"][0] if data is OWN else data
        view.device_type, view.device_id = capsule_device or device
        view.rank = len(sizes) if rank is None else rank
        view.code, view.bits, view.lanes = code, bits or 8 * array.itemsize, lanes
        view.sizes = self.sizes and ctypes.cast(self.sizes, ctypes.POINTER(ctypes.c_int64))
        view.strides = self.strides and ctypes.cast(self.strides, ctypes.POINTER(ctypes.c_int64))
        view.byte_offset = byte_offset

    def delete(self, pointer):
        assert pointer == ctypes.addressof(self.struct)
        self.deleted += 1

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **keywords):
        if keywords and not self.takes_keywords:
            raise TypeError("no keywords")
        self.asked = keywords
        if self.moves:
            self.struct.view.device_type, self.struct.view.device_id = keywords["dl_device"]
        name = b"dltensor_versioned" if self.versioned else b"dltensor"
        # PyCapsule_New keeps the address of its name.
        self.name = ctypes.c_char_p(name)
        self.capsule = NEW(ctypes.addressof(self.struct), self.name, None)
        return self.capsule

    @staticmethod
    def describe(capsule):
        """What a capsule of the new form says."""
        struct = Versioned.from_address(POINTER(capsule, b"dltensor_versioned"))
        view = struct.view
        fields = {name: getattr(view, name) for name, _ in View._fields_}
        fields |= {
            "sizes": view.sizes[: view.rank],
            "strides": view.strides[: view.rank],
            "flags": struct.flags,
            "version": (struct.major, struct.minor),
        }
        return types.SimpleNamespace(**fields)
