"""What `megascope info` says of the modules that are installed.

  capabilities_test.py MEGASCOPE
"""

import glob
import json
import os
import shutil
import subprocess
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402

MEGASCOPE = sys.argv[1]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(MEGASCOPE)), "lib", "libmegascope.so")


class Capabilities(in_directory.InDirectory):
    def test_capabilities_are_those_of_the_modules_that_are_installed(self):
        """Beside a copy of the command: all modules, then no live module, then one that cannot be opened."""
        prefix = os.path.join(self.directory, "prefix")
        os.makedirs(os.path.join(prefix, "bin"))
        command = shutil.copy(MEGASCOPE, os.path.join(prefix, "bin"))
        lib = os.path.join(prefix, "lib")
        shutil.copytree(os.path.dirname(LIBRARY), lib, ignore=shutil.ignore_patterns("slurm"))
        live = os.path.join(lib, "libmegascope_live.so")

        def told():
            as_json, text = (subprocess.run([command, "info", *words], capture_output=True, text=True, timeout=50, check=True).stdout
                             for words in (["--json"], []))
            line = [line for line in text.splitlines() if line.startswith("Live view")]
            return json.loads(as_json), " ".join(line[0].split())

        if os.path.exists(live):
            info, line = told()
            self.assertEqual((info["features"]["live"], line), (True, "Live view yes"))
            os.remove(live)
        info, line = told()
        self.assertEqual((info["features"]["live"], line), (False, "Live view no: not part of this build"))
        self.assertEqual(info["problems"]["live"], "not part of this build")
        with open(live, "wb") as file:
            file.write(b"no module")
        info, line = told()
        self.assertFalse(info["features"]["live"])
        self.assertRegex(line, "^Live view no: cannot load the module live: ")
        for path in glob.glob(os.path.join(lib, "libmegascope_*.so")):
            os.remove(path)
        info, _ = told()
        self.assertEqual([name for name in ("otf2", "perfetto", "chrome", "megascan", "live") if info["features"][name]], [])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
