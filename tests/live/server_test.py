#!/usr/bin/python3
"""The live view's server, asked by a client that was written from the protocol's text: what it gives, and what it refuses.

  server_test.py live_feed
"""

import json
import os
import socket
import stat
import struct
import sys
import time
import unittest

from live_client import (BINARY, CLOSE, COUNTERS, PING, STATISTICS, STEPS, TENSOR, TEXT, Client, Closed, Feed, Frame, http, read_response)

FEED = ""
SMALL = ("--layers", 2, "--tokens", 32, "--width", 100, "--rate", 100)


def feed(*arguments):
    return Feed(FEED, *SMALL, *arguments)


class WhatIsServed(unittest.TestCase):
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

    def test_what_nobody_asks_for_is_not_captured(self):
        with feed("--steps", 100) as run:
            client = Client(run)
            client.say(type="subscribe", panel="t", what="tensor", name="hidden")
            client.frame(TENSOR)
            client.say(type="unsubscribe", panel="t")
            client.closed()
            out, _, code = run.end()
            self.assertEqual([line.split(": ")[1] for line in out.splitlines() if line.startswith("step ")], ["1 wishes", "0 wishes"])
            self.assertEqual(code, 0)

    def test_two_clients_with_one_wish_are_one_and_another_is_another(self):
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
            path = os.path.join(run.folder, "live_url")
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), run.url + "\n")
            run.end()
            self.assertFalse(os.path.exists(path))

    def test_the_thread_blocks_signals_and_is_behind_others(self):
        with feed("--steps", 500) as run:
            for task in os.listdir(f"/proc/{run.process.pid}/task"):
                folder = f"/proc/{run.process.pid}/task/{task}"
                with open(f"{folder}/comm", encoding="ascii") as file:
                    if file.read().strip() != "megascope-live":
                        continue
                with open(f"{folder}/status", encoding="ascii") as file:
                    blocked = int(next(line for line in file if line.startswith("SigBlk")).split()[1], 16)
                with open(f"{folder}/stat", encoding="ascii") as file:
                    nice = int(file.read().rsplit(")", 1)[1].split()[16])
                self.assertEqual(blocked & 0x7FFB_FEFF, 0x7FFB_FEFF & ~0, "all but KILL and STOP")
                self.assertGreaterEqual(nice, 5)
                return
            self.fail("there is no thread megascope-live")


class WhoMayNot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = feed("--steps", 100000)

    @classmethod
    def tearDownClass(cls):
        cls.run_.__exit__()

    def status(self, target=None, headers=(), host=None):
        run = self.run_
        by_http = http(run.port, (target or f"/api/v1/run?token={run.token}"), headers, host=host)
        try:
            query = (target or f"?token={run.token}").partition("?")[2]
            Client(run, f"/ws/v1?{query}", headers, host).close()
            by_socket = 101
        except Closed as closed:
            by_socket = closed.code
        self.assertEqual(by_http[0] == 200, by_socket == 101, "HTTP and WebSocket judge alike")
        if by_http[0] != 200:
            self.assertIn("error", json.loads(by_http[2]))
        return by_http[0]

    def test_token(self):
        run = self.run_
        self.assertEqual(self.status(), 200)
        for query in ("", "?token=", f"?token={run.token[:-1]}", f"?token={run.token}0", "?token=" + "0" * 32, f"?x={run.token}",
                      "?token=" + run.token.upper() + "x"):
            self.assertEqual(self.status(f"/api/v1/run{query}"), 401, query)
        self.assertEqual(self.status("/api/v1/run", [f"Authorization: Bearer {run.token}"]), 200)
        self.assertEqual(self.status("/api/v1/run", [f"Authorization: Basic {run.token}"]), 401)
        self.assertEqual(http(run.port, "/")[0], 401)
        self.assertEqual(http(run.port, "/metrics")[0], 401)

    def test_host_of_another_name_is_refused_as_dns_may_be_rebound(self):
        port = self.run_.port
        for host in ("evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", f"localhost.:{port}", "", f"[::1:{port}", "127.0.0.1:x"):
            self.assertEqual(http(port, f"/api/v1/run?token={self.run_.token}", host=host or " ")[0], 403, host)
        for host in (f"localhost:{port}", f"LOCALHOST:{port}", f"[::1]:{port}", "127.0.0.1:9"):
            self.assertEqual(self.status(host=host), 200, host)

    def test_origin_of_another_site_is_refused(self):
        port = self.run_.port
        for origin in ("http://evil.example", "null", f"https://127.0.0.1:{port}", f"http://127.0.0.1:{port}.evil.example", "http://127.0.0.1:1",
                       f"http://localhost:{port}", "", "file://"):
            self.assertEqual(self.status(headers=[f"Origin: {origin}"]), 403, origin)
        self.assertEqual(self.status(headers=[f"Origin: http://127.0.0.1:{port}"]), 200)

    def test_two_hosts_are_refused(self):
        self.assertEqual(http(self.run_.port, f"/api/v1/run?token={self.run_.token}", ["Host: evil.example"])[0], 403)

    def test_only_get_and_head(self):
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE"):
            self.assertEqual(http(self.run_.port, f"/api/v1/run?token={self.run_.token}", method=method)[0], 405, method)


class BadInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = feed("--steps", 100000)

    @classmethod
    def tearDownClass(cls):
        cls.run_.__exit__()

    def tearDown(self):
        """Whatever one client did, the next is served."""
        client = Client(self.run_)
        self.assertEqual(client.receive()["type"], "hello")
        client.say(type="subscribe", panel="t", what="steps")
        client.frame(STEPS)
        client.close()

    def client(self):
        client = Client(self.run_)
        client.text("hello")
        return client

    def error(self, message):
        """What is said of a message, after which the client is still served."""
        client = self.client()
        client.send_frame(TEXT, message if isinstance(message, bytes) else json.dumps(message).encode())
        text = client.text("error")["text"]
        client.say(type="ping", id="still there")
        client.text("pong", id="still there")
        client.close()
        return text

    def test_what_is_no_message(self):
        for message in (b"", b"{", b"[]", b"1", b'"x"', b"nul", b"[" * 60000, b'{"a":' * 10000, b'{"type":1e999}'):
            self.error(message)
        self.assertIn("unheard", self.error({"type": "unheard"}))
        self.assertIn("`type`", self.error({"panel": "x"}))

    def test_fields_that_are_wrong_are_named(self):
        subscribe = {"type": "subscribe", "panel": "p"}
        tensor = subscribe | {"what": "tensor", "name": "x"}
        for field, message in (("what", subscribe), ("what", subscribe | {"what": "all"}), ("panel", {"type": "subscribe", "what": "steps"}),
                               ("panel", subscribe | {"panel": "x" * 65}), ("panel", subscribe | {"panel": ""}), ("since", subscribe | {"what": "steps", "since": -1}),
                               ("since", subscribe | {"what": "steps", "since": 1.5}), ("since", subscribe | {"what": "steps", "since": 2 ** 63}),
                               ("names", subscribe | {"what": "counters", "names": []}), ("names", subscribe | {"what": "counters", "names": ["x"] * 17}),
                               ("names", subscribe | {"what": "counters", "names": ["x" * 72]}), ("layers", subscribe | {"what": "statistics", "layers": [3, 1]}),
                               ("layers", subscribe | {"what": "statistics", "layers": [0, 2 ** 40]}), ("kinds", subscribe | {"what": "statistics", "kinds": ["x"]}),
                               ("name", subscribe | {"what": "tensor"}), ("kind", tensor | {"kind": 3}), ("every", tensor | {"every": 0}),
                               ("encoding", tensor | {"encoding": "f8"}), ("view", tensor | {"view": 3}), ("type", tensor | {"view": {"type": "pca"}}),
                               ("tiles", tensor | {"view": {"type": "tile", "tiles": 0}}), ("tiles", tensor | {"view": {"type": "tile", "tiles": 4097}}),
                               ("method", tensor | {"view": {"type": "tile", "method": "__import__('os').system('true')"}}),
                               ("method", tensor | {"view": {"type": "tile", "method": "data.__class__.__base__"}}),
                               ("frames", {"type": "credit", "panel": "p", "frames": 65}), ("frames", {"type": "credit", "panel": "p", "frames": 0})):
            self.assertIn(f"`{field}`", self.error(message), message)
        self.error({"type": "credit", "panel": "none"})
        self.error({"type": "unsubscribe", "panel": "none"})

    def test_invalid_utf8(self):
        client = self.client()
        client.send_frame(TEXT, b'{"type":"ping","id":"\xff\xfe"}')
        self.assertEqual(client.closed(), 1007)

    def test_binary(self):
        client = self.client()
        client.send_frame(BINARY, b"MSL1")
        self.assertEqual(client.closed(), 1003)

    def test_a_frame_that_says_1_gb(self):
        client = self.client()
        client.send_frame(TEXT, b"x" * 100, announced=1 << 30)
        self.assertEqual(client.closed(), 1009)

    def test_a_message_of_many_parts_that_is_too_long(self):
        client = self.client()
        client.send_frame(TEXT, b"x" * 60000, fin=False)
        client.send_frame(0, b"x" * 60000)
        self.assertEqual(client.closed(), 1009)

    def test_frames_against_the_rules(self):
        for raw in (b"\x81\x05hello", b"\xf1\x80\x00\x00\x00\x00", b"\x83\x80\x00\x00\x00\x00", b"\x80\x80\x00\x00\x00\x00", b"\x09\x80\x00\x00\x00\x00"):
            client = self.client()  # not masked; reserved bits; unknown kind; nothing to go on with; a ping in parts
            client.socket.sendall(raw)
            self.assertEqual(client.closed(), 1002, raw)

    def test_half_a_frame_and_a_client_that_vanishes(self):
        for half in (b"\x81", b"\x81\xfe\x01", b"\x81\x85\x00\x00\x00\x00hel"):
            client = self.client()
            client.socket.sendall(half)
            client.close()
        client = self.client()
        client.say(type="subscribe", panel="t", what="tensor", name="*")
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # with a reset

    def test_pings_are_answered_and_a_close_too(self):
        client = self.client()
        client.send_frame(PING, b"are you there")
        while (frame := client.receive_frame())[0] != 10:
            pass
        self.assertEqual(frame[1], b"are you there")
        client.send_frame(CLOSE, struct.pack("!H", 1000))
        self.assertEqual(client.closed(), 1000)

    def test_too_many_messages(self):
        for kind, payload in ((TEXT, b'{"type":"ping"}'), (PING, b"")):
            client = self.client()
            try:
                for _ in range(2000):
                    client.send_frame(kind, payload)
            except ConnectionError:
                pass  # closed meanwhile
            self.assertIn(client.closed(), (1008, None))

    def test_too_many_panels(self):
        client = self.client()
        for i in range(17):
            client.say(type="subscribe", panel=f"p{i}", what="steps")
        self.assertEqual(client.text("error")["panel"], "p16")
        client.close()

    def test_too_many_wishes(self):
        client = self.client()
        for i in range(5):
            client.say(type="subscribe", panel=f"p{i}", what="counters", names=[f"{i} {j}" for j in range(16)])
        self.assertEqual(client.text("error")["panel"], "p4")
        client.close()

    def test_too_many_clients(self):
        clients = []
        try:
            clients = [self.client() for _ in range(8)]
            with self.assertRaises(Closed) as refused:
                self.client()
            self.assertEqual(refused.exception.code, 503)
        finally:
            for client in clients:
                client.close()
        time.sleep(0.5)

    def test_a_header_that_is_too_long_or_never_ends(self):
        target = f"/api/v1/run?token={self.run_.token}"
        self.assertEqual(http(self.run_.port, target, ["X-Long: " + "x" * 9000])[0], 431)
        with socket.create_connection(("127.0.0.1", self.run_.port)) as slow:
            slow.settimeout(20)
            begin = time.monotonic()
            slow.sendall(b"GET / HTTP/1.1\r\n")
            try:
                while time.monotonic() - begin < 15:
                    slow.sendall(b"X: 1\r\n")
                    time.sleep(0.5)
                self.fail("a header may take for ever")
            except OSError:
                pass  # closed

    def test_many_connections_that_say_nothing(self):
        silent = [socket.create_connection(("127.0.0.1", self.run_.port)) for _ in range(60)]
        time.sleep(0.3)
        descriptors = len(os.listdir(f"/proc/{self.run_.process.pid}/fd"))
        self.assertLess(descriptors, 60, "connections are bounded")
        time.sleep(6)  # those are closed; who comes then is served
        for one in silent:
            one.close()

    def test_what_is_no_http(self):
        for raw in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 10, os.urandom(2000)):
            with socket.create_connection(("127.0.0.1", self.run_.port)) as connection:
                connection.settimeout(20)
                try:
                    connection.sendall(raw)
                    connection.shutdown(socket.SHUT_WR)
                    status, _, _ = read_response(connection)
                except ConnectionError:
                    status = None
                self.assertIn(status, (None, 400, 403))

    def test_a_view_that_cannot_be_made(self):
        client = self.client()
        client.say(type="subscribe", panel="none", what="tensor", name="no such tensor")
        self.assertEqual(client.text("subscribed")["matches"], 0)
        client.close()


class ClientsThatDoNotRead(unittest.TestCase):
    def test_one_is_thinned_and_dropped_and_others_see_nothing_of_it(self):
        """Clients without a will to read cost little memory, and after 20 s their connection."""
        with Feed(FEED, "--layers", 4, "--tokens", 512, "--width", 192, "--rate", 20, "--steps", 4000) as run:
            reader = Client(run)
            reader.say(type="subscribe", panel="t", what="tensor", name="*", encoding="f32")
            for _ in range(50):
                reader.frame(TENSOR)
                reader.say(type="credit", panel="t", frames=1)
            before_kib = run.resident_kib()
            stalled = [Client(run, receive_buffer=4096) for _ in range(4)]
            for client in stalled:
                client.say(type="subscribe", panel="t", what="tensor", name="*", encoding="f32")
                client.say(type="credit", panel="t", frames=64)
            begin = time.monotonic()
            last_step = -1
            while time.monotonic() - begin < 30:
                frame = reader.frame(TENSOR)
                self.assertGreaterEqual(frame.metadata["step"], last_step)
                last_step = max(last_step, frame.metadata["step"] - 1)
                reader.say(type="credit", panel="t", frames=1)
            grown_kib = run.resident_kib() - before_kib
            print(f"memory with 4 clients that do not read: {grown_kib / 4:.0f} KiB a client", file=sys.stderr)
            self.assertLess(grown_kib / 4, 1024 + 512)
            clients = [line for line in http(run.port, f"/metrics?token={run.token}")[2].decode().splitlines() if line.startswith("megascope_live_clients")]
            self.assertEqual(clients, ["megascope_live_clients 1"], "those that took nothing for 20 s are gone")

    def test_without_credits_the_newest_is_kept(self):
        with feed("--steps", 400) as run:
            client = Client(run)
            client.say(type="subscribe", panel="t", what="tensor", name="hidden", layers=[0, 0])
            first = [client.frame(TENSOR) for _ in range(2)]
            self.assertEqual([f.metadata["dropped"] for f in first], [0, 0])
            self.assertEqual(first[1].metadata["step"], first[0].metadata["step"] + 1)
            time.sleep(1)
            client.say(type="credit", panel="t", frames=1)
            late = client.frame(TENSOR)
            self.assertEqual(late.metadata["step"], first[1].metadata["step"] + late.metadata["dropped"] + 1, "each step is sent or counted")
            self.assertGreater(late.metadata["dropped"], 10)
            self.assertEqual(late.flags, 1)


class Start(unittest.TestCase):
    def test_a_port_that_is_taken_is_named(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            port = other.getsockname()[1]
            with self.assertRaises(RuntimeError) as refused:
                feed("--port", port)
            self.assertIn(f"port {port} of 127.0.0.1 is taken", str(refused.exception))

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


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
