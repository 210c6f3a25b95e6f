"""Jobs over several hosts without a batch system: run folders, hosts, clocks, and pieces that are joined afterwards.

  hosts_test.py LIBRARY MEGASCOPE RING MPIRUN...

A host is a network namespace with an address, a host name that nothing resolves, a CLOCK_MONOTONIC and, where a test asks for
it, a folder of its own. Without the right to make them the test is skipped (77).
"""

import glob
import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

LIBRARY, MEGASCOPE, RING, *MPIRUN = sys.argv[1:]
SKIPPED = 77
LIMIT_S = 60
LAPS = 20
PATIENCE_S = 5  # half of what a rank waits for rank 0's verdict before it judges itself
MONOTONIC_S = (1000, 5000)  # by host
SYSTEM_CLOCK = ("+0s", "+1000s")  # by host, where FAKE_TIME is preloaded
FAKE_TIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"
NETWORK = "10.99.71"
NAMES = ("left", "right")

AGENT = """#!/bin/sh
# What mpirun calls: [options] ADDRESS command...
while [ "${{1#-}}" != "$1" ]; do case $1 in -l|-p|-o|-i) shift 2 ;; *) shift ;; esac; done
case $1 in
{hosts}
esac
shift
exec ip netns exec "$netns" unshare --uts --mount --time --monotonic="$shift_s" --boottime="$shift_s" -- \\
  /bin/sh -c "hostname $name; export FAKETIME=$clock FAKETIME_DONT_FAKE_MONOTONIC=1; mount --bind {folder}/$name {folder}/local; $*"
"""


def call(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False, **more)


class Hosts:
    """Two hosts with a wire between them."""

    def __init__(self):
        self.namespaces = [f"megascope{os.getpid()}{letter}" for letter in "ab"]
        self.made = []

    def make(self):
        """The reason why not, or nothing."""
        if not shutil.which("ip") or not shutil.which("unshare"):
            return "no ip or unshare"
        for name in self.namespaces:
            result = call("ip", "netns", "add", name)
            if result.returncode != 0:
                return "cannot make a network namespace: " + result.stderr.strip()
            self.made.append(name)
        one, other = self.namespaces
        result = call("ip", "link", "add", "wire", "netns", one, "type", "veth", "peer", "name", "wire", "netns", other)
        for number, name in enumerate(self.namespaces, 1):
            for words in (["addr", "add", f"{NETWORK}.{number}/24", "dev", "wire"], ["link", "set", "wire", "up"], ["link", "set", "lo", "up"]):
                result = result if result.returncode != 0 else call("ip", "-n", name, *words)
        result = result if result.returncode != 0 else call("unshare", "--uts", "--mount", "--time", "--monotonic=1", "true")
        return result.stderr.strip() or None if result.returncode == 0 else "cannot make hosts: " + result.stderr.strip()

    def remove(self):
        for name in self.made:
            call("ip", "netns", "del", name)


class Case(unittest.TestCase):
    hosts = Hosts()

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hosts_test.", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name in (*NAMES, "local"):
            os.mkdir(f"{self.folder}/{name}")
        lines = [f'  {NETWORK}.{number}) netns={netns} name={name} shift_s={shift_s} clock={clock} ;;' for number, (netns, name, shift_s, clock) in
                 enumerate(zip(self.hosts.namespaces, NAMES, MONOTONIC_S, SYSTEM_CLOCK), 1)]
        self.agent = f"{self.folder}/agent"
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(hosts="\n".join(lines), folder=self.folder))
        os.chmod(self.agent, 0o755)

    def run_ring(self, ranks=4, preload=LIBRARY, **variables):
        """Ranks on both hosts in turn, two a host. The launcher runs on the first."""
        settings = {"LD_PRELOAD": preload, "MEGASCOPE_EXPORT": "none", **variables}
        words = [*MPIRUN, "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1", "--mca", "btl",
                 "self,vader,tcp", "--mca", "btl_tcp_if_include", f"{NETWORK}.0/24", "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24",
                 "--host", f"{NETWORK}.1:{ranks // 2},{NETWORK}.2:{ranks // 2}", "-n", str(ranks), "--map-by", "node"]
        for name, value in settings.items():
            words += ["-x", f"{name}={value}"]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEGASCOPE_", "SLURM_", "LD_PRELOAD"))}
        result = call(self.agent, f"{NETWORK}.1", *words, RING, str(LAPS), cwd=self.folder, env=kept)
        self.assertEqual((result.returncode, result.stdout), (0, f"{ranks} ranks, sum {ranks * (ranks - 1) // 2}\n"), result.stderr)
        return result.stderr

    def command(self, *words, expected=0):
        result = call(MEGASCOPE, *words, cwd=self.folder)
        self.assertEqual(result.returncode, expected, result.stderr)
        return result.stdout

    def check(self, folder, ranks=4):
        report = json.loads(self.command("report", "--json", folder))
        self.assertEqual(report["missing_ranks"], [])
        self.assertEqual(report["nodes"], list(NAMES))
        self.assertEqual([row["host"] for row in report["per_rank"]], [NAMES[rank % 2] for rank in range(ranks)])
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], ranks * LAPS)
        self.assertEqual(report["matrix"]["messages"], ranks * LAPS)
        self.assertEqual(sum(report["losses"].values()), 0)
        self.assertLess(report["wall_s"], LIMIT_S, "hosts' clocks with origins hours apart are one time")
        self.assertLess(report["overhead_s"], PATIENCE_S, "whether all ranks have the library is found out at once")
        return report

    def check_times(self, folder):
        """MPI_Allreduce ends a run of all ranks: it overlaps on all of them, whatever their clocks began with."""
        self.command("export", folder, "-f", "chrome", "-o", "out")
        with gzip.open(f"{self.folder}/out/trace.json.gz", "rt", encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
        spans = [(event["ts"], event["ts"] + event["dur"]) for event in events if event.get("name") == "MPI_Allreduce" and "dur" in event]
        self.assertGreaterEqual(len(spans), 4)
        self.assertLess(max(begin for begin, _ in spans) - min(end for _, end in spans), 5e4, "µs")


class SharedFolder(Case):
    def test_is_one_run_on_two_hosts(self):
        text = self.run_ring(MEGASCOPE_OUT=f"{self.folder}/run")
        self.assertIn(f"4 ranks, writes to {self.folder}/run", text)
        self.check(f"{self.folder}/run")
        self.check_times("run")

    def test_with_clocks_that_began_hours_apart(self):
        self.run_ring(MEGASCOPE_OUT=f"{self.folder}/run", MEGASCOPE_CLOCK="monotonic")
        self.check(f"{self.folder}/run")
        self.check_times("run")

    def test_with_system_clocks_far_apart(self):
        """Times of hosts are as wrong as their clocks (LIMITS.md), everything else is right."""
        if not os.path.exists(FAKE_TIME):
            print("hosts: Skipped\nno libfaketime\n[  SKIPPED ] SharedFolder.test_with_system_clocks_far_apart (0 ms)")  # for run_ctest.py
            return
        self.run_ring(preload=f"{FAKE_TIME}:{LIBRARY}", MEGASCOPE_OUT=f"{self.folder}/run", MEGASCOPE_CLOCK="monotonic",
                      MEGASCOPE_EXPORT="otf2,perfetto,chrome")
        self.check(f"{self.folder}/run")
        for name in ("trace.otf2", "trace.perfetto-trace", "trace.json.gz"):
            self.assertGreater(os.path.getsize(f"{self.folder}/run/{name}"), 0)


class OwnFolders(Case):
    def test_pieces_of_hosts_make_one_run(self):
        here = f"{self.folder}/local"
        text = self.run_ring(MEGASCOPE_OUT=f"{here}/run", MEGASCOPE_SCRATCH=here, MEGASCOPE_CLOCK="monotonic")
        self.assertIn("the run folder is not seen on right: its traces stay there, in", " ".join(text.split()))
        first = f"{self.folder}/left/run"
        self.assertEqual(json.loads(self.command("report", "--json", first))["missing_ranks"], [1, 3])
        (second,) = glob.glob(f"{self.folder}/right/megascope-*/*")
        said = self.command("join", first, second, "--out", "all")
        self.assertTrue(said.startswith("4 of 4 ranks in all"), said)
        self.check("all")
        self.check_times("all")


def main():
    reason = Case.hosts.make()
    try:
        if reason:
            print(f"SKIPPED: {reason}")
            return SKIPPED
        program = unittest.main(argv=[sys.argv[0]], exit=False, verbosity=2)
        return 0 if program.result.wasSuccessful() else 1
    finally:
        Case.hosts.remove()


if __name__ == "__main__":
    sys.exit(main())
