"""Annotates the backward pass of watched modules with hooks on gradients. A module's region begins when the gradient of its result is
available, and ends when that of its argument is, or one of an enclosing module. Module backward hooks are not used: they would add
nodes to the graph and make in-place changes of results an error.

The hooks are on graph nodes, which are freed after the step, not on tensors, which the application may modify, save and register hooks
on. They refer to names and numbers, not to tensors, and return None, so gradients are unchanged.
"""

from torch.autograd import Variable

from megascope import _open
from megascope._table import hooks


def _after_this_backward(function) -> None:
    """Raises RuntimeError if the thread is not in a backward pass."""
    Variable._execution_engine.queue_callback(function)  # pylint: disable=protected-access  # as DistributedDataParallel does


def _nothing() -> None:
    pass


def _begin(watched, gradient) -> None:
    try:
        if not watched.is_active:
            return
        if not _open.is_in_backward():
            _after_this_backward(_open.end_backward)
            _open.begin_backward()
        _open.reach(watched.path)
        if gradient is not None and hooks.wants_tensor(None):
            watched.show("actv_grad_out", gradient)
    except Exception:  # pylint: disable=broad-except  # errors in watching must not affect the application
        pass


def _finish(watched, gradient) -> None:
    try:
        if not watched.is_active:
            return
        if gradient is not None and hooks.wants_tensor(None):
            watched.show("actv_grad_in", gradient)
        _open.finish(watched.backward)
    except Exception:  # pylint: disable=broad-except
        pass


def _hang(values, function, watched) -> None:
    """Calls function(watched, gradient) when the gradient of the current values is available. Not for leaves, whose hooks would persist,
    and not before PyTorch 1.13, which has no node hooks."""
    node = values.grad_fn
    if node is not None and hasattr(node, "register_prehook"):
        index = values.output_nr
        node.register_prehook(lambda gradients: function(watched, gradients[index]))


def begin_at(watched, values) -> None:
    """Begins the module's backward region, at the gradient of its result."""
    _hang(values, _begin, watched)


def finish_at(watched, values) -> None:
    """Ends the module's backward region, at the gradient of its argument."""
    _hang(values, _finish, watched)


def forget_failed() -> None:
    """Leaves the regions of a backward pass that was ended by an exception; except if a recomputing forward pass (checkpointing) is running
    inside it."""
    if _open.is_in_backward():
        try:
            _after_this_backward(_nothing)
        except RuntimeError:
            _open.leave_modules()
