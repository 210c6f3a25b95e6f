"""The words that docs/glossary.md refuses, and where they stand in a text."""

import re

SECTION = "## Words that are not used"
# Names that users or other programs have typed: they stay (docs/glossary.md says so).
CONTRACTS = re.compile(
    r"MEGASCOPE_[A-Z0-9_]*|megascope_[a-z0-9_]*|[\"'`.\[]culprits?\b|\bculprits?[\"'`:]|third[- ]part\w+|/[\w/.-]+|--[a-z-]+|OTF2_\w+|MPI_\w+|"
    r"\"[a-z_]*folder[a-z_]*\"|\"step_talk\"|\"\.room\"|PICTURES_FOLDER")


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
