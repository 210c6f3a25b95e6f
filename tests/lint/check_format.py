"""Every C and C++ file is laid out as .clang-format says. Layout differs between versions: the one that is used is pinned."""

import os
import shutil
import subprocess
import sys

import repository

VERSION = "14"
SUFFIXES = (".h", ".c", ".cpp", ".cu", ".hpp")
AT_ONCE = 60


def formatter():
    """The pinned clang-format, or None."""
    for name in ("clang-format-" + VERSION, "clang-format"):
        path = shutil.which(name)
        if path is None:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        if f"version {VERSION}." in version:
            return path
    return None


def problems_of(program, root, paths):
    done = subprocess.run([program, "--dry-run", "--Werror", "--ferror-limit=1", *paths], cwd=root, capture_output=True, text=True,
                          check=False)
    if done.returncode == 0:
        return []
    found = [line for line in done.stderr.splitlines() if "error:" in line]
    return found or [f"clang-format ended with {done.returncode}: {done.stderr.strip()[:300]}"]


def main(root):
    program = formatter()
    if program is None:
        repository.finish([f"no clang-format {VERSION}: install the package clang-format-{VERSION}"], "format")
    paths = [path for path in repository.files(root) if path.endswith(SUFFIXES)]
    problems = []
    for first in range(0, len(paths), AT_ONCE):
        problems += problems_of(program, root, paths[first:first + AT_ONCE])
    repository.finish(problems, "format")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
