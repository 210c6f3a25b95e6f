"""The annotation functions for processes where libmegascope.so is not loaded: no-ops. They also define the signatures and document
the functions in `_annotations.py`.

All functions: any thread, any time, also in a forked child. Invalid arguments raise no exception and print nothing: the call is
ignored and counted, the report shows the count, and `last_error()` returns the reason.
"""

import typing

Name = typing.Union[str, bytes]
Function = typing.TypeVar("Function", bound=typing.Callable[..., typing.Any])


class Scope:
    """A context manager that is also a function decorator. Reusable and reentrant."""

    __slots__ = ()

    def __enter__(self) -> "Scope":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        """Returns the function, wrapped in this scope. Generator functions and coroutines are returned unchanged."""
        return function


NOTHING = Scope()


def region(name: Name, layer: "int | None" = None, micro_batch: "int | None" = None, chunk: "int | None" = None) -> Scope:
    """A named time interval: `with region("forward"):`, or `@region("load")` before a function. Regions nest.

    layer: index in the whole model, from 0. micro_batch: index in the step, from 0. chunk: index of the model chunk, for pipeline stages
    with several chunks.
    """
    return NOTHING


def step(number: int) -> Scope:
    """An iteration of the application: `with step(i):`. number: >= 0, increasing, the same on all ranks."""
    return NOTHING


def step_begin(number: int) -> None:
    """Begins a step, for code where a `with` block does not fit. Ends the previous step if it is still open."""


def step_end() -> None:
    """Ends the current step of the calling thread."""


def counter(name: Name, value: float, unit: "Name | None" = None) -> None:
    """Sets a counter. unit: e.g. "B" or "ms"; only the first unit of a name is used."""


def mark(name: Name) -> None:
    """Records a named point in time."""


def group(name: Name, index: "int | None" = None, size: "int | None" = None, comm: object = None) -> bool:
    """Annotates this process's coordinate in one dimension of the process grid. Processes that differ only in this index form a group.

    name: "dp", "tp", "pp" or any other name of letters, digits, '-' and '_'. index: 0 to size - 1. comm: provides index and size
    instead; an mpi4py communicator or a torch.distributed group. No communication. Returns False if the call was rejected or nothing
    is recorded.
    """
    return False


def groups(layout: Name) -> bool:
    """Annotates the coordinates in all dimensions, computed from the rank: "tp=2+pp=2+dp=2+order=tp-dp-pp", as MEGASCOPE_PARALLEL.

    The first dimension in `order` varies fastest with the rank; the default is the order of the sizes. Returns as `group`.
    """
    return False


def tensor(name: Name, values: object, kind: str = "other", layer: "int | None" = None, micro_batch: "int | None" = None,
           split: "int | None" = None, blocks: "typing.Sequence[int]" = (), split_group: "Name | None" = None) -> None:
    """Shows a tensor. It is read before the function returns; no reference is kept, nothing is copied or synchronized.

    values: a PyTorch tensor, a NumPy array, an object with `__array_interface__`, `__cuda_array_interface__`, the buffer protocol or
    `__dlpack__`, or a number. Any strides, up to 8 dimensions; float64, float32, float16, bfloat16, integers of 8 to 64 bits, booleans
    (as uint8). Other types are rejected.
    name: identifies the tensor; use the same name in every step. kind: weight, weight_updated, grad_unreduced, grad_reduced, actv_in,
    actv_out, actv_grad_in, actv_grad_out, exp_avg, exp_avg_sq, input_tokens or other.
    split: the dimension along which the tensor is split. split_group: the group over whose ranks, in order, it is split: default "tp";
    "dp" for sharded optimizer state; or any other name passed to `group`. blocks: relative sizes of the parts of this dimension, if each
    part is split separately: (32, 8, 8) for Q|K|V with 32 query heads and 8 key and value heads.
    If no tensors are requested (MEGASCOPE_TENSORS, MEGASCOPE_TRACE=full), `values` is not accessed.
    """


def wants_tensor(name: Name) -> bool:
    """Whether `tensor(name, ...)` would use the tensor now. Use it to skip expensive preparation."""
    return False


def is_recording() -> bool:
    """Whether annotations of the calling thread are recorded now."""
    return False


def save() -> bool:
    """Flushes the trace to its file. Only needed on network file systems; on local ones the trace survives the end of the process at any
    time. Returns False if nothing is recorded.
    """
    return False


def last_error() -> str:
    """The reason why the latest annotation of the calling thread was ignored; "" if none was."""
    return ""
