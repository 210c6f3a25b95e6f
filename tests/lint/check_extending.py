"""docs/extending.md names the files that its examples are in: all of them, and no others.

A section begins with "## How to add". Its first column has paths: `*` stands for any part of a name, `NAME` for what is added.

- Each path exists.
- "Example: `word`, `word`.": each file of the product with one of the words outside of // comments is in the list, and each path
  of the list (outside of docs) has one of them. Exception: paths with NAME.
- "Template: `directory`.": it has exactly the files `.../NAME/file` of the list, and for `.../NAME.cpp` one file that ends so.
  "Present in" names directories that have these files as well."""

import fnmatch
import os
import re
import sys

import repository

PAGE = "docs/extending.md"
# Directories whose files a list must name if they contain a word of the example.
PRODUCT = ("core/", "kernels/", "exporters/", "analysis/", "mpi_layer/", "plugin/", "python/", "viewer/src/")
SECTION = re.compile(r"^## (How to add .*)$", re.MULTILINE)
ROW = re.compile(r"^\| ([^|]*) \|", re.MULTILINE)
COMMENT = re.compile(r"(?<!:)//.*")
CODE = re.compile(r"`([^`\n]+)`")


def sections(text):
    """{title: text} of the sections of the page."""
    parts = SECTION.split(text)[1:]
    return dict(zip(parts[::2], parts[1::2]))


def codes_after(word, text):
    """What stands in backquotes after "word:", up to the full stop."""
    match = re.search(rf"^{word}: ((?:`[^`\n]+`[, \n]*)+)\.", text, re.MULTILINE)
    return CODE.findall(match.group(1)) if match else []


def paths_of(text):
    return [path for cell in ROW.findall(text) for path in CODE.findall(cell)]


def pattern_of(path):
    return path.replace("NAME", "*")


def matches(files, path):
    """Files that the path stands for; `*` does not match a slash."""
    pattern = pattern_of(path)
    return [name for name in files if name.count("/") == pattern.count("/") and fnmatch.fnmatchcase(name, pattern)]


def example_problems(title, text, files, read):
    words = codes_after("Example", text)
    if not words:
        return [f"{PAGE}: {title}: no example"]
    listed = {path: matches(files, path) for path in paths_of(text)}
    with_word = {name for name in files
                 if name.startswith(PRODUCT) or any(name in found for found in listed.values())
                 if any(word in COMMENT.sub("", read(name)) for word in words)}
    problems = [f"{PAGE}: {title}: {path} has none of the words of the example"
                for path, found in listed.items()
                if found and "NAME" not in path and not path.startswith("docs/") and not with_word.intersection(found)]
    named = {name for found in listed.values() for name in found}
    return problems + [f"{PAGE}: {title}: {name} is missing" for name in sorted(with_word - named) if name.startswith(PRODUCT)
                       and not name.endswith(".md")]


def template_problems(title, text, files):
    problems = []
    for template in codes_after("Template", text):
        names = {os.path.basename(name) for name in files if os.path.dirname(name) == template}
        in_directory = {os.path.basename(path) for path in paths_of(text) if os.path.basename(os.path.dirname(path)) == "NAME"}
        if in_directory and names != in_directory:
            problems.append(f"{PAGE}: {title}: {template} has {', '.join(sorted(names))}")
        for path in paths_of(text):
            if os.path.basename(path).startswith("NAME.") and sum(name.endswith(path.split("NAME")[1]) for name in names) != 1:
                problems.append(f"{PAGE}: {title}: {template} has no one file as {path}")
        for directory in codes_after("Present in", text):
            present = {os.path.basename(name) for name in files if os.path.dirname(name) == directory}
            problems += [f"{PAGE}: {title}: {directory} has no {name}" for name in sorted(in_directory - present)]
    return problems


def check_page(text, files, read):
    """Problems of the page. files: paths of the repository. read: returns the text of one."""
    problems = []
    for title, section in sections(text).items():
        problems += [f"{PAGE}: {title}: there is no {path}" for path in paths_of(section) if not matches(files, path)]
        problems += example_problems(title, section, files, read)
        problems += template_problems(title, section, files)
    return problems


def main(root):
    text = repository.read(root, PAGE)
    files = [path for path in repository.files(root) if path != PAGE]
    problems = check_page(text, files, lambda path: repository.read(root, path))
    if len(sections(text)) < 7:
        problems.append(f"{PAGE}: only {len(sections(text))} sections were found")
    repository.finish(problems, "extending")


if __name__ == "__main__":
    main(sys.argv[1])
