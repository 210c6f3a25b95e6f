"""What must hold for calls in an OTF2 archive, and where they were made. For check_otf2.py."""

import collections

from otf2 import events as ev

from otf2_judges import World


def calls_of(enter):
    """How many calls an Enter stands for: more than one for coalesced polls, which found nothing."""
    return attribute_of(enter, "call_count", 1)


def attribute_of(event, name, otherwise=None):
    return next((value for attribute, value in (event.attributes or {}).items() if attribute.name == name), otherwise)


class Stacks:
    """Every Enter has its Leave, properly nested; also threads begin and end."""

    def __init__(self, world, defects):
        self._defects = defects
        self._open = collections.defaultdict(list)
        self._calls = collections.Counter()
        self._by_rank = collections.defaultdict(collections.Counter)
        self._by_world = collections.defaultdict(collections.Counter)
        self._unfinished = 0
        self._errors = 0
        self._threads = set()

    def see(self, location, event):
        if isinstance(event, ev.Enter):
            self._open[location].append(event.region)
            calls = calls_of(event)
            self._calls[event.region.name] += calls
            self._by_rank[World.rank(location)][event.region.name] += calls
            if attribute_of(event, "remote_world"):
                self._by_world[attribute_of(event, "remote_world")][event.region.name] += calls
        elif isinstance(event, ev.Leave):
            stack = self._open[location]
            if not stack or stack.pop() is not event.region:
                self._defects.add("nesting", f"Leave of {event.region.name} at {event.time} on {location.group.name}")
            names = {attribute.name for attribute in event.attributes or {}}
            self._unfinished += "unfinished" in names
            self._errors += "mpi_error" in names
        elif isinstance(event, ev.ThreadBegin):
            self._threads.add(location)
        elif isinstance(event, ev.ThreadEnd):
            if location not in self._threads:
                self._defects.add("threads", f"ThreadEnd without a ThreadBegin on {location.name}")
            self._threads.discard(location)

    def finish(self):
        for location, stack in self._open.items():
            if stack:
                self._defects.add("nesting", f"{location.group.name}, {location.name}: "
                                             f"{stack[-1].name} is entered and never left")
        for location in self._threads:
            self._defects.add("threads", f"{location.group.name}, {location.name}: begins and never ends")

    def report(self):
        return {"calls": dict(sorted(self._calls.items())),
                "calls_by_rank": {rank: dict(sorted(calls.items())) for rank, calls in sorted(self._by_rank.items())},
                "remote_worlds": {world: dict(sorted(calls.items())) for world, calls in sorted(self._by_world.items())},
                "unfinished_calls": self._unfinished, "failed_calls": self._errors}


class Places:
    """A place that an Enter names by its line is the one that it names in words."""

    def __init__(self, defects):
        self._defects = defects
        self._calls = collections.Counter()

    def see(self, _location, event):
        attributes = {attribute.name: value for attribute, value in (event.attributes or {}).items()}
        place, line = attributes.get("call_site"), attributes.get("SOURCE_CODE_LOCATION")
        if not isinstance(event, ev.Enter) or (place is None and line is None):
            return
        if line is not None and f"({line.file.rsplit('/', 1)[-1]}:{line.line_number})" not in (place or ""):
            self._defects.add("places", f"{event.region.name} is called from {line.file}:{line.line_number} and from {place}")
        where = (line.file, line.line_number) if line is not None else ("", 0)
        self._calls[(event.region.name, place, *where)] += calls_of(event)

    def finish(self):
        pass

    def report(self):
        return {"places": [[*place, calls] for place, calls in sorted(self._calls.items())]}
