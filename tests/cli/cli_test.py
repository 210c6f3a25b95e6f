"""The command as a user runs it: output, exit codes, files.

  cli_test.py MEGASCOPE PROGRAM MPIRUN...
"""

import datetime
import glob
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402

MEGASCOPE, PROGRAM, *MPIRUN = sys.argv[1:]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
BARRIERS = 100
CALLS = BARRIERS + 5  # Init, Comm_rank, Comm_size, Sendrecv, Finalize


class Case(in_directory.InDirectory):
    def setUp(self):
        super().setUp()
        self.scratch = self.make_directory("scratch")

    def environment(self, **variables):
        return super().environment(**{"MEGASCOPE_SCRATCH": self.scratch, "MEGASCOPE_EXPORT": "none", **variables})

    def call(self, *words, **variables):
        return self.finished(MEGASCOPE, *words, **variables)

    def only_run_directory(self):
        directories = glob.glob(os.path.join(self.directory, "megascope-*"))
        self.assertEqual(len(directories), 1, directories)
        return directories[0]

    def stored_report(self):
        with open(os.path.join(self.only_run_directory(), "report.json"), encoding="utf-8") as file:
            return json.load(file)

    def fake_launcher(self, name):
        """A launcher that writes down what it was given."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\nprintf "%s\\n" "$@" > "$0.words"\nenv > "$0.env"\nexit 3\n')
        os.chmod(path, 0o755)
        return path


class Usage(Case):
    def test_synth_writes_a_run_that_other_commands_read(self):
        made = [self.call("synth", "-o", name, "--steps", "3", "--seed", "7", "--fault", "slow_compute@5,x=0.5",
                          "--truth", name + ".json") for name in ("first", "again")]
        self.assertEqual([each.returncode for each in made], [0, 0], made[0].stderr)
        self.assertEqual(self.call("report", "first").returncode, 0)
        first, again = ((pathlib.Path(self.directory) / name / "rank-5.mgt").read_bytes() for name in ("first", "again"))
        self.assertEqual(first, again)
        truth = json.loads((pathlib.Path(self.directory) / "first.json").read_text())
        self.assertEqual([cause["ranks"] for cause in truth["culprits"]], [[5]])
        for words in (["-o", "first"], ["-o", "x", "--fault", "tired@1"], ["-o", "x", "--tp", "2000"]):
            self.assertEqual(self.call("synth", *words).returncode, 2, words)

    def test_version_and_help(self):
        self.assertEqual(self.call("--version").stdout, "megascope 0.1.0\n")
        for words in (["--help"], *([name, "--help"] for name in
                                    ("run", "info", "report", "export", "recover", "join", "hang", "analyze", "doctor", "synth", "import"))):
            result = self.call(*words)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("Usage: megascope", result.stdout)

    def test_bad_usage_is_named(self):
        for words, part in (([], "A subcommand is required"), (["reprot"], "there is no command reprot; did you mean report; see"), (["run"], "COMMAND"),
                            (["run", "--"], "COMMAND"), (["report"], "DIR"), (["export", "d"], "--format"),
                            (["export", "d", "-f", "vampir"], "vampir not in {otf2,perfetto,chrome,megascan}"),
                            (["export", "d", "-f", "otf2", "-j", "0"], "jobs"), (["hang"], "DIR"),
                            (["hang", "d", "--format", "xml"], "format"), (["analyze"], "DIR"), (["recover"], "DIR or --here"),
                            (["recover", "--here", "d"], "excludes")):
            result = self.call(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertRegex(result.stderr, "^megascope: ")
            self.assertIn(part, result.stderr)

    def test_bad_input_is_named(self):
        os.mkdir(os.path.join(self.directory, "empty"))
        with open(os.path.join(self.directory, "empty", "rank-0.mgt"), "w", encoding="utf-8") as file:
            file.write("no trace" * 1000)
        for words in (["report", "nosuch"], ["report", "empty"], ["report", "empty", "--json"], ["recover", "nosuch"],
                      ["recover", "empty"], ["export", "nosuch", "-f", "otf2"], ["hang", "nosuch"], ["hang", "empty"], ["analyze", "nosuch"],
                      ["analyze", "empty", "--json"]):
            result = self.call(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""), words)
            self.assertIn(words[1], result.stderr)


class Info(Case):
    def test_json_has_options_and_functions(self):
        info = json.loads(self.call("info", "--json").stdout)
        self.assertEqual(info["version"], "0.1.0")
        self.assertTrue(os.path.samefile(info["library"], LIBRARY))
        options = {option["name"]: option for option in info["options"]}
        self.assertEqual(options["MEGASCOPE_BUFFER_SIZE"]["default"], "1G")
        self.assertEqual(set(options["MEGASCOPE_OUT"]), {"name", "default", "unit", "range", "help", "example"})
        wrapped = {function["name"]: function for function in info["functions"]["wrapped"]}
        self.assertEqual(wrapped["MPI_Send"], {"name": "MPI_Send", "group": "p2p", "depth": "full",
                                                "tells": "communicator, peer, tag, bytes", "default": True})
        if info["mpi"].startswith("Open MPI"):
            self.assertEqual(info["functions"]["not_wrapped"], [], "every function of mpi.h has a row in mpi_layer/table")
        self.assertEqual(len(wrapped) + len(info["functions"]["not_wrapped"]),
                         len(set(wrapped) | set(info["functions"]["not_wrapped"])))
        self.assertEqual(set(info["features"]), {"otf2", "perfetto", "chrome", "megascan", "cuda", "live", "fortran", "nvtx"})

    def test_text_and_options_page(self):
        text = self.call("info").stdout
        self.assertIn("MegaScope 0.1.0\n", text)
        self.assertIn("MEGASCOPE_BUFFER_POLICY=stop", text)
        self.assertIn("\n## MEGASCOPE_OUT\n", self.call("info", "--options-markdown").stdout)


class Run(Case):
    def test_records_a_program_and_keeps_its_exit_code(self):
        result = self.call("run", "--", PROGRAM, "exit", "5")
        self.assertEqual(result.returncode, 5)
        self.assertIn("MPI_Barrier", result.stderr)
        self.assertEqual(self.stored_report()["mpi_calls"], CALLS)

    def test_records_the_ranks_of_a_launcher(self):
        result = self.call("run", "-e", "none", *MPIRUN, "-n", "2", PROGRAM)
        self.assertEqual(result.returncode, 0, result.stderr)
        report = self.stored_report()
        self.assertEqual((report["ranks"], report["mpi_calls"]), (2, 2 * CALLS))
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["bytes_sent"], 2 * 64)

    def test_records_both_programs_of_a_launcher(self):
        result = self.call("run", "-o", "out", *MPIRUN, "-n", "1", PROGRAM, ":", "-n", "1", PROGRAM, "exit", "0")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(os.path.join(self.directory, "out", "report.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["ranks"], report["mpi_calls"], len(report["programs"])), (2, 2 * CALLS, 2))

    def test_a_directory_that_is_there_is_not_written_into(self):
        self.addCleanup(shutil.rmtree, self.directory + "-2", ignore_errors=True)
        result = self.call("run", "-o", ".", "-e", "none", PROGRAM)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(f"writes to {self.directory}-2", result.stderr)
        self.assertEqual(os.listdir(self.directory), ["scratch"])

    def test_records_as_a_rank_itself(self):
        result = subprocess.run([*MPIRUN, "-n", "2", MEGASCOPE, "run", "--", PROGRAM], cwd=self.directory, check=True,
                                env=self.environment(), capture_output=True, text=True, timeout=100)
        self.assertNotIn("nothing was recorded", result.stderr)
        self.assertEqual(self.stored_report()["mpi_calls"], 2 * CALLS)

    def test_finds_the_run_directory_of_a_program_that_changed_its_own(self):
        result = self.call("run", PROGRAM, "chdir")
        self.assertEqual((result.returncode, self.stored_report()["mpi_calls"]), (0, CALLS))
        self.assertNotIn("nothing was recorded", result.stderr)

    def test_ends_as_the_program_ends(self):
        result = self.call("run", "-o", "killed", "--", PROGRAM, "kill")
        self.assertEqual(result.returncode, -signal.SIGKILL)
        directory = os.path.join(os.path.realpath(self.directory), "killed")
        self.assertIn(f"megascope: the run ended early: recovered 1 trace into {directory}; see `megascope report '{directory}'` and `megascope analyze '{directory}'`\n",
                      result.stderr)
        self.assertEqual(os.listdir(os.path.join(self.directory, "scratch", f"megascope-{os.geteuid()}")), [])
        report = json.loads(self.call("report", directory, "--json").stdout)
        self.assertEqual(report["mpi_calls"], CALLS - 1)

    def test_says_which_functions_are_recorded(self):
        result = self.call("run", "--", PROGRAM, MEGASCOPE_MPI="none", MEGASCOPE_REPORT="off")
        self.assertRegex(result.stderr, r"^megascope: .* a rank, MPI functions selected by MEGASCOPE_MPI=none\n")

    def test_hands_on_signals(self):
        with subprocess.Popen([MEGASCOPE, "run", "--", PROGRAM, "wait"], cwd=self.directory, env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            self.assertEqual(process.stdout.readline(), b"waiting\n")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(timeout=50), 9)

    def test_says_what_cannot_be_started(self):
        result = self.call("run", "--", "./nosuch", "-x")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "megascope: cannot run ./nosuch: No such file or directory\n")

    def test_explains_why_nothing_was_recorded(self):
        result = self.call("run", "--", "sh", "-c", "exit 4")
        self.assertEqual(result.returncode, 4)
        self.assertIn("MegaScope: nothing was recorded of sh, ended with exit code 4. Possible causes:\n", result.stderr)
        disabled = self.call("run", "--", PROGRAM, MEGASCOPE_ENABLE="0")
        self.assertEqual(disabled.stderr, f"MegaScope: nothing was recorded of {PROGRAM}, because\n"
                         "  - MEGASCOPE_ENABLE=0 is set.\n    Unset it or set it to 1.\n"
                         "For more, run `megascope doctor -- COMMAND` and see the page that it names.\n")

    def test_srun_gets_the_preload_for_the_ranks_only(self):
        launcher = self.fake_launcher("srun")
        self.assertEqual(self.call("run", "--", launcher, "-n", "2", "./app").returncode, 3)
        with open(launcher + ".words", encoding="utf-8") as file:
            self.assertEqual(file.read().split(), [f"--export=ALL,LD_PRELOAD={os.path.realpath(os.path.dirname(LIBRARY))}"
                                                   "/libmegascope.so", "-n", "2", "./app"])
        with open(launcher + ".env", encoding="utf-8") as file:
            self.assertNotIn("LD_PRELOAD", file.read())

    def test_srun_cuts_lists_at_commas(self):
        result = self.call("run", "--", self.fake_launcher("srun"), "--export=ALL,MEGASCOPE_EXPORT=otf2,chrome", "./app")
        self.assertIn("megascope: --export splits at commas: the ranks get MEGASCOPE_EXPORT=otf2 without chrome. "
                      "Separate list items with +: MEGASCOPE_EXPORT=otf2+chrome.\n", result.stderr)

    def test_keeps_another_preload(self):
        result = self.call("run", "--", "sh", "-c", "echo $LD_PRELOAD", LD_PRELOAD="libm.so.6")
        self.assertRegex(result.stdout, r"/libmegascope\.so:libm\.so\.6\n$")


class Afterwards(Case):
    def make_run(self):
        result = self.call("run", "--", *MPIRUN, "-n", "2", PROGRAM)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.only_run_directory()

    def test_report_from_traces_counts_like_the_one_at_the_end(self):
        directory = self.make_run()
        result = self.call("report", directory, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        later, stored = json.loads(result.stdout), self.stored_report()
        for key in ("wall_s", "startup_s"):
            self.assertAlmostEqual(later[key] / stored[key], 1, delta=0.01, msg=key)
        started = [datetime.datetime.fromisoformat(report["started"].rstrip("Z")) for report in (later, stored)]
        self.assertLess(abs((started[0] - started[1]).total_seconds()), 0.005)
        for key in ("run_id", "program", "ranks", "nodes", "mpi_calls", "losses", "end_states",
                    "message_sizes", "matrix", "exports"):
            self.assertEqual(later[key], stored[key], key)
        for name, function in stored["functions"].items():
            for key in ("calls", "bytes"):
                self.assertEqual(later["functions"][name][key], function[key], name)
        self.assertEqual(later, json.loads(self.call("report", directory, "--json", "-j", "1").stdout))
        text = self.call("report", directory)
        self.assertEqual((text.returncode, text.stderr), (0, ""))
        self.assertLessEqual(len(text.stdout.splitlines()), 60)
        self.assertIn("MPI_Barrier", text.stdout)

    def test_export_writes_once_and_overwrites_nothing(self):
        directory = self.make_run()
        present = json.loads(self.call("info", "--json").stdout)["features"]
        files = {"otf2": "trace.otf2", "perfetto": "trace.perfetto-trace", "chrome": "trace.json.gz"}
        for name, file in files.items():
            result = self.call("export", directory, "--format", name, "--out", "out", "--jobs", "2")
            if not present[name]:
                self.assertEqual(result.returncode, 2)
                continue
            self.assertEqual(result.returncode, 0, result.stderr)
            findings = "" if name == "otf2" else r"findings: \d+ root causes?, \d+ wait states\n"
            self.assertRegex(result.stdout, rf"^{findings}{name}: out/{file}, .* records, .*/s\)\n$")
            again = self.call("export", directory, "--format", name, "--out", "out")
            self.assertEqual(again.returncode, 2)
            self.assertIn(file, again.stderr)

    def test_a_recorded_run_goes_to_megascan_and_comes_back(self):
        directory = self.make_run()
        unknown = self.call("export", directory, "-f", "megascan", "-o", "out")
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("rank 0 has no coordinates in parallel groups", unknown.stderr)
        result = self.call("export", directory, "-f", "megascan", "-o", "out", "--parallel", "dp=2")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(os.listdir(os.path.join(self.directory, "out"))), [f"benchmark-data-{i}-pipeline-0-tensor-0.json" for i in (0, 1)])
        self.assertEqual(self.call("import", "--from", "megascan", "out", "-o", "again").returncode, 0)
        before, after = (json.loads(self.call("report", run, "--json").stdout) for run in (directory, "again"))
        self.assertEqual(after["mpi_calls"], before["mpi_calls"])
        self.assertEqual({name: function["calls"] for name, function in after["functions"].items()},
                         {name: function["calls"] for name, function in before["functions"].items()})

    def test_recovers_a_killed_run(self):
        subprocess.run([PROGRAM, "kill"], cwd=self.directory, env=self.environment(LD_PRELOAD=LIBRARY), capture_output=True, check=False)
        directory = self.only_run_directory()
        early = self.call("report", directory)
        self.assertEqual(early.returncode, 2)
        self.assertIn("megascope recover", early.stderr)
        self.assertEqual(self.call("recover", directory).returncode, 0)
        report = json.loads(self.call("report", directory, "--json").stdout)
        self.assertEqual(report["mpi_calls"], CALLS - 1)  # all but MPI_Finalize
        self.assertEqual(report["end_states"]["recovered"], 1)
        again = self.call("recover", directory)
        self.assertEqual((again.returncode, again.stderr), (0, ""))

    def test_recovers_what_a_running_job_has_so_far(self):
        with subprocess.Popen([MEGASCOPE, "run", "--", PROGRAM, "linger"], cwd=self.directory, env=self.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            self.assertEqual(process.stdout.readline(), b"waiting\n")
            directory = self.only_run_directory()
            so_far = self.call("recover", directory)
            self.assertEqual(so_far.returncode, 0)
            self.assertIn("still runs", so_far.stderr)
            report = json.loads(self.call("report", directory, "--json").stdout)
            self.assertEqual(report["mpi_calls"], CALLS - 1)
            process.communicate(b"\n", timeout=50)
        report = json.loads(self.call("report", directory, "--json").stdout)
        self.assertEqual(report["mpi_calls"], CALLS, "the whole trace has taken the copy's place")
        self.assertEqual(report["end_states"]["recovered"], 0)

    def test_a_trace_without_calls_is_called_that(self):
        directory = self.make_run()
        for path in glob.glob(os.path.join(directory, "rank-*.mgt")):
            with open(path, "r+b") as file:
                file.truncate(5000)
        self.assertIn("Recording ended early or the trace is", self.call("report", directory).stdout)

    def test_reports_what_is_left_of_damaged_traces(self):
        directory = self.make_run()
        with open(os.path.join(directory, "rank-1.mgt"), "r+b") as file:
            file.truncate(100)
        result = self.call("report", directory, "--json")
        self.assertEqual(result.returncode, 0)
        self.assertIn("rank-1.mgt", result.stderr)
        self.assertEqual(json.loads(result.stdout)["missing_ranks"], [1])


class Join(Case):
    """Ranks that recorded alone, because rank 2 has no library; each into a directory of its own, as on hosts of their own."""

    def record_apart(self, *outs):
        words = [word for out in outs for word in
                 (":", "-n", "1", "env", *([f"LD_PRELOAD={LIBRARY}", f"MEGASCOPE_OUT={out}"] if out else []), PROGRAM)]
        result = subprocess.run([*MPIRUN, *words[1:]], cwd=self.directory, env=self.environment(), capture_output=True,
                                text=True, timeout=100, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("not all ranks have the library (missing: 2)", result.stderr)

    def file_bytes(self, directory):
        paths = sorted(glob.glob(os.path.join(self.directory, directory, "**", "rank-*.mgt"), recursive=True))
        return [pathlib.Path(path).read_bytes() for path in paths]

    def test_makes_one_run_of_fragments(self):
        self.record_apart("a", "b", None, "d")
        before = [self.file_bytes(name) for name in "abd"]
        result = self.call("join", "a", "b", "d", "--out", "all")
        self.assertEqual((result.returncode, result.stdout), (0, "3 of 4 ranks in all; see `megascope report 'all'`\n"))
        self.assertEqual(result.stderr, "megascope: 1 of 4 ranks miss: 2\n")
        self.assertEqual([self.file_bytes(name) for name in "abd"], before, "fragments stay as they are")
        report = json.loads(self.call("report", "all", "--json").stdout)
        self.assertEqual([rank["rank"] for rank in report["per_rank"]], [0, 1, 3])
        self.assertEqual((report["missing_ranks"], report["mpi_calls"]), ([2], 3 * CALLS))
        self.assertEqual(sum(report["losses"].values()), 0)
        text = self.call("report", "all").stdout
        self.assertIn("1 of 4 ranks have no trace (2)", text)
        self.assertNotIn("Standalone", text)
        for name in (name for name in ("otf2", "perfetto") if json.loads(self.call("info", "--json").stdout)["features"][name]):
            exported = self.call("export", "all", "-f", name)
            self.assertEqual(exported.returncode, 0, exported.stderr)
        again = self.call("join", "a", "--out", "all")
        self.assertEqual((again.returncode, again.stdout), (2, ""))
        self.assertIn("cannot create all: it exists already", again.stderr)

    def test_takes_single_traces_and_the_fuller_of_two_copies(self):
        self.record_apart("a", "b", None)
        traces = [glob.glob(os.path.join(self.directory, name, "**", "rank-*.mgt"), recursive=True)[0] for name in "ab"]
        result = self.call("join", *traces, traces[0], "a", "--out", "all")
        self.assertEqual((result.returncode, result.stdout.split(";")[0]), (0, "2 of 3 ranks in all"))

    def test_leaves_out_a_trace_with_a_damaged_size_of_the_world(self):
        self.record_apart("a", "b", None, "d")
        for damaged, ranks in (("d", [0, 1]), ("a", [1, 3])):
            (path,) = glob.glob(os.path.join(self.directory, damaged, "**", "rank-*.mgt"), recursive=True)
            whole = pathlib.Path(path).read_bytes()
            with open(path, "r+b") as file:
                file.seek(20)
                file.write((700).to_bytes(4, "little"))
            result = self.call("join", "a", "b", "d", "--out", "without-" + damaged)
            self.assertEqual((result.returncode, result.stdout.split(";")[0]), (0, f"2 of 4 ranks in without-{damaged}"), result.stderr)
            self.assertRegex(result.stderr, rf"megascope: {os.path.relpath(path, self.directory)} is damaged and was omitted: "
                                            r"it records a world size of 700, but .* of the same world records 4\n")
            report = json.loads(self.call("report", "without-" + damaged, "--json").stdout)
            self.assertEqual([rank["rank"] for rank in report["per_rank"]], ranks)
            pathlib.Path(path).write_bytes(whole)

    def test_refuses_what_is_not_of_one_job(self):
        self.record_apart("a", "b", None)
        self.record_apart("c", "d", None)
        self.call("run", "-o", "other", *MPIRUN, "-n", "2", PROGRAM)
        for fragments, part in ((("a", "d"), "of different jobs: the launcher's job names are"), (("a", "other"), "of different jobs: the world sizes are 3 and 2"),
                             (("a", "nowhere"), "nowhere does not exist"), (("a", "scratch"), "scratch holds no readable trace")):
            result = self.call("join", *fragments, "--out", "all")
            self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
            self.assertIn(part, result.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.directory, "all")))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
