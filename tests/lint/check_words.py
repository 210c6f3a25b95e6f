"""Words that must not be in the repository: those that docs/glossary.md refuses, paths of one machine, tasks without an issue, tabs."""

import re
import sys

import glossary
import repository

TEXT_SUFFIXES = repository.CODE_SUFFIXES + (".md", ".txt", ".py", ".sh", ".cmake", ".json", ".map", ".yml", ".ts", ".vue", ".in",
                                              ".js", ".mjs", ".css", ".html", ".f90", ".F90", ".bash", ".supp", ".def")
FORBIDDEN = [
    (re.compile(r"(?<![\w.}/*-])/(?:work|root|home)/\w"), "a path of one machine"),
    (re.compile(r"\bTODO\b(?! ?\(?#\d)"), "TODO needs an issue number"),
    (re.compile(r"<{7} |>{7} "), "a merge conflict"),
    (re.compile(r"[ \t]+$"), "blanks at the end of a line"),
]
GLOSSARY = "docs/glossary.md"
# Files of this test that contain what it looks for.
HAVE_PATTERNS = ("tests/lint/check_words.py", "tests/lint/lint_test.py")
HAVE_WORDS = (GLOSSARY, "tests/lint/glossary.py", "tests/lint/lint_test.py")


def check_text(path, text):
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in FORBIDDEN:
            if pattern.search(line):
                problems.append(f"{path}:{number}: {what}: {line.strip()[:100]}")
        if repository.is_code(path) and "\t" in line:
            problems.append(f"{path}:{number}: a tab")
    return problems


def check_glossary(pattern, path, text):
    """Problems of a file's name and of its text."""
    return [f"{path}: {GLOSSARY} refuses the word: {word}" for _, word in glossary.uses(pattern, path)] + [
        f"{path}:{number}: {GLOSSARY} refuses the word: {word}" for number, word in glossary.uses(pattern, text)]


def main(root):
    problems = []
    pattern = glossary.pattern_of(glossary.refused_words(repository.read(root, GLOSSARY)))
    for path in repository.files(root):
        if not path.endswith(TEXT_SUFFIXES):
            continue
        text = repository.read(root, path)
        if path not in HAVE_PATTERNS:
            problems += check_text(path, text)
        if path not in HAVE_WORDS and "golden" not in path and "seeds" not in path:
            problems += check_glossary(pattern, path, text)
    repository.finish(problems, "words")


if __name__ == "__main__":
    main(sys.argv[1])
