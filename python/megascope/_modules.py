"""Watched PyTorch modules. Uses PyTorch's global module hooks, so the modules themselves are not modified and can be copied and saved as
before. The state of watched modules is kept here."""

import inspect
import sys
import threading
import weakref

import torch
from torch.nn.modules import module as torch_module

from megascope import _gradients, _open
from megascope._table import hooks
from megascope._tensors import tensor
from megascope._annotations import number_of


def layer_of(name: str) -> "int | None":
    """The first numeric part of a name: 3 for "h.3.attn.weight"."""
    return next((int(part) for part in name.split(".") if part.isdecimal() and len(part) < 10), None)


class Watched:
    """A watched module: its names and regions. path: backward regions from the model's to its own."""

    __slots__ = ("key", "module", "name", "layer", "forward", "backward", "path", "parent_number", "has_gradients", "is_active")

    def __init__(self, module, name: str, parent: "Watched | None", prefix: str, has_gradients: bool) -> None:
        self.key = id(module)
        self.module = weakref.ref(module, self._module_is_gone)
        self.name = prefix + name if name else prefix[:-1] or "model"
        self.layer = layer_of(name)
        at = None if self.layer is None else _open.At(self.layer)
        both = (prefix + name, f"{prefix}{name} backward") if name else (f"{prefix[:-1]} forward".strip(), f"{prefix[:-1]} backward".strip())
        self.forward, self.backward = (_open.Place(number_of(region), at) for region in both)
        self.path = (*(parent.path if parent else ()), self.backward)
        self.parent_number = parent.forward.number if parent else 0
        _forward_numbers.add(self.forward.number)
        self.has_gradients = has_gradients
        self.is_active = True

    def _module_is_gone(self, _) -> None:
        forget(self)

    def show(self, kind: str, values) -> None:
        tensor(self.name, values.detach(), kind, self.layer)


_NEVER_CALLED = (torch.nn.ModuleList, torch.nn.ModuleDict, torch.nn.ParameterList, torch.nn.ParameterDict)

_CALL = torch.nn.Module._call_impl.__code__  # pylint: disable=protected-access
_ALWAYS = {"always_call": True}  # PyTorch 2: also called when an exception leaves the module
_TELLS_EXCEPTIONS = "always_call" in inspect.signature(torch_module.register_module_forward_hook).parameters

_watched: "dict[int, Watched]" = {}  # by the module's id
_forward_numbers: "set[int]" = set()
_handles: list = []
_lock = threading.RLock()  # reentrant: a module may be garbage-collected, which takes the lock, while it is held


def _first_tensor(values, depth: int = 3) -> "torch.Tensor | None":
    """The first tensor in the arguments or the result of a module."""
    if isinstance(values, torch.Tensor):
        return values
    if isinstance(values, dict):
        values = tuple(values.values())
    if depth and isinstance(values, (tuple, list)):
        for value in values[:8]:
            found = _first_tensor(value, depth - 1)
            if found is not None:
                return found
    return None


def _wants_gradients(watched: Watched, values) -> bool:
    """Whether these values can get a gradient."""
    return watched.has_gradients and values.requires_grad and torch.is_grad_enabled() and not torch.jit.is_tracing()


def _of(module) -> "Watched | None":
    watched = _watched.get(id(module))
    return watched if watched is not None and watched.module() is module else None


def _leave_failed(frame) -> None:
    """Leaves modules that were left by exceptions: those without a running frame, searched from `frame` outwards."""
    alive = set()
    while frame is not None:
        if frame.f_code is _CALL:
            watched = _of(frame.f_locals.get("self"))
            if watched is not None:
                alive.add(watched.forward.number)
        frame = frame.f_back
    _open.leave_dead(lambda number: number in _forward_numbers and number not in alive)


def _entering(module, arguments) -> None:
    watched = _of(module)
    if watched is None:
        return
    try:
        if watched.parent_number == 0:
            _gradients.forget_failed()
        around = _open.innermost()
        if around > 0 and around != watched.parent_number and not _TELLS_EXCEPTIONS:
            _leave_failed(sys._getframe(2))  # pylint: disable=protected-access
        watched.forward.enter()
        values = _first_tensor(arguments)
        if values is None:
            return
        if hooks.wants_tensor(None):
            watched.show("actv_in", values)
        if _wants_gradients(watched, values):
            _gradients.finish_at(watched, values)
    except Exception:  # pylint: disable=broad-except  # errors in watching must not affect the application
        pass


def _leaving(module, arguments, result) -> None:
    watched = _of(module)
    if watched is None:
        return
    try:
        watched.forward.leave()
        values = _first_tensor(result)
        if values is None:
            return
        if hooks.wants_tensor(None):
            watched.show("actv_out", values)
        if _wants_gradients(watched, values):
            _gradients.begin_at(watched, values)
    except Exception:  # pylint: disable=broad-except
        pass


def _parent_of(name: str, by_name: "dict[str, Watched]") -> "Watched | None":
    while name:
        name = name.rpartition(".")[0]
        if name in by_name:
            return by_name[name]
    return None


def remember(model, prefix: str, depth: "int | None", has_gradients: bool) -> "list[Watched]":
    """Watches a model and the modules in it. Not thread-safe for one model; several threads may watch several."""
    by_name: "dict[str, Watched]" = {}
    for name, module in model.named_modules():
        if isinstance(module, _NEVER_CALLED) or (depth is not None and name and name.count(".") >= depth):
            continue
        by_name[name] = Watched(module, name, _parent_of(name, by_name), prefix, has_gradients)
    with _lock:
        for watched in by_name.values():
            _watched[watched.key] = watched
        if not _handles:
            _open.begin_listing()
            _handles.append(torch_module.register_module_forward_pre_hook(_entering))
            _handles.append(torch_module.register_module_forward_hook(_leaving, **(_ALWAYS if _TELLS_EXCEPTIONS else {})))
    return list(by_name.values())


def forget(watched: Watched) -> None:
    """Stops watching the module, unless it has been watched again since."""
    with _lock:
        watched.is_active = False
        if _watched.get(watched.key) is watched:
            del _watched[watched.key]
        if not _watched:
            for handle in _handles:
                handle.remove()
            _handles.clear()
