"""Other ways to an installation: modulefile, Spack recipe, Apptainer definition."""

import glob
import os
import re
import shutil
import subprocess
import sys
import types
import unittest

import lab
from lab import LAPS, MPIRUN

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def read(path):
    with open(f"{SOURCE}/{path}", encoding="utf-8") as file:
        return file.read()


class Module(lab.Case):
    """In Environment Modules or Lmod, whichever there is."""

    def setUp(self):
        super().setUp()
        self.modulefiles = f"{self.tree.prefix}/share/megascope/modulefiles"
        self.tool = shutil.which("modulecmd") or os.environ.get("LMOD_CMD") or shutil.which("/usr/share/lmod/lmod/libexec/lmod")

    def with_module(self, script):
        if not self.tool:
            self.skipTest("there is neither Environment Modules nor Lmod")
        head = f'module() {{ eval "$("{self.tool}" bash "$@")"; }}; module use "{self.modulefiles}"; '
        path = ":".join(dict.fromkeys(os.environ["PATH"].split(":")))  # Lmod takes out what is there twice
        return self.call("bash", "--norc", "-c", head + script, MODULEPATH="", LOADEDMODULES="", PATH=path)

    def test_load_makes_command_and_library_known_by_name(self):
        self.compile_ring()
        said = self.with_module("module load megascope; command -v megascope; pkg-config --modversion megascope; man -w megascope; "
                                f"{sys.executable} -B -c 'import megascope' || exit; "
                                f"{' '.join(MPIRUN)} -n 2 env LD_PRELOAD=libmegascope.so MEGASCOPE_OUT=run ./ring {LAPS} >&2")
        lines = said.splitlines()
        self.assertEqual(lines[0], f"{self.tree.bindir}/megascope")
        self.assertRegex(lines[1], r"^\d+\.\d+\.\d+$")
        if os.environ["MEGASCOPE_TEST_MAN"] == "1":
            self.assertEqual(lines[2], f"{self.tree.prefix}/share/man/man1/megascope.1")
        self.check_recorded(self.call(f"{self.tree.bindir}/megascope", "report", "--json", "run"))

    def test_unload_leaves_everything_as_it_was(self):
        said = self.with_module('before=$PATH:$LD_LIBRARY_PATH; module load megascope; [ "$before" != "$PATH:$LD_LIBRARY_PATH" ] || echo no; '
                                'module unload megascope; [ "$before" = "$PATH:$LD_LIBRARY_PATH" ] && echo same')
        self.assertEqual(said, "same\n")

    def test_is_tcl_and_tells_where_it_was_installed(self):
        (path,) = glob.glob(f"{self.modulefiles}/megascope/*")
        with open(path, encoding="utf-8") as file:
            self.assertIn(f'set prefix "{self.tree.first}"\n', file.read())
        if shutil.which("tclsh") is None:
            self.skipTest("there is no tclsh")
        script = f"{self.folder}/script"
        with open(script, "w", encoding="utf-8") as file:
            file.write("proc module-whatis {text} {}\nproc conflict {name} {}\nproc prepend-path {name value} { puts \"$name=$value\" }\n"
                       f'set ModulesCurrentModulefile "{path}"\nsource "{path}"\nModulesHelp\n')
        self.assertIn(f"PATH={self.tree.bindir}\n", self.call("tclsh", script))


class BatchScript(lab.Case):
    """megascope.sbatch of a tree that was moved, as Slurm runs it: a copy. Slurm here is two words that it calls."""

    def setUp(self):
        super().setUp()
        self.compile_ring()
        self.script = f"{self.tree.prefix}/share/megascope/slurm/megascope.sbatch"
        shutil.copy(self.script, f"{self.folder}/slurm_script")
        self.write("srun", 'exec "$@"')

    def write(self, name, line):
        with open(f"{self.folder}/{name}", "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{line}\n")
        os.chmod(f"{self.folder}/{name}", 0o755)

    def run_copy(self, path=""):
        words = ["bash", "slurm_script", *MPIRUN, "-n", "2", "./ring", str(LAPS)]
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=100, check=False,
                              env=lab.clean_environment(SLURM_JOB_ID="7", PATH=f"{self.folder}{path}:{os.environ['PATH']}"))

    def check_run(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.check_recorded(self.call(f"{self.tree.bindir}/megascope", "report", "--json", "megascope-7"))

    def test_finds_the_tree_that_it_was_submitted_from(self):
        self.write("scontrol", f'echo "JobId=7 JobName=recorded"; echo "   Command={self.script} ./ring {LAPS}"; echo "   WorkDir=/"')
        self.check_run(self.run_copy())

    def test_of_the_user_finds_it_by_path(self):
        self.write("scontrol", f'echo "   Command={self.folder}/own.sbatch"')
        self.check_run(self.run_copy(f":{self.tree.bindir}"))

    def test_says_what_it_misses(self):
        self.write("scontrol", "exit 1")
        result = self.run_copy()
        self.assertEqual((result.returncode, result.stderr),
                         (2, f"megascope.sbatch: megascope-run was not found in {self.tree.first}/bin or PATH\n"))


class FakePackage:
    """What the recipe takes from Spack's CMakePackage."""

    def define(self, name, value):
        return name

    def define_from_variant(self, name, variant):
        assert variant in self.variants, variant
        return name


class Spack(unittest.TestCase):
    PACKAGE = "packaging/spack/package.py"
    NOT_LIBRARIES = {"c", "cxx", "cmake", "help2man", "mpi"}
    CALLED_HERE = {"nlohmann-json": "json", "zlib-api": "zlib", "elfutils": "libdw", "boost": "beast"}

    def setUp(self):
        self.said = {name: [] for name in ("license", "version", "variant", "depends_on", "requires")}
        fake = types.ModuleType("spack.package")
        for name, calls in self.said.items():
            setattr(fake, name, lambda *words, calls=calls, **named: calls.append((words, named)))
        fake.CMakePackage, fake.join_path = FakePackage, os.path.join
        names = {"__name__": "recipe"}
        sys.modules.update({"spack": types.ModuleType("spack"), "spack.package": fake})
        self.addCleanup(lambda: [sys.modules.pop(name) for name in ("spack", "spack.package")])
        exec(compile(read(self.PACKAGE), self.PACKAGE, "exec"), names)  # pylint: disable=exec-used
        FakePackage.variants = [words[0] for words, _ in self.said["variant"]]
        self.recipe = names["Megascope"]

    def options(self):
        recipe = self.recipe()
        mpi = types.SimpleNamespace(name="openmpi", mpicc="mpicc", prefix=types.SimpleNamespace(bin="/bin"))
        value = types.SimpleNamespace(value="/usr/include")
        recipe.spec = type("Spec", (dict,), {"variants": dict.fromkeys(FakePackage.variants, value)})(mpi=mpi)
        return recipe.cmake_args()

    def test_every_option_is_one_of_the_build(self):
        with open(f"{lab.BUILD}/CMakeCache.txt", encoding="utf-8") as file:
            known = set(re.findall(r"^(\w+):", file.read(), re.MULTILINE))
        options = self.options()
        self.assertGreater(len(options), 5)
        self.assertEqual([option for option in options if option not in known], [])

    def test_every_library_is_one_of_the_build_and_none_is_missing(self):
        looked_for = read("cmake/MegascopeDependencies.cmake")
        known = set(re.findall(r"^ *megascope_find_library\((\w+)", looked_for, re.MULTILINE))
        named = {words[0].split("@")[0] for words, _ in self.said["depends_on"]} - self.NOT_LIBRARIES
        named = {self.CALLED_HERE.get(name, name) for name in named}
        self.assertEqual(named - known, set())
        required = set(re.findall(r"^ *megascope_require\((\w+)", looked_for, re.MULTILINE))
        self.assertEqual(required - named, {"protozero"})  # Spack has none; see the recipe

    def test_version_and_conditions(self):
        version = re.search(r"VERSION (\d+\.\d+\.\d+)", read("CMakeLists.txt"))[1]
        self.assertEqual([words for words, _ in self.said["version"]], [(version,)])
        for _, named in self.said["depends_on"]:
            if "when" in named:
                self.assertIn(named["when"].lstrip("+~"), FakePackage.variants)


class Apptainer(unittest.TestCase):
    def setUp(self):
        self.text = read("packaging/apptainer/megascope.def")
        self.scripts = re.findall(r"^%(?:post|test|runscript)\n(.*?)(?=^%|^Bootstrap|\Z)", self.text, re.MULTILINE | re.DOTALL)

    def test_scripts_are_shell(self):
        self.assertEqual(len(self.scripts), 4)
        for script in self.scripts:
            subprocess.run(["sh", "-n"], input=script, text=True, check=True)

    def test_packages_and_sections_are_in_the_list(self):
        packages = read("scripts/packages.txt")
        listed = {line for line in packages.splitlines() if line and line[0] not in "#["}
        sections = set(re.findall(r"^\[(\w+)\]", packages, re.MULTILINE))
        named = [word for line in re.findall(r"apt-get install (.*)", self.text) for word in line.split() if not word.startswith(("-", "/"))]
        self.assertEqual((named, [name for name in named if name not in listed]), (["openmpi-bin"], []))
        (asked,) = re.findall(r"scripts/setup\.sh (.*)", self.text)
        self.assertEqual([section for section in asked.split() if section not in sections], [])

    def test_presets_exist(self):
        presets = re.findall(r"--preset (\w+)", self.text)
        self.assertEqual(presets, ["deb", "deb"])
        self.assertEqual(read("CMakePresets.json").count('"name": "deb"'), 2)


if __name__ == "__main__":
    unittest.main()
