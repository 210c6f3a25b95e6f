"""Traces that become shorter while a command reads them.

  shrink_test.py MEGASCOPE
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402

MEGASCOPE = os.path.realpath(sys.argv[1])
VERDICT = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "megascope_verdict")
KEPT_BYTES = 4096  # the header: all chunks are gone
SENTENCE = "became shorter while it was read"


class Case(in_directory.InDirectory):
    def synth(self, steps):
        subprocess.run([MEGASCOPE, "synth", "-o", self.run_directory, "--tp", "1", "--pp", "2", "--dp", "2", "--steps", str(steps)],
                       check=True, capture_output=True, timeout=100)
        self.traces = [os.path.join(self.run_directory, f"rank-{rank}.mgt") for rank in range(4)]

    def has_mapped_all(self, pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            maps = file.read()
            return all(path in maps for path in self.traces)
        return False

    def wait_until(self, condition, process):
        deadline = time.monotonic() + 60
        while not condition():
            self.assertIsNone(process.poll(), "the command ended too early")
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.002)

    def shrink(self, traces=None):
        for path in traces or self.traces:
            os.truncate(path, KEPT_BYTES)


class Commands(Case):
    """A trace that cannot be read makes the command write a sentence after it has mapped the others; its standard error is full, so
    it waits there until the traces are shorter."""

    def shrunk(self, *words, only=None):
        """only: the rank whose trace becomes shorter; else all do."""
        self.synth(20)
        with open(os.path.join(self.run_directory, "rank-9.mgt"), "wb") as file:
            file.write(b"no trace" * 1000)
        read_end, write_end = os.pipe()
        fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)
        os.write(write_end, b"x" * 4096)
        process = subprocess.Popen([MEGASCOPE, *words], stdout=subprocess.PIPE, stderr=write_end, cwd=self.directory)
        os.close(write_end)
        try:
            self.wait_until(lambda: self.has_mapped_all(process.pid), process)
            time.sleep(0.3)  # all is mapped; what is left is to write the sentence
            self.assertIsNone(process.poll())
            self.shrink([self.traces[only]] if only is not None else None)
            pieces = []
            reader = threading.Thread(target=lambda: pieces.extend(iter(lambda: os.read(read_end, 65536), b"")))
            reader.start()
            output = process.communicate(timeout=100)[0]
            reader.join()
        finally:
            process.kill()
            os.close(read_end)
        error = b"".join(pieces)[4096:].decode()
        self.assertIn("rank-9.mgt", error, "it was waiting there")
        self.assertEqual(process.returncode, 2, error)
        self.assertRegex(error, rf"(?m)^megascope: {self.run_directory}/rank-[0-3]\.mgt {SENTENCE}")
        return output.decode()

    def test_report_in_processes(self):
        self.assertEqual(self.shrunk("report", self.run_directory), "")

    def test_report_in_a_process_that_is_not_the_first(self):
        self.assertEqual(self.shrunk("report", self.run_directory, "-j", "4", only=3), "")

    def test_analyze_in_one_thread(self):
        self.assertEqual(self.shrunk("analyze", self.run_directory, "-j", "1"), "")

    def test_analyze_in_threads(self):
        self.assertEqual(self.shrunk("analyze", self.run_directory, "-j", "4"), "")

    def test_hang(self):
        self.assertEqual(self.shrunk("hang", self.run_directory, "-j", "4"), "")

    def test_export_in_one_process(self):
        self.shrunk("export", self.run_directory, "-f", "megascan", "-j", "1", "--parallel", "tp=1,pp=2,dp=2", "-o", os.path.join(self.directory, "out"))

    def test_export_in_processes(self):
        self.shrunk("export", self.run_directory, "-f", "chrome", "-j", "4", "-o", os.path.join(self.directory, "out"))

    def test_export_without_findings(self):
        self.shrunk("export", self.run_directory, "-f", "chrome", "-j", "4", "--no-findings", "-o", os.path.join(self.directory, "out"))


class Verdict(Case):
    def test_the_helper_at_the_end_of_a_run_says_why_there_is_none(self):
        self.synth(3000)
        process = subprocess.Popen([VERDICT, self.run_directory, "60000000000"], stdout=subprocess.PIPE)
        try:
            self.wait_until(lambda: self.has_mapped_all(process.pid), process)
            process.send_signal(signal.SIGSTOP)
            self.assertIsNone(process.poll())
            self.shrink()
            process.send_signal(signal.SIGCONT)
            output = process.communicate(timeout=100)[0].decode()
        finally:
            process.kill()
        self.assertEqual(process.returncode, 0)
        self.assertRegex(output, rf"^-{self.run_directory}/rank-[0-3]\.mgt {SENTENCE}[^\n]*$")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
