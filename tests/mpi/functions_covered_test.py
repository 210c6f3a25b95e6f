#!/usr/bin/env python3
"""Every function that `megascope info` calls full, or of which it says what it tells, stands in a record that a scenario
expects, with each thing that it is said to tell.

  functions_covered_test.py COMMAND SOURCE_DIRECTORY PROGRAM...

COMMAND: `megascope`. PROGRAM: test programs of this directory, which print the lines that they expect (--expected)."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

COMMAND, SOURCES, *PROGRAMS = sys.argv[1:]

# Told by tests that are no scenarios: they start, end or connect processes. The name must stand in the file.
ELSEWHERE = {
    "MPI_Init": "recorded.cpp", "MPI_Init_thread": "recorded.cpp", "MPI_Finalize": "recorded.cpp",
    "MPI_Pcontrol": "control_test.cpp", "MPI_Comm_spawn": "worlds_test.py", "MPI_Comm_spawn_multiple": "worlds_test.py",
    "MPI_Comm_accept": "worlds_test.py", "MPI_Comm_connect": "worlds_test.py", "MPI_Comm_get_parent": "worlds_test.py",
}
# In no test: it ends the job; it wants a socket between programs that share nothing else.
NOWHERE = {"MPI_Abort", "MPI_Comm_join"}

MESSAGE = r"(to|from|peer) (\d|any)"
TERMS = {
    "communicator": r"^ on \S", "message communicator": r" (on|in) \S", "peer": MESSAGE, "tag": r" tag (\d|any)",
    "bytes": r" (bytes|space) \d", "request": r" r\d", "message received": r" recv from", "root": r" root ",
    "sequence number": r" #\d", "bytes sent": r" sent \d", "bytes received": r" received \d",
    "new communicator": r" created \S", "window": r" w\d", "target": r" (target \d|w\d \d|w\d all)", "group": r" with( |$)",
    "assertions": r" no(check|store|put|precede|succeed)", "lock type": r" exclusive", "window bytes": r" bytes \d",
    "bytes here": r"here bytes \d", "file": r"\| (opened|closed|deleted|read|write|iread|iwrite|got|put|uses|sync|seek|size|view) ",
    "file bytes": r" bytes \d", "size": r" size \S+ \d", "seek": r" seek \S+ (start|current|end)", "view": r" etype \d",
    "flag": r"(flag \d|ready|tested)", "flag by the group": r" with( |$)",
}


def pattern(function, term):
    """What a record of the function must have for the term."""
    if term == "offset where given":
        return r" at \d" if "_at" in function else ""
    return TERMS.get(term) or rf"[{{ ]{re.escape(term)}(_0)? -?[ke]?\d"


def expected_records():
    records = {}
    for program in PROGRAMS:
        lines = subprocess.run([program, "--expected"], check=True, capture_output=True, text=True).stdout
        for line in lines.splitlines():
            name = line.split(" ", 1)[0]
            records.setdefault(name, set()).add(line[len(name):])
    return records


class FunctionsCovered(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        info = json.loads(subprocess.run([COMMAND, "info", "--json"], check=True, capture_output=True, text=True).stdout)
        cls.functions = {function["name"]: function for function in info["functions"]["wrapped"]}
        cls.told = {name: function for name, function in cls.functions.items() if function["depth"] != "enter_leave"}
        cls.records = expected_records()

    def test_every_function_is_in_a_record(self):
        missing = sorted(set(self.told) - set(self.records) - set(ELSEWHERE) - NOWHERE)
        self.assertEqual(missing, [], "in no scenario's expected records")

    def test_what_a_function_tells_is_in_a_record(self):
        missing = [f"{name}: {term}" for name, function in sorted(self.told.items())
                   if name in self.records and name not in ELSEWHERE
                   for term in function["tells"].split(", ")
                   if not any(re.search(pattern(name, term), record) for record in self.records[name])]
        self.assertEqual(missing, [], "said to be told, and in no expected record")

    def test_tests_elsewhere_name_their_functions(self):
        for name, file in ELSEWHERE.items():
            self.assertRegex((pathlib.Path(SOURCES) / file).read_text(), rf"\b{name}\b", file)

    def test_exceptions_are_functions(self):
        for name in set(ELSEWHERE) | NOWHERE:
            self.assertIn(name, self.told, "an exception for nothing")

    def test_the_count_holds(self):
        full = sum(function["depth"] == "full" for function in self.told.values())
        self.assertGreaterEqual(full, 250)
        for name, function in self.functions.items():
            self.assertEqual(function["tells"] != "", name in self.told, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
