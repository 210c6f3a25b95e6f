"""An installed tree, moved to another folder, and those who find it: CMake, pkg-config, PATH, readers, DESTDIR."""

import json
import os
import re
import subprocess
import sys
import unittest

import lab
from lab import LAPS, MPIRUN


class Consumers(lab.Case):
    def test_cmake_project_finds_library_and_command(self):
        said = self.call("cmake", "-S", f"{os.path.dirname(os.path.abspath(__file__))}/consumer", "-B", "b",
                         f"-DCMAKE_PREFIX_PATH={self.tree.prefix}", f"-DCMAKE_C_COMPILER={lab.MPICC}", f"-DRING={lab.RING}",
                         f"-DLAUNCHER={';'.join([*MPIRUN, '-n', '2'])}")
        self.assertRegex(said, r"records programs of: (Open MPI|MPICH) \d")
        for target in ("by_variable", "by_target"):
            self.call("cmake", "--build", "b", "--target", target)
            with open(f"{self.folder}/b/{target}.json", encoding="utf-8") as file:
                self.check_recorded(file.read())

    def test_cmake_refuses_another_version(self):
        with open(f"{self.folder}/CMakeLists.txt", "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(old NONE)\nfind_package(megascope 99 CONFIG)\n"
                       "if(megascope_FOUND)\nmessage(FATAL_ERROR found)\nendif()\n")
        self.call("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.tree.prefix}")

    def pkg_config(self, *words):
        return self.call("pkg-config", *words, "megascope", PKG_CONFIG_PATH=f"{self.tree.libdir}/pkgconfig").strip()

    def test_pkg_config_tells_library_and_command(self):
        self.compile_ring()
        self.assertRegex(self.pkg_config("--modversion"), r"^\d+\.\d+\.\d+$")
        self.assertEqual(self.pkg_config("--libs", "--cflags"), "")
        preload = self.pkg_config("--variable=preload")
        self.assertEqual(os.path.realpath(preload), os.path.realpath(self.tree.library))
        self.call(*MPIRUN, "-n", "2", "env", f"LD_PRELOAD={preload}", "./ring", str(LAPS), MEGASCOPE_OUT="run")
        self.check_recorded(self.call(self.pkg_config("--variable=command"), "report", "--json", "run"))

    def test_hooks_are_found_by_pkg_config_and_cmake(self):
        with open(f"{self.folder}/told.c", "w", encoding="utf-8") as file:
            file.write('#include <megascope/megascope.h>\n#include <stdio.h>\nint main(void) {\n  megascope_step_begin(1);\n'
                       '  printf("%d\\n", megascope_is_recording());\n  megascope_step_end();\n  return 0;\n}\n')
        with open(f"{self.folder}/CMakeLists.txt", "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(told C)\nfind_package(megascope CONFIG REQUIRED)\n"
                       "add_executable(told told.c)\ntarget_link_libraries(told PRIVATE megascope::hooks)\n")
        flags = self.call("pkg-config", "--cflags", "--libs", "megascope-hooks", PKG_CONFIG_PATH=f"{self.tree.libdir}/pkgconfig").split()
        self.call("cc", "-std=c11", "-Wall", "-Werror", "-o", "told", "told.c", *flags)
        self.call("cmake", "-S", ".", "-B", "b", f"-DCMAKE_PREFIX_PATH={self.tree.prefix}")
        self.call("cmake", "--build", "b")
        for number, program in enumerate(("./told", "b/told")):
            self.assertEqual(self.call(program), "0\n")
            self.assertEqual(self.call(program, LD_PRELOAD=self.tree.library, MEGASCOPE_OUT=f"run{number}"), "1\n")
            report = json.loads(self.call(f"{self.tree.bindir}/megascope", "report", "--json", f"run{number}"))
            self.assertEqual(report["regions"]["step"]["count"], 1)

    def test_python_finds_the_package(self):
        script = ("import os, megascope\nwith megascope.step(0), megascope.region('a'): print(megascope.is_recording())\n"
                  "print(os.path.dirname(megascope.__file__))")
        folder = f"{self.tree.prefix}/lib/python3/dist-packages"
        python = {"PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        self.assertEqual(self.call(sys.executable, "-c", script, **python), f"False\n{folder}/megascope\n")
        self.assertEqual(self.call(sys.executable, "-c", script, LD_PRELOAD=self.tree.library, MEGASCOPE_OUT="run", **python),
                         f"True\n{folder}/megascope\n")
        report = json.loads(self.call(f"{self.tree.bindir}/megascope", "report", "--json", "run"))
        self.assertEqual({name: row["count"] for name, row in report["regions"].items()}, {"step": 1, "a": 1})
        with open(f"{folder}/megascope/py.typed", encoding="utf-8") as file:
            self.assertEqual(file.read(), "")

    def test_command_is_found_through_path(self):
        self.compile_ring()
        path = f"{self.tree.bindir}:{os.environ['PATH']}"
        self.call("megascope", "run", "-o", "run", "--", *MPIRUN, "-n", "2", "./ring", str(LAPS), PATH=path)
        self.check_recorded(self.call("megascope", "report", "--json", "run", PATH=path))
        self.call(*MPIRUN, "-n", "2", "megascope-run", "./ring", str(LAPS), PATH=path, MEGASCOPE_OUT="second")
        self.check_recorded(self.call("megascope", "report", "--json", "second", PATH=path))

    def test_link_to_the_command_finds_the_library(self):
        os.symlink(f"{self.tree.bindir}/megascope", f"{self.folder}/ms")
        self.assertIn(os.path.realpath(self.tree.libdir), self.call("./ms", "info"))


class Staged(lab.Case):
    def test_destdir_holds_the_same_files_and_is_told_nowhere(self):
        stage = f"{self.folder}/stage"
        lab.install("/opt/megascope", DESTDIR=stage)
        self.assertEqual(os.listdir(stage), ["opt"])
        prefix = f"{stage}/opt/megascope"
        self.assertEqual(lab.files(prefix), lab.files(self.tree.prefix))
        told = subprocess.run(["grep", "-rlF", stage, prefix], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(told.stdout, "")

    def test_no_file_tells_the_build_folder(self):
        told = subprocess.run(["grep", "-rlIF", lab.BUILD, self.tree.prefix], stdout=subprocess.PIPE, text=True, check=False)
        self.assertEqual(told.stdout, "")


def anchors(text):
    """Names of the headings of a page, as links call them."""
    return {re.sub(r"[^\w -]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
            for line in text.splitlines() if line.startswith("#")}


class Documents(lab.Case):
    def test_doctor_names_the_installed_page(self):
        result = subprocess.run([f"{self.tree.bindir}/megascope", "doctor"], cwd=self.folder, env=lab.clean_environment(),
                                capture_output=True, text=True, timeout=100, check=False)
        page = result.stdout.splitlines()[-1].partition(". For other causes of an empty run see ")[2]
        self.assertEqual(page, f"{self.tree.prefix}/share/doc/megascope/docs/nothing_recorded.md")
        self.assertTrue(os.path.exists(page))

    def test_links_lead_to_installed_pages(self):
        folder = f"{self.tree.prefix}/share/doc/megascope"
        pages = [path for path in lab.files(folder) if path.endswith(".md")]
        for wanted in ("README.md", "LIMITS.md", "docs/slurm.md", "docs/configuration.md", "slurm/README.md"):
            self.assertIn(wanted, pages)
        dangling = []
        for page in pages:
            with open(f"{folder}/{page}", encoding="utf-8") as file:
                text = re.sub(r"```.*?```", "", file.read(), flags=re.DOTALL)
            for link in re.findall(r"\]\(([^)\s]+)\)", text):
                path, _, anchor = link.partition("#")
                target = f"{folder}/{os.path.dirname(page)}/{path}" if path else f"{folder}/{page}"
                if "://" not in link and not (os.path.exists(target) and self.has_anchor(target, anchor)):
                    dangling.append(f"{page}: {link}")
        self.assertEqual(dangling, [])

    def has_anchor(self, page, anchor):
        if not anchor:
            return True
        with open(page, encoding="utf-8") as file:
            return anchor in anchors(file.read())


if __name__ == "__main__":
    unittest.main()
