"""Regions that are open on the calling thread.

Normally only the library tracks them. While a model is watched they are tracked here as well: PyTorch does not report modules that are
left by an exception, whose regions must be closed before the enclosing region. A watched backward pass is a path in the tree of
modules; each gradient that arrives determines the end of the path.

Numbers are the library's region numbers: positive for watched modules, negated for the application's own regions; 0: no region.
"""

import ctypes
import threading
import typing

from megascope._table import NOWHERE, Where, hooks, whole


class At:
    """The `megascope_where` of a region. `address` is valid as long as this object."""

    __slots__ = ("address", "where")

    def __init__(self, layer=None, micro_batch=None, chunk=None) -> None:
        self.where = Where(*(NOWHERE if value is None else whole(value) for value in (micro_batch, chunk, layer)))
        self.address = ctypes.addressof(self.where)


class _Here(threading.local):
    numbers: "list[int]"
    backward: "int | None"

    def __init__(self) -> None:
        self.numbers = []  # outermost first
        self.backward = None  # number of open regions at the begin of the current backward pass


_here = _Here()


def _leave_inside(count: int) -> None:
    """Leaves all regions except the outermost `count`."""
    numbers = _here.numbers
    while len(numbers) > count:
        hooks.region_leave(abs(numbers.pop()))


def _innermost(number: int, first: int = 0) -> int:
    """Index of the region; -1: it is not open, or one of the application's own regions is open inside it."""
    numbers = _here.numbers
    for index in range(len(numbers) - 1, first - 1, -1):
        if numbers[index] == number:
            return index
        if numbers[index] < 0 < number:
            return -1
    return -1


def _listed_enter(number: int) -> None:
    if number:
        _here.numbers.append(-number)
        hooks.region_enter(number)


def _listed_enter_at(number: int, address: int) -> None:
    if number:
        _here.numbers.append(-number)
        hooks.region_enter_at(number, address)


def _listed_leave(number: int) -> None:
    index = _innermost(-number)
    if index < 0:
        hooks.region_leave(number)  # entered before regions were tracked
    else:
        _leave_inside(index)


def _nothing() -> None:
    pass


def leave_modules() -> None:
    """Leaves the innermost watched modules, which were left by exceptions."""
    numbers = _here.numbers
    while numbers and numbers[-1] > 0:
        hooks.region_leave(numbers.pop())
    _here.backward = None


# Called for the application's own regions and steps.
enter: "typing.Callable[[int], None]" = hooks.region_enter if hooks else lambda number: None
enter_at: "typing.Callable[[int, int], None]" = hooks.region_enter_at if hooks else lambda number, address: None
leave: "typing.Callable[[int], None]" = hooks.region_leave if hooks else lambda number: None
between_steps: "typing.Callable[[], None]" = _nothing


def begin_listing() -> None:
    """Starts tracking, permanently."""
    global enter, enter_at, leave, between_steps  # pylint: disable=global-statement
    enter, enter_at, leave, between_steps = _listed_enter, _listed_enter_at, _listed_leave, leave_modules


class Place(typing.NamedTuple):
    """A region of a watched module."""

    number: int
    at: "At | None"

    def enter(self) -> None:
        if not self.number:
            return
        _here.numbers.append(self.number)
        if self.at is None:
            hooks.region_enter(self.number)
        else:
            hooks.region_enter_at(self.number, self.at.address)

    def leave(self) -> None:
        """Leaves the region and those inside it that exceptions left open. No effect if it is not open."""
        index = _innermost(self.number)
        if index >= 0:
            _leave_inside(index)


def innermost() -> int:
    """The innermost open region of the thread; 0: none."""
    return _here.numbers[-1] if _here.numbers else 0


def leave_dead(number_is_dead: "typing.Callable[[int], bool]") -> None:
    """Leaves the innermost regions while `number_is_dead` holds for them."""
    count = len(_here.numbers)
    while count and number_is_dead(_here.numbers[count - 1]):
        count -= 1
    _leave_inside(count)


def is_in_backward() -> bool:
    return _here.backward is not None


def begin_backward() -> None:
    _here.backward = len(_here.numbers)


def end_backward() -> None:
    """Ends the backward pass. No effect on other threads than the one where it began."""
    if _here.backward is not None:
        if all(number > 0 for number in _here.numbers[_here.backward:]):
            _leave_inside(_here.backward)
        _here.backward = None


def reach(path: "tuple[Place, ...]") -> None:
    """The backward pass has entered the last region of the path, inside the ones before."""
    first = _here.backward
    if first is None or _innermost(path[-1].number, first) >= 0:
        return
    numbers = _here.numbers
    if any(number < 0 for number in numbers[first:]):
        return  # the application's own region, which the application ends
    common = 0
    while first + common < len(numbers) and common < len(path) and numbers[first + common] == path[common].number:
        common += 1
    _leave_inside(first + common)
    for place in path[common:]:
        place.enter()


def finish(place: Place) -> None:
    """The backward pass has left the region."""
    if _here.backward is None:
        return
    index = _innermost(place.number, _here.backward)
    if index >= 0:
        _leave_inside(index)
