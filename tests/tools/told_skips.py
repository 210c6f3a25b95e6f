"""Python's tests of a suite, with skips in the form that scripts/run_ctest.py reads: none is silent."""

import sys
import unittest


class Result(unittest.TextTestResult):
    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        test = getattr(test, "test_case", test)  # a subtest has the name of its test
        is_class = not hasattr(test, "_testMethodName")  # its setUpClass skipped
        name = str(test) if is_class else type(test).__name__ + "." + test._testMethodName  # pylint: disable=protected-access
        print(f"{name}: Skipped\n{reason}\n[  SKIPPED ] {name} (0 ms)", flush=True)


def main(*arguments):
    """Runs the tests of the program that calls it. arguments: unittest's."""
    unittest.main(argv=[sys.argv[0], *arguments], testRunner=unittest.TextTestRunner(resultclass=Result))
