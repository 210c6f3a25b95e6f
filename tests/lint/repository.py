"""The files of the repository that the lint tests look at, and how they report."""

import os
import re
import sys

SKIPPED_DIRECTORIES = {".git", "build", "install", "__pycache__", "node_modules", ".cache"}
CODE_SUFFIXES = (".h", ".c", ".cpp", ".cu", ".hpp", ".inc")


def files(root):
    """Paths relative to root of every file, run directories and build trees left out."""
    for directory, names, found in os.walk(root):
        names[:] = sorted(n for n in names if n not in SKIPPED_DIRECTORIES and not is_run_directory(directory, n))
        for name in sorted(found):
            yield os.path.relpath(os.path.join(directory, name), root)


def is_run_directory(directory, name):
    return name.startswith("megascope-") or os.path.exists(os.path.join(directory, name, "options.sh"))


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def is_code(path):
    return path.endswith(CODE_SUFFIXES)


def without_comments_and_strings(text):
    """C++ text with comments and literals emptied, line numbers kept."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
    return pattern.sub(lambda match: '""' + "\n" * match.group(0).count("\n"), text)


def finish(problems, what):
    """Prints the problems and ends with the exit code a test needs."""
    for problem in problems:
        print(problem)
    print(f"{what}: {len(problems)} problem(s)")
    sys.exit(1 if problems else 0)
