"""The memory of a PyTorch tensor. Nothing is copied, moved between devices, or synchronized."""

import torch

from megascope._elements import BFLOAT16, NO_TYPE, Elements

_TYPES = {torch.float64: 0, torch.float32: 1, torch.float16: 2, torch.bfloat16: BFLOAT16, torch.int8: 4, torch.int16: 5, torch.int32: 6,
          torch.int64: 7, torch.uint8: 8, torch.bool: 8}


def elements_of(tensor: torch.Tensor) -> Elements:
    """None for tensors that are not strided, or whose memory differs from their values (conjugate or negative bit)."""
    device = tensor.device.type
    if tensor.layout is not torch.strided or device not in ("cpu", "cuda") or tensor.is_neg() or tensor.is_conj():
        return NO_TYPE
    stream = torch.cuda.current_stream(tensor.device).cuda_stream if device == "cuda" else None
    return Elements(tensor.data_ptr(), _TYPES.get(tensor.dtype, -1), tuple(tensor.shape), tensor.stride(), device == "cuda", stream, tensor)
