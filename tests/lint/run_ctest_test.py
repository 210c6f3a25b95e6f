"""scripts/run_ctest.py sees every kind of skip, its reason, and whether it is allowed."""

import contextlib
import io
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "scripts"))
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
import run_ctest
import reported_skips

JUNIT = """<?xml version="1.0"?><testsuite>
<testcase name="a.Runs" status="run"><system-out>[       OK ] A.Runs (0 ms)</system-out></testcase>
<testcase name="a.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/><system-out>
/x/t.cpp:3: Skipped
because of the moon
[  SKIPPED ] A.Skips (0 ms)
</system-out></testcase>
<testcase name="script" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>
<system-out>SKIPPED: no device</system-out></testcase>
<testcase name="off" status="disabled"><system-out></system-out></testcase>
<testcase name="b.ranks2" status="run"><system-out>[NON-XML-CHAR-0x1B][0;32m[ RUN      ] [NON-XML-CHAR-0x1B][mB.S
/x/t.cpp:9: Skipped
too few ranks
[NON-XML-CHAR-0x1B][0;32m[  SKIPPED ] [NON-XML-CHAR-0x1B][mB.S (0 ms)
[NON-XML-CHAR-0x1B][0;32m[  SKIPPED ] [NON-XML-CHAR-0x1B][mB.S (0 ms)
</system-out></testcase>
<testcase name="c" status="run"><system-out>C.A: Skipped
a busy machine
[  SKIPPED ] C.A (0 ms)
C.B: Skipped
no data
[  SKIPPED ] C.B (0 ms)
</system-out></testcase></testsuite>"""

SKIPS = [("a.Skips", "because of the moon"), ("script", "no device"), ("off", "no reason given"),
         ("b.ranks2:B.S", "too few ranks"), ("c:C.A", "a busy machine"), ("c:C.B", "no data")]


class Skips(unittest.TestCase):
    def written(self, text):
        file = tempfile.NamedTemporaryFile("w", delete=False)
        self.addCleanup(os.remove, file.name)
        with file:
            file.write(text)
        return file.name

    def test_every_kind_is_seen_with_its_reason(self):
        self.assertEqual(run_ctest.read_skips(self.written(JUNIT)), SKIPS)

    def test_only_listed_ones_are_allowed_and_whole_names_count(self):
        allowed = run_ctest.read_allowed(self.written("# comment\na\\.Ski  not the whole name\noff  known\n"))
        self.assertEqual(allowed[1][1], "known")
        self.assertEqual(run_ctest.report(SKIPS, allowed), 5)


class Failures(unittest.TestCase):
    def test_are_told_again_before_the_summary_of_a_later_run(self):
        with tempfile.TemporaryDirectory() as directory:
            junit, failures = os.path.join(directory, "junit.xml"), os.path.join(directory, "failures.txt")
            with open(junit, "w", encoding="utf-8") as file:
                file.write('<testsuite><testcase name="good" status="run"/><testcase name="bad" status="fail"/>'
                           '<testcase name="told" status="fail"><system-out>much\nFAIL: test_it (Case)\nTraceback\n'
                           'AssertionError: 1 != 2\nRan 1 test</system-out></testcase></testsuite>')
            run_ctest.write_failures(failures, "asan", run_ctest.read_failures(junit))
            told = io.StringIO()
            with contextlib.redirect_stdout(told):
                run_ctest.repeat_earlier(failures)
            self.assertEqual(told.getvalue(), "\nFailed or not run before this run:\n  preset asan: bad\n"
                             "  preset asan: told\n      FAIL: test_it (Case)\n      AssertionError: 1 != 2\n")

    def test_a_skip_within_a_subtest_has_the_name_of_its_test(self):
        class Rows(unittest.TestCase):
            def test_all(self):
                with self.subTest(row=1):
                    self.skipTest("a busy machine")

        told = io.StringIO()
        with contextlib.redirect_stdout(told):
            unittest.TextTestRunner(io.StringIO(), resultclass=reported_skips.Result).run(Rows("test_all"))
        self.assertEqual(told.getvalue(), "Rows.test_all: Skipped\na busy machine\n[  SKIPPED ] Rows.test_all (0 ms)\n")


if __name__ == "__main__":
    unittest.main()
