"""The functions of libmegascope.so, if it is loaded into this process; else None.

What the C side promises (megascope.h) holds for all of them: any thread, any time, nothing is thrown, printed or ended. Functions
that may take long give up the interpreter's lock; the others keep it, which is cheaper. ctypes checks the types of arguments:
who calls here converts them first.
"""

import ctypes
import os

_u32, _i64, _text, _int = ctypes.c_uint32, ctypes.c_int64, ctypes.c_char_p, ctypes.c_int
_short, _long = ctypes.PYFUNCTYPE, ctypes.CFUNCTYPE

MAX_DIMENSIONS = 8
MAX_BLOCKS = 4
NOWHERE = -1


class Where(ctypes.Structure):
    """megascope_where"""

    _fields_ = [("micro_batch", _i64), ("chunk", _i64), ("layer", _i64)]


class TensorView(ctypes.Structure):
    """megascope_tensor_view"""

    _fields_ = [
        ("size_bytes", ctypes.c_size_t), ("name", _text), ("kind", ctypes.c_int32), ("dtype", ctypes.c_int32),
        ("layer", ctypes.c_int32), ("micro_batch", ctypes.c_int32), ("data", ctypes.c_void_p), ("is_on_device", ctypes.c_int32),
        ("dimensions", ctypes.c_int32), ("shape", _i64 * MAX_DIMENSIONS), ("strides", ctypes.POINTER(_i64)),
        ("stream", ctypes.c_void_p), ("is_split", ctypes.c_int32), ("split_dimension", ctypes.c_int32),
        ("blocks", ctypes.c_int32 * MAX_BLOCKS), ("split_group", _text),
    ]


class _HooksTable(ctypes.Structure):
    """megascope_hooks_table"""

    _fields_ = [
        ("size_bytes", ctypes.c_size_t),
        ("region_define", _long(_u32, _text)),
        ("region_enter", _short(None, _u32)),
        ("region_leave", _short(None, _u32)),
        ("region_enter_at", _short(None, _u32, ctypes.c_void_p)),
        ("step_begin", _long(None, _i64)),
        ("step_end", _long(None)),
        ("counter_define", _long(_u32, _text, _text)),
        ("counter_set", _short(None, _u32, ctypes.c_double)),
        ("mark", _short(None, _u32)),
        ("group_set", _long(_int, _text, _int, _int)),
        ("groups_set", _long(_int, _text)),
        ("tensor", _long(None, ctypes.c_void_p)),
        ("is_recording", _short(_int)),
        ("save", _long(_int)),
        ("last_error", _short(_text)),
        ("wants_tensor", _short(_int, _text)),
        ("request_poll", _long(ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)),
        ("reply", _long(None, _text)),
    ]


# What functions return that the library does not have; the others return 0.
_ABSENT = {"group_set": -1, "groups_set": -1, "save": -1, "last_error": b""}


class _Functions:
    """The functions of the table, read once, because ctypes creates a new object at each access of a structure field. A function that
    the library does not have does nothing."""

    def __init__(self, table: _HooksTable) -> None:
        for name, _ in _HooksTable._fields_[1:]:
            function = getattr(table, name)
            setattr(self, name, function if function else self._absent(_ABSENT.get(name, 0)))

    @staticmethod
    def _absent(result):
        return lambda *arguments: result


def _libraries():
    """Libraries that may have the table: the loaded ones, else the library named for NVTX injection, which NVTX may load later."""
    yield None
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if os.path.basename(path).startswith("libmegascope.so"):  # not that of another tool
        yield path


def _common_entries(size_bytes: ctypes.c_size_t) -> _HooksTable:
    """The entries of a table that lie within the size that the library states, whole entries only; the others are null."""
    table = _HooksTable()
    count = min(size_bytes.value, ctypes.sizeof(table))
    ctypes.memmove(ctypes.addressof(table), ctypes.addressof(size_bytes), count - count % ctypes.sizeof(ctypes.c_void_p))
    return table


def _find():
    """The functions; None: the library is not loaded. Package and library may be of different versions, as in plugin/api/stub.c."""
    for library in _libraries():
        try:
            size_bytes = ctypes.c_size_t.in_dll(ctypes.CDLL(library), "megascope_hooks_v1")  # the first member of the table
        except (OSError, ValueError, TypeError):
            continue
        return _Functions(_common_entries(size_bytes))
    return None


hooks = _find()


def encoded(name) -> bytes:
    """The bytes of a name; empty (which the library rejects) if `name` is neither text nor bytes."""
    if isinstance(name, str):
        return name.encode("utf-8", "backslashreplace")
    return name if isinstance(name, bytes) else b""


def whole(number, otherwise: int = -1) -> int:
    """A number as a 64-bit integer; `otherwise` if it is not an integer or does not fit."""
    try:
        value = int(number)
    except Exception:  # pylint: disable=broad-except  # a type of the application may raise anything
        return otherwise
    return value if -(1 << 63) <= value < 1 << 63 else otherwise
