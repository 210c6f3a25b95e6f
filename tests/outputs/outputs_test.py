"""What runs leave beside the program: files, links that others have placed under their names, standard error, the last line.

  outputs_test.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import contextlib
import os
import pathlib
import pty
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tools"))

import launch  # noqa: E402

MEGASCOPE, PROGRAM, CC, *MPIRUN = sys.argv[1:]
LIB = pathlib.Path(MEGASCOPE).parent.parent / "lib"
LIBRARY = LIB / "libmegascope.so"
HAS_LIVE = (LIB / "libmegascope_live.so").exists()
VICTIM, ATTACKER, GROUP = 4002, 4001, 4000
PRECIOUS = "precious\n"


def as_user(uid, *words):
    return ["setpriv", f"--reuid={uid}", f"--regid={GROUP}", "--clear-groups", *map(str, words)]


def can_change_user():
    return os.geteuid() == 0 and shutil.which("setpriv") is not None and subprocess.run(as_user(VICTIM, "test", "-r", LIBRARY), check=False).returncode == 0


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="outputs_test."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.scratch = self.folder / "scratch"
        self.scratch.mkdir()
        self.run_folder = self.folder / "run"

    def environment(self, **variables):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEGASCOPE_", "SLURM_", "LD_PRELOAD"))}
        return {**kept, **self.settings(**variables)}

    def settings(self, **variables):
        return {"LD_PRELOAD": str(LIBRARY), "MEGASCOPE_SCRATCH": str(self.scratch), "MEGASCOPE_OUT": str(self.run_folder), "MEGASCOPE_EXPORT": "none",
                **{name: str(value) for name, value in variables.items()}}

    def call(self, *arguments, **variables):
        """One process, to its end."""
        return subprocess.run([PROGRAM, *arguments], cwd=self.folder, env=self.environment(**variables), capture_output=True, text=True, timeout=100,
                              check=False)

    def call_ranks(self, count, *arguments, **variables):
        words = launch.setting(MPIRUN, **self.settings(**variables))
        return subprocess.run([*MPIRUN, *words, "-n", str(count), PROGRAM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=100, check=False)

    def command(self, *words, prefix=(), **options):
        return subprocess.run([*prefix, MEGASCOPE, *map(str, words)], capture_output=True, text=True, timeout=100, check=False, **options)


@unittest.skipUnless(can_change_user(), "playing other users needs root, and a build that they can read")
class OtherUsers(Case):
    """A member of the victim's group, who can write where the victim's run directory is made."""

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.project = self.folder / "project"
        self.project.mkdir()
        os.chown(self.project, VICTIM, GROUP)
        self.project.chmod(0o2775)
        self.scratch.chmod(0o1777)
        self.home = self.folder / "home"
        self.home.mkdir(mode=0o700)
        self.precious = self.home / "precious"
        self.precious.write_text(PRECIOUS, encoding="utf-8")
        for path in (self.home, self.precious):
            os.chown(path, VICTIM, GROUP)
        self.run_folder = self.project / "run"

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
        done = [subprocess.run(as_user(ATTACKER, "ln", "-sfn", self.precious, self.run_folder / name), capture_output=True, check=False) for name in names]
        return sum(each.returncode == 0 for each in done)

    NAMES = ("report.txt", "report.json", "report.txt.part", "report.json.part", "options.sh", "options.sh.part", ".room", "rank-0.mgt", "rank-0.mgt.part",
             "trace.perfetto-trace.part", "trace.json.gz.part", "live_url")
    ARCHIVE = ("trace", "trace.def", "trace.otf2", "trace.perfetto-trace", "trace.json.gz")

    def test_a_run_directory_is_not_for_the_group_to_write_to(self):
        with self.waiting(MEGASCOPE_EXPORT="otf2,perfetto,chrome"):
            self.assertEqual(stat.S_IMODE(self.run_folder.stat().st_mode) & 0o022, 0)
            self.assertEqual(self.plant(*self.NAMES, *self.ARCHIVE), 0)
        self.assertEqual(self.precious.read_text(encoding="utf-8"), PRECIOUS)
        self.assertEqual(stat.S_IMODE((self.run_folder / "rank-0.mgt").stat().st_mode), 0o600)
        self.assertEqual({path.name for path in self.run_folder.iterdir()},
                         {"report.txt", "report.json", "options.sh", "run-id", "rank-0.mgt", "trace", "trace.def", "trace.otf2", "trace.perfetto-trace", "trace.json.gz"})
        self.assertEqual(stat.S_IMODE((self.run_folder / "trace").stat().st_mode) & 0o022, 0)

    def test_nothing_is_written_through_links_in_one_that_the_group_can_write_to(self):
        with self.waiting(MEGASCOPE_EXPORT="otf2,perfetto,chrome"):
            self.run_folder.chmod(0o2775)
            self.assertEqual(self.plant(*self.NAMES), len(self.NAMES))
        self.assertEqual(self.precious.read_text(encoding="utf-8"), PRECIOUS)
        for name in ("report.txt", "report.json"):
            self.assertTrue(stat.S_ISREG((self.run_folder / name).lstat().st_mode), name)
        self.assertIn("MegaScope", (self.run_folder / "report.txt").read_text(encoding="utf-8"))
        self.assertTrue((self.run_folder / "trace.otf2").is_file())
        self.assertTrue((self.run_folder / "trace.perfetto-trace").is_file())

    def test_exports_that_exist_as_links_are_refused(self):
        with self.waiting(MEGASCOPE_EXPORT="otf2,perfetto,chrome"):
            self.run_folder.chmod(0o2775)
            self.assertEqual(self.plant(*self.ARCHIVE), len(self.ARCHIVE))
        self.assertEqual(self.precious.read_text(encoding="utf-8"), PRECIOUS)
        report = " ".join((self.run_folder / "report.txt").read_text(encoding="utf-8").split())
        self.assertEqual(report.count("exists already: it is not overwritten"), 3, report)

    def test_links_that_lead_nowhere_yet_make_no_file(self):
        self.precious.unlink()
        with self.waiting(MEGASCOPE_EXPORT="otf2,perfetto,chrome"):
            self.run_folder.chmod(0o2775)
            self.plant(*self.NAMES, *self.ARCHIVE)
        self.assertEqual(list(self.home.iterdir()), [])

    def test_a_run_directory_that_was_exchanged_for_a_link_is_not_written_to(self):
        mine = self.home / "report.txt"
        mine.write_text(PRECIOUS, encoding="utf-8")
        with self.waiting():
            for words in (("mv", self.run_folder, self.project / "moved"), ("ln", "-s", self.home, self.run_folder)):
                subprocess.run(as_user(ATTACKER, *words), check=True)
        self.assertEqual(mine.read_text(encoding="utf-8"), PRECIOUS)
        self.assertEqual({path.name for path in self.home.iterdir()}, {"precious", "report.txt"})
        self.assertIn("is not the directory any more that this run created; traces stay in", self.errors)

    def test_a_directory_above_that_was_exchanged_is_noticed(self):
        self.run_folder = self.project / "a" / "run"
        elsewhere = self.home / "run"
        with self.waiting():
            elsewhere.mkdir()
            (elsewhere / "report.txt").write_text(PRECIOUS, encoding="utf-8")
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
                self.run_folder = self.project / how
                taken = self.take_scratch(how)
                with self.waiting():
                    folder = pathlib.Path((self.run_folder / "run-id").read_text(encoding="utf-8").splitlines()[4])
                    self.assertEqual(folder.parent.parent, self.scratch)
                    self.assertNotEqual(folder.parent, taken)
                    for path in (folder, folder.parent):
                        self.assertEqual((stat.S_IMODE(path.lstat().st_mode), path.lstat().st_uid), (0o700, VICTIM))
                    self.assertEqual([path.name for path in folder.iterdir()], ["rank-0.mgt"])
                self.assertNotIn("keeps no trace", self.errors)
                self.assertTrue((self.run_folder / "rank-0.mgt").is_file())
                self.assertEqual([path.name for path in self.scratch.iterdir()], [taken.name])  # its own is gone
                if taken.is_dir() and not taken.is_symlink():
                    taken.rmdir()
                else:
                    taken.unlink()

    def test_what_a_killed_run_left_under_another_name_is_recovered(self):
        self.take_scratch("directory")
        done = subprocess.run(as_user(VICTIM, PROGRAM, "after:kill"), cwd=self.home, env=self.environment(), capture_output=True, check=False)
        self.assertEqual(done.returncode, -signal.SIGKILL)
        result = self.command("recover", self.run_folder, prefix=as_user(VICTIM))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.run_folder / "rank-0.mgt").is_file())


class Library(Case):
    """A library that is given by a relative path, and a program that goes elsewhere."""

    def setUp(self):
        super().setUp()
        self.evil = self.folder / "evil"
        self.evil.mkdir()
        self.marker = self.folder / "marker"
        source = self.folder / "evil.c"
        source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void run(void) { FILE* f = fopen("%s", "a"); if (f) fclose(f); }\n'
                          "int main(void) { return 0; }\n" % self.marker, encoding="utf-8")
        subprocess.run([CC, "-shared", "-fPIC", "-o", self.evil / "module.so", source], check=True)
        for name in ("otf2", "perfetto", "chrome", "symbols", "live", "megascan"):
            shutil.copy(self.evil / "module.so", self.evil / f"libmegascope_{name}.so")
        subprocess.run([CC, "-o", self.evil / "megascope_verdict", source], check=True)

    def test_code_of_the_current_directory_is_not_run_and_exports_work(self):
        for when in ("before", "after"):
            with self.subTest(when):
                shutil.rmtree(self.run_folder, ignore_errors=True)
                words = launch.setting(MPIRUN, **self.settings(LD_PRELOAD="./libmegascope.so", MEGASCOPE_EXPORT="otf2,perfetto", MEGASCOPE_CALLSITE=1,
                                                               MEGASCOPE_LIVE=0))
                done = subprocess.run([*MPIRUN, *words, "-n", "2", PROGRAM, f"{when}:chdir={self.evil}"], cwd=LIB, capture_output=True, text=True, timeout=100,
                                      check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertFalse(self.marker.exists())
                self.assertTrue((self.run_folder / "trace.otf2").is_file(), done.stderr)
                self.assertTrue((self.run_folder / "trace.perfetto-trace").is_file())
                self.assertNotIn("cannot load", done.stderr)
                self.assertNotIn("no verdict", done.stderr)


class StandardError(Case):
    def test_a_data_file_that_has_its_number_is_left_alone(self):
        data = self.folder / "data"
        for when in ("before", "after"):
            for arguments in ([f"{when}:stderr={data}"], [f"{when}:stderr={data}", "after:exit=0"]):
                with self.subTest(arguments):
                    shutil.rmtree(self.run_folder, ignore_errors=True)
                    done = self.call(*arguments)
                    self.assertEqual((done.returncode, data.read_bytes()), (0, b""))
                    self.assertTrue((self.run_folder / "report.txt").exists() or "after:exit=0" in arguments)
                    self.assertEqual("writes to" in done.stderr, when == "after")

    def test_closed_it_stays_closed(self):
        data = self.folder / "data"
        with subprocess.Popen(["sh", "-c", 'exec "$@" 2>&-', "sh", PROGRAM, f"before:stderr={data}"], cwd=self.folder, env=self.environment(), stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE) as job:
            job.communicate(timeout=100)
        self.assertEqual((job.returncode, data.read_bytes()), (0, b""))
        self.assertTrue((self.run_folder / "report.txt").exists())

    def test_a_file_is_written_to(self):
        log = self.folder / "log"
        with open(log, "wb") as file:
            subprocess.run([PROGRAM], cwd=self.folder, env=self.environment(), stderr=file, check=True, timeout=100)
        self.assertIn("MegaScope", log.read_text(encoding="utf-8"))


@unittest.skipUnless(HAS_LIVE, "the build has no live view")
class LiveView(Case):
    """The token gives access to the run: only its user may read it."""

    def test_a_file_gets_the_path_of_the_token_only(self):
        with subprocess.Popen([PROGRAM, "after:wait"], cwd=self.folder, env=self.environment(MEGASCOPE_LIVE=0), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            self.assertEqual(job.stdout.readline(), "waiting\n")
            place = self.run_folder / "live_url"
            url = place.read_text(encoding="utf-8")
            self.assertEqual(stat.S_IMODE(place.lstat().st_mode), 0o600)
            _, errors = job.communicate("\n", timeout=100)
        address, token = url.rstrip("\n").split("?token=")
        self.assertIn(f"megascope: live view: {address}; the address with its token is in {place}\n", errors)
        self.assertNotIn(token, errors)
        self.assertNotIn(token, "".join(path.read_text(encoding="utf-8") for path in self.run_folder.glob("*.*") if path.suffix in (".txt", ".json", ".sh")))

    def test_a_terminal_gets_the_whole_address(self):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAM, "after:wait"], cwd=self.folder, env=self.environment(MEGASCOPE_LIVE=0, MEGASCOPE_REPORT="short"), stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=theirs, text=True) as job:
            os.close(theirs)
            self.assertEqual(job.stdout.readline(), "waiting\n")
            url = (self.run_folder / "live_url").read_text(encoding="utf-8").rstrip("\n")
            self.assertIn(f"live view: {url}\r\n", os.read(ours, 65536).decode())
            job.communicate("\n", timeout=100)
        os.close(ours)


class Ends(Case):
    LINE = "megascope: the program ended without MPI_Finalize; `megascope recover '{}'` makes the traces whole\n"

    def line(self):
        return self.LINE.format(self.run_folder)

    def test_an_exit_without_finalize_is_said_once_and_recovered(self):
        for count in (1, 3):
            with self.subTest(count):
                shutil.rmtree(self.run_folder, ignore_errors=True)
                done = self.call_ranks(count, "after:exit=0")
                self.assertEqual(done.stderr.count("without MPI_Finalize; `megascope"), 1, done.stderr)
                lines = [self.line()] if count == 1 else [self.line(), self.LINE.replace("'{}'", "--here")]
                self.assertTrue(any(line in done.stderr for line in lines), done.stderr)
                self.assertEqual(self.command("recover", self.run_folder).returncode, 0)
                self.assertEqual(len(list(self.run_folder.glob("rank-*.mgt"))), count)

    def test_without_exports_the_command_for_a_verdict_is_named(self):
        done = self.call_ranks(2)
        self.assertIn(f"megascope analyze '{self.run_folder}'", done.stderr)
        self.assertIn("megascope analyze", (self.run_folder / "report.txt").read_text(encoding="utf-8"))
        self.assertNotIn("megascope export", done.stderr)

    def test_the_last_line_says_how_a_timeline_gets_waits_and_findings(self):
        done = self.call_ranks(2, MEGASCOPE_EXPORT="perfetto")
        last = done.stderr.rstrip("\n").splitlines()[-1]
        self.assertEqual(last, f"megascope: the timeline with waits and findings: megascope export '{self.run_folder}' --format perfetto --out '{self.run_folder}/findings'")
        words = shlex.split(last.partition("findings: megascope ")[2])
        result = self.command(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.run_folder / "findings" / "trace.perfetto-trace").is_file())
        self.assertGreater((self.run_folder / "findings" / "trace.perfetto-trace").stat().st_size, (self.run_folder / "trace.perfetto-trace").stat().st_size)

    def test_it_is_not_said_of_runs_that_ended_well(self):
        for arguments in ([], ["after:fork"], ["late"]):
            with self.subTest(arguments):
                shutil.rmtree(self.run_folder, ignore_errors=True)
                done = self.call(*arguments)
                self.assertEqual(done.returncode, 0)
                self.assertNotIn("without MPI_Finalize", done.stderr)
                self.assertTrue((self.run_folder / "report.txt").exists())

    def test_what_earlier_runs_left_is_said_from_one_gib_on(self):
        usage = shutil.disk_usage(self.scratch)
        if usage.free < 3 << 30:
            self.skipTest("1.1 GiB on disk are not free")
        self.call("after:kill")
        left, = self.scratch.glob("megascope-*/*/rank-0.mgt")
        os.posix_fallocate((file := os.open(left, os.O_RDWR)), 0, 900 << 20)
        os.close(file)
        self.assertNotIn("cut short", self.call().stderr)
        os.posix_fallocate((file := os.open(left, os.O_RDWR)), 0, 1100 << 20)
        os.close(file)
        self.assertRegex(self.call().stderr, r"megascope: traces of earlier runs that were cut short take 1\.[01]\d* GiB of .*`megascope recover --here`")

    def test_what_a_running_job_has_is_no_leftover(self):
        if shutil.disk_usage(self.scratch).free < 3 << 30:
            self.skipTest("1.1 GiB on disk are not free")
        with subprocess.Popen([PROGRAM, "after:wait"], cwd=self.folder, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as job:
            self.assertEqual(job.stdout.readline(), "waiting\n")
            left, = self.scratch.glob("megascope-*/*/rank-0.mgt")
            os.posix_fallocate((file := os.open(left, os.O_RDWR)), 0, 1100 << 20)
            os.close(file)
            self.run_folder = self.folder / "other"
            self.assertNotIn("cut short", self.call().stderr)
            job.communicate("\n", timeout=100)


@unittest.skipIf(launch.is_hydra(MPIRUN), "the demonstration is for Open MPI's launcher")
class Demo(Case):
    """scripts/demo.sh with a build that is there, and a program that waits in place of the GPT."""

    def setUp(self):
        super().setUp()
        source = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "demo.sh"
        for folder in ("scripts", "tools", "build/release/bin", "build/release/lib"):
            (self.folder / folder).mkdir(parents=True)
        shutil.copy(source, self.folder / "scripts")
        self.script("scripts/setup.sh", "")
        self.script("tools/cmake", "")
        self.script("build/release/bin/megascope-gpt", f'exec "{PROGRAM}" after:pause')
        (self.folder / "build/release/bin/megascope").symlink_to(MEGASCOPE)
        (self.folder / "build/release/lib/libmegascope.so").symlink_to(LIBRARY)

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
        path.chmod(0o755)

    def test_ctrl_c_ends_the_run_and_its_traces_are_recovered(self):
        for words in ([], ["--live"]):
            with self.subTest(words):
                shutil.rmtree(self.folder / "out", ignore_errors=True)
                environment = self.environment(PATH=f"{self.folder}/tools:{os.environ['PATH']}")
                for name in ("LD_PRELOAD", "MEGASCOPE_OUT"):
                    del environment[name]
                with subprocess.Popen(["bash", "scripts/demo.sh", *words, "out"], cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                      text=True, start_new_session=True) as job:
                    text, waiting = "", 0
                    while waiting < 4 or (words and HAS_LIVE and "view's address" not in text):
                        line = job.stdout.readline()
                        self.assertNotEqual(line, "", text)
                        text += line
                        waiting += line == "waiting\n"
                    os.killpg(job.pid, signal.SIGINT)
                    text += job.communicate(timeout=100)[0]
                self.assertIn("demo: the run was cut short; its traces are recovered\n", text)
                self.assertEqual(len(list((self.folder / "out" / "gpt").glob("rank-*.mgt"))), 4, text)
                self.assertNotEqual(job.returncode, 0)
                if words and HAS_LIVE:
                    self.assertIn(f"demo: the live view's address is in {self.folder}/out/gpt/live_url\n", text)
                self.assertNotIn("token=", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
