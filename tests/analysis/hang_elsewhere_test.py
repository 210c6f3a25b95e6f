"""megascope hang on programs that hang in windows, in files and between worlds. Words and cases as in hang_programs_test.py.

  hang_elsewhere_test.py MEGASCOPE HANGING MPIRUN...     one test: hang_elsewhere_test.py ... -- Class.name
"""

import glob
import os
import subprocess
import unittest

import hang_programs_test as programs
import launch

WORLD = programs.WORLD


class Case(programs.Case):
    has_own_directories = False

    def job_environment(self):
        """Two worlds on one node do not share memory in Open MPI, and each has a run directory of its own."""
        environment = {**super().job_environment(), "HANGING_PROGRAM": programs.HANGING, "OMPI_MCA_btl": "self,vader,tcp",
                       "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        if self.has_own_directories:
            del environment["MEGASCOPE_OUT"]
        return environment

    def seen(self, mode, ranks):
        """What is found, and the text on one line."""
        with self.hanging(mode, ranks):
            return self.found(), " ".join(self.hang().stdout.split())

    def want(self, found, rank, index=0):
        return self.state_of(found, rank)["waits_for"][index]


class Windows(Case):
    def test_a_rank_that_does_not_come_to_a_fence(self):
        found, text = self.seen("fence-missing", 4)
        self.assertEqual(self.circles(found), [[(0, "MPI_Win_fence", 3), (3, "MPI_Recv", 0)]])
        self.assertEqual(found["collectives"], [{"communicator": WORLD, "window": "halo", "sequence": 17,
                                                 "function": "MPI_Win_fence", "not_entered": [3]}])
        self.assertIn("ranks 0-2 in MPI_Win_fence #17 of window 2 (`halo`) since", text)

    def test_a_rank_that_frees_the_window(self):
        found, text = self.seen("fence-and-free", 4)
        self.assertIn("#17 of window 2 (`halo`): rank 3 called MPI_Win_free, ranks 0-2 called MPI_Win_fence.", text)
        self.assertEqual([(m["window"], m["sequence"], m["what"]) for m in found["mismatches"]], [("halo", 17, "function")])
        self.assertTrue(found["finding"])

    def test_a_window_that_is_made_by_some(self):
        found, text = self.seen("window-made-by-some", 4)
        self.assertIn("#1 of `dp`: rank 3 called MPI_Barrier, ranks 0-2 called MPI_Win_allocate. So the ranks wait for each "
                      "other.", text)
        self.assertEqual(self.circles(found), [[(0, "MPI_Win_allocate", 3), (3, "MPI_Barrier", 0)]])

    def test_windows_that_are_freed_crosswise(self):
        found = self.of_mode("freed-crosswise", 2)
        self.assertEqual(self.circles(found), [[(0, "MPI_Win_free", 1), (1, "MPI_Win_free", 0)]])
        self.assertEqual([self.want(found, rank)["window"] for rank in (0, 1)], ["first", "second"])

    def test_accesses_that_begin_before_posts(self):
        found, text = self.seen("starts-before-posts", 2)
        steps = [(step["rank"], step["next_rank"]) for step in found["deadlocks"][0]]
        self.assertEqual(steps, [(0, 1), (1, 0)])
        self.assertEqual((self.want(found, 0)["kind"], self.want(found, 0)["window"]), ("post", "halo"))
        self.assertIn("of window 1 (`halo`) for rank 1 to call MPI_Win_post for it", text)

    def test_a_post_that_is_missing_among_others(self):
        found = self.of_mode("post-missing", 3)
        wants = {want["rank"]: want["other_side_done"] for want in self.state_of(found, 0)["waits_for"]}
        self.assertEqual(wants, {1: True, 2: False})
        self.assertEqual([(step["rank"], step["next_rank"]) for step in found["deadlocks"][0]], [(0, 2), (2, 0)])

    def test_a_complete_that_is_missing_among_others(self):
        found, text = self.seen("complete-missing", 3)
        wants = {want["rank"]: want["other_side_done"] for want in self.state_of(found, 0)["waits_for"]}
        self.assertEqual(wants, {1: True, 2: False})
        self.assertEqual(self.circles(found), [[(0, "MPI_Win_wait", 2), (2, "MPI_Recv", 0)]])
        self.assertIn("in MPI_Win_wait of window 1 (`halo`) for rank 2 to call MPI_Win_complete;", text)

    def test_a_lock_that_another_rank_holds(self):
        found, text = self.seen("lock-held", 3)
        self.assertEqual([(step["rank"], step["next_rank"]) for step in found["deadlocks"][0]], [(0, 1), (1, 0)])
        want = self.want(found, 0)
        self.assertEqual((want["kind"], want["target"], want["rank"], want["window"]), ("lock", 2, 1, "halo"))
        self.assertIn("the lock of rank 2's part of window 1 (`halo`), which rank 1 holds exclusively", text)

    def test_the_same_after_a_kill(self):
        with self.hanging("lock-held", 3):
            self.kill()
        self.assertEqual([(step["rank"], step["next_rank"]) for step in self.found()["deadlocks"][0]], [(0, 1), (1, 0)])


class Files(Case):
    def test_a_rank_that_does_not_close(self):
        found, text = self.seen("file-not-closed", 3)
        self.assertEqual(self.circles(found), [[(0, "MPI_File_close", 2), (2, "MPI_Recv", 0)]])
        self.assertEqual(found["collectives"], [{"communicator": WORLD, "file": "data", "sequence": 5,
                                                 "function": "MPI_File_close", "not_entered": [2]}])
        self.assertIn("ranks 0, 1 in MPI_File_close #5 of file `data` since", text)

    def test_a_rank_that_does_something_else(self):
        found, text = self.seen("file-other", 3)
        self.assertIn("#0 of file `data`: rank 2 called MPI_File_set_size, ranks 0, 1 called MPI_File_sync.", text)
        self.assertEqual([(m["file"], m["sequence"], m["what"]) for m in found["mismatches"]], [("data", 0, "function")])

    def test_a_file_that_is_opened_by_some(self):
        text = self.seen("file-not-opened", 3)[1]
        self.assertIn(f"#1 of `{WORLD}`: rank 2 called MPI_Barrier, ranks 0, 1 called MPI_File_open.", text)

    def test_a_run_that_ended_reports_it(self):
        subprocess.run([*programs.PRELOADED, "-n", "3", programs.HANGING, "file-uneven"], cwd=self.directory, check=True,
                       env=self.job_environment(), capture_output=True, timeout=50)
        report = subprocess.run([programs.MEGASCOPE, "report", self.run_directory], check=True, capture_output=True, text=True,
                                timeout=50)
        self.assertIn("mismatched collectives: #1 of file `data`: rank 2 called MPI_File_write_at_all, ranks 0, 1 called "
                      "MPI_File_write_all", " ".join(report.stdout.split()))


@unittest.skipIf(launch.is_hydra(programs.MPIRUN), "MPICH's worlds do not tell who started them")
class Worlds(Case):
    def test_no_rank_connects(self):
        found, text = self.seen("none-connects", 2)
        self.assertEqual((found["deadlocks"], found["finding"]), ([], False))
        self.assertIn("waits for a connection: another world that calls MPI_Comm_connect", text)

    def test_a_world_and_the_one_that_it_started(self):
        self.has_own_directories = True
        with self.hanging("worlds", 2, ready=3):
            directories = sorted(glob.glob(os.path.join(self.directory, "megascope-*")))
            self.assertEqual(len(directories), 2)
            for directory, other in (directories, directories[::-1]):
                self.run_directory = directory
                text = " ".join(self.hang().stdout.split())
                self.assertEqual(self.found()["other_worlds"], [other])
                self.assertIn("waits for another world, through `MPI_Comm_", text)
                self.assertIn(f"see megascope hang '{other}'", text)


if __name__ == "__main__":
    unittest.main(argv=[programs.sys.argv[0], *programs.WANTED], verbosity=2)
