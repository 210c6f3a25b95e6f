"""Runs the unittest tests of a program and prints each skip with its reason, in the form that scripts/run_ctest.py reads."""

import sys
import unittest


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        test = getattr(test, "test_case", test)  # a subtest is reported under the name of its test
        is_class = not hasattr(test, "_testMethodName")  # its setUpClass skipped
        name = str(test) if is_class else type(test).__name__ + "." + test._testMethodName  # pylint: disable=protected-access
        print(f"{name}: Skipped\n{reason}\n[  SKIPPED ] {name} (0 ms)", flush=True)


def main(*arguments):
    """Runs the tests of the calling program. arguments: those of unittest."""
    unittest.main(argv=[sys.argv[0], *arguments], testRunner=unittest.TextTestRunner(resultclass=Result))
