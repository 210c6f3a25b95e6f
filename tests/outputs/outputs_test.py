"""What a run writes where: its own code, standard error, the live view's token.

  outputs_test.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import os
import pathlib
import pty
import re
import shutil
import stat
import subprocess
import unittest

from outputs import CC, FILES, FORMATS, Case, HAS_LIVE, LIB, MPIRUN, PROGRAM, launch, reported_skips


class Library(Case):
    """A library that is given by a relative path, and a program that goes elsewhere."""

    def setUp(self):
        super().setUp()
        self.evil = self.directory / "evil"
        self.evil.mkdir()
        self.marker = self.directory / "marker"
        source = self.directory / "evil.c"
        source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void run(void) { FILE* f = fopen("%s", "a"); if (f) fclose(f); }\n'
                          "int main(void) { return 0; }\n" % self.marker, encoding="utf-8")
        subprocess.run([CC, "-shared", "-fPIC", "-o", self.evil / "module.so", source], check=True)
        for name in ("otf2", "perfetto", "chrome", "symbols", "live", "megascan"):
            shutil.copy(self.evil / "module.so", self.evil / f"libmegascope_{name}.so")
        subprocess.run([CC, "-o", self.evil / "megascope_verdict", source], check=True)

    def test_code_of_the_current_directory_is_not_run_and_exports_work(self):
        for when in ("before", "after"):
            with self.subTest(when):
                shutil.rmtree(self.run_directory, ignore_errors=True)
                words = launch.setting(MPIRUN, **self.settings(LD_PRELOAD="./libmegascope.so", MEGASCOPE_EXPORT=",".join(FORMATS) or "none", MEGASCOPE_CALLSITE=1,
                                                               MEGASCOPE_LIVE=0 if HAS_LIVE else "off"))
                done = subprocess.run([*MPIRUN, *words, "-n", "2", PROGRAM, f"{when}:chdir={self.evil}"], cwd=LIB, capture_output=True, text=True, timeout=100,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertFalse(self.marker.exists())
                for name in (name for each in FORMATS for name in FILES[each]):
                    self.assertTrue((self.run_directory / name).exists(), done.stderr)
                self.assertNotIn("cannot load", done.stderr)
                self.assertNotIn("no verdict", done.stderr)


class Scratch(Case):
    def traces_directory(self, **variables):
        """Where a run without MEGASCOPE_SCRATCH has kept its trace."""
        shutil.rmtree(self.run_directory, ignore_errors=True)
        environment = self.environment(OMPI_MCA_orte_tmpdir_base=self.directory, **variables)  # Open MPI's own files need one that works
        del environment["MEGASCOPE_SCRATCH"]
        if "TMPDIR" not in variables:
            environment.pop("TMPDIR", None)
        done = subprocess.run([PROGRAM], cwd=self.directory, env=environment, capture_output=True, text=True, timeout=100, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.run_directory / "rank-0.mgt").exists(), done.stderr)
        return pathlib.Path((self.run_directory / "run-id").read_text(encoding="utf-8").splitlines()[4])

    def test_a_temporary_directory_may_be_relative_absent_or_of_any_length(self):
        home = f"megascope-{os.geteuid()}"
        elsewhere = self.traces_directory()  # TMPDIR unset
        self.assertTrue(elsewhere.is_absolute())
        self.assertNotIn(self.directory, elsewhere.parents)
        for name in ("nosuch", "/proc/nosuch", "/x" * 5000, "/proc/version", ""):
            self.assertEqual(self.traces_directory(TMPDIR=name).parent, elsewhere.parent, name[:20])
        inside = self.traces_directory(TMPDIR="scratch")
        is_taken = inside.parent == self.scratch / home  # if it is a local disk
        self.assertTrue(is_taken or inside.parent == elsewhere.parent, inside)


class StandardError(Case):
    def test_says_the_share_of_the_disk_that_auto_is(self):
        done = self.call_ranks(2, MEGASCOPE_BUFFER_SIZE="auto")
        self.assertEqual(done.returncode, 0, done.stderr)
        number, unit = re.search(r", up to ([\d.]+) (\w+) a rank", done.stderr).groups()
        share = float(number) * {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit]
        disk = os.statvfs(self.scratch)
        free, total = disk.f_bavail * disk.f_frsize, disk.f_blocks * disk.f_frsize
        reserve = total / 8 if total < 8 * 2**30 else min(max(total / 20, 2**30), 16 * 2**30)
        self.assertAlmostEqual(share / ((free - reserve) / 2 / 2), 1, delta=0.05)
        self.assertIn("MEGASCOPE_BUFFER_SIZE='auto'", (self.run_directory / "options.sh").read_text(encoding="utf-8"))

    def test_says_how_long_the_rest_of_the_buffer_lasts_if_that_is_worth_it(self):
        said = {}
        for policy in ("stop", "flight"):
            shutil.rmtree(self.run_directory, ignore_errors=True)
            # The first chunk, of 64 KiB, is full after 5 s; with the second, of 256 KiB, more than a tenth is used.
            done = self.call_ranks(2, "after:calls=4300", MEGASCOPE_BUFFER_SIZE="4M", MEGASCOPE_BUFFER_POLICY=policy)
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [line for line in done.stderr.splitlines() if "the rest lasts about" in line]
            self.assertEqual(len(lines), 1, done.stderr)
            said[policy] = lines[0]
            used, size, rate, rest = self.bytes_and_seconds(lines[0])
            self.assertEqual(size, 4 * 2**20)
            self.assertAlmostEqual((size - used) / rate / rest, 1, delta=0.1, msg=lines[0])
            # What 4096 calls of 16 bytes in some 5 s take when they are packed: 3 to 10 bytes for each.
            self.assertTrue(4096 * 3 / 15 < rate < 4096 * 10 / 4, lines[0])
        self.assertRegex(said["stop"], r"then recording stops \(MEGASCOPE_BUFFER_POLICY=flight")
        self.assertRegex(said["flight"], r"then the oldest records are dropped \(a larger MEGASCOPE_BUFFER_SIZE")

    def bytes_and_seconds(self, line):
        """The figures of "rank 0 used 452 KiB of 4 MiB and records 5 KiB per second: the rest lasts about 12 min"."""
        found = re.search(r"rank 0 used (.*) of (.*) and records (.*) per second: the rest lasts about (.*) at this rate", line)
        self.assertTrue(found, line)
        scale = {"B": 1, "KiB": 2**10, "MiB": 2**20, "s": 1, "min": 60, "h": 3600}
        values = []
        for text in found.groups():
            parts = text.split()
            values.append(sum(float(number) * scale[unit] for number, unit in zip(parts[::2], parts[1::2])))
        return values

    def test_a_data_file_that_has_its_number_is_left_alone(self):
        data = self.directory / "data"
        for when in ("before", "after"):
            for arguments in ([f"{when}:stderr={data}"], [f"{when}:stderr={data}", "after:exit=0"]):
                with self.subTest(arguments):
                    shutil.rmtree(self.run_directory, ignore_errors=True)
                    done = self.call(*arguments)
                    self.assertEqual((done.returncode, data.read_bytes()), (0, b""))
                    self.assertTrue((self.run_directory / "report.txt").exists() or "after:exit=0" in arguments)
                    self.assertEqual("writes to" in done.stderr, when == "after")

    def test_closed_it_stays_closed(self):
        data = self.directory / "data"
        with subprocess.Popen(["sh", "-c", 'exec "$@" 2>&-', "sh", PROGRAM, f"before:stderr={data}"], cwd=self.directory, env=self.environment(), stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE) as job:
            job.communicate(timeout=100)
        self.assertEqual((job.returncode, data.read_bytes()), (0, b""))
        self.assertTrue((self.run_directory / "report.txt").exists())

    def test_a_file_is_written_to(self):
        log = self.directory / "log"
        with open(log, "wb") as file:
            subprocess.run([PROGRAM], cwd=self.directory, env=self.environment(), stderr=file, check=True, timeout=100)
        self.assertIn("MegaScope", log.read_text(encoding="utf-8"))


@unittest.skipUnless(HAS_LIVE, "the build has no live view")
class LiveView(Case):
    """The token gives access to the run: only its user may read it."""

    def test_a_file_gets_the_path_of_the_token_only(self):
        with subprocess.Popen([PROGRAM, "after:wait"], cwd=self.directory, env=self.environment(MEGASCOPE_LIVE=0), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "waiting\n")
            place = self.run_directory / "live_url"
            url = place.read_text(encoding="utf-8")
            self.assertEqual(stat.S_IMODE(place.lstat().st_mode), 0o600)
            _, errors = job.communicate("\n", timeout=100)
        address, token = url.rstrip("\n").split("?token=")
        self.assertIn(f"megascope: live view: {address}; the address with the access token is in {place}\n", errors)
        self.assertNotIn(token, errors)
        self.assertNotIn(token, "".join(path.read_text(encoding="utf-8") for path in self.run_directory.glob("*.*") if path.suffix in (".txt", ".json", ".sh")))

    # Preloaded: nothing can be created under the name of the live view's address.
    NO_URL_FILE = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
int openat(int directory, const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  errno = ENOSPC;
  return strstr(path, "live_url") ? -1 : ((int (*)(int, const char*, int, ...))dlsym(RTLD_NEXT, "openat"))(directory, path, flags, mode);
}
int openat64(int directory, const char* path, int flags, ...) __attribute__((alias("openat")));
"""

    def test_without_that_file_no_user_is_sent_to_it(self):
        source = self.directory / "no_url_file.c"
        source.write_text(self.NO_URL_FILE, encoding="utf-8")
        subprocess.run([CC, "-shared", "-fPIC", "-w", "-o", self.directory / "no_url_file.so", source, "-ldl"], check=True)
        result = self.call(MEGASCOPE_LIVE=0, LD_PRELOAD=f"{LIB}/libmegascope.so {self.directory}/no_url_file.so")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"megascope: live view: http://127\.0\.0\.1:\d+/; the access token was not saved, and standard error is not a terminal: "
                                        r"the live view cannot be opened\n")
        self.assertRegex(result.stderr, r"megascope: cannot write live_url: cannot create .*live_url.*: No space left on device\n")
        self.assertNotIn("token=", result.stderr)

    def test_a_terminal_gets_the_whole_address(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAM, "after:wait"], cwd=self.directory, env=self.environment(MEGASCOPE_LIVE=0, MEGASCOPE_REPORT="short"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=theirs, text=True) as job:
            os.close(theirs)
            self.assertEqual(job.stdout.readline(), "waiting\n")
            url = (self.run_directory / "live_url").read_text(encoding="utf-8").rstrip("\n")
            text = ""
            while "live view: " not in text or not text.endswith("\n"):
                text += os.read(ours, 65536).decode()
            self.assertIn(f"live view: {url}\r\n", text)
            job.communicate("\n", timeout=100)
        os.close(ours)


if __name__ == "__main__":
    reported_skips.main("-v")
