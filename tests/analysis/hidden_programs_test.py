"""Ranks of real MPI programs that wait for each other in shared memory: who comes late is named, not those that wait for it.

  hidden_programs_test.py MEGASCOPE SPINNING MPIRUN...

Work is so much CPU time, equal on all ranks but for the slow one's. Where the machine kept ranks from their cores for long, a test is skipped.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

MEGASCOPE, SPINNING, *MPIRUN = sys.argv[1:]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools"))
import launch  # noqa: E402

STEPS = 80
WORK_US = 3000
LIMIT_S = 100
TRIES = 3
OF_ITSELF = {"slow_compute", "slow_host", "host_stall", "stage_imbalance", "input_imbalance"}


class Hidden(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="hidden_test.", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.run_folder = self.folder + "/run"

    def play(self, where, ranks, group_size, slow_rank, factor=1.3):
        shutil.rmtree(self.run_folder, ignore_errors=True)
        settings = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_SCRATCH": self.folder, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_OUT": self.run_folder}
        words = [*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", str(ranks), SPINNING, where, str(STEPS), str(WORK_US),
                 str(group_size), str(slow_rank), str(factor)]
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MEGASCOPE_", "LD_PRELOAD"))}
        result = subprocess.run(words, cwd=self.folder, env=kept, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        result = subprocess.run([MEGASCOPE, "analyze", self.run_folder, "--json"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        found = json.loads(result.stdout)
        self.assertEqual((result.returncode, result.stderr), (1 if found["culprits"] else 0, ""))
        return found

    def is_disturbed(self, found):
        """Ranks that waited long for a core: then their own work took longer in truth."""
        for rank in found["per_rank"]:
            cpu = rank["cpu"] or {}
            if cpu.get("core_wait_s") is not None and cpu["core_wait_s"] > 0.02 * cpu["wall_s"]:
                return True
        return False

    def accused(self, found):
        return sorted({rank for one in found["culprits"] if one["kind"] in OF_ITSELF for rank in one["ranks"]})

    def check(self, where, ranks, group_size, slow_rank):
        """Whatever the machine does, nobody but the slow rank is slow by itself; where the machine does nothing, that is named."""
        for _ in range(TRIES):
            found = self.play(where, ranks, group_size, slow_rank)
            is_disturbed = self.is_disturbed(found)
            if not is_disturbed:
                break
        if is_disturbed:
            print(f"hidden_programs: Skipped\nother work took the ranks' cores\n[  SKIPPED ] Hidden.{self._testMethodName} (0 ms)")
            self.skipTest("other work took the ranks' cores")
        self.assertEqual(self.accused(found), [slow_rank], found["verdict"])
        place = "`backward`" if where == "region" else "work between MPI calls"
        notes = " ".join(found["limitations"])
        self.assertRegex(notes, re.escape(f"synchronise in {place}"))
        return found

    def test_a_rank_that_is_late_at_a_flag_in_a_gap_is_named(self):
        self.check("gap", ranks=2, group_size=2, slow_rank=1)

    def test_a_rank_that_is_late_at_a_flag_in_an_annotated_region_is_named(self):
        found = self.check("region", ranks=2, group_size=2, slow_rank=1)
        functions = [row["function"] for row in found["waits"]["functions"]]
        self.assertIn("`backward` (synchronises inside)", functions)

    def test_healthy_ranks_are_not_accused(self):
        for where in ("gap", "region"):
            found = self.play(where, ranks=2, group_size=2, slow_rank=-1)
            if not self.is_disturbed(found):
                self.assertEqual(self.accused(found), [], found["verdict"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
