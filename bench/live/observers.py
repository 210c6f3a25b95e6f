#!/usr/bin/env python3
"""Clients that look at a run as the page does in its views of run, ranks and tensors, each frame answered with a credit, until the run
ends. Prints what the first one got, as JSON: frames by panel, and of each view of a tensor the milliseconds from when the program showed
the tensor, and from when the view was whole on rank 0, until it was here.

  bench/live/observers.py PORT TOKEN COUNT [STALLED]      STALLED: so many of them ask for all and read nothing
"""

import collections
import json
import pathlib
import sys
import threading
import time
import types

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "live"))

import live_client  # noqa: E402

PANELS = {
    "steps": {"what": "steps"},
    "counters": {"what": "counters", "names": ["loss", "grad*norm"]},
    "statistics": {"what": "statistics", "names": ["*hidden*"], "kinds": ["actv_out"]},
}
for index, (name, view) in enumerate({"*qkv*": {"keep": 2}, "*mlp1*": {}, "*mlp2*": {}, "*hidden*": {}}.items()):
    PANELS[f"strip-{index}"] = {"what": "tensor", "name": name, "kind": "actv_out", "layers": [0, 7], "encoding": "f16",
                                "view": {"type": "tile", "tiles": 96, "method": "mean", **view}}


def look(place, receive_buffer=None):
    client = live_client.Client(place, receive_buffer=receive_buffer)
    for panel, request in PANELS.items():
        client.say(type="subscribe", panel=panel, **request)
        client.say(type="credit", panel=panel, frames=8 if request["what"] == "tensor" else 2)
    return client


def read(client, seen):
    try:
        while True:
            opcode, payload = client.receive_frame()
            if opcode == live_client.PING:
                client.send_frame(live_client.PONG, payload)
            elif opcode == live_client.CLOSE:
                return
            elif opcode == live_client.BINARY:
                now_ms = time.time() * 1000
                frame = live_client.Frame(payload) if seen is not None else None
                panel = json.loads(payload[16:16 + int.from_bytes(payload[12:16], "little")])["panel"]
                client.say(type="credit", panel=panel, frames=1)
                if frame:
                    seen.append((now_ms, frame))
    except (live_client.Closed, OSError):  # the run has ended
        pass


def summary(seen):
    frames = collections.Counter(frame.metadata["panel"] for _, frame in seen)
    after = [(now_ms, frame.metadata) for now_ms, frame in seen if frame.kind == live_client.TENSOR]
    return {"frames": frames, "bytes": sum(len(frame.data) for _, frame in seen),
            "after_shown_ms": [now_ms - told["begin_ms"] for now_ms, told in after],
            "after_whole_ms": [now_ms - told["end_ms"] for now_ms, told in after]}


def main():
    port, token, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    stalled_count = int(sys.argv[4]) if len(sys.argv) > 4 else 0
    place = types.SimpleNamespace(port=port, token=token)
    seen = []
    stalled = [look(place, receive_buffer=4096) for _ in range(stalled_count)]  # kept: their sockets stay open
    readers = [threading.Thread(target=read, args=(look(place), seen if i == 0 else None)) for i in range(count - stalled_count)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    print(json.dumps(summary(seen) | {"stalled": len(stalled)}))


if __name__ == "__main__":
    main()
