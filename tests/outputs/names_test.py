"""A user's name may have any byte but those that end a field or a line of the list of users, and "/", and so has the home directory.

  names_test.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import gzip
import json
import os
import shutil
import subprocess

from outputs import Case, FILES, FORMATS, MEGASCOPE, PROGRAM, reported_skips

NAME = bytes(byte for byte in range(1, 256) if bytes([byte]) not in (b"/", b":", b"\n"))
CONTROLS = [byte for byte in range(32) if byte != ord("\n")] + [127]


class Names(Case):
    """The home directory has every byte that is legal, and runs and scratch storage are in it."""

    def setUp(self):
        super().setUp()
        self.home = os.path.join(os.fsencode(self.directory), NAME)
        os.makedirs(os.path.join(self.home, b"tmp"))
        self.run = os.path.join(self.home, b"run")

    def record(self, *arguments, **variables):
        environment = {os.fsencode(name): os.fsencode(value) for name, value in self.environment(**variables).items() if name != "MEGASCOPE_SCRATCH"}
        environment |= {b"HOME": self.home, b"USER": NAME, b"LOGNAME": NAME, b"TMPDIR": os.path.join(self.home, b"tmp"), b"MEGASCOPE_OUT": self.run,
                        b"OMPI_MCA_orte_tmpdir_base": os.fsencode(self.directory), b"OMPI_MCA_ess_singleton_isolated": b"1"}  # starts no daemon
        done = subprocess.run([PROGRAM, *arguments], cwd=self.home, env=environment, capture_output=True, timeout=100, check=False)
        self.check_printable(done.stderr)
        return done

    def command(self, *words, expected=0):
        done = subprocess.run([MEGASCOPE, *words], cwd=self.home, env={**os.environb, b"TMPDIR": os.path.join(self.home, b"tmp")}, capture_output=True, timeout=100,
                              check=False)
        self.assertEqual(done.returncode, expected, done.stderr)
        self.check_printable(done.stdout + done.stderr)
        return done

    def check_printable(self, text):
        """Control characters of a name reach no terminal."""
        self.assertEqual([byte for byte in CONTROLS if byte in text], [], text)

    def check_json(self, text):
        json.loads(text.decode("utf-8"))

    def test_a_run_is_recorded_reported_and_exported(self):
        done = self.record(MEGASCOPE_EXPORT=",".join(FORMATS))
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in ("rank-0.mgt", "report.txt", "report.json", "options.sh", "run-id", *(name for each in FORMATS for name in FILES[each])):
            self.assertTrue(os.path.exists(os.path.join(self.run, os.fsencode(name))), name)
        with open(os.path.join(self.run, b"report.json"), "rb") as file:
            self.check_json(file.read())
        self.check_json(self.command("report", self.run, "--json").stdout)
        for verb in ("report", "hang", "analyze"):
            self.command(verb, self.run)
        self.command("export", self.run, "--format", ",".join(FORMATS), "--out", os.path.join(self.home, b"later"))
        for directory in (self.run, os.path.join(self.home, b"later")):
            if "chrome" in FORMATS:
                with gzip.open(os.path.join(directory, b"trace.json.gz")) as file:
                    self.check_json(file.read())

    def test_options_can_be_sourced(self):
        self.assertEqual(self.record().returncode, 0)
        script = b'. "$1/options.sh"; printf %s "$MEGASCOPE_OUT"'
        for shell in filter(shutil.which, ("sh", "bash")):
            done = subprocess.run([shell, "-c", script, "sh", self.run], env={b"PATH": os.environb[b"PATH"]}, capture_output=True, timeout=100, check=True)
            self.assertEqual(done.stdout, self.run, shell)

    def test_a_run_that_was_killed_is_recovered(self):
        for words in (("recover", self.run), ("recover", "--here", "--scratch", "tmp")):  # a list is split at commas, which the name has
            shutil.rmtree(self.run, ignore_errors=True)
            self.record("after:kill")
            self.assertFalse(os.path.exists(os.path.join(self.run, b"rank-0.mgt")))
            self.command(*words)
            self.assertTrue(os.path.exists(os.path.join(self.run, b"rank-0.mgt")), words)


if __name__ == "__main__":
    reported_skips.main("-v")
