"""What a program can tell, where libmegascope.so is not loaded: nothing happens. These are the signatures and the descriptions; the
functions of `_told.py` go by them.

All of them: any thread, any time, also in a forked child. Nothing is raised, printed or ended by what they are given: what cannot be
recorded is passed over and counted, the report tells how often, and `last_error()` why.
"""

import typing

Name = typing.Union[str, bytes]
Function = typing.TypeVar("Function", bound=typing.Callable[..., typing.Any])


class Scope:
    """What a `with` block lies in, or each call of a function that is decorated with it. May be used again and inside of itself."""

    __slots__ = ()

    def __enter__(self) -> "Scope":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        pass

    def __call__(self, function: Function) -> Function:
        """The function, inside of this. One whose body runs later (a generator, a coroutine) is left as it is."""
        return function


NOTHING = Scope()


def region(name: Name, layer: "int | None" = None, micro_batch: "int | None" = None, chunk: "int | None" = None) -> Scope:
    """A stretch of time with a name: `with region("forward"):`, or `@region("load")` before a function. Regions nest.

    layer: of the whole model, from 0. micro_batch: in the step, from 0. chunk: of the model, in a pipeline whose stages have several.
    """
    return NOTHING


def step(number: int) -> Scope:
    """An iteration of the program: `with step(i):`. number: 0 or more, counting up, the same on all ranks."""
    return NOTHING


def step_begin(number: int) -> None:
    """As entering `step(number)`, where a block does not fit. A step that is still open ends where the next one begins."""


def step_end() -> None:
    """The step that the calling thread is in ends."""


def counter(name: Name, value: float, unit: "Name | None" = None) -> None:
    """Something has this value from now on. unit: "B", "ms"; the first one told of a name counts."""


def mark(name: Name) -> None:
    """A moment with a name."""


def group(name: Name, index: "int | None" = None, size: "int | None" = None, comm: object = None) -> bool:
    """This process's place in one dimension of a parallel program: "dp", "tp", "pp" or any other name of letters, digits, '-' and
    '_'. index: 0 to size - 1. comm: tells both, a communicator of mpi4py or a group of torch.distributed; nothing is sent. Processes
    that differ in this index only are a group. False: refused, or nothing is recorded.
    """
    return False


def groups(layout: Name) -> bool:
    """The same for all dimensions, from the process's rank: "tp=2+pp=2+dp=2+order=tp-dp-pp", as MEGASCOPE_PARALLEL. The dimension
    named first in `order` changes fastest with the rank; without it the order is as written.
    """
    return False


def tensor(name: Name, values: object, kind: str = "other", layer: "int | None" = None, micro_batch: "int | None" = None,
           split: "int | None" = None, blocks: "typing.Sequence[int]" = (), split_group: "Name | None" = None) -> None:
    """The program shows a tensor, which is looked at before this returns; nothing of it is kept, copied or waited for.

    values: anything with elements that are numbers: a PyTorch tensor, a NumPy array, what has `__array_interface__`,
    `__cuda_array_interface__`, the buffer protocol or `__dlpack__`, or a number. Any strides, up to 8 dimensions; float64, float32,
    float16, bfloat16, integers of 8 to 64 bits, booleans (as uint8). Anything else is refused.
    name: tells what it is, the same in every step. kind: weight, weight_updated, grad_unreduced, grad_reduced, actv_in, actv_out,
    actv_grad_in, actv_grad_out, exp_avg, exp_avg_sq, input_tokens or other.
    split: the dimension along which it is split; split_group: over which group of ranks, in its order: "tp" if not told, "dp" of
    an optimizer's state that replicas share among them, or any other name that `group` was told. blocks: what that dimension of the whole is
    made of, where each block is split by itself: (32, 8, 8) of Q|K|V with 32 heads that share 8 of keys and values.
    Where nobody has asked for tensors (MEGASCOPE_TENSORS, MEGASCOPE_TRACE=full) `values` is not touched.
    """


def wants_tensor(name: Name) -> bool:
    """Would `tensor(name, ...)` be recorded or looked at now? For those to whom it is dear to have one to show."""
    return False


def is_recording() -> bool:
    """Is what the calling thread tells recorded now?"""
    return False


def save() -> bool:
    """Brings what has been recorded so far to the file, which matters only where that is on a network: elsewhere it survives the
    program's end at any moment. False: nothing is recorded.
    """
    return False


def last_error() -> str:
    """Why something that the calling thread told was last passed over; "" when nothing was."""
    return ""
