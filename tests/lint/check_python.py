"""Python sources have no error that flake8 finds (.flake8: unused names and imports, layout). Its findings differ between versions: the
one that is used is pinned."""

import os
import subprocess
import sys

import repository

VERSION = "5.0.4"
INTERPRETER = "/usr/bin/python3"  # the one that has Debian's packages


def main(root):
    flake8 = [INTERPRETER, "-m", "flake8"]
    version = subprocess.run([*flake8, "--version"], capture_output=True, text=True, check=False).stdout
    if not version.startswith(VERSION + " "):
        repository.finish([f"no flake8 {VERSION}: install the package python3-flake8"], "python")
    paths = [path for path in repository.files(root) if path.endswith(".py")]
    done = subprocess.run([*flake8, *paths], cwd=root, capture_output=True, text=True, check=False)
    repository.finish(done.stdout.splitlines() + done.stderr.splitlines(), "python")


if __name__ == "__main__":
    main(os.path.abspath(sys.argv[1]))
