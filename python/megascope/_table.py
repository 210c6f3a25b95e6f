"""The library's functions, where libmegascope.so is loaded into this process; else nothing.

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


class _Functions:
    """The table's functions, read out once: a field of a structure is made anew at each reading."""

    def __init__(self, table: _HooksTable) -> None:
        for name, _ in _HooksTable._fields_[1:]:
            setattr(self, name, getattr(table, name))


def _libraries():
    """Where the table may be: what is loaded, and else the library that is only named to NVTX, which opens it later, if ever."""
    yield None
    path = os.environ.get("NVTX_INJECTION64_PATH", "")
    if os.path.basename(path).startswith("libmegascope.so"):  # another tool's is left alone
        yield path


def _find():
    """The functions, or None: the library is not loaded, or is older than this package."""
    for library in _libraries():
        try:
            table = _HooksTable.in_dll(ctypes.CDLL(library), "megascope_hooks_v1")
        except (OSError, ValueError, TypeError):
            continue
        return _Functions(table) if table.size_bytes >= ctypes.sizeof(_HooksTable) else None
    return None


hooks = _find()


def encoded(name) -> bytes:
    """A name as the library takes it; empty, which it refuses, for what is no name."""
    if isinstance(name, str):
        return name.encode("utf-8", "backslashreplace")
    return name if isinstance(name, bytes) else b""


def whole(number, otherwise: int = -1) -> int:
    """A number as a C integer of 64 bits takes it; otherwise: for what is none, or does not fit."""
    try:
        value = int(number)
    except Exception:  # pylint: disable=broad-except  # whatever the program's own type raises
        return otherwise
    return value if -(1 << 63) <= value < 1 << 63 else otherwise
