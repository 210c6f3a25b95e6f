"""`watch()` for processes where libmegascope.so is not loaded: a no-op. It also documents the function in `_watch.py`."""


class Watch:
    """A watched model, until `remove()` or the end of a `with` block. Deleting the object does not stop watching."""

    def remove(self) -> None:
        """Stops watching and restores the optimizer. Idempotent; any thread."""

    def __enter__(self) -> "Watch":
        return self

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        self.remove()


def watch(model: object, optimizer: object = None, name: str = "", depth: "int | None" = None, backward: bool = True) -> Watch:
    """Annotates the training of a PyTorch model automatically. Call it once, after creating model and optimizer.

    Regions: "forward" and "backward" of the model, "<name>" and "<name> backward" of each module in it, named as in
    `model.named_modules()`, with a layer if the name contains a number ("h.3.attn"); "optimizer" around `optimizer.step`.
    Tensors, if requested: for each module "<name>", kinds actv_in, actv_out, actv_grad_in, actv_grad_out (the first
    tensor of its arguments and of its result); for each parameter grad_reduced and weight before `optimizer.step`, weight_updated,
    exp_avg and exp_avg_sq after it.
    name: prefix of all names, for programs with several models. depth: number of module levels to watch; 0: only the model.
    backward: whether to watch the backward pass, by hooks on arguments and results of modules.
    optimizer: one, or a list of several.

    The model's results do not change; modules and parameters are not modified, and no reference keeps them alive.
    Wrappers (DistributedDataParallel) are unwrapped. An object that is not a PyTorch model is ignored; no exception is raised.
    """
    return Watch()
