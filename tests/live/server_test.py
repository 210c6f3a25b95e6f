#!/usr/bin/python3
"""The live view's server, asked by a client that was written from the protocol's text: what it gives.

  server_test.py live_feed
"""

import json
import os
import re
import socket
import stat
import sys
import time
import unittest

from live_client import COUNTERS, STATISTICS, STEPS, TENSOR, Client, Closed, Feed, Frame, http

FEED = ""
SMALL = ("--layers", 2, "--tokens", 32, "--width", 100, "--rate", 100)


def thread_of(process, name):
    """The directory in /proc of the thread of that name, once it has it."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        for task in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{task}/comm", encoding="ascii") as file:
                if file.read().strip() == name:
                    return f"/proc/{process}/task/{task}"
        time.sleep(0.05)
    return None


def feed(*arguments):
    return Feed(FEED, *SMALL, *arguments)


class WhatIsServed(unittest.TestCase):
    def test_a_browser_without_token_gets_a_page_that_says_where_it_is(self):
        with feed("--steps", 1000000) as run:
            for headers, is_page in (((), False), (("Accept: */*",), False), (("Accept: application/json",), False),
                                     (("Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",), True)):
                for target in ("/", "/?token=wrong"):
                    status, answered, body = http(run.port, target, headers)
                    self.assertEqual((status, answered["content-type"].startswith("text/html")), (401, is_page), (target, headers))
                    self.assertIn(b"live_url" if is_page else b'{"error":', body)
                    self.assertNotIn(run.token.encode(), body)
                for target in ("/api/v1/run", "/ws/v1", "/metrics"):
                    status, answered, body = http(run.port, target, headers)
                    self.assertEqual((status, answered["content-type"]), (401, "application/json"))
                    self.assertIn(b'{"error":', body)

    def test_a_run_from_hello_to_end(self):
        with feed("--steps", 150) as run:
            client = Client(run)
            hello = client.receive()
            self.assertEqual((hello["type"], hello["protocol"], hello["run"]["ranks"]), ("hello", 1, 4))
            client.say(type="subscribe", panel="times", what="steps")
            self.assertEqual(client.text("subscribed")["matches"], 4)
            client.say(type="credit", panel="times", frames=64)
            rows = {}
            end = None
            while end is None:
                message = client.receive()
                if isinstance(message, Frame):
                    for i, step in enumerate(message.steps):
                        self.assertNotIn(step, rows)
                        rows[step] = [message.columns[name][i] for name in ("step_ms", "mpi_ms", "own_ms")]
                        self.assertLess(abs(message.begins[i] / 1000 - time.time()), 3600)
                    if message.number % 20 == 19:
                        client.say(type="credit", panel="times", frames=20)
                elif message["type"] == "end":
                    end = message
            self.assertEqual((end["reason"], end["steps"]), ("finished", 150))
            self.assertEqual(sorted(rows), list(range(150)), "each step once")
            slow, others = rows[70][0], rows[70][1]
            self.assertEqual(len(set(slow)), 1, "a step takes all ranks as long")
            self.assertEqual(min(range(4), key=lambda rank: others[rank]), 2, "rank 2 is slow: it waits least")
            self.assertEqual(client.closed(), 1000)

    def test_counters_and_statistics_are_those_of_the_run(self):
        with feed("--steps", 300) as run:
            client = Client(run)
            client.say(type="subscribe", panel="c", what="counters", names=["lo*"])
            client.say(type="subscribe", panel="s", what="statistics", names=["mlp/*"], layers=[1, 1])
            losses = client.frame(COUNTERS)
            counter = {c["id"]: c for c in json.loads(http(run.port, f"/api/v1/counters?token={run.token}")[2])}
            self.assertEqual([(counter[i]["name"], counter[i]["rank"]) for i in losses.ids], [("loss", 0)])
            self.assertGreater(losses.columns["value"][0][0], 1.9)
            self.assertLess(losses.columns["value"][0][0], 8.2)
            frame = client.frame(STATISTICS)
            tensor = {t["id"]: t for t in json.loads(http(run.port, f"/api/v1/tensors?token={run.token}")[2])}
            self.assertEqual(sorted((tensor[i]["name"], tensor[i]["layer"]) for i in frame.ids), [("mlp/fc1", 1), ("mlp/fc2", 1)])
            self.assertEqual(list(frame.columns), ["count", "nan", "infinite", "min", "max", "mean", "norm"])
            for column in range(2):
                least, mean, most = (frame.columns[name][0][column] for name in ("min", "mean", "max"))
                self.assertTrue(least < mean < most)
                self.assertEqual(frame.columns["nan"][0][column], 0)

    def test_tiles_of_two_ranks_are_those_of_the_whole(self):
        """100 elements in 48 tiles of 3 (the last of 1): tile 16 lies on both ranks, elements 48, 49 and 50."""
        for method, reduce in (("mean", lambda v: sum(v) / len(v)), ("data.abs().max(dim=-1)", lambda v: max(map(abs, v))),
                               ("std", lambda v: float("nan") if len(v) < 2 else (sum((x - sum(v) / len(v)) ** 2 for x in v) / (len(v) - 1)) ** 0.5)):
            with self.subTest(method), feed("--steps", 400) as run:
                client = Client(run)
                # Every 25th step: whole and tiles are to be of one step.
                client.say(type="subscribe", panel="whole", what="tensor", name="mlp/fc1", layers=[1, 1], view={"type": "whole"}, encoding="f32", every=25)
                client.say(type="subscribe", panel="tiles", what="tensor", name="mlp/fc1", layers=[1, 1], encoding="f32", every=25,
                           view={"type": "tile", "tiles": 48, "method": method})
                seen = {}
                while True:
                    frame = client.frame(TENSOR)
                    seen[frame.metadata["panel"], frame.metadata["step"]] = frame
                    step = frame.metadata["step"]
                    if ("whole", step) in seen and ("tiles", step) in seen:
                        break
                    client.say(type="credit", panel=frame.metadata["panel"], frames=1)
                whole, tiles = seen["whole", step], seen["tiles", step]
                self.assertEqual((whole.metadata["shape"], tiles.metadata["shape"]), ([32, 100], [32, 34]))
                self.assertEqual(tiles.metadata["ranks"], [2, 3])
                self.assertEqual((tiles.metadata["missing"], tiles.metadata["view"]["tile_width"]), (0, 3))
                for token in range(32):
                    for tile in range(34):
                        expected = reduce(whole.values[token * 100 + tile * 3:token * 100 + min(tile * 3 + 3, 100)])
                        found = tiles.values[token * 34 + tile]
                        if expected != expected:
                            self.assertNotEqual(found, found)
                        else:
                            self.assertAlmostEqual(found, expected, delta=1e-5 * max(1, abs(expected)), msg=(token, tile))

    def test_halves_are_neither_infinite_nor_zero_by_their_encoding(self):
        """Elements of up to 300,000: both encodings tell the same."""
        with feed("--steps", 400, "--gain", 1e5) as run:
            client = Client(run)
            for encoding in ("f16", "f32"):
                client.say(type="subscribe", panel=encoding, what="tensor", name="mlp/fc1", layers=[1, 1], encoding=encoding, every=25)
            seen = {}
            while len(seen) < 2 or len(set(frame.metadata["step"] for frame in seen.values())) != 1:
                frame = client.frame(TENSOR)
                seen[frame.metadata["panel"]] = frame
                client.say(type="credit", panel=frame.metadata["panel"], frames=1)
            self.assertGreater(max(seen["f32"].values), 65504)
            self.assertGreater(seen["f16"].metadata["scale"], 1)
            self.assertNotIn("scale", seen["f32"].metadata)
            for half, single in zip(seen["f16"].values, seen["f32"].values):
                self.assertAlmostEqual(half, single, delta=abs(single) / 2000 + 1e-4)

    def test_what_no_client_asks_for_is_not_captured(self):
        with feed("--steps", 100) as run:
            client = Client(run)
            client.say(type="subscribe", panel="t", what="tensor", name="hidden")
            client.frame(TENSOR)
            client.say(type="unsubscribe", panel="t")
            client.closed()
            out, _, code = run.end()
            self.assertEqual([line.split(": ")[1] for line in out.splitlines() if line.startswith("step ")], ["1 requests", "0 requests"])
            self.assertEqual(code, 0)

    def test_two_clients_with_one_request_are_one_and_another_is_another(self):
        with feed("--steps", 150) as run:
            first, second = Client(run), Client(run)
            for client in (first, second):
                client.say(type="subscribe", panel="t", what="tensor", name="hidden")
                client.frame(TENSOR)
            second.say(type="subscribe", panel="u", what="tensor", name="hidden", view={"type": "tile", "tiles": 10})
            second.wait_for(lambda m: isinstance(m, Frame) and m.metadata["panel"] == "u")
            first.close()
            second.closed()
            out, _, _ = run.end()
            counts = [int(line.split()[2]) for line in out.splitlines() if line.startswith("step ")]
            self.assertEqual(max(counts), 2)

    def test_a_late_client_gets_what_is_kept(self):
        with feed("--steps", 200) as run:
            time.sleep(1)
            client = Client(run)
            client.say(type="subscribe", panel="t", what="steps", since=5)
            frame = client.frame(STEPS)
            self.assertEqual(frame.steps[0], 5)
            self.assertGreater(len(frame.steps), 20)

    def test_an_alert_names_the_tensor(self):
        with Feed(FEED, "--layers", 6, "--tokens", 16, "--width", 32, "--rate", 200, "--steps", 120) as run:
            client = Client(run)
            client.say(type="subscribe", panel="s", what="statistics")
            alert = client.text("alert")
            self.assertIn("mlp/fc1, layer 5: 0 NaN, 16 infinite of 32", alert["text"])
            self.assertEqual((alert["step"] % 50, alert["ranks"]), (48, [0]))

    def test_metrics_are_prometheus_text(self):
        with feed("--steps", 500) as run:
            time.sleep(0.3)
            status, headers, body = http(run.port, "/metrics", [f"Authorization: Bearer {run.token}"])
            self.assertEqual((status, headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
            text = body.decode()
            self.assertIn('megascope_step_seconds{rank="3"} 0.0', text)
            types = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")}
            for line in text.splitlines():
                if not line.startswith("#"):
                    name = line.split("{")[0].split()[0]
                    self.assertIn(name, types)
                    float(line.rsplit(" ", 1)[1])

    def test_the_page_and_the_lists_are_there(self):
        with feed("--steps", 500) as run:
            status, headers, body = http(run.port, f"/?token={run.token}")
            self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"))
            self.assertIn(b"MegaScope", body)
            policy = headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn(f"connect-src 'self' ws://127.0.0.1:{run.port}", policy)
            self.assertIn("frame-ancestors 'none'", policy)
            self.assertEqual((headers["referrer-policy"], headers["x-content-type-options"], headers["cache-control"]), ("no-referrer", "nosniff", "no-store"))
            self.assertEqual(len(json.loads(http(run.port, f"/api/v1/ranks?token={run.token}")[2])), 4)
            self.assertEqual(json.loads(http(run.port, f"/api/v1/run?token={run.token}")[2])["program"], "/opt/gpt/train")
            self.assertIn("absmax", json.loads(http(run.port, f"/api/v1/options?token={run.token}")[2])["methods"])
            status, headers, body = http(run.port, f"/api/v1/run?token={run.token}", method="HEAD")
            self.assertEqual((status, body), (200, b""))
            self.assertGreater(int(headers["content-length"]), 100)
            self.assertEqual(http(run.port, f"/nothing?token={run.token}")[0], 404)
            self.assertEqual(http(run.port, f"/ws/v1?token={run.token}")[0], 426)

    def test_an_aborted_run_says_so(self):
        with feed("--steps", 20, "--abort") as run:
            client = Client(run)
            self.assertEqual(client.text("end")["reason"], "aborted")

    def test_the_file_with_the_url_is_private_and_goes(self):
        with feed("--steps", 30) as run:
            path = os.path.join(run.directory, "live_url")
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), run.url + "\n")
            run.end()
            self.assertFalse(os.path.exists(path))

    def test_the_thread_blocks_signals_and_is_behind_others(self):
        with feed("--steps", 500) as run:
            self.assertIsNotNone(task := thread_of(run.process.pid, "megascope-live"))
            with open(f"{task}/status", encoding="ascii") as file:
                blocked = int(next(line for line in file if line.startswith("SigBlk")).split()[1], 16)
            with open(f"{task}/stat", encoding="ascii") as file:
                nice = int(file.read().rsplit(")", 1)[1].split()[16])
            self.assertEqual(blocked & 0x7FFBFEFF, 0x7FFBFEFF, "all but KILL and STOP")
            self.assertGreaterEqual(nice, 5)

    def test_the_thread_leaves_the_processor_of_a_rank_that_is_pinned(self):
        all_of_them = os.sched_getaffinity(0)
        if len(all_of_them) < 2:
            self.skipTest("there is one processor")
        mine = min(all_of_them)
        os.sched_setaffinity(0, {mine})
        try:
            with feed("--steps", 500) as run:
                self.assertIsNotNone(task := thread_of(run.process.pid, "megascope-live"))
                time.sleep(0.2)
                self.assertNotIn(mine, os.sched_getaffinity(int(os.path.basename(task))))
                self.assertEqual(os.sched_getaffinity(run.process.pid), {mine})
        finally:
            os.sched_setaffinity(0, all_of_them)


class ClientsThatDoNotRead(unittest.TestCase):
    def test_they_cost_little_are_cut_off_and_others_see_nothing_of_it(self):
        """Frames of 4096 tokens of 96 tiles: one of them is made for each, and none after it."""
        for _ in range(3):  # on a busy machine the server's thread is behind at times, and what waits for it only adds
            grown_kib, is_sanitized = self.memory_of_a_stalled_client()
            if is_sanitized or grown_kib < 1280:
                return
        self.fail(f"a client that does not read takes {grown_kib:.0f} KiB")

    def memory_of_a_stalled_client(self):
        with Feed(FEED, "--layers", 2, "--tokens", 4096, "--width", 96, "--rate", 8, "--steps", 4000) as run:
            request = {"type": "subscribe", "panel": "t", "what": "tensor", "name": "hidden", "layers": [0, 0]}
            reader = Client(run)
            reader.say(**request)
            before_kib = 0
            for _ in range(60):
                self.assertGreater(len(reader.frame(TENSOR).data), 4096 * 96 * 2)
                reader.say(type="credit", panel="t", frames=1)
                before_kib = max(before_kib, run.resident_kib())
            stalled = [Client(run, receive_buffer=4096) for _ in range(4)]
            for client in stalled:
                client.say(**request)
                client.say(type="credit", panel="t", frames=62)
            begin = time.monotonic()
            last_step = -1
            most_kib = 0
            while time.monotonic() - begin < 25:
                frame = reader.frame(TENSOR)
                self.assertGreater(frame.metadata["step"], last_step)
                last_step = frame.metadata["step"]
                reader.say(type="credit", panel="t", frames=1)
                most_kib = max(most_kib, run.resident_kib())
            grown_kib = (most_kib - before_kib) / 4
            print(f"memory of a client that does not read: {grown_kib:.0f} KiB", file=sys.stderr)
            metrics = http(run.port, f"/metrics?token={run.token}")[2].decode()
            self.assertIn("megascope_live_clients 1\n", metrics, "those that took nothing for 20 s are gone")
            return grown_kib, run.is_sanitized()

    def test_without_credits_the_newest_is_kept(self):
        with feed("--steps", 400) as run:
            client = Client(run)
            client.say(type="subscribe", panel="t", what="tensor", name="hidden", layers=[0, 0])
            first = client.frame(TENSOR)
            second = client.frame(TENSOR)
            self.assertEqual(first.metadata["dropped"], 0)
            time.sleep(1)
            client.say(type="credit", panel="t", frames=1)
            late = client.frame(TENSOR)
            self.assertEqual(late.metadata["step"], first.metadata["step"] + late.metadata["dropped"] + 2, "each step is sent or counted")
            self.assertGreater(late.metadata["step"], second.metadata["step"] + 10)
            self.assertEqual(late.flags, 1)


class Start(unittest.TestCase):
    def test_a_port_that_is_taken_is_named(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with self.assertRaises(RuntimeError) as refused:
                feed("--port", port)
            self.assertIn(f"port {port} of 127.0.0.1 is in use", str(refused.exception))

    def test_a_port_that_another_has_on_ipv6_is_taken(self):
        with socket.socket(socket.AF_INET6) as other:
            try:
                other.bind(("::1", 0))
            except OSError:
                self.skipTest("there is no IPv6")
            other.listen()
            port = other.getsockname()[1]
            with self.assertRaises(RuntimeError) as refused:
                feed("--port", port)
            self.assertIn(f"port {port} of [::1] is in use", str(refused.exception))

    def test_only_loopback_listens(self):
        with feed("--steps", 500) as run:
            with open("/proc/net/tcp", encoding="ascii") as table:
                ours = [line.split()[1] for line in table if line.split()[1].endswith(f":{run.port:04X}") and line.split()[3] == "0A"]
            self.assertEqual(ours, [f"0100007F:{run.port:04X}"])

    def test_it_ends_in_time_with_a_client_that_does_not_read(self):
        with Feed(FEED, "--tokens", 512, "--width", 192, "--steps", 10, "--linger", 500) as run:
            stalled = Client(run, receive_buffer=4096)
            stalled.say(type="subscribe", panel="t", what="tensor", name="*", encoding="f32")
            stalled.say(type="credit", panel="t", frames=64)
            self.assertEqual(run.end()[2], 0)

    def test_who_takes_nothing_is_not_waited_for(self):
        """Of the 3 s that one who takes something could have: and that one, who is slow, hears the end."""
        def closing(is_slow):
            """How long it took in ms, whether the client heard the end, and for how long at most it took nothing, in s. It answers no ping, so
            that all is to be over in 20 s."""
            last = b""
            pause = 0.0
            with Feed(FEED, "--tokens", 512, "--width", 192, "--steps", 10, "--linger", 3000) as run:
                # Of a buffer of one page the kernel tells late, up to 0.2 s, that it takes more again.
                client = Client(run, receive_buffer=65536 if is_slow else 4096)
                client.say(type="subscribe", panel="t", what="tensor", name="*", encoding="f32")
                client.say(type="credit", panel="t", frames=62)
                if is_slow:
                    try:
                        while True:
                            client.take(32768)
                            taken = time.monotonic()
                            last = last[-200:] + client.buffer
                            client.buffer = b""
                            time.sleep(0.02)
                            pause = max(pause, time.monotonic() - taken)
                    except Closed:
                        last += client.buffer
                return int(re.search(r"closed in (\d+) ms", run.end()[0])[1]), b'"type":"end"' in last, pause
        self.assertLess(closing(False)[0], 1500)
        for tries_left in (2, 1, 0):
            took_ms, has_heard, pause = closing(True)
            self.assertLess(took_ms, 3500)
            if has_heard:
                break
            # One that takes nothing for 0.25 s is given up, and on a busy machine this client may be one: not where it never paused.
            self.assertGreater(pause, 0.15)
            self.assertGreater(tries_left, 0)


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
