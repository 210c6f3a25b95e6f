"""Instructions of a tensor call, counted by callgrind: as many for any size of the tensor, and few where no client asked for it.

  cost_test.py TENSOR_COST LIBRARY
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import launch  # noqa: E402

PROGRAM, LIBRARY = sys.argv[1:]
COUNT = 1000


class Cost(unittest.TestCase):
    def instructions(self, size, **settings):
        """Of megascope_tensor and what it calls, a call."""
        with tempfile.TemporaryDirectory(prefix="cost_test.") as directory:
            environment = launch.clean_environment()
            done = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--toggle-collect=megascope_tensor",
                                   PROGRAM, str(size), str(COUNT)], cwd=directory, capture_output=True, text=True, check=False,
                                  env={**environment, "MEGASCOPE_REPORT": "off", "MEGASCOPE_EXPORT": "none", **settings})
            self.assertEqual(done.returncode, 0, done.stderr)
            return int(re.search(r"Collected\s*:\s*(\d+)", done.stderr)[1]) / COUNT

    def test_with_the_stub_alone(self):
        small = self.instructions(1)
        self.assertEqual(small, self.instructions(1_000_000))
        self.assertLess(small, 8)

    def test_loaded_and_not_requested(self):
        small = self.instructions(1, LD_PRELOAD=LIBRARY)
        self.assertEqual(small, self.instructions(1_000_000, LD_PRELOAD=LIBRARY))
        self.assertLess(small, 30)

    def test_switched_off(self):
        small = self.instructions(1, LD_PRELOAD=LIBRARY, MEGASCOPE_ENABLE="0")
        self.assertEqual(small, self.instructions(1_000_000, LD_PRELOAD=LIBRARY, MEGASCOPE_ENABLE="0"))
        self.assertLess(small, 30)

    def test_who_asked_pays_for_the_elements(self):
        asked = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_TENSORS": "tens*"}
        self.assertGreater(self.instructions(10_000, **asked), 10 * self.instructions(10, **asked))


if __name__ == "__main__":
    if not shutil.which("valgrind"):
        print("SKIPPED: there is no valgrind")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
