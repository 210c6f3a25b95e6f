"""Damages a random share of the events of a Chrome timeline, in ways that occur with tracers. The other events stay unchanged."""

import gzip
import json
import random


def negative_duration(event, draw):
    event["dur"] = -draw.uniform(1, 50)


def no_duration(event, draw):
    event.pop("dur", None)


def twice(event, draw):
    return dict(event)


def an_end_too_late(event, draw):
    event["dur"] = event["dur"] + draw.uniform(1, 100)


def begins_before_the_end_of_the_one_before(event, draw):
    event["ts"] -= draw.uniform(1, 100)


DAMAGES = (negative_duration, no_duration, twice, an_end_too_late, begins_before_the_end_of_the_one_before)


def damaged(events, share, seed):
    draw = random.Random(seed)
    result = []
    for event in events:
        result.append(event)
        if event.get("ph") == "X" and draw.random() < share:
            more = draw.choice(DAMAGES)(event, draw)
            result += [more] if more else []
    return result


def damage_file(source, target, share, seed=1):
    with (gzip.open if source.endswith(".gz") else open)(source, "rt", encoding="utf-8") as file:
        content = json.load(file)
    events = content if isinstance(content, list) else content["traceEvents"]
    events = damaged(events, share, seed)
    with open(target, "w", encoding="utf-8") as file:
        json.dump(events if isinstance(content, list) else {**content, "traceEvents": events}, file)
