"""A job with the live view on, and what it is like beside: its lines, its trace."""

import gzip
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import types

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import launch  # noqa: E402


class Job:
    """Runs `command` on `ranks` ranks under the library. settings: of the environment."""

    def __init__(self, launcher, command, ranks, library, settings=None, live="0"):
        self.scratch = tempfile.TemporaryDirectory(prefix="megascope_live_job_")
        self.directory = pathlib.Path(self.scratch.name) / "run"
        settings = {"LD_PRELOAD": library, "MEGASCOPE_LIVE": live, "MEGASCOPE_OUT": str(self.directory), "MEGASCOPE_EXPORT": "none",
                    "MEGASCOPE_REPORT": "short", **(settings or {})}
        self.process = subprocess.Popen([*launcher, *launch.setting(launcher, **settings), "-n", str(ranks), *map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True)
        self.lines, self.errors, self.said = [], [], threading.Event()
        self.readers = [threading.Thread(target=self.read, args=(self.process.stdout, self.lines)),
                        threading.Thread(target=self.read, args=(self.process.stderr, self.errors))]
        for reader in self.readers:
            reader.start()
        self.port = self.token = None

    def read(self, stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))
            if "live view" in line:
                self.said.set()

    def find_server(self):
        """The port that it says, and the token from the file that it names."""
        until = time.monotonic() + 60
        while not self.said.wait(0.2) and time.monotonic() < until and self.process.poll() is None:
            pass
        if not self.said.is_set():
            raise AssertionError(f"nothing was said of a live view: {self.errors}")
        found = re.search(r"live view: http://127\.0\.0\.1:(\d+)/; the address with the access token is in (.+/live_url)$", "\n".join(self.errors), re.MULTILINE)
        if not found:
            raise AssertionError(f"no address: {self.errors}")
        url = pathlib.Path(found[2]).read_text(encoding="utf-8")
        self.port, self.token = int(found[1]), re.fullmatch(rf"http://127\.0\.0\.1:{found[1]}/\?token=([0-9a-f]{{32}})\n", url)[1]
        return self

    def compat_place(self):
        """Where clients of MegatronApp connect; has a `port`."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = re.search(r"ws://localhost:(\d+)", "\n".join(self.errors))
            if found:
                return types.SimpleNamespace(port=int(found[1]))
            time.sleep(0.05)
        raise AssertionError(self.errors)

    def end(self, most_s=120):
        """Waits for its end; the exit code."""
        code = self.process.wait(most_s)
        for reader in self.readers:
            reader.join()
        return code

    def chrome(self, megascope):
        """Its trace's events as Chrome's JSON has them."""
        done = subprocess.run([megascope, "export", self.directory, "--format", "chrome", "--no-findings"], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        path = next(self.directory.glob("*.json.gz"))
        with gzip.open(path, "rt", encoding="utf-8") as file:
            return json.load(file)["traceEvents"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.end()
        self.process.stdout.close()
        self.process.stderr.close()
        self.scratch.cleanup()


def slices_of(events, rank, name=None):
    """(begin, end) in µs of what a rank did, of its outermost calls of MPI where no name is given."""
    found = sorted((event["ts"], event["ts"] + event["dur"]) for event in events
                   if event["ph"] == "X" and event["pid"] == rank and (event["name"].startswith("MPI_") if name is None else event["name"] == name))
    outermost = []
    for begin, end in found:
        if name is not None or not outermost or begin >= outermost[-1][1]:
            outermost.append((begin, end))
    return outermost
