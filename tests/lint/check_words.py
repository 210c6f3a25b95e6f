"""Words that must not be in the repository: paths of one machine, TODO without an issue, tabs, trailing blanks."""

import re
import sys

import repository

TEXT_SUFFIXES = repository.CODE_SUFFIXES + (".md", ".txt", ".py", ".sh", ".cmake", ".json", ".map", ".yml")
FORBIDDEN = [
    (re.compile(r"(?<![\w.}/*-])/(?:work|root|home)/\w"), "a path of one machine"),
    (re.compile(r"\bTODO\b(?! ?\(?#\d)"), "TODO needs an issue number"),
    (re.compile(r"<{7} |>{7} "), "a merge conflict"),
    (re.compile(r"[ \t]+$"), "blanks at the end of a line"),
]


def check_text(path, text):
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                problems.append(f"{path}:{number}: {what}: {line.strip()[:100]}")
        if repository.is_code(path) and "\t" in line:
            problems.append(f"{path}:{number}: a tab")
    return problems


def main(root):
    problems = []
    for path in repository.files(root):
        if path.startswith("tests/lint/") or not path.endswith(TEXT_SUFFIXES):
            continue
        problems += check_text(path, repository.read(root, path))
    repository.finish(problems, "words")


if __name__ == "__main__":
    main(sys.argv[1])
