"""Watching a model where libmegascope.so is not loaded: nothing is watched. `_watch.py` goes by this description."""

import typing


class Watch:
    """A model that is watched, until `remove()` or the end of a `with` block. Dropping this changes nothing."""

    def remove(self) -> None:
        """From now on nothing is told of the model, and its optimizer is as it was. May be called again, from any thread."""

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.remove()


def watch(model: object, optimizer: object = None, name: str = "", depth: "int | None" = None, backward: bool = True) -> Watch:
    """Tells how a PyTorch model trains; call it once, when model and optimizer are made.

    Regions: "forward" and "backward" of the model, "<name>" and "<name> backward" of each module in it, named as in
    `model.named_modules()`, with a layer where the name has a number in it ("h.3.attn"); "optimizer" around `optimizer.step`.
    Tensors, where somebody asked for them: of each module "<name>", kinds actv_in, actv_out, actv_grad_in, actv_grad_out (the first
    tensor of its arguments and of its result); of each parameter grad_reduced and weight before `optimizer.step`, weight_updated,
    exp_avg and exp_avg_sq after it.
    name: put before all names, where several models are watched. depth: modules so many levels down, 0 is the model alone.
    backward: whether to watch the backward pass, by hooks of the tensors that modules are given and return.
    optimizer: one, or several in a list.

    The model computes the same as without: its modules, parameters and results stay as they are, and nothing of it is kept alive.
    Wrappers (DistributedDataParallel) are looked through. What is no model of PyTorch is not watched; nothing is raised.
    """
    return Watch()
