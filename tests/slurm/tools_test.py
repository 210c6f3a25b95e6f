"""What is installed for Slurm: the plugin, the wrapper, the batch template, collect.sh, the epilog, tunnel.sh."""

import glob
import os
import shutil
import subprocess
import unittest

import lab

LAPS = 20
UNPRIVILEGED = 65534
NODES = ["n0", "n1", "n2", "n3"]
ALL = ["-N4", "-n4", "-w", "n[0-3]"]
TWO = ["-N2", "-n2", "-w", "n0,n1"]


class Doctor(lab.Case):
    CUT = "the ranks get MEGASCOPE_EXPORT=otf2 without chrome"
    LIST = "--export=ALL,MEGASCOPE_EXPORT=otf2,chrome"

    def test_finds_the_pmix_plugin_and_nothing_wrong(self):
        text = self.call("srun", "-Q", "-n1", "-N1", self.lab.command, "doctor", "--", "./app").stdout
        self.assertIn("ok       slurm     srun has its PMIx plugin", text)

    def test_finds_values_that_were_cut(self):
        self.assertIn(self.CUT, self.call(self.lab.command, "doctor", "--", "srun", self.LIST, "./app", expected=1).stdout)
        self.sbatch(f"#!/bin/sh\n{self.lab.command} doctor\ntrue\n", "-N1", "-n1", self.LIST)
        self.assertIn(self.CUT, self.output("job.out"))

    def test_says_that_the_run_directory_is_of_one_node(self):
        text = self.call("srun", "-Q", "-N2", "-n2", self.lab.command, "doctor", expected=None).stdout
        self.assertIn("is visible on this node only", text)


class Wrapper(lab.Case):
    """megascope-run."""

    def setUp(self):
        super().setUp()
        self.wrapper = f"{self.lab.prefix}/bin/megascope-run"

    def test_records_the_ranks(self):
        result = self.call("srun", "-Q", *ALL, self.wrapper, "./app", str(LAPS), "exit", "3", expected=3)
        self.assertEqual(result.stdout, "4 ranks, sum 6\n")
        self.check_whole(self.report(), 4, LAPS, NODES)

    def test_needs_no_environment(self):
        self.needs_isolation()  # Open MPI's settings come from the node
        self.call("srun", "-Q", *TWO, "--export=NONE", self.wrapper, "--", "./app", str(LAPS))
        self.check_whole(self.report(), 2, LAPS, NODES[:2])

    def test_keeps_another_preload(self):
        result = self.call("srun", "-Q", "-n1", self.wrapper, "sh", "-c", "echo $LD_PRELOAD", variables={"LD_PRELOAD": "libm.so.6"})
        self.assertEqual(result.stdout, f"{os.path.realpath(os.path.dirname(self.lab.library))}/libmegascope.so:libm.so.6\n")

    def test_says_where_the_library_is_missing(self):
        os.makedirs(f"{self.directory}/bin")
        shutil.copy(self.wrapper, f"{self.directory}/bin")
        result = self.call("srun", "-Q", *TWO, "bin/megascope-run", "./app", "3")
        self.assertEqual(result.stdout, "2 ranks, sum 1\n")
        for node in NODES[:2]:
            self.assertIn(f"megascope-run: ./app runs unrecorded on {node}: cannot read ", result.stderr)

    def test_usage(self):
        self.assertIn("srun megascope-run ./app", self.call(self.wrapper, expected=2).stdout)
        self.assertIn("srun megascope-run ./app", self.call(self.wrapper, "--help").stdout)


class Template(lab.Case):
    def test_records_and_keeps_the_exit_status(self):
        job = self.run_template(str(LAPS))
        self.check_whole(self.report(f"{self.directory}/megascope-{job}"), 2, LAPS, NODES[:2])

    def test_records_with_the_tree_that_it_lies_in(self):
        """Not with the one that was installed where this one was before it was moved."""
        moved = f"{self.directory}/moved"
        shutil.copytree(self.lab.prefix, moved, symlinks=True)
        os.rename(f"{moved}/bin/megascope-run", f"{moved}/bin/renamed")
        with open(f"{moved}/bin/megascope-run", "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "moved"\nexec "${0%/*}/renamed" "$@"\n')
        os.chmod(f"{moved}/bin/megascope-run", 0o755)
        job = self.run_template(str(LAPS), scripts=moved + self.lab.scripts.removeprefix(self.lab.prefix))
        self.check_whole(self.report(f"{self.directory}/megascope-{job}"), 2, LAPS, NODES[:2])
        self.assertEqual(self.output("job.out").count("moved\n"), 2)

    def run_template(self, *arguments, state="COMPLETED", scripts=None):
        job = self.call("sbatch", "--parsable", "-o", "job.out", *TWO, "--ntasks-per-node=1",
                        f"{scripts or self.lab.scripts}/megascope.sbatch", "./app", *arguments, variables={"MEGASCOPE_SCRATCH": self.lab.local}).stdout.strip()
        self.wait_for_job(job)
        self.assertIn(f"JobState={state}", self.call("scontrol", "show", "job", job).stdout, self.output("job.out"))
        return job

    def test_brings_the_fragments_in_when_the_program_fails(self):
        job = self.run_template(str(LAPS), "abort", state="FAILED")
        report = self.report(f"{self.directory}/megascope-{job}")
        self.assertEqual(report["end_states"], {"running": 0, "finalized": 0, "aborted": 1, "recovered": 1})
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], 2 * LAPS)


class Collect(lab.Case):
    def killed_run(self, prefix=()):
        """A run directory whose four fragments lie on the nodes. prefix: words that make srun another user's."""
        self.needs_isolation()
        setting = f"--export=ALL,LD_PRELOAD={self.lab.library},MEGASCOPE_SCRATCH={self.lab.local}"
        process = self.start(*prefix, "srun", *ALL, setting, "./app", str(LAPS), "wait", "here", variables={"MEGASCOPE_OUT": "run"})
        self.wait_for("the ranks", lambda: all(os.path.exists(f"{self.directory}/here.{rank}") for rank in range(4)))
        self.end(process)
        return f"{self.directory}/run"

    def collect(self, *words, expected=0):
        return self.call(f"{self.lab.scripts}/collect.sh", *words, expected=expected)

    def fragments(self, node):
        return glob.glob(f"{self.lab.local_of(node)}/megascope-*/*/rank-*.mgt")

    def test_recover_alone_says_what_is_missing_and_where(self):
        directory = self.killed_run()
        self.assertRegex(self.call(self.lab.command, "recover", directory, expected=2).stderr,
                         r"no trace of run \w+ is left on this node in .*; it ran on n\[0-3\]\n$")
        self.call("srun", "-Q", "-N1", "-n1", "-w", "n2", self.lab.command, "recover", "--quiet", directory)
        self.assertIn("3 of 4 ranks miss: 0 1 3; their traces may be on other nodes of n[0-3]: run this command there, or collect.sh\n",
                      self.call(self.lab.command, "recover", directory).stderr)
        self.assertEqual(self.report(directory)["missing_ranks"], [0, 1, 3])
        self.assertIn("4 traces in ", self.collect(directory).stdout)
        self.assertEqual([self.fragments(node) for node in NODES], [[], [], [], []])
        self.assertEqual(self.collect(directory).stderr, "", "it may be repeated")

    def test_a_node_that_is_down_is_named(self):
        directory = self.killed_run()
        self.call("scontrol", "update", "nodename=n3", "state=down", "reason=test")
        try:
            result = self.collect(directory, expected=1)
        finally:
            self.resume("n3")
        self.assertIn("collect.sh: n3 is down: its traces are not collected; run this script again when the node is available\n", result.stderr)
        self.assertIn("1 of 4 ranks miss: 3;", result.stdout)
        self.assertEqual(self.report(directory)["missing_ranks"], [3])
        self.collect(directory)
        self.assertEqual(self.report(directory)["missing_ranks"], [])

    def test_inside_of_another_job(self):
        directory = self.killed_run()
        self.call("salloc", "-Q", "-N1", "-n1", "-w", "n0", f"{self.lab.scripts}/collect.sh", directory)
        self.assertEqual(self.report(directory)["missing_ranks"], [])

    def test_bad_input_is_named(self):
        self.assertIn("is not a directory", self.collect("nosuch", expected=2).stderr)
        self.assertIn("collect.sh RUN_DIRECTORY", self.collect(expected=2).stdout)
        os.mkdir(f"{self.directory}/empty")
        result = self.collect("empty", expected=2)
        self.assertIn("neither a trace nor a run-id file", result.stdout + result.stderr)


class Epilog(Collect):
    """Runs at the end of every job of this lab."""

    def test_brings_everything_in_when_the_job_ends(self):
        as_unprivileged = ["setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups"]
        directory = self.killed_run(as_unprivileged)
        self.use_epilog()
        try:
            self.call(*as_unprivileged, "srun", "-Q", *ALL, "true")
            self.wait_for("the epilog", lambda: not any(self.fragments(node) for node in NODES), 30)
        finally:
            self.use_epilog("")
        self.assertEqual({os.stat(f"{directory}/rank-{rank}.mgt").st_uid for rank in range(4)}, {UNPRIVILEGED})
        self.assertEqual(self.report(directory)["functions"]["MPI_Sendrecv"]["calls"], 4 * LAPS)
        self.assertEqual(len(self.call("sinfo", "-h", "-N", "-t", "idle,comp", "-o", "%N").stdout.split()), 4, "no node is drained")

    def use_epilog(self, path=None):
        """Puts it into slurm.conf. It looks on the nodes' local disk, as epilog.conf beside it says."""
        if path is None:
            path = f"{self.lab.scripts}/epilog.sh"
            with open(f"{self.lab.scripts}/epilog.conf", "w", encoding="utf-8") as file:
                file.write(f"SCRATCH={self.lab.local}\n")
        configuration = self.lab.environment["SLURM_CONF"]
        with open(configuration, encoding="utf-8") as file:
            lines = [line for line in file.readlines() if not line.startswith("Epilog=")]
        with open(configuration, "w", encoding="utf-8") as file:
            file.writelines(lines + ([f"Epilog={path}\n"] if path else []))
        self.call("scontrol", "reconfigure")

    test_recover_alone_says_what_is_missing_and_where = None
    test_a_node_that_is_down_is_named = None
    test_inside_of_another_job = None
    test_bad_input_is_named = None


@unittest.skipUnless(lab.has_plugin(), "built without slurm/spank.h")
class Plugin(lab.Case):
    """srun --megascope."""

    def use(self, arguments="", which=None):
        with open(os.path.dirname(self.lab.environment["SLURM_CONF"]) + "/plugstack.conf", "w", encoding="utf-8") as file:
            file.write(f"optional {which or self.lab.plugin} {arguments}\n")

    def setUp(self):
        super().setUp()
        self.use()

    def test_records_with_srun_and_sbatch_and_salloc(self):
        self.call("srun", "-Q", "--megascope", *ALL, "./app", str(LAPS))
        self.check_whole(self.report(), 4, LAPS, NODES)
        shutil.rmtree(self.run_directory())
        self.sbatch(f"#!/bin/sh\nsrun -Q ./app {LAPS}\n", "--megascope", *TWO)
        self.check_whole(self.report(), 2, LAPS, NODES[:2])
        shutil.rmtree(self.run_directory())
        self.call("salloc", "-Q", "--megascope", *TWO, "srun", "-Q", "./app", str(LAPS))
        self.check_whole(self.report(), 2, LAPS, NODES[:2])

    def test_does_nothing_unless_asked(self):
        result = self.call("srun", "-Q", "-n1", "-N1", "sh", "-c", "echo $LD_PRELOAD")
        self.assertEqual((result.stdout, result.stderr), ("\n", ""))
        self.assertIn("--megascope", self.call("srun", "--help").stdout)

    def preload_of(self, *options, **more):
        return self.call("srun", "-Q", "-n1", "-N1", *options, "sh", "-c", "echo $LD_PRELOAD", **more).stdout.strip()

    def test_may_be_on_for_everybody_and_off_for_one(self):
        self.use("default=on")
        self.assertEqual(self.preload_of(), self.lab.library)
        self.assertEqual(self.preload_of("--megascope=off"), "")
        self.assertEqual(self.preload_of(variables={"LD_PRELOAD": "libm.so.6"}), self.lab.library + ":libm.so.6")
        self.assertEqual(self.preload_of(variables={"LD_PRELOAD": self.lab.library}), self.lab.library)

    def test_another_library_may_be_named(self):
        copy = f"{self.directory}/libother.so"
        os.symlink(self.lab.library, copy)
        self.assertEqual(self.preload_of(f"--megascope={copy}"), copy)
        self.use(f"lib={copy}")
        self.assertEqual(self.preload_of("--megascope"), copy)

    def test_a_missing_library_is_said_once_a_node_and_the_job_runs(self):
        result = self.call("srun", "-Q", "--megascope=/nosuch/lib.so", *TWO, "./app", "3")
        self.assertEqual(result.stdout, "2 ranks, sum 1\n")
        for node in NODES[:2]:
            self.assertEqual(result.stderr.count(f"megascope: the tasks on {node} run unrecorded: /nosuch/lib.so cannot be read"), 1,
                             result.stderr)
        self.assertNotIn("cannot be preloaded", result.stderr)

    def test_a_bad_path_is_refused_before_the_job(self):
        result = self.call("srun", "-Q", "--megascope=/a b.so", "true", expected=None)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("without blanks and colons", result.stderr)

    def test_a_plugin_that_is_gone_breaks_no_job(self):
        self.use(which="/nosuch/megascope_spank.so")
        self.assertEqual(self.call("srun", "-Q", *TWO, "./app", "3").stdout, "2 ranks, sum 1\n")


class Tunnel(lab.Case):
    def call_tunnel(self, *words, expected=0):
        return self.call(f"{self.lab.scripts}/tunnel.sh", *words, expected=expected)

    def test_goes_to_the_node_of_rank_0(self):
        self.call("srun", "-Q", *TWO[:2], "-w", "n2,n3", f"--export=ALL,LD_PRELOAD={self.lab.library}", "./app", "1")
        self.assertEqual(self.call_tunnel("--print", self.run_directory(), "8123").stdout,
                         "ssh -N -o ExitOnForwardFailure=yes -L 127.0.0.1:8123:127.0.0.1:8123 n2\n")
        self.assertEqual(self.call_tunnel("--print", "--login", "gate", self.run_directory(), "8123", "9000").stdout,
                         "ssh -N -o ExitOnForwardFailure=yes -L 127.0.0.1:9000:127.0.0.1:8123 -J gate n2\n")

    def test_finds_the_first_node_of_a_job(self):
        job = self.submit("#!/bin/sh\nsleep 60\n", "-N1", "-n1", "-w", "n3")
        self.wait_for("the job", lambda: self.call("squeue", "-h", "-t", "R", "-j", job).stdout.strip())
        self.assertTrue(self.call_tunnel("--print", job, "80").stdout.endswith(" n3\n"))
        self.call("scancel", job)

    def test_runs_ssh(self):
        os.mkdir(f"{self.directory}/bin")
        with open(f"{self.directory}/bin/ssh", "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\necho "$@"\n')
        os.chmod(f"{self.directory}/bin/ssh", 0o755)
        result = self.call(f"{self.lab.scripts}/tunnel.sh", "@n1", "8123",
                           variables={"PATH": f"{self.directory}/bin:{os.environ['PATH']}"})
        self.assertEqual(result.stdout, "-N -o ExitOnForwardFailure=yes -L 127.0.0.1:8123:127.0.0.1:8123 n1\n")

    def test_bad_input_is_named(self):
        for words, part in (((), "tunnel.sh [--login HOST]"), (("x",), "tunnel.sh [--login HOST]"), (("@n0", "0"), "a port must"),
                            (("@n0", "70000"), "a port must"), (("@-oProxyCommand=x", "80"), "cannot determine"),
                            (("./nosuch", "80"), "cannot determine")):
            result = self.call_tunnel("--print", *words, expected=2)
            self.assertIn(part, result.stdout + result.stderr, words)


class Shell(lab.Case):
    def test_shellcheck_finds_nothing(self):
        if shutil.which("shellcheck") is None:
            self.skipTest("no shellcheck")
        scripts = glob.glob(f"{self.lab.scripts}/*.s*") + [f"{self.lab.prefix}/bin/megascope-run"]
        self.assertEqual(len(scripts), 5)
        result = subprocess.run(["shellcheck", "--severity=warning", *scripts], capture_output=True, text=True, check=False)
        self.assertEqual(result.stdout, "")


if __name__ == "__main__":
    lab.main()
