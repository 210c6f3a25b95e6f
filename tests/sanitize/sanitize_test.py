"""Jobs of a program that has the wrappers linked in, under a sanitizer: nothing is reported, and what is recorded is what
the program says it called. The command that reads the run directories is sanitized too.

  sanitize_test.py PROGRAM MEGASCOPE MPIRUN... -- [Class[.name]...]
"""

import collections
import glob
import json
import os
import re
import shutil
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402

WORDS, NAMES = sys.argv[1:sys.argv.index("--")], sys.argv[sys.argv.index("--") + 1:]
PROGRAM, MEGASCOPE, *MPIRUN = WORDS
FORMATS = {"otf2": "trace.otf2", "perfetto": "trace.perfetto-trace", "chrome": "trace.json.gz"}
REPORTED = re.compile(r"Sanitizer|runtime error:|Assertion|terminate called")


def compare_file_bytes(case, report, books):
    """Bytes of files, of each function that moves nothing else, and of all files together."""
    for what, bytes_of_files in books.items():
        way, _, function = what.partition(":")
        if function.startswith("MPI_File_"):
            way = "bytes_received" if way == "read" else "bytes_sent"
            case.assertEqual(report["functions"][function][way], bytes_of_files, function)
    for way in ("read", "wrote"):
        expected = sum(count for what, count in books.items() if what.startswith(way + ":"))
        told = sum(row["bytes_read" if way == "read" else "bytes_written"] for row in report["files"])
        case.assertEqual(told, expected, f"{way}, all files")


class Case(in_directory.InDirectory):
    limit_s = 200
    decoding = "replace"

    def setUp(self):
        super().setUp()
        self.scratch = self.make_directory("scratch")

    def call(self, *words, **variables):
        result = self.finished(*words, **{"MEGASCOPE_SCRATCH": self.scratch, "MEGASCOPE_OUT": self.run_directory, "MEGASCOPE_EXPORT": "none",
                                          **variables})
        if REPORTED.search(result.stderr):
            self.fail(result.stderr)
        return result

    def play(self, ranks, level, *words, **variables):
        """Runs the program; what it says of itself."""
        for book in glob.glob(os.path.join(self.directory, "book.*")):
            os.remove(book)
        shutil.rmtree(self.run_directory, ignore_errors=True)
        result = self.call(*MPIRUN, "-n", str(ranks), PROGRAM, level, os.path.join(self.directory, "book"), *words, **variables)
        if "kill" not in words:
            self.assertEqual(result.returncode, 0, result.stderr)
        books = collections.Counter()
        for rank in range(ranks):
            with open(os.path.join(self.directory, f"book.{rank}"), encoding="utf-8") as file:
                books.update({name: int(count) for name, count in map(str.split, file)})
        return books

    def stored_report(self):
        with open(os.path.join(self.run_directory, "report.json"), encoding="utf-8") as file:
            return json.load(file)

    def later_report(self):
        result = self.call(MEGASCOPE, "report", self.run_directory, "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def compare(self, report, books, messages_too=True):
        counts = {name: count for name, count in books.items() if name.startswith("MPI_")}
        self.assertEqual({name: function["calls"] for name, function in report["functions"].items()}, counts)
        self.assertEqual(report["mpi_calls"], sum(counts.values()))
        compare_file_bytes(self, report, books)
        if messages_too:
            self.assertEqual((report["matrix"]["messages"], report["matrix"]["bytes"]), (books["messages"], books["bytes"]))

    def expect_no_loss(self, report):
        self.assertEqual({cause: count for cause, count in report["losses"].items() if count}, {})


class Counts(Case):
    def test_every_call_and_message_is_recorded(self):
        for ranks in (1, 2):
            for level in ("single", "multiple"):
                with self.subTest(ranks=ranks, level=level):
                    books = self.play(ranks, level)
                    for report in (self.stored_report(), self.later_report()):
                        self.compare(report, books)
                        self.expect_no_loss(report)
                        self.assertEqual([row["threads"] for row in report["per_rank"]],
                                         [6 if level == "multiple" else 1] * ranks)


class Exports(Case):
    def test_exports_at_the_end_and_later_have_the_same_records(self):
        self.play(2, "multiple", MEGASCOPE_EXPORT="otf2,perfetto,chrome")
        report = self.stored_report()
        self.assertEqual([row["format"] for row in report["exports"]], list(FORMATS))
        for row in report["exports"]:
            name, records = row["format"], row["records"]
            self.assertGreater(records, 0)
            result = self.call(MEGASCOPE, "export", self.run_directory, "--format", name, "--out", "later", "--jobs", "2",
                               "--no-findings")  # the exports at the end show none
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertTrue(os.path.exists(os.path.join(self.directory, "later", FORMATS[name])))
            told = re.match(rf"{name}: later/{FORMATS[name]}, ([\d.]+) ?([kM]?) records,", result.stdout)
            self.assertIsNotNone(told, result.stdout)
            self.assertAlmostEqual(float(told[1]) * {"": 1, "k": 1e3, "M": 1e6}[told[2]] / records, 1, delta=0.01)


class Buffers(Case):
    def test_full_buffers_lose_records_but_no_counts(self):
        for policy in ("stop", "flight"):
            with self.subTest(policy=policy):
                books = self.play(2, "multiple", MEGASCOPE_BUFFER_SIZE="1M", MEGASCOPE_BUFFER_POLICY=policy)
                report = self.stored_report()
                self.compare(report, books, messages_too=False)
                self.assertGreater(sum(report["losses"].values()), 0)
                self.later_report()


class Endings(Case):
    def test_a_killed_run_is_recovered(self):
        for level in ("single", "multiple"):
            with self.subTest(level=level):
                books = self.play(1, level, "kill")
                self.assertEqual(self.call(MEGASCOPE, "recover", self.run_directory).returncode, 0)
                self.compare(self.later_report(), books)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *NAMES], verbosity=2)
