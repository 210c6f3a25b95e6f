"""Lists the functions of MPI libraries, in all their languages, for count_calls.c.

  count_calls.py LIBRARY... >count_calls.inc
"""

import re
import subprocess
import sys


def functions(library):
    listing = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listing.splitlines()]
    names = {row[2].partition("@")[0] for row in rows if row[1] in "TW"}
    return {name for name in names if re.fullmatch(r"MPI_[A-Z]\w*|mpi_[a-z]\w*", name)}


def main():
    names = sorted(set().union(*map(functions, sys.argv[1:])))
    if not names:
        sys.exit(f"no MPI function in {sys.argv[1:]}")
    print(*(f"CALL({number}, {name})" for number, name in enumerate(names)), sep="\n")


if __name__ == "__main__":
    main()
