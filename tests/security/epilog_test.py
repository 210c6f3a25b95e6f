"""The epilog of a Slurm cluster, by hand: slurm/README.md. For anything that the job's user does, it returns in bounded time."""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
import unittest

from case import ATTACKER, EPILOG, VICTIM, Case, listing, main, needs_two_users, python_of, wait_for

LIMIT_S = 3
MOST_S = LIMIT_S + 10
FREEZERS = ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup")

# Waits for a recovery of the same user, stops it as a tracer, and lets it go never again: it does not even die.
TRACER = """
import ctypes, glob, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, INTERRUPT, TRACE_EXIT = 0x4206, 0x4207, 0x40
print("ready", flush=True)
while True:
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        pid = int(path.split("/")[2])
        try:
            words = open(path, "rb").read().split(b"\\0")
            if b"--here" in words and os.stat(path).st_uid == os.getuid():
                if libc.ptrace(SEIZE, pid, None, TRACE_EXIT) == 0:
                    libc.ptrace(INTERRUPT, pid, None, None)
                    print("held", pid, flush=True)
                    time.sleep(600)
        except OSError:
            pass
"""


@needs_two_users
@unittest.skipUnless(os.path.exists(EPILOG) and shutil.which("setsid"), "built without installation, or no setsid")
class Epilog(Case):
    def setUp(self):
        super().setUp()
        scripts = f"{self.directory}/share/megascope/slurm"
        os.makedirs(scripts)
        self.epilog = shutil.copy(EPILOG, f"{scripts}/epilog.sh")
        os.chmod(self.epilog, 0o755)
        self.write(f"{scripts}/epilog.conf", f"SCRATCH={self.scratch}\nLIMIT={LIMIT_S}\nPATH={self.directory}/tools:$PATH\n")
        self.make("tools")
        self.log = self.write(f"{self.directory}/log", "")
        self.tool("logger", f'[ $# -le 2 ] || printf "%s\\n" "$3" >>{self.log}\n[ $# -gt 2 ] || cat >>{self.log}\n')

        self.become_user()

    def become_user(self, before=""):
        """The users of this test are in no list of users, so they have no groups."""
        self.tool("setpriv", f'{before}\nu=$1 g=$2\nshift 3\nexec {shutil.which("setpriv")} "$u" "$g" --clear-groups "$@"\n')

    def tool(self, name, text):
        """Takes the place of a program of the system."""
        self.write(f"{self.directory}/tools/{name}", f"#!/bin/sh\n{text}", mode=0o755)

    def logged(self):
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def end_job(self, uid=VICTIM, shell=(), prepare=None):
        """Seconds that it took. As slurmd does, whoever holds its output holds the node. prepare: called in the process that becomes the epilog."""
        start = time.monotonic()
        result = subprocess.run([*shell, self.epilog], preexec_fn=prepare, env={"SLURM_JOB_UID": str(uid), "SLURM_JOB_GID": str(uid), "SLURM_JOB_ID": "17"}, cwd="/",
                                stdin=subprocess.DEVNULL, capture_output=True, timeout=10 * MOST_S, check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, b"", b""))
        return time.monotonic() - start

    def started(self):
        """Processes that the epilog started: they have its PATH."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    if f"PATH={self.directory}/tools:".encode() in file.read():
                        found.append(int(pid))
            except OSError:
                pass
        return found

    def kill_started(self):
        for pid in self.started():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def test_brings_traces_of_killed_runs_in(self):
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM)
        self.end_job()
        self.assertEqual(os.stat(f"{out}/rank-0.mgt").st_uid, VICTIM)
        self.assertEqual(self.left_in(VICTIM), [])
        self.assertIn(f"recovered {out}/rank-0.mgt\n", self.logged())
        wait_for("all that it started", lambda: not self.started(), 20)
        self.assertLess(self.end_job(), MOST_S, "nothing is left to do")

    def test_reads_no_private_file_through_a_directory_of_another_user(self):
        secret = self.secret()
        out = self.killed_run(f"{self.make('attackers', ATTACKER)}/run", ATTACKER)
        os.chmod(out, 0o777)
        home = f"{self.scratch}/megascope-{VICTIM}"
        os.rename(f"{self.scratch}/megascope-{ATTACKER}", home)
        run, = os.listdir(home)
        os.chmod(home, 0o755)
        os.chmod(f"{home}/{run}", 0o755)
        os.chmod(f"{home}/{run}/rank-0.mgt", 0o644)
        os.symlink(secret, f"{home}/{run}/rank-1.mgt")
        before = listing(out)
        self.end_job()
        self.assertEqual(listing(out), before)
        self.assert_no_secret(self.directory + "/attackers")
        os.remove(f"{home}/{run}/rank-1.mgt")
        os.mkfifo(f"{home}/{run}/rank-1.mgt", 0o666)
        self.assertLess(self.end_job(), LIMIT_S, "a FIFO holds no process")

    def test_line_ends_of_names_do_not_reach_the_log(self):
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run\nkernel: out of memory \x1b[31m", VICTIM)
        self.end_job()
        self.assertTrue(os.path.exists(f"{out}/rank-0.mgt"))
        self.assertNotIn("\nkernel:", self.logged())
        self.assertNotIn("\x1b", self.logged())

    def held(self, out):
        """The epilog while the recovery is held by somebody."""
        taken_s = self.end_job()
        self.assertGreaterEqual(taken_s, LIMIT_S)
        self.assertLess(taken_s, MOST_S)
        wait_for("the log", lambda: f"the recovery did not end within {LIMIT_S} s" in self.logged(), 10)
        self.assertFalse(os.path.exists(f"{out}/rank-0.mgt"))

    def test_a_recovery_that_a_tracer_holds(self):
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM)
        tracer = subprocess.Popen(["setpriv", f"--reuid={VICTIM}", f"--regid={VICTIM}", "--clear-groups", python_of(VICTIM), "-c", TRACER],
                                  stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(tracer.stdout.readline(), "ready\n")
            self.slow_command()
            self.held(out)
            self.assertTrue(tracer.stdout.readline().startswith("held "))
        finally:
            tracer.kill()
            tracer.communicate()
        wait_for("all that it started", lambda: not self.started(), 20)
        self.fast_command()
        self.end_job()
        self.assertTrue(os.path.exists(f"{out}/rank-0.mgt"), "the next job's end recovers it")

    def test_a_recovery_that_does_not_end_for_any_signals_that_are_ignored_or_blocked(self):
        """Who starts it may ignore or block them: a shell can neither catch an ignored one nor unblock another."""
        self.make(f"scratch/megascope-{VICTIM}", VICTIM, 0o700)
        self.write(self.command, "#!/bin/sh\nexec sleep 60\n", mode=0o755)
        numbers = [number for number in signal.valid_signals() if number not in (signal.SIGKILL, signal.SIGSTOP)]
        ways = [None, lambda: signal.signal(signal.SIGALRM, signal.SIG_IGN), lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]),
                lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers], lambda: signal.pthread_sigmask(signal.SIG_BLOCK, numbers)]
        self.tool("logger", "exec sleep 60\n")
        try:
            for shell in ([], *([path] for path in [shutil.which("bash")] if path)):
                for way, prepare in enumerate(ways):
                    with self.subTest(shell=shell, way=way):
                        taken_s = self.end_job(shell=shell, prepare=prepare)
                        self.assertGreaterEqual(taken_s, LIMIT_S)
                        self.assertLess(taken_s, MOST_S)
        finally:
            self.kill_started()

    def test_a_configuration_that_cannot_be_read(self):
        conf = os.path.dirname(self.epilog) + "/epilog.conf"
        os.remove(conf)
        os.mkfifo(conf)
        self.assertLess(self.end_job(), MOST_S)
        wait_for("all that it started", lambda: not self.started(), 20)
        os.remove(conf)
        self.write(conf, "LIMIT=(\n")
        self.assertLess(self.end_job(), MOST_S)

    def slow_command(self):
        """The command starts late, so that it can be caught."""
        os.mkdir(f"{self.directory}/bin/real")
        os.rename(self.command, f"{self.directory}/bin/real/megascope")
        self.write(self.command, f'#!/bin/sh\nsleep 2\nexec {self.directory}/bin/real/megascope "$@"\n', mode=0o755)

    def fast_command(self):
        os.replace(f"{self.directory}/bin/real/megascope", self.command)

    def test_a_recovery_that_is_frozen(self):
        freezer = self.freezer()
        self.addCleanup(self.thaw, freezer)
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM)
        self.become_user(f"echo $$ >{freezer}/cgroup.procs")
        self.slow_command()
        timer = threading.Timer(1, self.freeze, (freezer, True))
        timer.start()
        self.held(out)
        timer.join()
        with open(f"{freezer}/cgroup.procs", encoding="utf-8") as file:
            self.assertNotEqual(file.read(), "", "version 1 of control groups: it is still there") if self.is_version_1(freezer) else None
        self.freeze(freezer, False)
        wait_for("all that it started", lambda: not self.started(), 20)

    @staticmethod
    def is_version_1(freezer):
        return os.path.exists(f"{freezer}/freezer.state")

    def freezer(self):
        for root in FREEZERS:
            path = f"{root}/megascope-test-{os.getpid()}"
            try:
                os.mkdir(path)
            except OSError:
                continue
            if self.is_version_1(path) or os.path.exists(f"{path}/cgroup.freeze"):
                return path
            os.rmdir(path)
        self.skipTest("no control group that freezes can be made")
        return None

    def freeze(self, freezer, is_frozen):
        if self.is_version_1(freezer):
            name, value = "freezer.state", "FROZEN" if is_frozen else "THAWED"
        else:
            name, value = "cgroup.freeze", str(int(is_frozen))
        with open(f"{freezer}/{name}", "w", encoding="utf-8") as file:
            file.write(value)

    def thaw(self, freezer):
        self.freeze(freezer, False)

        def remove():
            try:
                os.rmdir(freezer)  # not while a process is in it
            except OSError:
                return False
            return True
        wait_for("the group's end", remove, 20)

    def test_a_log_that_takes_nothing(self):
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM)
        self.tool("logger", "exec sleep 60\n")
        self.assertLess(self.end_job(), MOST_S)
        self.assertTrue(os.path.exists(f"{out}/rank-0.mgt"))
        self.kill_started()

    def test_a_bad_limit_is_not_used(self):
        conf = os.path.dirname(self.epilog) + "/epilog.conf"
        for limit in ("0", "", "1h", "-1", "1;touch x"):
            out = self.killed_run(f"{self.make(f'victims{abs(hash(limit))}', VICTIM)}/run", VICTIM)
            self.write(conf, f"SCRATCH={self.scratch}\nLIMIT='{limit}'\nPATH={self.directory}/tools:$PATH\n")
            self.assertLess(self.end_job(), MOST_S)
            self.assertTrue(os.path.exists(f"{out}/rank-0.mgt"), limit)


class Script(unittest.TestCase):
    @unittest.skipUnless(os.path.exists(EPILOG) and shutil.which("shellcheck"), "no shellcheck")
    def test_shellcheck_finds_nothing(self):
        result = subprocess.run(["shellcheck", "--shell=sh", EPILOG], capture_output=True, text=True, check=False)
        self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    main()
