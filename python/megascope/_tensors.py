"""Converts tensors of any library to the C view: address, shape, strides and type, valid during one call.

An unsupported tensor is passed on with an invalid type, so that the library rejects and counts it and provides the reason.
"""

import ctypes
import sys

from megascope import _buffers
from megascope._elements import NO_TYPE, Elements
from megascope._table import MAX_BLOCKS, MAX_DIMENSIONS, NOWHERE, TensorView, encoded, hooks, whole

KINDS = {name: number for number, name in enumerate((
    "weight", "weight_updated", "grad_unreduced", "grad_reduced", "actv_in", "actv_out", "actv_grad_in", "actv_grad_out", "exp_avg",
    "exp_avg_sq", "input_tokens", "other"))}


def _int32(number, otherwise: int = -1) -> int:
    value = whole(number, otherwise)
    return value if -(1 << 31) <= value < 1 << 31 else otherwise


def _kind_of(kind) -> int:
    try:
        return KINDS.get(kind, -1)
    except Exception:  # pylint: disable=broad-except  # unhashable, for example a list
        return -1


def _elements_of(values) -> Elements:
    """The memory of `values`, by the first protocol that they support."""
    if isinstance(values, (bool, int, float)):
        return _buffers.of_number(values)
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(values, torch.Tensor):
        from megascope import _torch_tensor  # pylint: disable=import-outside-toplevel  # only if the application uses PyTorch
        return _torch_tensor.elements_of(values)
    for attribute, read in _buffers.WAYS:
        if attribute is None or hasattr(values, attribute):
            return read(values)
    return NO_TYPE


def _show(name, elements: Elements, kind, layer, micro_batch, split, blocks, split_group) -> None:
    dimensions = len(elements.shape)
    view = TensorView(
        size_bytes=ctypes.sizeof(TensorView), name=encoded(name), kind=_kind_of(kind), dtype=elements.dtype,
        layer=NOWHERE if layer is None else _int32(layer), micro_batch=NOWHERE if micro_batch is None else _int32(micro_batch),
        data=elements.address, is_on_device=elements.is_on_device, stream=elements.stream, dimensions=dimensions)
    if dimensions <= MAX_DIMENSIONS:
        view.shape[:dimensions] = elements.shape
        if elements.strides is not None:
            view.strides = (ctypes.c_int64 * MAX_DIMENSIONS)(*elements.strides)
    if split is not None:
        view.is_split, view.split_dimension = 1, _int32(split)
        view.split_group = encoded(split_group) or None
    for index, block in enumerate(blocks):
        view.blocks[min(index, MAX_BLOCKS - 1)] = _int32(block) if index < MAX_BLOCKS else -1
    hooks.tensor(ctypes.addressof(view))


def tensor(name, values, kind="other", layer=None, micro_batch=None, split=None, blocks=(), split_group=None):
    if not hooks.wants_tensor(None) or not hooks.wants_tensor(encoded(name)):
        return
    try:
        elements = _elements_of(values)
    except Exception:  # pylint: disable=broad-except  # libraries may raise anything for unsupported tensors
        elements = NO_TYPE
    try:
        _show(name, elements, kind, layer, micro_batch, split, blocks, split_group)
    except Exception:  # pylint: disable=broad-except  # arguments that are not numbers
        _show(name, NO_TYPE, kind, None, None, None, (), None)
