"""A program that uses every function for files: its own books are what the report has, the OTF2 archive is sound to readers
that are not ours and has the same, and so has every file's row.

  io_tracking_test.py PROGRAM LIBRARY TOOLS RANKS MPIRUN...
"""

import collections
import json
import subprocess
import sys
import tempfile

PROGRAM, LIBRARY, TOOLS, RANKS, *MPIRUN = sys.argv[1:]
sys.path.insert(0, TOOLS)
import launch  # noqa: E402
WAYS = {"read": "bytes_received", "wrote": "bytes_sent"}


def play(directory):
    """The books of all ranks, and the report."""
    environment = {"LD_PRELOAD": LIBRARY, "MEGASCOPE_OUT": f"{directory}/run", "MEGASCOPE_SCRATCH": directory,
                   "MEGASCOPE_EXPORT": "otf2"}
    subprocess.run([*MPIRUN, *launch.setting(MPIRUN, **environment), "-n", RANKS, PROGRAM, f"{directory}/book"], check=True, timeout=100)
    books = collections.Counter()
    for rank in range(int(RANKS)):
        with open(f"{directory}/book.{rank}", encoding="utf-8") as file:
            books.update({name: int(count) for name, count in map(str.split, file)})
    with open(f"{directory}/run/report.json", encoding="utf-8") as file:
        return books, json.load(file)


def judge(directory):
    result = subprocess.run(["/usr/bin/python3", f"{TOOLS}/check_otf2.py", f"{directory}/run/trace.otf2"],
                            capture_output=True, text=True, timeout=100, check=False)
    return json.loads(result.stdout)


def expect(what, has, should):
    if has != should:
        sys.exit(f"{what}: {has}, should be {should}")


def main():
    with tempfile.TemporaryDirectory(prefix="io_tracking_test.") as directory:
        books, report = play(directory)
        otf2 = judge(directory)
    calls = {name: count for name, count in books.items() if name.startswith("MPI_")}
    expect("defects", otf2["defects"], {})
    expect("calls in the report", {name: row["calls"] for name, row in report["functions"].items()}, calls)
    expect("calls in OTF2", otf2["calls"], calls)
    for way, column in WAYS.items():
        moved = {name.partition(":")[2]: count for name, count in books.items() if name.startswith(way + ":")}
        told = {name: row[column] for name, row in report["functions"].items() if row[column]}
        expect(f"bytes {way}", told, moved)
        of_files = sum(row["bytes_read" if way == "read" else "bytes_written"] for row in report["files"])
        expect(f"bytes {way} of files", of_files, sum(moved.values()))
        expect(f"bytes {way} in OTF2", otf2["io"]["bytes_read" if way == "read" else "bytes_written"], sum(moved.values()))
    opened = calls["MPI_File_open"] - failed_opens()
    expect("files opened in OTF2", otf2["io"]["files_opened"], opened)
    expect("files open at the end", otf2["io"]["handles_open_at_end"], 0)
    expect("losses", sum(report["losses"].values()), 0)
    expect("rows of files", len(report["files"]), 1 + 2 * int(RANKS))


def failed_opens():
    """Each use of all functions tries one file that is not there."""
    return 2 * int(RANKS)


if __name__ == "__main__":
    main()
