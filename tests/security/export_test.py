"""`megascope export` by root, of a run that a user names, who exchanges directories meanwhile for links to another user's run."""

import os
import shutil
import signal
import subprocess

from case import ATTACKER, COMMAND, LIMIT_S, VICTIM, Case, as_user, main, needs_two_users, python_of

ATTEMPTS = 60
EXCHANGE = 2  # of renameat2(2)
WORDS = ("--format", "perfetto", "--jobs", "1")

SWAP = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
one, other = (name.encode() for name in sys.argv[1:])
print("ready", flush=True)
while True:
    libc.renameat2(-100, one, -100, other, %d)
""" % EXCHANGE


@needs_two_users
class Exchanged(Case):
    def setUp(self):
        super().setUp()
        self.victims = self.make("victims", VICTIM, 0o700)
        self.attackers = self.make("attackers", ATTACKER, 0o755)
        own, self.program = self.program, shutil.copy(self.program, f"{self.directory}/bin/program-of-the-victim")
        self.theirs = self.recovered(f"{self.victims}/run", VICTIM)
        self.program = own
        self.mine = self.recovered(f"{self.attackers}/run", ATTACKER)
        self.secret = self.secret_of(self.theirs)
        self.assertFalse(self.secret in self.export(self.mine))

    def recovered(self, out, uid):
        self.killed_run(out, uid)
        self.assertEqual(self.call("recover", out, uid=uid).returncode, 0)
        return out

    def secret_of(self, run):
        """What an export of the victim's run contains."""
        secret = b"program-of-the-victim"
        self.assertTrue(secret in self.export(run))
        return secret

    def as_root(self, run):
        """By the command in its place, where its modules are."""
        return subprocess.run([COMMAND, "export", run, *WORDS], cwd="/", env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S,
                              check=False)

    def export(self, run):
        result = self.as_root(run)
        return self.taken(run) + result.stdout + result.stderr

    @staticmethod
    def taken(run):
        """The bytes of an export, which is removed."""
        path = f"{run}/trace.perfetto-trace"
        try:
            with open(path, "rb") as file:
                data = file.read()
            os.remove(path)
            return data
        except OSError:
            return b""

    def swapping(self, one, other):
        words = as_user(ATTACKER, [python_of(ATTACKER), "-c", SWAP, one, other])
        process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def test_the_directory_of_a_rank_on_its_own(self):
        solo = self.make(f"{self.mine}/solo-1", ATTACKER)
        os.rename(f"{self.mine}/rank-0.mgt", f"{solo}/rank-0.mgt")
        link = f"{self.attackers}/link"
        os.symlink(self.theirs, link)
        process = self.swapping(solo, link)
        for attempt in range(ATTEMPTS):
            self.assertFalse(self.secret in self.export(self.mine), f"attempt {attempt}")
        self.assertIsNone(process.poll())

    def test_the_run_directory_itself(self):
        """A link that the user names is followed; but what is read from there must not be written elsewhere."""
        link = f"{self.attackers}/link"
        os.symlink(self.theirs, link)
        process = self.swapping(self.mine, link)
        for attempt in range(ATTEMPTS):
            self.as_root(self.mine)
            process.send_signal(signal.SIGSTOP)
            os.waitid(os.P_PID, process.pid, os.WSTOPPED)  # until then it goes on, on another processor
            mine, = (path for path in (self.mine, link) if not os.path.islink(path))
            self.assertFalse(self.secret in self.taken(mine), f"attempt {attempt}")
            self.taken(self.theirs)
            process.send_signal(signal.SIGCONT)
        self.assertIsNone(process.poll())


if __name__ == "__main__":
    main()
