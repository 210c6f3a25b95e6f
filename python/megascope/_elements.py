"""The memory of a tensor, independent of the library that owns it."""

import sys
import typing


class Elements(typing.NamedTuple):
    """address: of the element with all indices 0. dtype: megascope_dtype. strides: in elements; None: contiguous, row-major. keep: an
    object that must stay alive while the address is used."""

    address: int
    dtype: int
    shape: "tuple[int, ...]"
    strides: "tuple[int, ...] | None" = None
    is_on_device: bool = False
    stream: "int | None" = None
    keep: object = None


NO_TYPE = Elements(0, -1, ())

BFLOAT16 = 3
# By kind and size, as in NumPy type strings; booleans are read as uint8.
_TYPES = {"f8": 0, "f4": 1, "f2": 2, "i1": 4, "i2": 5, "i4": 6, "i8": 7, "u1": 8, "u2": 9, "u4": 10, "u8": 11, "b1": 8}
_FOREIGN = ">" if sys.byteorder == "little" else "<"


def dtype_of(order: str, kind: str, size_bytes: int) -> int:
    """The megascope_dtype; -1: none. order: '<', '>', '=', '@' or '|'."""
    if size_bytes > 1 and order in (_FOREIGN, "!"):
        return -1
    return _TYPES.get(f"{kind}{size_bytes}", -1)


def whole_strides(strides_bytes, size_bytes: int) -> "tuple[int, ...] | None":
    """Strides in elements. Raises ValueError if a stride is not a multiple of the element size."""
    if strides_bytes is None:
        return None
    if any(stride % size_bytes for stride in strides_bytes):
        raise ValueError("strides are not multiples of the element size")
    return tuple(stride // size_bytes for stride in strides_bytes)
