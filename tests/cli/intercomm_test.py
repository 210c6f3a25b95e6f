"""Intercommunicators in OTF2 archives of real runs, as python3-otf2 reads them.

  intercomm_test.py MEGASCOPE PROGRAM MPIRUN...
"""

import json
import os
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402
import reported_skips  # noqa: E402

MEGASCOPE, PROGRAM, *MPIRUN = sys.argv[1:]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")


class Case(in_directory.InDirectory):
    def setUp(self):
        super().setUp()
        self.scratch = self.make_directory("scratch")

    def call(self, *words, **variables):
        return self.finished(MEGASCOPE, *words, **{"MEGASCOPE_SCRATCH": self.scratch, "MEGASCOPE_EXPORT": "none", **variables})


OTF2_PYTHON = "/usr/bin/python3"  # that Debian's python3-otf2 belongs to


def has_python_otf2():
    return subprocess.run([OTF2_PYTHON, "-c", "import otf2"], capture_output=True, check=False).returncode == 0


@unittest.skipUnless(os.path.exists(os.path.join(os.path.dirname(LIBRARY), "libmegascope_otf2.so")) and has_python_otf2(),
                     "there is no OTF2 in this build, or no python3-otf2")
class Intercommunicators(Case):
    """python3-otf2 3.0.2 stops at the definition of an intercommunicator; MEGASCOPE_OTF2_INTERCOMM=comm writes what it reads."""

    READER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "intercomm_reader.py")

    def record(self, **variables):
        result = self.call("run", "-o", "out", *MPIRUN, "-n", "4", PROGRAM, "groups", **variables)
        self.assertEqual(result.returncode, 0, result.stderr)

    def read(self, directory):
        return subprocess.run([OTF2_PYTHON, self.READER, os.path.join(self.directory, directory, "trace.otf2")], capture_output=True, text=True,
                              timeout=100, check=False)

    def printed(self, directory):
        return subprocess.run(["otf2-print", "-G", os.path.join(self.directory, directory, "trace.otf2")], capture_output=True, text=True,
                              timeout=100, check=True).stdout

    def judge(self, directory):
        result = self.read(directory)
        self.assertEqual(result.returncode, 0, result.stderr)
        read = json.loads(result.stdout)
        names = [f"MPI Rank {rank}" for rank in range(4)]
        places = {name: number for number, name in enumerate(sorted({name for pair in read["sent"] for name in pair}))}
        self.assertEqual(len(places), 4, names)
        by_rank = sorted([places[sender], places[receiver]] for sender, receiver in read["sent"])
        self.assertEqual(by_rank, [[0, 1], [1, 0], [2, 3], [3, 2]])
        self.assertEqual(sorted([places[sender], places[receiver]] for receiver, sender in read["received"]), by_rank)
        kind, members = read["comms"]["both"]
        self.assertEqual((kind, [places[name] for name in members]), ("Comm", [0, 2, 1, 3]), "group A, then group B")
        self.assertEqual(read["groups"], ["both: group A", "both: group B"])
        no_root = 0xFFFFFFFF  # of the root's group only the root knows
        self.assertEqual(sorted([places[name], root] for name, root in read["roots"]), [[0, 0], [1, 0], [2, no_root], [3, 0]])

    def test_are_written_as_such_unless_asked_for_otherwise(self):
        self.record(MEGASCOPE_EXPORT="otf2")
        self.assertIn("INTER_COMM", self.printed("out"))
        self.assertNotEqual(self.read("out").returncode, 0, "python3-otf2 has been mended: LIMITS and the option can go")

    def test_are_read_as_communicators_by_python_at_the_end_of_a_run(self):
        self.record(MEGASCOPE_EXPORT="otf2", MEGASCOPE_OTF2_INTERCOMM="comm")
        self.judge("out")
        self.assertNotIn("INTER_COMM", self.printed("out"))

    def test_are_read_as_communicators_by_python_from_an_export(self):
        self.record(MEGASCOPE_EXPORT="none")
        result = self.call("export", "out", "-f", "otf2", MEGASCOPE_OTF2_INTERCOMM="comm")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.judge("out")

    def test_are_agreed_on_when_one_rank_asks_for_it_alone(self):
        """Rank 0's setting counts, not the others'."""
        for first, others, expected in (("comm", "intercomm", 0), ("intercomm", "comm", 1)):
            with self.subTest(first=first):
                directory = "one-" + first
                launch = [*MPIRUN, "-n", "1", "env", f"MEGASCOPE_OTF2_INTERCOMM={first}", PROGRAM, "groups", ":", "-n", "3", "env",
                          f"MEGASCOPE_OTF2_INTERCOMM={others}", PROGRAM, "groups"]
                result = self.call("run", "-o", directory, "-e", "otf2", *launch)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual(self.printed(directory).count("INTER_COMM") != 0, expected == 1)


if __name__ == "__main__":
    reported_skips.main()
