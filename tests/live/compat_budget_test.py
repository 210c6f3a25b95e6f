#!/usr/bin/python3
"""What clients of the compatibility endpoint cost, who show no token: all of them together have one budget.

  compat_budget_test.py live_compat_feed
"""

import contextlib
import json
import re
import socket
import sys
import threading
import time
import unittest

from compat_client import Feed, reference_client
from live_client import STEPS as STEPS_FRAME
from live_client import PING, PONG, TEXT, Closed, http

FEED = ""


def metric(run, name):
    """A value of /metrics."""
    status, _, body = http(run.own_port, f"/metrics?token={run.token}")
    assert status == 200, status
    return float(re.search(rf"^{name} (\S+)$", body.decode(), re.MULTILINE)[1])


class Reader(threading.Thread):
    """Takes all that a client gets, and counts: bytes of messages, updates, errors."""

    def __init__(self, client, answers_pings=True):
        super().__init__(daemon=True)
        self.answers_pings, self.began = answers_pings, time.monotonic()
        self.client, self.bytes, self.largest, self.updates, self.errors, self.end = client, 0, 0, 0, [], None
        self.start()

    def run(self):
        try:
            while True:
                opcode, payload = self.client.receive_frame()
                if opcode == PING and self.answers_pings:
                    self.client.send_frame(PONG, payload)
                self.bytes += len(payload)
                self.largest = max(self.largest, len(payload))
                message = json.loads(payload) if opcode == TEXT else {}
                self.updates += message.get("type") == "update"
                if message.get("type") == "error":
                    self.errors.append(message["message"])
        except (Closed, OSError) as end:
            self.end = end


class Budget(unittest.TestCase):
    """What clients without token cost, all of them together."""

    def greedy(self, run, silent=None):
        """Eight clients that want all there is, untouched."""
        names = ("QKV_mat_mul", "ContextLayer_mat_mul", "MLP1_mat_mul", "MLP2_mat_mul", "HiddenStates")
        readers = []
        for i in range(8):
            client = reference_client(run)
            client.say(type="run_training_step", visualization_flags={name: "True" for name in names},
                       compressor_config={name: {"compressor_type": "NoOp", "compressor_configs": {}} for name in names})
            readers.append(Reader(client, i != silent))
        return readers

    def test_a_message_that_never_ends_is_not_read_for_ever(self):
        """Of empty frames, which no limit on a message's length sees."""
        with Feed(FEED, "--rate", 100, "--steps", 1000000) as run:
            client = reference_client(run)
            client.socket.settimeout(3)
            client.socket.sendall(bytes([0x01, 0x80, 0, 0, 0, 0]))
            frames = bytes([0x00, 0x80, 0, 0, 0, 0]) * 10_000
            sent = 0
            with self.assertRaises(OSError):  # no client reads any more, or the connection is closed
                while sent < 256 << 20:
                    sent += client.socket.send(frames)
            self.assertLess(sent, 32 << 20)  # what is read, and both sides' socket buffers
            own = run.own_client()  # who has the token is served as before
            own.say(type="subscribe", panel="p", what="steps")
            self.assertTrue(own.frame(STEPS_FRAME).steps)

    def test_frames_without_payload_and_pings_count_too(self):
        """Neither is a message: a message that never ends, and a ping after each 900 kB of it."""
        rate, seconds, clients = 100_000, 5, 4
        buffered = 8 << 20  # in both sides' sockets, for each
        block = bytes([0x00, 0x80, 0, 0, 0, 0]) * 150_000 + bytes([0x89, 0x80, 0, 0, 0, 0])
        sent = [0] * clients

        def attack(i, client, end):
            client.socket.settimeout(1)
            with contextlib.suppress(OSError):
                client.socket.sendall(bytes([0x01, 0x80, 0, 0, 0, 0]))
                while time.monotonic() < end:
                    sent[i] += client.socket.send(block[sent[i] % len(block):])

        with Feed(FEED, "--rate", 100, "--steps", 1000000, "--unauthenticated-rate", rate) as run:
            began = time.monotonic()
            threads = [threading.Thread(target=attack, args=(i, reference_client(run), began + seconds)) for i in range(clients)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            elapsed = time.monotonic() - began
            self.assertLess(sum(sent), rate * (elapsed + 0.5) + clients * buffered)
            spent = metric(run, "megascope_live_guest_bytes_total")
            self.assertGreater(spent, sum(sent) - clients * buffered)
            self.assertGreaterEqual(spent, rate * 0.5)
            own = run.own_client()  # who has the token is served as before
            own.say(type="subscribe", panel="p", what="steps")
            self.assertTrue(own.frame(STEPS_FRAME).steps)

    def test_connections_and_headers_that_come_byte_by_byte_count_too(self):
        with Feed(FEED, "--rate", 100, "--steps", 1000000) as run:
            count = 50
            for _ in range(count):
                with socket.create_connection(("127.0.0.1", run.port)) as connection:
                    connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    while connection.recv(65536):
                        pass
            of_connections = metric(run, "megascope_live_guest_cpu_seconds_total")
            self.assertGreaterEqual(of_connections, count * 150e-6)
            with socket.create_connection(("127.0.0.1", run.port)) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in b"GET / HTTP/1.1\r\nX: " + b"x" * 200:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.002)
                self.assertGreaterEqual(metric(run, "megascope_live_guest_cpu_seconds_total") - of_connections, 50 * 20e-6)
            self.assertGreater(metric(run, "megascope_live_guest_bytes_total"), 200)

    def test_eight_clients_without_token_stay_within_the_budget_and_get_the_newest(self):
        rate = 200_000
        with Feed(FEED, "--rate", 100, "--steps", 1000000, "--unauthenticated-rate", rate) as run:
            self.assertIn("clients of this port get up to 195 KiB/s and 100 % of a core together", run.said)
            began = time.monotonic()
            readers = self.greedy(run)
            own = run.own_client()
            own.say(type="subscribe", panel="p", what="steps")
            steps = []

            def is_shown():
                return metric(run, "megascope_live_guest_skipped_total") > 100 and all(reader.updates > 0 for reader in readers)

            while time.monotonic() - began < 5 or (time.monotonic() - began < 60 and not is_shown()):
                frame = own.frame(STEPS_FRAME)  # a sanitized build on a busy machine makes few updates a second
                self.assertEqual(frame.metadata["dropped"], 0)
                steps += frame.steps
                own.say(type="credit", panel="p", frames=1)
            spent = metric(run, "megascope_live_guest_bytes_total")
            elapsed = time.monotonic() - began
            self.assertEqual(steps, list(range(steps[0], steps[-1] + 1)), "who has the token misses no step")
            self.assertLessEqual(spent, rate * (elapsed + 0.5) + max(reader.largest for reader in readers) + 65536)
            self.assertLessEqual(sum(reader.bytes for reader in readers), rate * (time.monotonic() - began + 0.5) + 2 * max(reader.largest for reader in readers) + 65536)
            self.assertGreater(metric(run, "megascope_live_guest_skipped_total"), 100)
            self.assertTrue(all(reader.updates > 0 for reader in readers), [reader.updates for reader in readers])
            for reader in readers:
                self.assertEqual(len(reader.errors), 1, reader.errors)
                self.assertIn("MEGASCOPE_LIVE_GUEST_RATE", reader.errors[0])
            self.assertIsNone(run.process.poll())

    def test_who_connects_while_the_budget_is_in_debt_is_served_after_it(self):
        """Debts that take longer than a client may take to send its request."""
        with Feed(FEED, "--rate", 100, "--steps", 1000000, "--unauthenticated-cpu", 0.0025) as run:
            began = time.monotonic()
            # Taking it costs 150 us and more: 6 s of the budget; of a sanitized build on a busy machine, milliseconds.
            client = reference_client(run, most_s=300)
            self.assertGreater(time.monotonic() - began, 5)
            client.socket.close()

    def test_the_cpu_time_for_clients_without_token_is_bounded(self):
        with Feed(FEED, "--rate", 100, "--steps", 1000000, "--unauthenticated-cpu", 1) as run:
            began = time.monotonic()
            readers = self.greedy(run)
            time.sleep(4)
            while time.monotonic() - began < 60 and not all(reader.updates > 0 for reader in readers):
                time.sleep(0.1)  # one message of a sanitized build on a busy machine takes seconds of the budget
            spent = metric(run, "megascope_live_guest_cpu_seconds_total")
            elapsed = time.monotonic() - began
            # One message beyond it may be begun: 0.1 s is more than any takes.
            self.assertLessEqual(spent, 0.01 * (elapsed + 0.5) + 0.1)
            self.assertGreater(metric(run, "megascope_live_guest_skipped_total"), 0)
            updates = [reader.updates for reader in readers]
            self.assertGreater(min(updates), 0, updates)
            self.assertLessEqual(max(updates), 4 * min(updates) + 8, f"served in turn: {updates}")

    def test_who_answers_stays_though_the_budget_is_always_in_debt(self):
        """Its answers to pings wait for the budget too."""
        with Feed(FEED, "--rate", 100, "--steps", 1000000, "--unauthenticated-cpu", 0.3) as run:
            readers = self.greedy(run, silent=3)
            readers[3].join(timeout=60)
            self.assertGreater(time.monotonic() - readers[3].began, 10)
            self.assertEqual([reader.end is None for reader in readers], [i != 3 for i in range(8)])

    def test_what_clients_without_token_say_counts_too(self):
        rate = 100_000
        with Feed(FEED, "--rate", 20, "--steps", 1000000, "--unauthenticated-rate", rate) as run:
            began = time.monotonic()
            client = reference_client(run)
            text = json.dumps({"type": "ping", "filler": "x" * 60_000}).encode()
            client.socket.settimeout(0.2)
            sent = 0
            while time.monotonic() - began < 3:
                try:
                    client.send_frame(TEXT, text)
                    sent += 1
                except TimeoutError:
                    break  # not read: the kernel takes no more
                except ConnectionError:
                    client = reference_client(run)  # 100 messages a second are allowed
                    client.socket.settimeout(0.2)
            while time.monotonic() - began < 3:
                time.sleep(0.1)
            spent = metric(run, "megascope_live_guest_bytes_total")
            self.assertGreater(sent, 0)
            self.assertLessEqual(spent, rate * (time.monotonic() - began + 0.5) + 2 * len(text))
            own = run.own_client()
            own.say(type="ping", id=1)
            own.text("pong")


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
