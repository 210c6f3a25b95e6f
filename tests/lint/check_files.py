"""Files and directories are created in one place, core/base/safe_file.cpp, which follows no link that another user has placed."""

import re
import sys

import repository

PRODUCT = ("core/", "kernels/", "exporters/", "analysis/", "mpi_layer/", "gpu_layer/", "plugin/", "viewer/", "slurm/")
HOME = "core/base/safe_file.cpp"
NAMES = ["O_CREAT", "O_TMPFILE", "O_TRUNC", "ofstream", "wofstream", "fstream", "basic_ofstream", "basic_fstream", "filebuf", "basic_filebuf",
         "fopen", "freopen", "tmpfile", "tmpnam", "mkstemp", "mkostemp", "mkstemps", "mkdtemp", "shm_open", "copy_symlink", "create_directory",
         "create_directories", "create_symlink", "create_directory_symlink", "create_hard_link"]
CALLS = ["creat", "mkdir", "mkdirat", "mknod", "mknodat", "mkfifo", "mkfifoat", "symlink", "symlinkat"]
CREATES = re.compile(r"\b(?:(?P<name>" + "|".join(NAMES) + r")\b|(?P<call>" + "|".join(CALLS) + r")\s*\(|(?P<copy>(?:fs|filesystem)::copy(?:_file)?)\s*\()")


def check_text(path, text):
    """Problems of one file, with their lines."""
    if path == HOME or not path.startswith(PRODUCT) or not repository.is_code(path):
        return []
    problems = []
    for number, line in enumerate(repository.without_comments_and_strings(text).splitlines(), 1):
        if line.lstrip().startswith("#include"):
            continue
        for match in CREATES.finditer(line):
            word = match[match.lastgroup]
            problems.append(f"{path}:{number}: {word}: files and directories are created by core/base/safe_file.h only")
    return problems


def main(root):
    problems = []
    for path in repository.files(root):
        if path.startswith(PRODUCT) and repository.is_code(path):
            problems += check_text(path, repository.read(root, path))
    repository.finish(problems, "files")


if __name__ == "__main__":
    main(sys.argv[1])
