"""Readers see facts as typed events (core/record/event_view.h); only core and producers use kinds and fields."""

import re
import sys

import repository

# These write facts. Tests and benchmarks make runs by hand.
MAY_USE = ("core/record/", "core/encoding/", "core/profile/", "core/hooks/", "mpi_layer/", "plugin/nvtx/", "analysis/import/", "analysis/synth/",
           "tests/", "bench/", "examples/")
KIND = re.compile(r"\bFactKind\b")
FIELDS = "kind|comm|request|sequence|peer|tag|bytes|bytes_received"
# A field of an object that is a fact by its name, or of an element of a call's facts.
FIELD = re.compile(rf"(\bfacts?_?|(?<=[.>])posted|\bfact\(\)|(?:facts|posted)\s*(?:\.(?:front|back)\(\)|\[\w+\]))"
                   rf"\s*(?:\.|->)\s*(?:{FIELDS})\b(?!\s*\()|&Fact::(?:{FIELDS})\b")


def check_file(path, text):
    """Problems of one file."""
    if path.startswith(MAY_USE) or not repository.is_code(path):
        return []
    problems = []
    for number, line in enumerate(repository.without_comments_and_strings(text).splitlines(), 1):
        if KIND.search(line):
            problems.append(f"{path}:{number}: FactKind outside of core and producers; use events::visit() (event_view.h)")
        elif FIELD.search(line):
            problems.append(f"{path}:{number}: a field of a fact; use its typed view (core/record/event_view.h)")
    return problems


def main(root):
    problems = []
    for path in repository.files(root):
        if repository.is_code(path):
            problems += check_file(path, repository.read(root, path))
    repository.finish(problems, "facts")


if __name__ == "__main__":
    main(sys.argv[1])
