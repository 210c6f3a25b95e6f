"""The Debian package that cpack makes of this build: what is in it, and a program recorded from it, unpacked."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest

import lab
from lab import LAPS, MPIRUN

MAINTAINER = "A. Tester <tester@host.invalid>"
# The tester's address; the directory of libraries, which the preset deb has from Debian.
EXPECTED_TAGS = "bogus-mail-host,bogus-mail-host-in-debian-changelog,pkg-config-unavailable-for-cross-compilation"


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        missing = [tool for tool in ("dpkg-deb", "dpkg-shlibdeps", "file") if shutil.which(tool) is None]
        if missing:
            raise unittest.SkipTest(f"there is no {', '.join(missing)} (dpkg-dev, file)")
        cls.directory = tempfile.mkdtemp(prefix="deb_test.")
        cls.addClassCleanup(shutil.rmtree, cls.directory, ignore_errors=True)
        subprocess.run(["cpack", "--config", f"{lab.BUILD}/CPackConfig.cmake", "-G", "DEB", "-B", cls.directory, "-D",
                        f"CPACK_DEBIAN_PACKAGE_MAINTAINER={MAINTAINER}"], cwd=cls.directory, check=True, stdout=subprocess.DEVNULL)
        (name,) = [name for name in os.listdir(cls.directory) if name.endswith(".deb")]
        cls.package = f"{cls.directory}/{name}"

    def call(self, *words, **variables):
        result = subprocess.run(words, cwd=self.directory, env=lab.clean_environment(**variables), capture_output=True, text=True,
                                timeout=100, check=False)
        self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
        return result.stdout

    def unpack(self):
        root = f"{self.directory}/root"
        if not os.path.exists(root):
            self.call("dpkg", "-x", self.package, root)
        return root

    def test_names_what_it_needs(self):
        self.assertRegex(os.path.basename(self.package), r"^megascope_\d+\.\d+\.\d+_amd64\.deb$")
        fields = dict(re.findall(r"^ ?([\w-]+): (.*)$", self.call("dpkg-deb", "-I", self.package), re.MULTILINE))
        self.assertIn("libc6 (>= 2.", fields["Depends"])
        self.assertIn("zlib1g", fields["Depends"])
        self.assertIn(fields["Recommends"], ("openmpi-bin", "mpich"))
        self.assertEqual(fields["Maintainer"], MAINTAINER)
        self.assertNotIn("conffiles", os.listdir(self.control()))

    def control(self):
        directory = f"{self.directory}/control"
        self.call("dpkg-deb", "-e", self.package, directory)
        return directory

    def test_holds_what_is_installed_and_nothing_outside_of_usr(self):
        lines = self.call("dpkg-deb", "-c", self.package).splitlines()
        self.assertEqual({line.split()[1] for line in lines}, {"root/root"})
        paths = [line.split(" ./", 1)[1] for line in lines]
        self.assertEqual([path for path in paths if not path.startswith("usr/")], [])
        self.assertTrue(any(re.fullmatch(r"usr/lib/.*libmegascope\.so -> libmegascope\.so\.1", path) for path in paths))
        for wanted in ("usr/bin/megascope", "usr/bin/megascope-run", "usr/share/megascope/slurm/collect.sh",
                       "usr/share/bash-completion/completions/megascope", "usr/lib/python3/dist-packages/megascope/__init__.py", "usr/share/doc/megascope/copyright"):
            self.assertIn(wanted, paths)
        self.assertEqual([path for path in paths if "__pycache__" in path], [])
        if os.environ["MEGASCOPE_TEST_MAN"] == "1":
            self.assertIn("usr/share/man/man1/megascope-run.1.gz", paths)

    def test_records_a_program_where_it_is_unpacked(self):
        root = self.unpack()
        self.call(lab.MPICC, "-o", "ring", lab.RING)
        library = [path for path in lab.files(root) if os.path.basename(path) == "libmegascope.so"]
        self.call(*MPIRUN, "-n", "2", "env", f"LD_PRELOAD={root}/{library[0]}", "./ring", str(LAPS), MEGASCOPE_OUT="run",
                  MEGASCOPE_EXPORT="perfetto")
        self.assertIn("2 ranks", self.call(f"{root}/usr/bin/megascope", "report", "run"))
        self.assertIn("trace.perfetto-trace", os.listdir(f"{self.directory}/run"))

    def test_tells_where_it_will_be(self):
        with open(f"{self.unpack()}/usr/share/megascope/slurm/megascope.sbatch", encoding="utf-8") as file:
            self.assertIn(' "/usr/bin" ', file.read())

    def test_lintian_finds_nothing(self):
        if shutil.which("lintian") is None:
            self.skipTest("there is no lintian")
        result = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--suppress-tags", EXPECTED_TAGS, self.package],
                                capture_output=True, text=True, check=False)
        said = [line for line in result.stdout.splitlines() if line.startswith(("E:", "W:"))]
        self.assertEqual((said, result.returncode), ([], 0))


if __name__ == "__main__":
    unittest.main()
