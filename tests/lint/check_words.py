"""Words that must not be in the repository: those that docs/glossary.md refuses, paths of one machine, TODO without an issue, tabs."""

import re
import sys

import glossary
import repository

TEXT_SUFFIXES = repository.CODE_SUFFIXES + (".md", ".txt", ".py", ".sh", ".cmake", ".json", ".map", ".yml", ".ts", ".vue", ".in",
                                              ".js", ".mjs", ".css", ".html", ".f90", ".F90")
FORBIDDEN = [
    (re.compile(r"(?<![\w.}/*-])/(?:work|root|home)/\w"), "a path of one machine"),
    (re.compile(r"\bTODO\b(?! ?\(?#\d)"), "TODO needs an issue number"),
    (re.compile(r"<{7} |>{7} "), "a merge conflict"),
    (re.compile(r"[ \t]+$"), "blanks at the end of a line"),
]
GLOSSARY = "docs/glossary.md"


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
    return [f"{path}:{number}: {GLOSSARY} refuses the word: {word}" for number, word in glossary.uses(pattern, text)]


def main(root):
    problems = []
    pattern = glossary.pattern_of(glossary.refused_words(repository.read(root, GLOSSARY)))
    for path in repository.files(root):
        if path.startswith("tests/lint/") or not path.endswith(TEXT_SUFFIXES):
            continue
        text = repository.read(root, path)
        problems += check_text(path, text)
        if path != GLOSSARY and "golden" not in path and "seeds" not in path:
            problems += check_glossary(pattern, path, text)
    repository.finish(problems, "words")


if __name__ == "__main__":
    main(sys.argv[1])
