"""The annotation functions for processes where libmegascope.so is loaded. `_silent.py` documents them."""

import functools
import inspect

from megascope import _open
from megascope._silent import Scope
from megascope._table import encoded, hooks, whole

_MOST_KEPT = 1 << 16  # limit of each cache: about the library's limit of region names
_NEVER_DEFINED = 0xFFFFFFFE  # a counter number that the library rejects and counts

_numbers: "dict[object, int]" = {}
_regions: "dict[object, _Annotation]" = {}
_counters: "dict[object, int]" = {}


def number_of(name) -> int:
    """The library's number of a region name; 0: none."""
    number = _numbers.get(name)
    if number is None:
        number = hooks.region_define(encoded(name))
        if len(_numbers) < _MOST_KEPT:
            _numbers[name] = number
    return number


class _Annotation(Scope):
    __slots__ = ()

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
            return function

        @functools.wraps(function)
        def inside(*arguments, **named):
            with self:
                return function(*arguments, **named)

        return inside


class _Region(_Annotation):
    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __enter__(self):
        _open.enter(self.number)
        return self

    def __exit__(self, kind, error, traceback):
        _open.leave(self.number)


class _RegionAt(_Annotation):
    __slots__ = ("number", "at")

    def __init__(self, number: int, at: _open.At) -> None:
        self.number = number
        self.at = at

    def __enter__(self):
        _open.enter_at(self.number, self.at.address)
        return self

    def __exit__(self, kind, error, traceback):
        _open.leave(self.number)


class _Step(_Annotation):
    __slots__ = ("step",)

    def __init__(self, number) -> None:
        self.step = number

    def __enter__(self):
        step_begin(self.step)
        return self

    def __exit__(self, kind, error, traceback):
        step_end()


def region(name, layer=None, micro_batch=None, chunk=None):
    try:
        is_plain = layer is None and micro_batch is None and chunk is None
        key = name if is_plain else (name, layer, micro_batch, chunk)
        found = _regions.get(key)
        if found is None:
            found = _Region(number_of(name)) if is_plain else _RegionAt(number_of(name), _open.At(layer, micro_batch, chunk))
            if len(_regions) < _MOST_KEPT:
                _regions[key] = found
        return found
    except Exception:  # pylint: disable=broad-except  # an invalid name may not be hashable
        return _Region(hooks.region_define(b""))


def step(number):
    return _Step(number)


def step_begin(number):
    _open.between_steps()
    hooks.step_begin(whole(number))


def step_end():
    _open.between_steps()
    hooks.step_end()


def counter(name, value, unit=None):
    try:
        number = _counters.get(name)
        if number is None:
            number = hooks.counter_define(encoded(name), encoded(unit))
            if len(_counters) < _MOST_KEPT:
                _counters[name] = number
        hooks.counter_set(number, float(value))
    except Exception:  # pylint: disable=broad-except  # __float__ and __hash__ may be the application's
        hooks.counter_set(_NEVER_DEFINED, 0.0)


def mark(name):
    try:
        hooks.mark(number_of(name))
    except Exception:  # pylint: disable=broad-except
        hooks.region_define(b"")


def _asked(comm, *names) -> int:
    """The value of the first of these attributes or methods that a communicator has."""
    for name in names:
        found = getattr(comm, name, None)
        if found is not None:
            return whole(found() if callable(found) else found)
    return -1


def group(name, index=None, size=None, comm=None):
    try:
        if comm is not None:
            index, size = _asked(comm, "rank", "Get_rank"), _asked(comm, "size", "Get_size")
        index, size = whole(index), whole(size)
    except Exception:  # pylint: disable=broad-except  # for example a freed communicator
        index = size = -1
    return hooks.group_set(encoded(name), *(number if 0 <= number < 1 << 31 else -1 for number in (index, size))) == 0


def groups(layout):
    layout = encoded(layout)
    return hooks.groups_set(layout) == 0 if layout else group(layout)  # which rejects it


def wants_tensor(name):
    return bool(hooks.wants_tensor(None)) and bool(hooks.wants_tensor(encoded(name)))


def is_recording():
    return bool(hooks.is_recording())


def save():
    return hooks.save() == 0


def last_error():
    return hooks.last_error().decode("utf-8", "replace")
