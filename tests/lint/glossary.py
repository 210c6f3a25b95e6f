"""Finds the words that docs/glossary.md refuses in texts."""

import re

SECTION = "## Words that are not used"
# Names that users or other programs have typed. They stay, as docs/glossary.md states. Each with the file that defines it.
CONTRACTS = [
    (r"MEGASCOPE_LIVE_GUEST_(?:RATE|CPU)\b", "core/config/option_table.h"),  # environment variables
    (r"megascope_live_guest_(?:rate|cpu)\b", "docs/configuration.md"),  # their anchors
    (r"megascope_live_guest_(?:bytes_total|cpu_seconds_total|skipped_total)\b", "plugin/live/http/metrics.cpp"),  # metrics
    (r"`megascope_live_guest_…`", "docs/live_compat.md"),  # the same
    (r"MEGASCOPE_PYTHON_FOLDER\b", "cmake/MegascopeOptions.cmake"),  # former name of a build option
    (r"([\"`])culprits\1", "plugin/cli/analyze/json.cpp"),  # JSON key of analyze and report.json
    (r"\"culprit\"", "plugin/cli/analyze/what_if.cpp"),  # JSON value: kind of a scenario
    (r"\"run_folder\"", "core/trace/layout.h"),  # property of native traces
    (r"([\"`])step_talk\1", "exporters/report/json.cpp"),  # JSON key of report.json
    (r"\"wishes\"", "plugin/live/hub/hello.cpp"),  # JSON key of the live view's `hello`
    (r"name_bytes wishes credits", "docs/live_protocol.md"),  # the same
    (r"\"\.room\"", "tests/outputs/other_users_test.py"),  # file that version 0.1 wrote into run directories
]
EXEMPT = [re.compile(pattern) for pattern, _ in CONTRACTS]


def refused_words(glossary):
    """The first column of the table in SECTION, word by word, in lower case."""
    lines = glossary[glossary.index(SECTION):].splitlines()
    words = []
    for line in lines[1:]:
        if line.startswith("## "):
            break
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) >= 3 and cells[1] and not set(cells[1]) <= set("- ") and cells[1] != "do not write":
            words += [word.strip() for word in cells[1].split(",")]
    return words


def spaced(text):
    """Identifiers as words: TwoWords, two_words and kTwoWords become two words."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return text.replace("_", " ").lower()


def pattern_of(words):
    plain = [spaced(word).strip() for word in words]
    plain = [word for word in plain if word]
    return re.compile(r"(?<!\w)(" + "|".join(sorted(map(re.escape, set(plain)), key=len, reverse=True)) + r")(?!\w)")


def uses(pattern, text):
    """(line number, word) of each refused word in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for exempt in EXEMPT:
            line = exempt.sub(" ", line)
        for match in pattern.finditer(spaced(line)):
            yield number, match[1]
