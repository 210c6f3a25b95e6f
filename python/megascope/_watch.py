"""`watch()` for processes where the library is loaded. `_watch_silent.py` documents it. Imports PyTorch only if the application has."""

import sys

from megascope._watch_silent import Watch

_WRAPPERS = ("DistributedDataParallel", "DataParallel")


class _Watching(Watch):
    def __init__(self, modules: list, steps: list) -> None:
        self._modules = modules
        self._steps = steps

    def remove(self) -> None:
        from megascope import _modules  # pylint: disable=import-outside-toplevel
        for watched in self._modules:
            _modules.forget(watched)
        for step in self._steps:
            step.remove()


def watch(model, optimizer=None, name="", depth=None, backward=True):
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        return Watch()
    try:
        from megascope import _modules, _optimizers  # pylint: disable=import-outside-toplevel
        while type(model).__name__ in _WRAPPERS and isinstance(getattr(model, "module", None), torch.nn.Module):
            model = model.module
        prefix = f"{name}." if name else ""
        optimizers = optimizer if isinstance(optimizer, (list, tuple)) else [optimizer]
        modules = _modules.remember(model, prefix, depth, bool(backward))
        steps = [_optimizers.watch_step(one, model, prefix) for one in optimizers if isinstance(one, torch.optim.Optimizer)]
        return _Watching(modules, steps)
    except Exception:  # pylint: disable=broad-except  # the application continues, unwatched
        return Watch()
