"""Files have at most 400 lines, directories a README of at most 30, names are snake_case; long functions are a warning."""

import os
import re
import sys

import repository

FILE_LINES = 400
README_LINES = 30
FUNCTION_LINES = 60
WITH_README = ("core", "kernels", "exporters", "analysis", "plugin", "mpi_layer", "gpu_layer", "examples", "tests",
               "bench", "scripts", "slurm", "packaging", "cmake", "docs")
COUNTED = repository.CODE_SUFFIXES + (".py", ".sh", ".cmake", ".ts", ".js")


def long_functions(text):
    """(line, lines) of what looks like a function: opened by a line at column 0 that ends in '{', closed by '}' there."""
    start = None
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"[A-Za-z_].*\)[^;]*\{$", line) and not line.startswith(("namespace", "struct", "class", "enum")):
            start = number
        elif line.startswith("}") and start is not None:
            if number - start + 1 > FUNCTION_LINES:
                yield start, number - start + 1
            start = None


def check_file(path, text):
    problems = []
    name = os.path.basename(path)
    lines = text.count("\n")
    if path.endswith(COUNTED) and lines > FILE_LINES:
        problems.append(f"{path}: {lines} lines, at most {FILE_LINES}")
    if repository.is_code(path) and not re.fullmatch(r"[a-z0-9_]+(\.[a-z]+)+", name):
        problems.append(f"{path}: file names are snake_case")
    if name == "README.md" and os.path.dirname(path) and lines > README_LINES:
        problems.append(f"{path}: {lines} lines, a folder's README has at most {README_LINES}")
    return problems


def main(root):
    problems = []
    directories = set()
    for path in repository.files(root):
        directory = os.path.dirname(path)
        if directory.split("/")[0] in WITH_README and (repository.is_code(path) or path.endswith("CMakeLists.txt")):
            directories.add(directory)
        if path.endswith(COUNTED + (".md",)):
            text = repository.read(root, path)
            problems += check_file(path, text)
            if repository.is_code(path):
                for line, lines in long_functions(text):
                    print(f"warning: {path}:{line}: a function of {lines} lines")
    for directory in sorted(directories):
        in_tests = directory.startswith(("tests/", "examples/"))  # one README for all of them
        if not in_tests and not os.path.exists(os.path.join(root, directory, "README.md")):
            problems.append(f"{directory}: has no README.md")
    repository.finish(problems, "sizes")


if __name__ == "__main__":
    main(sys.argv[1])
