"""Exports onto disks that become full, and beyond the limit of a file's size: a sentence, an exit code, and nothing that is left behind.

  full_disk_test.py MEGASCOPE FORMAT...
"""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

MEGASCOPE, *FORMATS = sys.argv[1:]
KIB = 1024


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="full_disk_test.")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        subprocess.run([MEGASCOPE, "synth", "-o", cls.path("run"), "--steps", "400", "--tp", "1", "--pp", "2", "--dp", "2"],
                       check=True, capture_output=True, timeout=100)

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    def expect_refused(self, done, name, reason):
        what = f"{name}: {done.returncode}\n{done.stdout}{done.stderr}"
        self.assertEqual(done.returncode, 2, what)
        self.assertEqual(len(re.findall(reason, done.stderr)), 1, what)
        self.assertEqual(done.stderr.count("\n"), 1, what)


class SizeLimit(Case):
    def test_is_an_error_that_is_said(self):
        for name in FORMATS:
            for jobs in ("1", "4"):
                for kibibytes in (0, 1, 8, 64):
                    out = self.path(f"{name}-{jobs}-{kibibytes}")
                    limit = kibibytes * KIB
                    done = subprocess.run([MEGASCOPE, "export", self.path("run"), "--format", name, "--jobs", jobs, "--out", out],
                                          capture_output=True, text=True, timeout=100,
                                          preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                    self.expect_refused(done, out, "File (is )?too large")
                    self.assertEqual(os.listdir(out), [], out)


class Disk(Case):
    def on_disk(self, kibibytes, *words):
        """With a file system of its own, that holds so much, at `disk`. What is left there when the command has ended is printed."""
        os.makedirs(self.path("disk"), exist_ok=True)
        script = 'mount -t tmpfs -o size="$1"k none "$2" || exit 99; shift; disk=$1; shift; "$@"; code=$?; ls -A "$disk"; exit $code'
        return subprocess.run(["unshare", "--mount", "sh", "-c", script, "sh", str(kibibytes), self.path("disk"), *words],
                              capture_output=True, text=True, timeout=100)

    def test_that_becomes_full_is_an_error_that_is_said(self):
        if self.on_disk(64, "true").returncode != 0:
            self.skipTest("needs the right to mount a file system")
        for name in FORMATS:
            for kibibytes in (4, 16, 40, 80):
                done = self.on_disk(kibibytes, MEGASCOPE, "export", self.path("run"), "--format", name, "--out", self.path("disk"))
                what = f"{name} on {kibibytes} KiB"
                self.expect_refused(done, what, "No space left on device")
                self.assertNotIn("trace", done.stdout.splitlines()[-1:], what)
                self.assertNotIn(".part", done.stdout, what)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
