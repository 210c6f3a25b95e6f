"""Watched PyTorch optimizers. The `step` attribute of the object is replaced by a wrapper, as learning rate schedulers do."""

import functools
import weakref

from megascope import _open
from megascope._modules import layer_of
from megascope._table import hooks
from megascope._tensors import tensor
from megascope._annotations import number_of

_MOMENTS = ("exp_avg", "exp_avg_sq")


class Step:
    """The wrapper of `optimizer.step`. Has the attributes of a bound method that schedulers use. Refers weakly to the optimizer, which owns
    it."""

    def __init__(self, optimizer, names: "dict[int, str]", region: str) -> None:
        place = _open.Place(number_of(region), None)
        inner = optimizer.__dict__.get("step")  # of a scheduler, which holds the optimizer weakly too, or of another watch
        self.marks = inner.marks if isinstance(inner, Step) else dict(vars(inner or type(optimizer).step))
        self.__dict__.update(self.marks)  # of schedulers that have been here
        self._optimizer = weakref.ref(optimizer)
        self.inner = inner
        self.is_active = True

        def step(optimizer, *arguments, **named):
            call = inner or functools.partial(type(optimizer).step, optimizer)
            if not self.is_active:
                return call(*arguments, **named)
            place.enter()
            try:
                _show_before(optimizer, names)
                result = call(*arguments, **named)
                _show_after(optimizer, names)
                return result
            finally:
                place.leave()

        functools.update_wrapper(step, type(optimizer).step, updated=())
        self.__func__ = step

    @property
    def __self__(self):
        return self._optimizer()

    def __call__(self, *arguments, **named):
        return self.__func__(self._optimizer(), *arguments, **named)

    def remove(self) -> None:
        """Removes the wrapper from the optimizer; if a scheduler has wrapped it since, only disables it."""
        self.is_active = False
        optimizer = self._optimizer()
        if optimizer is not None and optimizer.__dict__.get("step") is self:
            if self.inner is None:
                del optimizer.__dict__["step"]
            else:
                optimizer.step = self.inner


def _parameters(optimizer, names):
    """(name, parameter) for the parameters of the model."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            name = names.get(id(parameter))
            if name is not None:
                yield name, parameter


def _show_before(optimizer, names) -> None:
    if not hooks.wants_tensor(None):
        return
    try:
        for name, parameter in _parameters(optimizer, names):
            layer = layer_of(name)
            if parameter.grad is not None:
                tensor(name, parameter.grad, "grad_reduced", layer)
            tensor(name, parameter.detach(), "weight", layer)
    except Exception:  # pylint: disable=broad-except  # errors in watching must not affect the application
        pass


def _show_after(optimizer, names) -> None:
    if not hooks.wants_tensor(None):
        return
    try:
        for name, parameter in _parameters(optimizer, names):
            layer = layer_of(name)
            tensor(name, parameter.detach(), "weight_updated", layer)
            state = optimizer.state.get(parameter, {})
            for kind in _MOMENTS:
                if kind in state:
                    tensor(name, state[kind], kind, layer)
    except Exception:  # pylint: disable=broad-except
        pass


def watch_step(optimizer, model, prefix: str) -> Step:
    """Watches the steps of an optimizer for the model's parameters."""
    names = {id(parameter): prefix + name for name, parameter in model.named_parameters()}
    step = Step(optimizer, names, f"{prefix[:-1]} optimizer".strip())
    optimizer.step = step
    return step
