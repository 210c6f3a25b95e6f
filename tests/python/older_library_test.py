"""The package with a library that is older than it: functions that both know work, the others do nothing.

  older_library_test.py MEGASCOPE OLDER_LIBRARY
"""

import sys

OLDER = sys.argv.pop()

from case import Case, main  # noqa: E402

SCRIPT = """
    import megascope
    with megascope.region("load"):
        pass
    print(megascope.is_recording(), megascope.save(), repr(megascope.last_error()), megascope.wants_tensor("x"))
    print(megascope.mark("an entry that is null"), megascope.step_begin(1))
"""


class OlderLibrary(Case):
    def test_functions_that_both_know_work_and_the_others_do_nothing(self):
        said = self.bare(SCRIPT, LD_PRELOAD=OLDER)
        self.assertEqual(said, "enter 1234\nleave 1234\nFalse False '' False\nNone None\n")
        self.assertEqual(self.said, "")


if __name__ == "__main__":
    main()
