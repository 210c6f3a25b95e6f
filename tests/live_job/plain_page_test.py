#!/usr/bin/env python3
"""What the live view's page shows in a browser of an unmodified MPI program, when it ends and when it is killed.

  plain_page_test.py LIBRARY PLAIN_RING PAGE_DIRECTORY NODE CHROMIUM LAUNCHER...

PAGE_DIRECTORY: where the page was built, with its packages. With PICTURES_DIRECTORY=DIRECTORY pictures of the page are written there.
"""

import json
import os
import pathlib
import subprocess
import sys
import unittest

for _directory in ("live", "tools"):
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / _directory))

import launch  # noqa: E402
from job import Job  # noqa: E402

LIBRARY, PLAIN_RING, PAGE_DIRECTORY, NODE, CHROMIUM, *LAUNCHER = sys.argv[1:]
RANKS = 3


def rank_pids(job):
    """Of the ranks of a job: processes of its user whose environment names its run directory."""
    wanted = f"MEGASCOPE_OUT={job.directory}".encode()
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and wanted in (entry / "environ").read_bytes().split(b"\0") and PLAIN_RING in (entry / "cmdline").read_bytes().decode().split("\0")[0]:
                found.append(int(entry.name))
        except OSError:
            pass
    return found


def verdict_of(directory):
    """The report's section "Verdict", its lines joined."""
    lines = (directory / "report.txt").read_text(encoding="utf-8").splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("Verdict ")), len(lines))
    section = [line.removeprefix("Verdict").strip() for line in lines[begin:]]
    return " ".join(section[:section.index("")] if "" in section else section)


def read_page(seconds, is_killed):
    """(what the page showed, the job's run directory, its lines, the verdict in its report)."""
    words = [NODE, "tests/job/read_plain_page.js"] + ([os.environ["PICTURES_DIRECTORY"]] if os.environ.get("PICTURES_DIRECTORY") else [])
    reader = subprocess.Popen(words, cwd=PAGE_DIRECTORY, env=os.environ | {"CHROMIUM": CHROMIUM}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with reader:
        try:
            assert reader.stdout.readline() == "ready\n", "the browser did not start"
            with Job(LAUNCHER, [PLAIN_RING, seconds], RANKS, LIBRARY, {"MEGASCOPE_EXPORT": "chrome"}) as job:
                job.find_server()
                reader.stdin.write(f"http://127.0.0.1:{job.port}/?token={job.token}\n")
                reader.stdin.flush()
                assert reader.stdout.readline() == "read\n", "the page was not read"
                if is_killed:
                    launch.kill_all(rank_pids(job))
                shown, _ = reader.communicate(timeout=150)
                assert reader.returncode == 0, "the page's end was not read"
                code = job.end()
                assert (code != 0) == is_killed, job.errors
                return json.loads(shown), str(job.directory), job.lines, "" if is_killed else verdict_of(job.directory)
        finally:
            reader.kill()


class ThePage(unittest.TestCase):
    def check_plain(self, shown, directory):
        self.assertEqual(shown["problems"], [])
        self.assertLessEqual({"MPI_Sendrecv", "MPI_Allreduce", "MPI_Bcast", "MPI_Send", "MPI_Recv"}, {row["function"] for row in shown["functions"]})
        times = [float(row["timeMs"]) for row in shown["functions"]]
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertTrue(shown["newest"])
        self.assertEqual([int(row["rank"]) for row in shown["ranks"]], list(range(RANKS)))
        self.assertTrue(all(0 < float(row["share"]) <= 1 for row in shown["ranks"]))
        self.assertRegex(shown["told"], r"^rank 0 to rank 1: [\d.]+ [KM]iB in [\d\u202f.]+ messages$")
        self.assertNotIn("step", shown["text"].lower(), "a sampling interval is no step")
        self.assertEqual(shown["facts"]["directory"], directory)
        self.assertTrue(shown["facts"]["hosts"])
        self.assertRegex(shown["facts"]["elapsed"], r"^\d+ s$|min")

    def test_of_a_program_that_ends(self):
        for tries_left in (2, 1, 0):
            shown, directory, lines, verdict = read_page(12, False)
            self.check_plain(shown, directory)
            if "shows which ranks delay the others" not in verdict:
                break
            # The verdict took longer than the library waits for it, on a busy machine.
            self.assertEqual(shown["verdict"], "")
            self.assertGreater(tries_left, 0)
        self.assertIn("rank 1", verdict.lower(), "it takes its time before the sum")
        self.assertEqual(" ".join(shown["verdict"].split()), verdict)
        self.assertEqual(shown["end"], {"chip": "Run finished", "kind": "finished", "command": f"megascope analyze {directory}"})
        iterations = next(int(line.split()[1]) for line in lines if line.startswith("iterations "))
        sums = {row["function"]: int(row["calls"]) for row in shown["kept"]}
        self.assertLessEqual(sums["MPI_Allreduce"], RANKS * iterations)
        self.assertGreater(sums["MPI_Allreduce"], 0)

    def test_of_a_program_that_is_killed(self):
        shown, directory, _, _ = read_page(120, True)
        self.check_plain(shown, directory)
        self.assertEqual(shown["end"], {"chip": "Job lost", "kind": "lost", "command": f"megascope recover {directory}"})
        self.assertEqual(shown["verdict"], "")
        self.assertTrue(shown["kept"], "what came is kept")


if __name__ == "__main__":
    if not (pathlib.Path(PAGE_DIRECTORY) / "node_modules").exists() or not CHROMIUM or CHROMIUM.endswith("NOTFOUND") or NODE.endswith("NOTFOUND"):
        print("SKIPPED: chromium, node or the page's packages are not there")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
