"""Two unprivileged users on one node, and runs of theirs that were killed.

A test's command line: MEGASCOPE LIBRARY PROGRAM EPILOG [unittest's arguments].
"""

import glob
import os
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402
import reported_skips  # noqa: E402

COMMAND, LIBRARY, PROGRAM, EPILOG = sys.argv[1:5]
ATTACKER, VICTIM = 4001, 4002
LIMIT_S = 60
WAITING_AT = 8  # of the flag in the program's book (tests/faults/ledger.h)
MPI = {"OMPI_MCA_ess_singleton_isolated": "1", "OMPI_MCA_btl": "self", "OMPI_MCA_pml": "ob1"}
SECRET = "PRIVATE KEY OF THE VICTIM"

needs_two_users = unittest.skipUnless(os.geteuid() == 0 and shutil.which("setpriv"), "two users need root and setpriv")


def as_user(uid, words):
    """uid: None for the user of this test."""
    if uid is None:
        return list(words)
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", *words]


def python_of(uid):
    """One that the user can start: that of this test may be in a private directory."""
    for path in (sys.executable, "/usr/bin/python3"):
        if subprocess.run(as_user(uid, [path, "-c", "import ctypes"]), capture_output=True, check=False).returncode == 0:
            return path
    raise unittest.SkipTest("no Python that another user can start")


def wait_for(what, condition, limit_s=LIMIT_S):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain for {what}")
        time.sleep(0.01)


class Case(in_directory.InDirectory):
    parent = "/tmp"

    def setUp(self):
        super().setUp()
        os.chmod(self.directory, 0o755)
        os.mkdir(f"{self.directory}/bin")
        for path in (COMMAND, PROGRAM, os.path.realpath(LIBRARY)):
            shutil.copy(path, f"{self.directory}/bin/{os.path.basename(path)}")
        self.command = f"{self.directory}/bin/{os.path.basename(COMMAND)}"
        self.program = f"{self.directory}/bin/{os.path.basename(PROGRAM)}"
        self.library = f"{self.directory}/bin/{os.path.basename(os.path.realpath(LIBRARY))}"
        self.scratch = self.make("scratch", mode=0o1777)

    def make(self, name, uid=None, mode=0o755):
        path = name if name.startswith("/") else f"{self.directory}/{name}"
        os.mkdir(path)
        if uid is not None:
            os.chown(path, uid, uid)
        os.chmod(path, mode)
        return path

    def write(self, path, text, uid=None, mode=0o600):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if uid is not None:
            os.chown(path, uid, uid)
        os.chmod(path, mode)
        return path

    def environment(self, **variables):
        return super().environment(**{"HOME": "/", **MPI, **variables})

    def call(self, *words, uid=None, limit_s=LIMIT_S, **variables):
        """The command, as a user."""
        return subprocess.run(as_user(uid, [self.command, *words]), cwd="/", env=self.environment(**variables), stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=limit_s, check=False)

    def start_run(self, out, uid=None, scratch=None, prefix=(), also_preload=""):
        """A program that records into scratch storage and waits; its run directory will be `out`."""
        scratch = scratch or self.scratch
        os.makedirs(f"{self.directory}/books", exist_ok=True)
        os.chmod(f"{self.directory}/books", 0o1777)
        book = f"{self.directory}/books/{len(os.listdir(self.directory + '/books'))}"
        words = [*prefix, "env", f"LD_PRELOAD={self.library} {also_preload}", self.program, "receive-forever", book, "100"]
        process = subprocess.Popen(as_user(uid, words), cwd="/", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True, env=self.environment(MEGASCOPE_OUT=out, MEGASCOPE_SCRATCH=scratch, MEGASCOPE_EXPORT="none"))
        self.addCleanup(self.kill, process)

        def is_waiting():
            try:
                with open(book + ".0", "rb") as file:
                    file.seek(WAITING_AT)
                    return struct.unpack("<Q", file.read(8))[0] == 1
            except (OSError, struct.error):
                return False
        wait_for("the program", lambda: is_waiting() or process.poll() is not None)
        self.assertIsNone(process.poll(), "the program has ended")
        return process

    @staticmethod
    def kill(process):
        """And all that it started."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def killed_run(self, out, uid=None, scratch=None):
        self.kill(self.start_run(out, uid, scratch))
        return out

    def left_in(self, uid, scratch=None):
        uid = os.geteuid() if uid is None else uid
        return glob.glob(f"{scratch or self.scratch}/megascope-{uid}/*/*")

    def secret(self):
        home = self.make("home", VICTIM, 0o700)
        return self.write(f"{home}/id_rsa", SECRET, VICTIM)

    def assert_no_secret(self, directory):
        for parent, _, names in os.walk(directory):
            for name in names:
                if os.path.isfile(f"{parent}/{name}") and not os.path.islink(f"{parent}/{name}"):
                    with open(f"{parent}/{name}", "rb") as file:
                        self.assertNotIn(SECRET.encode(), file.read(), f"{parent}/{name}")


def listing(directory):
    """Names, types, modes, sizes of all that is there."""
    return sorted((parent, name, os.lstat(f"{parent}/{name}").st_mode, os.lstat(f"{parent}/{name}").st_size, os.lstat(f"{parent}/{name}").st_uid)
                  for parent, directories, files in os.walk(directory) for name in directories + files)


def main():
    reported_skips.main(*sys.argv[5:])
