#!/usr/bin/python3
"""The live view's server, attacked: who may not come in, and anything that a client may send.

  attack_test.py live_feed
"""

import json
import os
import socket
import struct
import sys
import time
import unittest

from live_client import BINARY, CLOSE, PING, STEPS, TEXT, Client, Closed, Feed, http, read_response

FEED = ""


class WhoMayNot(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.run_ = Feed(FEED, "--layers", 2, "--tokens", 32, "--width", 100, "--rate", 100, "--steps", 100000)

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
        cls.run_ = Feed(FEED, "--layers", 2, "--tokens", 32, "--width", 100, "--rate", 100, "--steps", 100000)

    @classmethod
    def tearDownClass(cls):
        cls.run_.__exit__()

    def tearDown(self):
        """After anything that one client did, the next is served."""
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
        self.assertIn("nested deeper", self.error(b'{"type":"ping","id":' + b"[" * 32000 + b"]" * 32000 + b"}"))
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
            self.assertEqual(client.closed(), 1008)

    def test_too_many_panels(self):
        client = self.client()
        for i in range(17):
            client.say(type="subscribe", panel=f"p{i}", what="steps")
        self.assertEqual(client.text("error")["panel"], "p16")
        client.close()

    def test_too_many_requests(self):
        client = self.client()
        for i in range(5):
            client.say(type="subscribe", panel=f"p{i}", what="counters", names=[f"{i} {j}" for j in range(16)])
        self.assertEqual(client.text("error")["panel"], "p4")
        client.close()

    def test_too_many_clients(self):
        clients = []
        try:
            clients = [self.client() for _ in range(16)]
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
        begin = time.monotonic()
        self.client().close()
        self.assertLess(time.monotonic() - begin, 4, "who has the token does not wait until those are closed, after 5 s")
        time.sleep(6)
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


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
