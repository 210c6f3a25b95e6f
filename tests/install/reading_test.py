"""What an installed tree says to people: man pages and completion in bash."""

import glob
import json
import os
import re
import shutil
import subprocess
import unittest

import lab


class ManPages(lab.Case):
    def setUp(self):
        super().setUp()
        if os.environ["MEGASCOPE_TEST_MAN"] != "1":
            self.skipTest("built without help2man")
        if shutil.which("man") is None:
            self.skipTest("there is no man (man-db)")
        self.pages = glob.glob(f"{self.tree.prefix}/share/man/man?/*")

    def read(self, page):
        return re.sub(r"\s+", " ", self.call("man", "-l", page, LC_ALL="C.UTF-8", MANWIDTH="1000"))

    def test_one_a_command_and_one_of_the_environment(self):
        said = self.call(f"{self.tree.bindir}/megascope", "--help")
        commands = re.findall(r"^  ([a-z]+) ", said.split("Subcommands:")[1], re.MULTILINE)
        self.assertGreater(len(commands), 5)
        self.assertEqual({os.path.basename(page) for page in self.pages},
                         {"megascope.1", "megascope.7", *(f"megascope-{command}.1" for command in commands)})

    def test_render_without_warnings(self):
        for page in self.pages:
            result = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", page], capture_output=True, check=False,
                                    env=lab.clean_environment(LC_ALL="C.UTF-8", MANROFFSEQ="", MANWIDTH="80"))
            self.assertEqual((page, result.returncode, result.stderr), (page, 0, b""))

    def test_tell_all_options_of_the_command(self):
        for page in self.pages:
            command = re.fullmatch(r"megascope-(\w+)\.1", os.path.basename(page))
            if not command:
                continue
            said = self.call(f"{self.tree.bindir}/megascope", command[1], "--help")
            text = self.read(page)
            self.assertTrue(text.startswith(f"MEGASCOPE-{command[1].upper()}(1)"), text[:80])
            for option in re.findall(r"^  (?:-\w,)?(--[a-z-]+)", said, re.MULTILINE):
                self.assertIn(option, text)

    def test_tell_all_variables(self):
        text = self.read(f"{self.tree.prefix}/share/man/man7/megascope.7")
        for option in json.loads(self.call(f"{self.tree.bindir}/megascope", "info", "--json"))["options"]:
            for key in ("name", "help", "range", "default"):
                self.assertIn(option[key], text)


class Completion(lab.Case):
    def complete(self, *words):
        """What is offered for the last word, in bash without any package of completions."""
        script = ('. "$1/share/bash-completion/completions/megascope"; PATH="$1/bin:$PATH"; shift; COMP_WORDS=("$@"); '
                  'COMP_CWORD=$(($# - 1)); $(complete -p megascope | sed "s/.*-F \\([^ ]*\\) .*/\\1/"); '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        said = self.call("bash", "--norc", "-c", script, "bash", self.tree.prefix, "megascope", *words)
        return sorted(said.split("\n")[:-1]) if said != "\n" else []

    def make_directories(self):
        for name in ("megascope-a", "megascope-b", "other/megascope-c"):
            os.makedirs(f"{self.directory}/{name}")
            with open(f"{self.directory}/{name}/run-id", "w", encoding="utf-8"):
                pass

    def test_commands(self):
        self.assertEqual(self.complete("re"), ["recover", "report"])
        self.assertEqual(self.complete("--v"), ["--version"])
        self.assertIn("hang", self.complete(""))

    def test_options(self):
        self.assertEqual(self.complete("recover", "--"), ["--help", "--here", "--quiet", "--scratch"])
        self.assertIn("-j", self.complete("report", "-"))
        self.assertEqual(self.complete("report", "dir", "--js"), ["--json"])

    def test_values(self):
        self.assertEqual(self.complete("export", "dir", "-f", ""), ["chrome", "megascan", "otf2", "perfetto"])
        self.assertEqual(self.complete("run", "--export", ""), ["chrome", "otf2", "perfetto"])
        self.assertEqual(self.complete("export", "dir", "--format", "otf2,c"), ["otf2,chrome"])
        self.assertEqual(self.complete("run", "--export", "p"), ["perfetto"])
        self.assertEqual(self.complete("hang", "--format", "j"), ["json"])
        self.assertEqual(self.complete("report", "-j", ""), [])

    def test_run_directories(self):
        self.make_directories()
        for command in ("report", "export", "recover", "hang"):
            self.assertEqual(self.complete(command, ""), ["megascope-a", "megascope-b"])
        self.assertEqual(self.complete("report", "o"), ["other"])
        self.assertEqual(self.complete("report", "--json", "other/"), ["other/megascope-c"])
        self.assertEqual(self.complete("info", ""), [])

    def test_programs_to_run(self):
        with open(f"{self.directory}/input.txt", "w", encoding="utf-8"):
            pass
        self.assertIn("mkdir", self.complete("run", "mkd"))
        self.assertIn("mkdir", self.complete("run", "-o", "out", "--", "mkd"))
        self.assertEqual(self.complete("run", "sort", "in"), ["input.txt"])


if __name__ == "__main__":
    unittest.main()
