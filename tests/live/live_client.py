"""An independent client of the live view, on plain sockets: RFC 6455 and docs/live_protocol.md, written from their text."""

import base64
import hashlib
import json
import os
import re
import socket
import struct
import subprocess
import tempfile
import time

MAGIC = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10
STEPS, COUNTERS, STATISTICS, TENSOR, CALLS = 1, 2, 3, 4, 5


class Closed(Exception):
    """The server closed. code: of WebSocket; None: the connection ended without one."""

    def __init__(self, code=None, reason=""):
        super().__init__(f"closed: {code} {reason}")
        self.code = code


class Feed:
    """tests/live/feed.cpp at work."""

    def __init__(self, program, *arguments):
        self.directory = tempfile.mkdtemp(prefix="live_test_")
        self.process = subprocess.Popen([program, "--directory", self.directory, *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/\?token=([0-9a-f]{32})", self.url)
        if not found:
            raise RuntimeError(f"no URL but {self.url!r}: {self.process.stderr.read()}")
        self.port, self.token = int(found[1]), found[2]

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmRSS:\s+(\d+)", status.read())[1])

    def is_sanitized(self):
        with open(f"/proc/{self.process.pid}/maps", encoding="utf-8") as maps:
            return re.search(r"lib[at]san", maps.read()) is not None

    def go_on(self):
        """Lets one with --hold make its first step."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def end(self):
        """Waits for it; what it said and its exit code."""
        out, errors = self.process.communicate(timeout=120)
        return out, errors, self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def http(port, target, headers=(), method="GET", host=None, family=socket.AF_INET):
    """(status, headers, body) of one request."""
    address = "::1" if family == socket.AF_INET6 else "127.0.0.1"
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.settimeout(30)
        connection.connect((address, port))
        lines = [f"{method} {target} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", *headers, "", ""]
        connection.sendall("\r\n".join(lines).encode())
        return read_response(connection)


def read_response(connection):
    data = b""
    while chunk := connection.recv(65536):
        data += chunk
    if not data:
        return None, {}, b""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *rest = head.decode().split("\r\n")
    return int(first.split()[1]), {line.split(": ", 1)[0].lower(): line.split(": ", 1)[1] for line in rest}, body


class Client:
    """A WebSocket. Raises Closed once the server is gone."""

    def __init__(self, feed, target=None, headers=(), host=None, receive_buffer=None, most_s=60):
        """most_s: for the answer, and for each later message."""
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(most_s)
        self.socket.connect(("127.0.0.1", feed.port))
        self.buffer = b""
        self.next_number = 0
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {target or f'/ws/v1?token={feed.token}'} HTTP/1.1", f"Host: {host or f'127.0.0.1:{feed.port}'}",
                 "Upgrade: websocket", "Connection: Upgrade", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Version: 13", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        while b"\r\n\r\n" not in self.buffer:
            chunk = self.socket.recv(4096)
            if not chunk:
                raise Closed(None, "no answer")
            self.buffer += chunk
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])
        if self.status != 101:
            raise Closed(self.status, head.decode())
        expected = base64.b64encode(hashlib.sha1((key + MAGIC).encode()).digest())
        assert b"Sec-WebSocket-Accept: " + expected in head, head
        assert b"permessage-deflate" not in head.lower(), head

    def send_frame(self, opcode, payload, fin=True, announced=None):
        """announced: the length that the header says."""
        length = len(payload) if announced is None else announced
        mask = os.urandom(4)
        header = struct.pack("!B", (0x80 if fin else 0) | opcode)
        if length < 126:
            header += struct.pack("!B", 0x80 | length)
        elif length < 65536:
            header += struct.pack("!BH", 0x80 | 126, length)
        else:
            header += struct.pack("!BQ", 0x80 | 127, length)
        repeated = (mask * (len(payload) // 4 + 1))[:len(payload)]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(payload), "big")
        self.socket.sendall(header + mask + masked)

    def say(self, **message):
        self.send_frame(TEXT, json.dumps(message).encode())

    def take(self, count):
        while len(self.buffer) < count:
            try:
                chunk = self.socket.recv(1 << 20)
            except ConnectionError as error:
                raise Closed(None, str(error)) from error
            if not chunk:
                raise Closed(None, "end of stream")
            self.buffer += chunk
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def receive_frame(self):
        first, second = self.take(2)
        assert not second & 0x80, "a server does not mask"
        assert first & 0x80 and not first & 0x70, "frames are whole and use no extension"
        length = second & 0x7F
        if length == 126:
            length, = struct.unpack("!H", self.take(2))
        elif length == 127:
            length, = struct.unpack("!Q", self.take(8))
        return first & 0x0F, self.take(length)

    def receive(self):
        """The next message: a dict, or a Frame."""
        while True:
            opcode, payload = self.receive_frame()
            if opcode == TEXT:
                return json.loads(payload.decode("utf-8"))
            if opcode == BINARY:
                frame = Frame(payload)
                assert frame.number == self.next_number, (frame.number, self.next_number)
                self.next_number += 1
                return frame
            if opcode == PING:
                self.send_frame(PONG, payload)
            elif opcode == CLOSE:
                raise Closed(struct.unpack("!H", payload[:2])[0] if payload else None, payload[2:].decode())

    def wait_for(self, wanted, most_s=30):
        """The first message for which wanted(message); texts by their type, frames by their kind."""
        until = time.monotonic() + most_s
        seen = []
        while time.monotonic() < until:
            message = self.receive()
            if wanted(message):
                return message
            seen.append(message.get("type") if isinstance(message, dict) else f"frame {message.kind}")
        raise AssertionError(f"did not come in {most_s} s; came: {seen[-20:]}")

    def text(self, kind, **fields):
        return self.wait_for(lambda m: isinstance(m, dict) and m["type"] == kind and all(m.get(k) == v for k, v in fields.items()))

    def frame(self, kind):
        return self.wait_for(lambda m: isinstance(m, Frame) and m.kind == kind)

    def closed(self):
        """The code with which the server closes, after all that it still sends."""
        try:
            while True:
                self.receive()
        except Closed as closed:
            return closed.code

    def close(self):
        self.socket.close()


class Frame:
    """A binary frame, checked against the layout of the protocol."""

    def __init__(self, data):
        magic, self.kind, self.flags, reserved, self.number, length = struct.unpack_from("<4sBBHII", data)
        assert magic == b"MSL1" and reserved == 0 and self.flags <= 1, data[:16]
        assert len(data) <= 4 << 20
        self.metadata = json.loads(data[16:16 + length].decode("utf-8"))
        self.at = 16 + (length + 7) // 8 * 8
        assert not any(data[16 + length:self.at]), "zeros behind the metadata"
        self.data = data
        read = {STEPS: self.read_steps, COUNTERS: self.read_counters, STATISTICS: self.read_statistics, TENSOR: self.read_tensor, CALLS: self.read_calls}
        read[self.kind]()
        assert self.at == len(data), (self.at, len(data), self.metadata)

    def array(self, code, count):
        values = struct.unpack_from(f"<{count}{code}", self.data, self.at)
        self.at += (count * struct.calcsize(code) + 7) // 8 * 8
        return values

    def read_steps(self):
        steps, ranks = self.metadata["steps"], self.metadata["ranks"]
        self.steps = self.array("q", steps)
        self.begins = self.array("d", steps)
        self.columns = {}
        for name in self.metadata["columns"]:
            cells = self.array("f", steps * ranks)
            self.columns[name] = [cells[i * ranks:(i + 1) * ranks] for i in range(steps)]

    def read_matrix(self, names):
        steps, count = self.metadata["steps"], self.metadata["count"]
        self.steps = self.array("q", steps)
        self.ids = self.array("I", count)
        self.columns = {}
        for name in names:
            cells = self.array("d", steps * count)
            self.columns[name] = [cells[i * count:(i + 1) * count] for i in range(steps)]

    def read_counters(self):
        self.read_matrix(["value"])

    def read_statistics(self):
        self.read_matrix(self.metadata["columns"])

    def read_calls(self):
        names, ranks, cells = (self.metadata[name] for name in ("functions", "ranks", "cells"))
        columns = ("calls", "time_ms", "sent", "received")
        self.total, self.newest = ({name: dict(zip(columns, row)) for name, row in zip(names, zip(*(self.array("d", len(names)) for _ in columns)))}
                                   for _ in range(2))
        self.elapsed_ms, self.mpi_ms = self.array("d", ranks), self.array("d", ranks)
        self.bytes_to, self.messages_to = ([values[i * cells:(i + 1) * cells] for i in range(cells)]
                                           for values in (self.array("d", cells * cells), self.array("d", cells * cells)))

    def read_tensor(self):
        count = 1
        for extent in self.metadata["shape"]:
            count *= extent
        scale = self.metadata.get("scale", 1)
        self.values = [value * scale for value in self.array({"f16": "e", "f32": "f"}[self.metadata["encoding"]], count)]
