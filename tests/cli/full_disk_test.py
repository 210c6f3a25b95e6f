"""Exports onto disks that become full, and beyond the limit of a file's size: a sentence, an exit code, and nothing that is left behind.

  full_disk_test.py MEGASCOPE FORMAT...
"""

import os
import re
import resource
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402

MEGASCOPE, *FORMATS = sys.argv[1:]
KIB = 1024


class Case(in_directory.InDirectory):
    def setUp(self):
        super().setUp()
        done = self.finished(MEGASCOPE, "synth", "-o", self.run_directory, "--steps", 400, "--tp", 1, "--pp", 2, "--dp", 2)
        self.assertEqual(done.returncode, 0, done.stderr)

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
                    done = self.finished(MEGASCOPE, "export", self.run_directory, "--format", name, "--jobs", jobs, "--out", out,
                                         before=lambda limit=limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
                    self.expect_refused(done, out, "File (is )?too large")
                    self.assertEqual(os.listdir(out), [], out)


class Disk(Case):
    def on_disk(self, kibibytes, *words):
        """With a file system of its own, that holds so much, at `disk`. What is left there when the command has ended is printed."""
        os.makedirs(self.path("disk"), exist_ok=True)
        script = 'mount -t tmpfs -o size="$1"k none "$2" || exit 99; shift; disk=$1; shift; "$@"; code=$?; ls -A "$disk"; exit $code'
        return self.finished("unshare", "--mount", "sh", "-c", script, "sh", kibibytes, self.path("disk"), *words)

    def test_that_becomes_full_is_an_error_that_is_said(self):
        if self.on_disk(64, "true").returncode != 0:
            self.skipTest("needs the right to mount a file system")
        for name in FORMATS:
            for kibibytes in (4, 16, 40, 80):
                done = self.on_disk(kibibytes, MEGASCOPE, "export", self.run_directory, "--format", name, "--out", self.path("disk"))
                what = f"{name} on {kibibytes} KiB"
                self.expect_refused(done, what, "No space left on device")
                self.assertNotIn("trace", done.stdout.splitlines()[-1:], what)
                self.assertNotIn(".part", done.stdout, what)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
