"""What documents name exists: MEGASCOPE_* variables, commands of `megascope`, linked files, files of the source tree. The README.md of a
directory names each header of the directory."""

import fnmatch
import os
import re
import sys

import repository

TOP_LEVEL = ("README.md", "LIMITS.md", "CONTRIBUTING.md", "slurm/README.md")
OPTION_TABLE = "core/config/option_table.h"
TEST_VARIABLES = {"MEGASCOPE_TEST_BUDGET_S", "MEGASCOPE_TEST_DATA"}  # of scripts/test.sh
HOOK_API = "plugin/api/megascope/megascope.h"
BUILD_OPTIONS = ("cmake/MegascopeOptions.cmake", "cmake/MegascopeMpi.cmake")
COMMANDS = "plugin/cli/entry/main.cpp"
NAME = re.compile(r"\bMEGASCOPE_[A-Z0-9_]*[A-Z0-9]\b")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
COMMAND = re.compile(r"(?:^|[\s`;&|(])megascope ([a-z][a-z-]*)")
SOURCE = re.compile(r"[\w./*-]*\w[*]?\.(?:h|c|cpp|cu|inc|cmake|py|bash|mjs|ts)\b")
# Files of other projects, and installed files, that a README.md names.
FOREIGN = {"mpi.h", "mpif.h", "slurm/spank.h", "aggregate.py", "megascope-config.cmake"}
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def check_text(path, text, names, commands, exists):
    """Problems of one document. names, commands: those that exist. exists: returns whether a path of the repository exists."""
    problems = [f"{path}:{line_of(text, match.start())}: {match.group(0)} is no option"
                for match in NAME.finditer(text) if match.group(0) not in names]
    for code in CODE.finditer(text):
        for match in COMMAND.finditer(code.group(0)):
            if match.group(1) not in commands:
                line = line_of(text, code.start() + match.start(1))
                problems.append(f"{path}:{line}: there is no command megascope {match.group(1)}")
    for match in LINK.finditer(CODE.sub(lambda code: "\n" * code.group(0).count("\n"), text)):
        if not exists(os.path.normpath(os.path.join(os.path.dirname(path), match.group(1)))):
            problems.append(f"{path}:{line_of(text, match.start())}: there is no file {match.group(1)}")
    return problems


def check_readme(path, text, headers, exists):
    """Problems of the README.md of a directory. headers: the names of the directory's headers. exists: returns whether a path from the
    root of the repository, or a pattern of paths, exists. A name is relative to the root or to the directory; a name without a slash
    may also be that of a file in a directory below."""
    problems = []
    named = set()
    directory = os.path.dirname(path)
    for code in CODE.finditer(text):
        for match in SOURCE.finditer(code.group(0)):
            name = match.group(0)
            named.add(name)
            below = [] if "/" in name else [os.path.join(directory, "**", name)]
            if name not in FOREIGN and not any(map(exists, [os.path.normpath(os.path.join(directory, name)), name, *below])):
                problems.append(f"{path}:{line_of(text, code.start() + match.start())}: there is no file {name}")
    return problems + [f"{path}: does not name {header}" for header in sorted(headers) if header not in named]


def readme_problems(root):
    paths = list(repository.files(root))
    known = set(paths)
    headers = {}
    for path in paths:
        if path.endswith(".h"):
            headers.setdefault(os.path.dirname(path), []).append(os.path.basename(path))
    problems = []
    for path in paths:
        if os.path.basename(path) == "README.md":
            problems += check_readme(path, repository.read(root, path), headers.get(os.path.dirname(path), []),
                                     lambda name: name in known or ("*" in name and bool(fnmatch.filter(paths, name))))
    return problems


def main(root):
    names = set(TEST_VARIABLES)
    for path in (OPTION_TABLE, HOOK_API, *BUILD_OPTIONS):
        names |= set(NAME.findall(repository.read(root, path)))
    commands = set(re.findall(r'add_subcommand\(\s*"([a-z-]+)"', repository.read(root, COMMANDS)))
    problems = [] if {"run", "doctor"} <= commands else [f"{COMMANDS}: no commands were found"]
    for path in repository.files(root):
        if path in TOP_LEVEL or (path.startswith("docs/") and path.endswith(".md")):
            problems += check_text(path, repository.read(root, path), names, commands,
                                   lambda name: os.path.exists(os.path.join(root, name)))
    repository.finish(problems + readme_problems(root), "docs")


if __name__ == "__main__":
    main(sys.argv[1])
