"""Access to arrays through the exchange protocols of Python: array interface, buffer protocol, DLPack. Only addresses and shapes are
read; nothing is copied. Each function passes exceptions of the array's library on, and raises ValueError for unsupported arrays.
"""

import ctypes

from megascope._elements import BFLOAT16, Elements, dtype_of, whole_strides


def of_number(value) -> Elements:
    kept = ctypes.c_double(value)
    return Elements(ctypes.addressof(kept), 0, (), keep=kept)


def _of_interface(values, interface, is_on_device: bool) -> Elements:
    text = interface["typestr"]
    size_bytes = int(text[2:])
    dtype = dtype_of(text[0], text[1], size_bytes)
    if size_bytes == 2 and getattr(getattr(values, "dtype", None), "name", "") == "bfloat16":  # NumPy has no such type
        dtype = BFLOAT16
    stream = interface.get("stream") if is_on_device else None
    return Elements(interface["data"][0], dtype, tuple(interface["shape"]), whole_strides(interface.get("strides"), max(size_bytes, 1)),
                    is_on_device, stream, interface)


def of_array(values) -> Elements:
    """numpy.ndarray and compatible arrays."""
    return _of_interface(values, values.__array_interface__, False)


def of_device_array(values) -> Elements:
    """CuPy, Numba."""
    return _of_interface(values, values.__cuda_array_interface__, True)


class _Buffer(ctypes.Structure):
    """Py_buffer"""

    _size = ctypes.c_ssize_t
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.c_void_p), ("len", _size), ("itemsize", _size), ("readonly", ctypes.c_int),
                ("ndim", ctypes.c_int), ("format", ctypes.c_char_p), ("shape", ctypes.POINTER(_size)),
                ("strides", ctypes.POINTER(_size)), ("suboffsets", ctypes.POINTER(_size)), ("internal", ctypes.c_void_p)]


def of_buffer(values) -> Elements:
    """bytes, array.array, memoryview; also read-only ones."""
    shown = memoryview(values)
    code = shown.format
    order, letter = (code[0], code[1:]) if code[:1] in "<>=@!" else ("@", code)
    kind = "f" if letter in ("e", "f", "d") else "i" if letter in tuple("bhilqn") else "u" if letter in tuple("BHILQN?") else "V"
    buffer = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(shown), ctypes.byref(buffer), _STRIDED)
    address = buffer.buf or 0
    ctypes.pythonapi.PyBuffer_Release(ctypes.byref(buffer))
    return Elements(address, dtype_of(order, kind, shown.itemsize), shown.shape, whole_strides(shown.strides, shown.itemsize), keep=shown)


_STRIDED = 0x18  # PyBUF_STRIDES


class _DlTensor(ctypes.Structure):
    """DLTensor, the first member of DLManagedTensor."""

    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DL_HOST = (1, 3, 13)  # kDLCPU, kDLCUDAHost, kDLCUDAManaged
_DL_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}
_DL_BFLOAT = 4

_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", ctypes.pythonapi))


def of_dlpack(values) -> Elements:
    """Arrays that support DLPack: JAX, TensorFlow, CuPy."""
    capsule = values.__dlpack__()
    shown = _DlTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    if shown.lanes != 1:
        raise ValueError("vector elements are not supported")
    dtype = dtype_of("=", _DL_KINDS.get(shown.code, "V"), shown.bits // 8)
    if shown.code == _DL_BFLOAT and shown.bits == 16:
        dtype = BFLOAT16
    strides = tuple(shown.strides[: shown.ndim]) if shown.strides else None
    return Elements((shown.data or 0) + shown.byte_offset, dtype, tuple(shown.shape[: shown.ndim]), strides,
                    shown.device_type not in _DL_HOST, None, capsule)


# The attribute that an array has if the protocol is supported (None: try it), and the function.
WAYS = (("__cuda_array_interface__", of_device_array), ("__array_interface__", of_array), ("__dlpack__", of_dlpack), (None, of_buffer))
