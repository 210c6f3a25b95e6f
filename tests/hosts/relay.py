"""A slow wire between two network namespaces, for kernels without netem: each direction takes as long as it is told to.

    with Relay(("left", "right"), ("10.0.0.1/24", "10.0.0.2/24"), delay_s=(0.002, 0.0002)) as relay:
        ...  # in each namespace there is a device relay.device with its address

A process copies Ethernet frames between two TAP devices, one in each namespace. What the first sends arrives delay_s[0] later,
what the second sends delay_s[1] later, plus up to jitter_s (evenly spread), all times `factor` (a slow link: a factor of 10).
Frames of one direction never overtake each other. slow_down() makes all times `later` times as long from then on. All protocols over IPv4 pass; the rate is not bounded.

Precision: some 50 µs where the process may run ahead of others (SCHED_FIFO; needs root), else as busy as the machine is: use fewer
spinning ranks than cores, or ranks that yield. Needs root, `ip` and /dev/net/tun; reason_why_not() says what is missing. Names of
namespaces are those of `ip netns`. The process ends with close() or when its parent does.
"""

import collections
import ctypes
import fcntl
import os
import random
import select
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG, PR_SET_TIMERSLACK = 1, 29
SIGKILL = 9
MTU = 9000  # fewer frames than with 1500
PRIORITY = 50
LIMIT_S = 20


def reason_why_not():
    """What is missing for a relay, or None."""
    if not os.access("/dev/net/tun", os.R_OK | os.W_OK):
        return "no /dev/net/tun to write to"
    return None


class Relay:
    """Of two namespaces that are there. Figures in seconds; pairs are (first to second, second to first)."""

    def __init__(self, namespaces, addresses, delay_s, jitter_s=0.0, factor=1.0, later=1.0, device="slow"):
        self.namespaces, self.addresses, self.device = namespaces, addresses, device
        self.figures = [*delay_s, jitter_s, factor, later]
        self.process = None

    def __enter__(self):
        words = [sys.executable, os.path.abspath(__file__), self.device, *self.namespaces, *map(repr, self.figures)]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            self.close()
            raise OSError("the relay did not start")
        try:
            for namespace, address in zip(self.namespaces, self.addresses):
                for command in (["addr", "add", address, "dev", self.device], ["link", "set", self.device, "mtu", str(MTU), "up"]):
                    subprocess.run(["ip", "-n", namespace, *command], check=True, timeout=LIMIT_S)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def slow_down(self):
        self.process.send_signal(signal.SIGUSR1)

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Direction:
    """Frames on their way from one device to another."""

    def __init__(self, source, target, delay_s, jitter_s):
        self.source, self.target, self.delay_s, self.jitter_s = source, target, delay_s, jitter_s
        self.frames = collections.deque()  # (due, frame)
        self.last_due = 0.0

    def take(self):
        """All that the source has."""
        while True:
            try:
                frame = os.read(self.source, 1 << 16)
            except OSError:  # nothing more, or the device is down
                return
            self.last_due = max(self.last_due, time.monotonic() + self.delay_s + random.random() * self.jitter_s)
            self.frames.append((self.last_due, frame))

    def pass_on(self):
        """What is due. When the next one is, or None."""
        while self.frames and self.frames[0][0] <= time.monotonic():
            try:
                os.write(self.target, self.frames.popleft()[1])
            except OSError:
                pass  # the device is down: such a frame is lost, as on a wire that is cut
        return self.frames[0][0] if self.frames else None


def open_tap(libc, namespace, device):
    """A new device of this name in the namespace, which this process is in from now on."""
    with open(f"/run/netns/{namespace}", "rb") as file:
        if libc.setns(file.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns", namespace)
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", device.encode(), IFF_TAP | IFF_NO_PI))
    return tap


def main():
    device, first, second, *figures = sys.argv[1:]
    there_s, back_s, jitter_s, factor, later = map(float, figures)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_SET_PDEATHSIG, SIGKILL)
    libc.prctl(PR_SET_TIMERSLACK, 1)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
    except OSError:
        pass
    taps = [open_tap(libc, namespace, device) for namespace in (first, second)]
    directions = [Direction(taps[0], taps[1], there_s * factor, jitter_s * factor),
                  Direction(taps[1], taps[0], back_s * factor, jitter_s * factor)]

    def slow_down(*_):
        for direction in directions:
            direction.delay_s *= later
            direction.jitter_s *= later

    signal.signal(signal.SIGUSR1, slow_down)
    print("ready", flush=True)
    while True:
        dues = [due for due in (direction.pass_on() for direction in directions) if due is not None]
        wait_s = max(0.0, min(dues) - time.monotonic()) if dues else None
        select.select(taps, [], [], wait_s)
        for direction in directions:
            direction.take()


if __name__ == "__main__":
    main()
