"""The words that docs/glossary.md refuses, and where they stand in a text."""

import re

SECTION = "## Words that are not used"
# Names that users or other programs have typed: they stay (docs/glossary.md says so). Each with the reason.
EXEMPT = [
    r"MEGASCOPE_[A-Z0-9_]*|megascope_[a-z0-9_]*",  # environment variables, exported symbols
    r"[\"'`.\[]culprits?\b|\bculprits?[\"'`:]",    # JSON key of analyze and report.json
    r"\"run_folder\"",                             # property of native traces
    r"[\"`]step_talk[\"`]",                        # JSON key of report.json
    r"\"wishes\"|name_bytes wishes credits",       # JSON key of the live view's `hello`, in code and in docs/live_protocol.md
    r"--[a-z-]+|/[\w/.-]+",                        # option names, paths
    r"OTF2_\w+|MPI_\w+|third[- ]part\w+",         # names of other projects; no use of a refused word
    r"\"\.room\"",                                 # file that version 0.1 wrote into run directories (other_users_test.py)
    r"PICTURES_FOLDER",                            # environment variable of the page's tests (docs/live.md)
]
CONTRACTS = re.compile("|".join(EXEMPT))


def refused_words(glossary):
    """The first column of the table behind SECTION, word by word, lower case."""
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
    """Identifiers as words: GuestBudget, guest_budget and kGuest become guest budget."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", text)
    return text.replace("_", " ").lower()


def pattern_of(words):
    plain = [spaced(word).strip() for word in words]
    plain = [word for word in plain if word]
    return re.compile(r"(?<![\w-])(" + "|".join(sorted(map(re.escape, set(plain)), key=len, reverse=True)) + r")(?!\w)")


def uses(pattern, text):
    """(line number, word) of each refused word in a text."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in pattern.finditer(spaced(CONTRACTS.sub(" ", line))):
            yield number, match[1]
