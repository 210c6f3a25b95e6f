"""Runs that end otherwise than by MPI_Finalize, and the last line of those that end by it.

  cut_short_test.py MEGASCOPE PROGRAM CC MPIRUN...
"""

import os
import pathlib
import select
import shlex
import shutil
import signal
import subprocess
import time
import unittest

from outputs import Case, FORMATS, HAS_LIVE, LIBRARY, MEGASCOPE, MPIRUN, PROGRAM, launch, reported_skips


class Ends(Case):
    LINE = "megascope: the program ended without MPI_Finalize; run `megascope recover '{}'` to complete the traces\n"

    def line(self):
        return self.LINE.format(self.run_directory)

    def test_an_exit_without_finalize_is_said_once_and_recovered(self):
        for count in (1, 3):
            with self.subTest(count):
                shutil.rmtree(self.run_directory, ignore_errors=True)
                done = self.call_ranks(count, "after:exit=0")
                self.assertEqual(done.stderr.count("without MPI_Finalize; run `megascope recover"), 1, done.stderr)
                lines = [self.line()] if count == 1 else [self.line(), self.LINE.replace("'{}'", "--here")]
                self.assertTrue(any(line in done.stderr for line in lines), done.stderr)
                self.assertEqual(self.command("recover", self.run_directory).returncode, 0)
                self.assertEqual(len(list(self.run_directory.glob("rank-*.mgt"))), count)

    def test_without_exports_the_command_for_a_verdict_is_named(self):
        done = self.call_ranks(2)
        self.assertIn(f"megascope analyze '{self.run_directory}'", done.stderr)
        self.assertIn("megascope analyze", (self.run_directory / "report.txt").read_text(encoding="utf-8"))
        self.assertNotIn("megascope export", done.stderr)

    @unittest.skipUnless("perfetto" in FORMATS, "the build has no Perfetto timelines")
    def test_the_last_line_says_how_a_timeline_gets_waits_and_findings(self):
        done = self.call_ranks(2, MEGASCOPE_EXPORT="perfetto")
        last = done.stderr.rstrip("\n").splitlines()[-1]
        self.assertEqual(last, f"megascope: for a timeline with wait states and findings run: megascope export '{self.run_directory}' --format perfetto "
                               f"--out '{self.run_directory}/findings'")
        words = shlex.split(last.partition("findings run: megascope ")[2])
        result = self.command(*words)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue((self.run_directory / "findings" / "trace.perfetto-trace").is_file())
        self.assertGreater((self.run_directory / "findings" / "trace.perfetto-trace").stat().st_size, (self.run_directory / "trace.perfetto-trace").stat().st_size)

    def test_it_is_not_said_of_runs_that_ended_well(self):
        for arguments in ([], ["after:fork"], ["late"]):
            with self.subTest(arguments):
                shutil.rmtree(self.run_directory, ignore_errors=True)
                done = self.call(*arguments)
                self.assertEqual(done.returncode, 0)
                self.assertNotIn("without MPI_Finalize", done.stderr)
                self.assertTrue((self.run_directory / "report.txt").exists())

    def test_what_earlier_runs_left_is_said_from_one_gib_on(self):
        usage = shutil.disk_usage(self.scratch)
        if usage.free < 3 << 30:
            self.skipTest("1.1 GiB on disk are not free")
        self.call("after:kill")
        left, = self.scratch.glob("megascope-*/*/rank-0.mgt")
        os.posix_fallocate((file := os.open(left, os.O_RDWR)), 0, 900 << 20)
        os.close(file)
        self.assertNotIn("unrecovered traces", self.call().stderr)
        os.posix_fallocate((file := os.open(left, os.O_RDWR)), 0, 1100 << 20)
        os.close(file)
        self.assertRegex(self.call().stderr, r"megascope: unrecovered traces of earlier runs occupy 1\.[01]\d* GiB in .*`megascope recover --here`")

    def test_what_a_running_job_has_is_no_leftover(self):
        if shutil.disk_usage(self.scratch).free < 3 << 30:
            self.skipTest("1.1 GiB on disk are not free")
        with subprocess.Popen([PROGRAM, "after:wait"], cwd=self.directory, env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as job:
            self.assertEqual(job.stdout.readline(), "waiting\n")
            left, = self.scratch.glob("megascope-*/*/rank-0.mgt")
            os.posix_fallocate((file := os.open(left, os.O_RDWR)), 0, 1100 << 20)
            os.close(file)
            self.run_directory = self.directory / "other"
            self.assertNotIn("unrecovered traces", self.call().stderr)
            job.communicate("\n", timeout=100)

    def await_words(self, process, word, count):
        """Launchers write lines of their own, and may join those of two ranks."""
        written = b""
        deadline = time.monotonic() + 100
        while written.count(word.encode()) < count:
            readable, _, _ = select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))
            more = os.read(process.stdout.fileno(), 4096) if readable else b""
            if not more:
                process.kill()
                self.fail(f"{count} times {word!r} is not in {written!r}")
            written += more

    def test_recovers_a_run_that_ctrl_c_ended(self):
        for ranks in ([], [*MPIRUN, "-n", "2"]):
            self.run_directory = self.directory / f"interrupted-{len(ranks)}"
            environment = self.environment()
            del environment["LD_PRELOAD"]
            with subprocess.Popen([MEGASCOPE, "run", "-o", self.run_directory, "--", *ranks, PROGRAM, "after:pause"], cwd=self.directory, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
                self.await_words(process, "waiting", 2 if ranks else 1)
                os.killpg(process.pid, signal.SIGINT)
                _, errors = process.communicate(timeout=60)
            self.assertIn(f"into {self.run_directory}; see `megascope report", errors)
            self.assertEqual(len(list(self.run_directory.glob("rank-*.mgt"))), 2 if ranks else 1, errors)
            self.assertEqual(list(self.scratch.glob("*/*")), [])

    def test_a_job_that_runs_beside_it_is_left_alone(self):
        """Its run directory has the same name with a number, or one that begins so; both are new since the start."""
        environment = self.environment()
        del environment["LD_PRELOAD"]
        with subprocess.Popen([MEGASCOPE, "run", "-o", self.run_directory, "--", PROGRAM, "after:pause"], cwd=self.directory, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            self.assertEqual(process.stdout.readline(), "waiting\n")
            others = []
            for out in (self.run_directory, f"{self.run_directory}s"):
                others.append(subprocess.Popen([PROGRAM, "after:wait"], cwd=self.directory, env=self.environment(MEGASCOPE_OUT=str(out)), stdin=subprocess.PIPE,
                                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True))
                self.assertEqual(others[-1].stdout.readline(), "waiting\n")
            os.killpg(process.pid, signal.SIGINT)
            _, errors = process.communicate(timeout=60)
            for other in others:
                _, said = other.communicate("\n", timeout=100)
                self.assertEqual(other.returncode, 0, said)
        self.assertEqual(errors.count("the run ended early"), 1, errors)
        self.assertNotIn("still runs", errors)
        for directory in (f"{self.run_directory}-2", f"{self.run_directory}s"):
            self.assertTrue((pathlib.Path(directory) / "report.txt").exists(), directory)

    def test_what_other_nodes_have_is_said_when_nothing_is_here(self):
        elsewhere = self.directory / "elsewhere"
        elsewhere.mkdir()
        script = self.directory / "program.sh"
        script.write_text(f'#!/bin/sh\n"{PROGRAM}" after:kill\nmv "$MEGASCOPE_SCRATCH"/* "{elsewhere}"\nexit 5\n', encoding="utf-8")
        script.chmod(0o755)
        environment = self.environment()
        del environment["LD_PRELOAD"]
        result = self.command("run", "-o", self.run_directory, "--", script, env=environment)
        self.assertEqual(result.returncode, 5)
        self.assertIn(f"megascope: {self.run_directory} has no trace yet, and scratch storage here has none: the job is running elsewhere, was killed or did not "
                      f"call MPI_Finalize; `megascope recover '{self.run_directory}'` on its nodes recovers its traces\n", result.stderr)

    def test_directories_of_others_and_of_other_names_are_not_taken_for_this_run(self):
        """They get a run-id while the program runs."""
        program = self.directory / "program.sh"
        names = [f"{self.run_directory}-2", f"{self.run_directory}.bak", f"{self.run_directory}-3"]
        script = "".join(f'mkdir "{name}"; printf "0123456789abcdef\\n/nowhere\\n\\n\\n" >"{name}/run-id"\n' for name in names)
        if os.geteuid() == 0:
            script += f'chown 4001 "{names[0]}"\n'
        program.write_text(f"#!/bin/sh\n{script}exit 5\n", encoding="utf-8")
        program.chmod(0o755)
        environment = self.environment()
        del environment["LD_PRELOAD"]
        result = self.command("run", "-o", self.run_directory, "--", program, env=environment)
        self.assertEqual(result.returncode, 5)
        named = [name for name in names if f"{name} has no trace yet" in result.stderr]
        self.assertEqual(named, names[2:] if os.geteuid() == 0 else [names[0], names[2]], result.stderr)
        self.assertIn(f"{names[2]} has no trace yet, and scratch storage here has none: the job is running elsewhere", result.stderr)

    def test_what_is_recovered_while_it_is_interrupted_is_not_lost(self):
        """The second ctrl-C ends the recovery."""
        environment = self.environment()
        del environment["LD_PRELOAD"]
        with subprocess.Popen([MEGASCOPE, "run", "-o", self.run_directory, "--", PROGRAM, "after:pause"], cwd=self.directory, env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
            self.assertEqual(process.stdout.readline(), "waiting\n")
            while process.poll() is None:
                os.killpg(process.pid, signal.SIGINT)
            process.communicate(timeout=60)
        self.assertIn(process.returncode, (-signal.SIGINT, 128 + signal.SIGINT))
        self.assertEqual(self.command("recover", self.run_directory).returncode, 0)
        self.assertEqual(len(list(self.run_directory.glob("rank-0.mgt"))), 1)


@unittest.skipIf(launch.is_hydra(MPIRUN), "the demonstration is for Open MPI's launcher")
class Demo(Case):
    """scripts/demo.sh with a build that is there, and a program that waits in place of the GPT."""

    def setUp(self):
        super().setUp()
        source = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "demo.sh"
        for directory in ("scripts", "tools", "build/release/bin", "build/release/lib"):
            (self.directory / directory).mkdir(parents=True)
        shutil.copy(source, self.directory / "scripts")
        self.script("scripts/setup.sh", "")
        self.script("tools/cmake", "")
        self.script("build/release/bin/megascope-gpt", f'exec "{PROGRAM}" after:pause')
        (self.directory / "build/release/bin/megascope").symlink_to(MEGASCOPE)
        (self.directory / "build/release/lib/libmegascope.so").symlink_to(LIBRARY)

    def script(self, name, text):
        path = self.directory / name
        path.write_text("#!/bin/sh\n" + text + "\n", encoding="utf-8")
        path.chmod(0o755)

    def test_ctrl_c_ends_the_run_and_its_traces_are_recovered(self):
        for words in ([], ["--live"]):
            with self.subTest(words):
                shutil.rmtree(self.directory / "out", ignore_errors=True)
                environment = self.environment(PATH=f"{self.directory}/tools:{os.environ['PATH']}")
                for name in ("LD_PRELOAD", "MEGASCOPE_OUT"):
                    del environment[name]
                with subprocess.Popen(["bash", "scripts/demo.sh", *words, "out"], cwd=self.directory, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
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
                self.assertEqual(len(list((self.directory / "out" / "gpt").glob("rank-*.mgt"))), 4, text)
                self.assertNotEqual(job.returncode, 0)
                if words and HAS_LIVE:
                    self.assertIn(f"demo: the live view's address is in {self.directory}/out/gpt/live_url\n", text)
                self.assertNotIn("token=", text)


if __name__ == "__main__":
    reported_skips.main("-v")
