"""The backward pass of watched modules, by hooks where gradients come by: a module's begins when the gradient of its result is there,
and ends when that of its argument is, or a gradient of a module outside of it. Modules' own backward hooks would put nodes of their
own into the graph, and forbid the program to change results in place.

Hooks hang on the nodes of the graph, which goes with the step, and not on the tensors, which the program may change, save and hang
hooks of its own on. They hold names and numbers, no tensor, and return nothing: gradients stay as they are.
"""

from torch.autograd import Variable

from megascope import _open
from megascope._table import hooks


def _after_this_backward(function) -> None:
    """Raises RuntimeError where the thread is in no backward pass."""
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
    except Exception:  # pylint: disable=broad-except  # the program goes on, whatever is wrong with watching it
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
    """function(watched, gradient) is called when the gradient of the values, as they are now, is there. Of a leaf nothing is heard,
    since its hooks would last as long as it does; nor before PyTorch 1.13, which has no hooks of nodes."""
    node = values.grad_fn
    if node is not None and hasattr(node, "register_prehook"):
        index = values.output_nr
        node.register_prehook(lambda gradients: function(watched, gradients[index]))


def begin_at(watched, values) -> None:
    """The module's backward pass begins with the gradient of its result."""
    _hang(values, _begin, watched)


def finish_at(watched, values) -> None:
    """It ends with the gradient of its argument."""
    _hang(values, _finish, watched)


def forget_failed() -> None:
    """Leaves the regions of a backward pass that an exception has ended. Not those of one that a forward pass is part of, which
    computes again what was not kept."""
    if _open.is_in_backward():
        try:
            _after_this_backward(_nothing)
        except RuntimeError:
            _open.leave_modules()
