"""Worlds that meet: each is a run directory of its own, what goes between them is told as calls with the attribute remote_world,
without messages and collectives, and `megascope report` shows worlds together that belong together.

  worlds_test.py PROGRAM LIBRARY COMMAND TOOLS TRACE_PROCESSOR MPIRUN...
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

PROGRAM, LIBRARY, COMMAND, TOOLS, TRACE_PROCESSOR, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import in_directory  # noqa: E402

# Two worlds on one node do not share memory in Open MPI.
ENVIRONMENT = {**os.environ, "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_btl_tcp_if_include": "lo",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
SPAWNED = "MPI_Comm_spawn #1 of MPI_COMM_WORLD"


class Worlds(in_directory.InDirectory):
    def words(self, *arguments, library=True, more=()):
        recording = ["-x", "LD_PRELOAD=" + LIBRARY, "-x", "MEGASCOPE_REPORT=off", "-x", "MEGASCOPE_EXPORT=otf2,perfetto",
                     "-x", "MEGASCOPE_SCRATCH=" + self.directory]
        return [*MPIRUN, *more, *(recording if library else []), "-n", "2", PROGRAM, *arguments]

    def play(self, *arguments, library=True):
        return subprocess.run(self.words(*arguments, library=library), cwd=self.directory, capture_output=True, text=True, timeout=100,
                              check=True, env=ENVIRONMENT)

    def runs(self):
        """Reports by run directory, and the OTF2 judge's findings."""
        reports = {}
        for path in sorted(glob.glob(self.directory + "/megascope-*/report.json")):
            with open(path, encoding="utf-8") as file:
                reports[os.path.basename(os.path.dirname(path))] = json.load(file)
        return reports

    def judged(self, run):
        result = subprocess.run(["/usr/bin/python3", TOOLS + "/check_otf2.py", f"{self.directory}/{run}/trace.otf2"],
                                capture_output=True, text=True, timeout=100, check=False)
        found = json.loads(result.stdout)
        self.assertEqual(found["defects"], {}, run)
        return found

    def perfetto(self, run, query):
        result = subprocess.run(["node", TOOLS + "/trace_processor/query.mjs", f"{self.directory}/{run}/trace.perfetto-trace", query],
                                capture_output=True, text=True, timeout=100, check=True,
                                env={**os.environ, "TRACE_PROCESSOR": TRACE_PROCESSOR})
        return json.loads(result.stdout)

    def of_remote(self, report):
        return {row["name"]: row for row in report["communicators"] if row.get("remote_world")}

    def by_role(self):
        reports = self.runs()
        child = [run for run, report in reports.items() if "started_by" in report]
        parent = [run for run in reports if run not in child]
        self.assertEqual((len(parent), len(child)), (1, 1))
        return parent[0], child[0], reports

    def check_spawned(self, name, children):
        parent, child, reports = self.by_role()
        self.assertEqual((reports[parent]["ranks"], reports[child]["ranks"]), (2, children))
        rows = self.of_remote(reports[parent])
        self.assertEqual(set(rows), {name, f"MPI_Intercomm_merge #1 of {name}"})
        self.assertEqual({row["ranks"] for row in rows.values()}, {2 + children})
        for run in (parent, child):
            report = reports[run]
            self.assertEqual(sum(report["losses"].values()), 0)
            self.assertEqual(report["matrix"]["messages"], 0)
            self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], 1)
            found = self.judged(run)
            self.assertEqual(found["messages"], 0)
            own = report["ranks"]
            # the world's barrier-free program: only what is collective within the world is told
            self.assertEqual(report["functions"]["MPI_Allreduce"]["calls"], 2 * own)
        parents = self.judged(child)["remote_worlds"].values()
        self.assertEqual(sum(calls.get("MPI_Comm_get_parent", 0) > 0 for calls in parents), 1)
        return parent, child, reports

    def test_spawn(self):
        bare = self.play("spawn", library=False)
        told = self.play("spawn")
        self.assertEqual(sorted(told.stdout.split("\n")), sorted(bare.stdout.split("\n")))
        parent, child, _ = self.check_spawned(SPAWNED, 2)
        attributes = self.judged(parent)["remote_worlds"]
        # of each rank: get_name-less calls on the intercommunicator and on what was merged from it
        self.assertEqual(set(attributes), {SPAWNED, f"MPI_Intercomm_merge #1 of {SPAWNED}"})
        self.assertEqual(attributes[SPAWNED]["MPI_Allreduce"], 2)
        self.assertEqual(attributes[SPAWNED]["MPI_Sendrecv"], 1)
        merged = attributes[f"MPI_Intercomm_merge #1 of {SPAWNED}"]
        self.assertEqual(merged, {"MPI_Bcast": 2, "MPI_Ibarrier": 2, "MPI_Comm_split": 2, "MPI_Comm_free": 2})
        self.check_command(parent, child)

    def check_command(self, parent, child):
        text = subprocess.run([COMMAND, "report", parent], cwd=self.directory, capture_output=True, text=True, timeout=60, check=True)
        self.assertIn(f"\nSpawned by {parent} with MPI_Comm_spawn: {child}\n", text.stdout)
        self.assertIn("other world: " + SPAWNED[:20], text.stdout)
        self.assertEqual(text.stdout.count("MPI functions by time"), 2)
        own = subprocess.run([COMMAND, "report", child], cwd=self.directory, capture_output=True, text=True, timeout=60, check=True)
        self.assertIn(f"Spawned by      MPI_Comm_spawn in the run {parent}\n", own.stdout)
        result = subprocess.run([COMMAND, "report", "--json", f"{self.directory}/{parent}/"], capture_output=True, text=True,
                                timeout=60, check=True)
        report = json.loads(result.stdout)
        self.assertEqual([spawned["ranks"] for spawned in report["spawned"]], [2])
        self.assertTrue(report["spawned"][0]["started_by"].endswith(parent))

    def test_spawn_multiple(self):
        self.play("multiple")
        self.check_spawned("MPI_Comm_spawn_multiple #1 of MPI_COMM_WORLD", 3)

    def test_refused(self):
        self.play("refused")
        (run, report), = self.runs().items()
        self.assertEqual(report["functions"]["MPI_Comm_spawn"]["calls"], 2)
        self.assertEqual(self.of_remote(report), {})
        self.assertEqual(self.judged(run)["failed_calls"], 2)

    def test_within_one_world_all_is_told(self):
        self.play("within")
        (run, report), = self.runs().items()
        self.assertEqual(self.of_remote(report), {})
        self.assertEqual([(pair["source"], pair["destination"], pair["messages"]) for pair in report["matrix"]["heaviest"]], [(0, 1, 1)])
        self.assertEqual(self.judged(run)["messages"], 1)

    def test_join(self):
        self.play("join", self.directory + "/socket")
        (run, report), = self.runs().items()
        self.assertEqual(report["matrix"]["messages"], 2)
        self.assertEqual(self.judged(run)["messages"], 2)

    @unittest.skipUnless(shutil.which("ompi-server"), "ompi-server is not installed")
    def test_connect_of_two_jobs(self):
        uri = self.directory + "/uri"
        with subprocess.Popen(["ompi-server", "--no-daemonize", "--mca", "oob_tcp_if_include", "lo", "-r", uri]) as server:
            try:
                self.meet(["--ompi-server", "file:" + uri, "--mca", "oob_tcp_if_include", "lo"], uri)
            finally:
                server.terminate()
        reports = self.runs()
        self.assertEqual(len(reports), 2)
        remote = sorted(name for report in reports.values() for name in self.of_remote(report))
        self.assertEqual(remote, ["MPI_Comm_accept #1 of MPI_COMM_WORLD", "MPI_Comm_connect #1 of MPI_COMM_WORLD",
                                  "MPI_Intercomm_merge #1 of MPI_Comm_accept #1 of MPI_COMM_WORLD",
                                  "MPI_Intercomm_merge #1 of MPI_Comm_connect #1 of MPI_COMM_WORLD"])
        for run, report in reports.items():
            self.assertEqual(report["matrix"]["messages"], 0)
            self.assertEqual(self.judged(run)["messages"], 0)

    def meet(self, more, uri):
        while not (os.path.exists(uri) and os.path.getsize(uri)):
            pass
        port = self.directory + "/port"
        with subprocess.Popen(self.words("serve", port, more=more), cwd=self.directory, env=ENVIRONMENT) as serving:
            subprocess.run(self.words("connect", port, more=more), cwd=self.directory, env=ENVIRONMENT, timeout=100, check=True)
            self.assertEqual(serving.wait(60), 0)

    @unittest.skipUnless(os.path.exists(TRACE_PROCESSOR + "/trace_processor.wasm") and shutil.which("node"), "Perfetto's trace processor is not here")
    def test_perfetto(self):
        self.play("spawn")
        parent, _, _ = self.by_role()
        rows = self.perfetto(parent, "select distinct string_value as world from args where key='debug.remote_world' order by 1")
        self.assertEqual([row["world"] for row in rows], [SPAWNED, f"MPI_Intercomm_merge #1 of {SPAWNED}"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
