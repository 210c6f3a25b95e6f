"""Files have at most 400 lines, directories a README of at most 30, names are snake_case, product functions at most 60 lines."""

import os
import re
import sys

import repository

FILE_LINES = 400
README_LINES = 30
FUNCTION_LINES = 60
WITH_README = ("core", "kernels", "exporters", "analysis", "plugin", "mpi_layer", "gpu_layer", "examples", "tests",
               "bench", "scripts", "slurm", "packaging", "cmake", "docs")
PRODUCT = ("core", "kernels", "exporters", "analysis", "plugin", "mpi_layer", "gpu_layer")
LONG_FUNCTIONS = {  # (file, function): nothing but a list of cases or of test data
    ("core/record/event_view.h", "dispatch"),
    ("tests/core/sample_trace.cpp", "rich"),
    ("tests/live/feed.cpp", "main"),
}
COUNTED = repository.CODE_SUFFIXES + (".py", ".sh", ".cmake", ".ts", ".js")


def without_literals(text):
    """C++ text without comments, literals and preprocessor lines, line numbers kept."""
    pattern = re.compile(r"""R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.[^'\n]*|[^'\\\n])'|//[^\n]*|/\*.*?\*/"""
                         r"""|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*""", re.DOTALL | re.MULTILINE)
    return pattern.sub(lambda match: "\n" * match.group(0).count("\n"), text)


def name_of_function(header):
    """The name in the text between the previous statement and a '{'; None if it begins no function."""
    before, bracket, _ = re.sub(r"^template\s*<[^()]*>", "", header).partition("(")
    if not bracket or re.search(r"\b(namespace|struct|class|union|enum)\b|=\s*$", before) or header.rstrip().endswith("="):
        return None
    name = re.search(r"(operator\W+|~?\w+)\s*$", before)
    return name and name.group(1).strip()


def long_functions(text):
    """(line, lines, name) of functions that are too long, members too; those inside of functions are part of them."""
    text = without_literals(text)
    line, begin, header, inside = 1, 1, "", []  # inside: of each open brace, (line, name of the outermost function)
    for letter in text:
        if letter in "{};":
            if letter == "{":
                outer = inside[-1][1] if inside else None
                inside.append((0, outer) if outer else (begin, name_of_function(header)))
            elif letter == "}" and inside:
                start, name = inside.pop()
                if start and name and line - start + 1 > FUNCTION_LINES:
                    yield start, line - start + 1, name
            header = ""
        elif not letter.isspace() or header:
            if not header:
                begin = line
            header += letter
        if letter == "\n":
            line += 1


def check_functions(path, text):
    """(problems, warnings): product code is refused, tests and benchmarks are warned of."""
    found = [f"{path}:{line}: {name}() has {lines} lines, at most {FUNCTION_LINES}"
             for line, lines, name in long_functions(text) if (path, name) not in LONG_FUNCTIONS]
    return (found, []) if path.split("/")[0] in PRODUCT else ([], found)


def check_file(path, text):
    problems = []
    name = os.path.basename(path)
    lines = text.count("\n")
    if path.endswith(COUNTED) and lines > FILE_LINES:
        problems.append(f"{path}: {lines} lines, at most {FILE_LINES}")
    if repository.is_code(path) and not re.fullmatch(r"[a-z0-9_]+(\.[a-z]+)+", name):
        problems.append(f"{path}: file names are snake_case")
    if name == "README.md" and os.path.dirname(path) and lines > README_LINES:
        problems.append(f"{path}: {lines} lines, a directory's README has at most {README_LINES}")
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
                errors, warnings = check_functions(path, text)
                problems += errors
                for warning in warnings:
                    print(f"warning: {warning}")
    for directory in sorted(directories):
        in_tests = directory.startswith(("tests/", "examples/"))  # one README for all of them
        if not in_tests and not os.path.exists(os.path.join(root, directory, "README.md")):
            problems.append(f"{directory}: has no README.md")
    repository.finish(problems, "sizes")


if __name__ == "__main__":
    main(sys.argv[1])
