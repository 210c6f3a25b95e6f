"""What another user can do to a run: names that are taken, links under the names of its files, directories that are exchanged.

  other_users_test.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import contextlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import unittest

from outputs import Case, FILES, FORMATS, LIBRARY, PROGRAM, reported_skips

VICTIM, ATTACKER, GROUP = 4002, 4001, 4000
PRECIOUS = "precious\n"


def as_user(uid, *words):
    return ["setpriv", f"--reuid={uid}", f"--regid={GROUP}", "--clear-groups", *map(str, words)]


def can_change_user():
    return os.geteuid() == 0 and shutil.which("setpriv") is not None and subprocess.run(as_user(VICTIM, "test", "-r", LIBRARY), check=False).returncode == 0


@unittest.skipUnless(can_change_user(), "playing other users needs root, and a build that they can read")
class OtherUsers(Case):
    """A member of the victim's group, who can write where the victim's run directory is made."""

    def setUp(self):
        super().setUp()
        self.directory.chmod(0o755)
        self.project = self.directory / "project"
        self.project.mkdir()
        os.chown(self.project, VICTIM, GROUP)
        self.project.chmod(0o2775)
        self.scratch.chmod(0o1777)
        self.home = self.directory / "home"
        self.home.mkdir(mode=0o700)
        self.precious = self.home / "precious"
        self.precious.write_text(PRECIOUS, encoding="utf-8")
        for path in (self.home, self.precious):
            os.chown(path, VICTIM, GROUP)
        self.run_directory = self.project / "run"

    @contextlib.contextmanager
    def waiting(self, **variables):
        """The victim's program amid its run, until the end of the block; then to its end."""
        with subprocess.Popen(as_user(VICTIM, PROGRAM, "after:wait"), cwd=self.home, env=self.environment(**variables), umask=0o002, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "waiting\n")
            yield job
            _, self.errors = job.communicate("\n", timeout=100)
            self.assertEqual(job.returncode, 0, self.errors)

    def plant(self, *names):
        """Links to the victim's file, made by the attacker; how many he could make."""
        done = [subprocess.run(as_user(ATTACKER, "ln", "-sfn", self.precious, self.run_directory / name), capture_output=True, check=False) for name in names]
        return sum(each.returncode == 0 for each in done)

    NAMES = ("report.txt", "report.json", "report.txt.part", "report.json.part", "options.sh", "options.sh.part", ".room", "rank-0.mgt", "rank-0.mgt.part",
             "trace.perfetto-trace.part", "trace.json.gz.part", "live_url")
    ARCHIVE = tuple(name for each in FORMATS for name in FILES[each])

    def test_a_run_directory_is_not_for_the_group_to_write_to(self):
        with self.waiting(MEGASCOPE_EXPORT=",".join(FORMATS) or "none"):
            self.assertEqual(stat.S_IMODE(self.run_directory.stat().st_mode) & 0o022, 0)
            self.assertEqual(self.plant(*self.NAMES, *self.ARCHIVE), 0)
        self.assertEqual(self.precious.read_text(encoding="utf-8"), PRECIOUS)
        self.assertEqual(stat.S_IMODE((self.run_directory / "rank-0.mgt").stat().st_mode), 0o600)
        self.assertEqual({path.name for path in self.run_directory.iterdir()},
                         {"report.txt", "report.json", "options.sh", "run-id", "rank-0.mgt", *self.ARCHIVE})
        if "otf2" in FORMATS:
            self.assertEqual(stat.S_IMODE((self.run_directory / "trace").stat().st_mode) & 0o022, 0)

    def test_nothing_is_written_through_links_in_one_that_the_group_can_write_to(self):
        with self.waiting(MEGASCOPE_EXPORT=",".join(FORMATS) or "none"):
            self.run_directory.chmod(0o2775)
            self.assertEqual(self.plant(*self.NAMES), len(self.NAMES))
        self.assertEqual(self.precious.read_text(encoding="utf-8"), PRECIOUS)
        for name in ("report.txt", "report.json"):
            self.assertTrue(stat.S_ISREG((self.run_directory / name).lstat().st_mode), name)
        self.assertIn("MegaScope", (self.run_directory / "report.txt").read_text(encoding="utf-8"))
        for name in self.ARCHIVE:
            self.assertTrue((self.run_directory / name).exists(), name)

    def test_exports_that_exist_as_links_are_refused(self):
        with self.waiting(MEGASCOPE_EXPORT=",".join(FORMATS) or "none"):
            self.run_directory.chmod(0o2775)
            self.assertEqual(self.plant(*self.ARCHIVE), len(self.ARCHIVE))
        self.assertEqual(self.precious.read_text(encoding="utf-8"), PRECIOUS)
        report = " ".join((self.run_directory / "report.txt").read_text(encoding="utf-8").split())
        self.assertEqual(report.count("exists already and is not overwritten"), len(FORMATS), report)

    def test_links_that_lead_nowhere_yet_make_no_file(self):
        self.precious.unlink()
        with self.waiting(MEGASCOPE_EXPORT=",".join(FORMATS) or "none"):
            self.run_directory.chmod(0o2775)
            self.plant(*self.NAMES, *self.ARCHIVE)
        self.assertEqual(list(self.home.iterdir()), [])

    def test_a_run_directory_that_was_exchanged_for_a_link_is_not_written_to(self):
        mine = self.home / "report.txt"
        mine.write_text(PRECIOUS, encoding="utf-8")
        with self.waiting():
            for words in (("mv", self.run_directory, self.project / "moved"), ("ln", "-s", self.home, self.run_directory)):
                subprocess.run(as_user(ATTACKER, *words), check=True)
        self.assertEqual(mine.read_text(encoding="utf-8"), PRECIOUS)
        self.assertEqual({path.name for path in self.home.iterdir()}, {"precious", "report.txt"})
        self.assertIn("was replaced by another directory during the run; traces stay in", self.errors)

    def test_a_directory_above_that_was_exchanged_is_noticed(self):
        self.run_directory = self.project / "a" / "run"
        elsewhere = self.home / "run"
        with self.waiting():
            elsewhere.mkdir()
            (elsewhere / "report.txt").write_text(PRECIOUS, encoding="utf-8")
            for path in (elsewhere, elsewhere / "report.txt"):
                os.chown(path, VICTIM, GROUP)
            for words in (("mv", self.project / "a", self.project / "moved"), ("ln", "-s", self.home, self.project / "a")):
                subprocess.run(as_user(ATTACKER, *words), check=True)
        self.assertEqual([path.name for path in elsewhere.iterdir()], ["report.txt"])
        self.assertEqual((elsewhere / "report.txt").read_text(encoding="utf-8"), PRECIOUS)

    def take_scratch(self, how):
        """The victim's usual name in the scratch directory is taken."""
        name = self.scratch / f"megascope-{VICTIM}"
        if how == "link":
            subprocess.run(as_user(ATTACKER, "ln", "-s", self.home, name), check=True)
        elif how == "file":
            subprocess.run(as_user(ATTACKER, "touch", name), check=True)
        else:
            name.mkdir()
            os.chown(name, VICTIM if how == "writable" else ATTACKER, GROUP)
            name.chmod(0o777)
        return name

    def test_a_name_that_is_taken_does_not_stop_recording(self):
        for how in ("directory", "writable", "link", "file"):
            with self.subTest(how):
                self.run_directory = self.project / how
                taken = self.take_scratch(how)
                with self.waiting():
                    directory = pathlib.Path((self.run_directory / "run-id").read_text(encoding="utf-8").splitlines()[4])
                    self.assertEqual(directory.parent.parent, self.scratch)
                    self.assertNotEqual(directory.parent, taken)
                    for path in (directory, directory.parent):
                        self.assertEqual((stat.S_IMODE(path.lstat().st_mode), path.lstat().st_uid), (0o700, VICTIM))
                    self.assertEqual([path.name for path in directory.iterdir()], ["rank-0.mgt"])
                self.assertNotIn("records no trace", self.errors)
                self.assertTrue((self.run_directory / "rank-0.mgt").is_file())
                self.assertEqual([path.name for path in self.scratch.iterdir()], [taken.name])  # its own is gone
                if taken.is_dir() and not taken.is_symlink():
                    taken.rmdir()
                else:
                    taken.unlink()

    def test_what_a_killed_run_left_under_another_name_is_recovered(self):
        self.take_scratch("directory")
        done = subprocess.run(as_user(VICTIM, PROGRAM, "after:kill"), cwd=self.home, env=self.environment(), capture_output=True, check=False)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        result = self.command("recover", self.run_directory, prefix=as_user(VICTIM))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.run_directory / "rank-0.mgt").is_file())


if __name__ == "__main__":
    reported_skips.main("-v")
