"""Regions that are open on the calling thread.

Usually only the library knows them. While a model is watched they are listed here too: PyTorch does not tell when a module is left
by an exception, and what that leaves open must be closed before the region around it. A watched backward pass is a path in the tree
of modules, of which each gradient that arrives tells the end.

Numbers are the library's: of watched modules as they are, of the program's own regions negative; 0 is none, and nothing.
"""

import ctypes
import threading
import typing

from megascope._table import NOWHERE, Where, hooks, whole


class At:
    """Where a region is, as the library takes it: `address` is valid as long as this lives."""

    __slots__ = ("address", "where")

    def __init__(self, layer=None, micro_batch=None, chunk=None) -> None:
        self.where = Where(*(NOWHERE if value is None else whole(value) for value in (micro_batch, chunk, layer)))
        self.address = ctypes.addressof(self.where)


class _Here(threading.local):
    numbers: "list[int]"
    backward: "int | None"

    def __init__(self) -> None:
        self.numbers = []  # outermost first
        self.backward = None  # how many there were when the backward pass began in which the thread is


_here = _Here()


def _leave_inside(count: int) -> None:
    """Leaves all but the outermost `count` regions."""
    numbers = _here.numbers
    while len(numbers) > count:
        hooks.region_leave(abs(numbers.pop()))


def _innermost(number: int, first: int = 0) -> int:
    """Its index among the regions; -1: it is not open, or one of the program's own is open inside of it."""
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
        hooks.region_leave(number)  # it was entered before regions were listed
    else:
        _leave_inside(index)


def _nothing() -> None:
    pass


def leave_modules() -> None:
    """Watched modules in which the thread still is, for all that is known: exceptions have left them."""
    numbers = _here.numbers
    while numbers and numbers[-1] > 0:
        hooks.region_leave(numbers.pop())
    _here.backward = None


# What the program's own regions and steps call.
enter: "typing.Callable[[int], None]" = hooks.region_enter if hooks else lambda number: None
enter_at: "typing.Callable[[int, int], None]" = hooks.region_enter_at if hooks else lambda number, address: None
leave: "typing.Callable[[int], None]" = hooks.region_leave if hooks else lambda number: None
between_steps: "typing.Callable[[], None]" = _nothing


def begin_listing() -> None:
    """From now on, for good."""
    global enter, enter_at, leave, between_steps  # pylint: disable=global-statement
    enter, enter_at, leave, between_steps = _listed_enter, _listed_enter_at, _listed_leave, leave_modules


class Place(typing.NamedTuple):
    """A region of a watched module: what is entered and left."""

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
        """With what exceptions have left open inside of it; nothing where it is not open."""
        index = _innermost(self.number)
        if index >= 0:
            _leave_inside(index)


def innermost() -> int:
    """The region that the thread entered last; 0: none."""
    return _here.numbers[-1] if _here.numbers else 0


def leave_dead(number_is_dead: "typing.Callable[[int], bool]") -> None:
    """Leaves the innermost regions for as long as that holds of them."""
    count = len(_here.numbers)
    while count and number_is_dead(_here.numbers[count - 1]):
        count -= 1
    _leave_inside(count)


def is_in_backward() -> bool:
    return _here.backward is not None


def begin_backward() -> None:
    _here.backward = len(_here.numbers)


def end_backward() -> None:
    """On the thread where it began; elsewhere nothing is open."""
    if _here.backward is not None:
        if all(number > 0 for number in _here.numbers[_here.backward:]):
            _leave_inside(_here.backward)
        _here.backward = None


def reach(path: "tuple[Place, ...]") -> None:
    """The backward pass has come to the last place of the path, within the ones before."""
    first = _here.backward
    if first is None or _innermost(path[-1].number, first) >= 0:
        return
    numbers = _here.numbers
    if any(number < 0 for number in numbers[first:]):
        return  # the program's own region, which ends where the program says
    common = 0
    while first + common < len(numbers) and common < len(path) and numbers[first + common] == path[common].number:
        common += 1
    _leave_inside(first + common)
    for place in path[common:]:
        place.enter()


def finish(place: Place) -> None:
    """The backward pass has left the place."""
    if _here.backward is None:
        return
    index = _innermost(place.number, _here.backward)
    if index >= 0:
        _leave_inside(index)
