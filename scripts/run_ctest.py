"""Runs ctest, says what was skipped and why, and fails on a skip that is not allowed.

  run_ctest.py [--preset NAME --failures FILE] BUILD_DIRECTORY ALLOWED_SKIPS [ctest arguments...]

ctest's own summary comes last; before it stand the failures of earlier runs with the same --failures.
A test inside a program that skips itself counts as a skip too.
"""

import argparse
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

SUMMARY = re.compile(r"\d+% tests passed, \d+ tests failed out of \d+|No tests were found")
COLOUR = re.compile(r"(?:\x1b|\[NON-XML-CHAR-0x1B\])\[[\d;]*m")  # GoogleTest's under mpirun, as ctest writes it
GTEST_SKIPPED = re.compile(r"^\[  SKIPPED \] ([\w./]+) \(\d+ ms\)", re.MULTILINE)
GTEST_REASON = re.compile(r"^.*: Skipped\n(.*)$", re.MULTILINE)
GTEST_SKIP = re.compile(r"^.*: Skipped\n(.*)\n+\[  SKIPPED \] ([\w./]+) \(\d+ ms\)", re.MULTILINE)
SCRIPT_REASON = re.compile(r"SKIPPED: *(.*)")
# What a failed test said: unittest's and GoogleTest's lines, sanitizers' and Python's errors.
FAILURE = re.compile(r"^(?:(?:FAIL|ERROR): .*|\w*(?:Error|Exception): .*|.*: Failure|.*WARNING: ThreadSanitizer: .*|.*ERROR: \w+Sanitizer: .*"
                     r"|.*: runtime error: .*|\[  FAILED  \] .*)$", re.MULTILINE)
MOST_SAID = 8


def read_allowed(path):
    """[(expression, reason)] of the lines of the list."""
    allowed = []
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                expression, _, reason = line.strip().partition(" ")
                allowed.append((re.compile(expression), reason.strip()))
    return allowed


def read_skips(junit):
    """[(name, reason)] of every skipped test in a JUnit file written by ctest."""
    skips = []
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        output = COLOUR.sub("", case.findtext("system-out") or "")
        reasons = GTEST_REASON.findall(output) or SCRIPT_REASON.findall(output)
        reason = reasons[0].strip() if reasons else "no reason given"
        if case.get("status") in ("notrun", "disabled") or case.find("skipped") is not None:
            skips.append((case.get("name"), reason))
        else:
            inner = sorted(set(GTEST_SKIPPED.findall(output)))
            own = {name: text.strip() for text, name in GTEST_SKIP.findall(output)}
            skips += [(f"{case.get('name')}:{name}", own.get(name, reason)) for name in inner]
    return skips


def report(skips, allowed):
    """Prints the skips; the number of those not allowed."""
    unlisted = 0
    print(f"\nSkipped: {len(skips)}")
    for name, reason in skips:
        is_listed = any(expression.fullmatch(name) for expression, _ in allowed)
        unlisted += not is_listed
        print(f"  {name}: {reason}{'' if is_listed else '   NOT ALLOWED: not in the list of skips'}")
    return unlisted


def read_failures(junit):
    """[name and the last lines that say why] of the tests that failed in a JUnit file written by ctest."""
    failures = []
    for case in xml.etree.ElementTree.parse(junit).getroot().iter("testcase"):
        if case.get("status") == "fail":
            output = COLOUR.sub("", case.findtext("system-out") or "")
            said = FAILURE.findall(output) or output.strip().splitlines()
            failures.append("\n      ".join([case.get("name"), *(line[:200] for line in said[-MOST_SAID:])]))
    return failures


def repeat_earlier(path):
    """Prints what earlier runs wrote to the file of failures."""
    if path and os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            print("\nFailed or not run before this run:\n" + file.read(), end="")


def write_failures(path, preset, failures):
    """Adds a line for each failure, for the runs that follow."""
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"  preset {preset}: {failure}\n" for failure in failures)


def parse_arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--preset", default="")
    parser.add_argument("--failures", default="")
    parser.add_argument("directory")
    parser.add_argument("allowed")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args()


def run_ctest(directory, junit, arguments):
    """Runs ctest and passes its output on up to the summary; (exit status, summary lines)."""
    command = ["ctest", "--test-dir", directory, "--output-on-failure", "--no-label-summary", "--no-tests=error",
               "--test-output-size-passed", "1000000", "--output-junit", junit, *arguments]
    summary = []
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    for line in process.stdout:
        if summary or SUMMARY.match(line):
            summary.append(line)
        else:
            sys.stdout.write(line)
            sys.stdout.flush()
    return process.wait(), summary


def main():
    given = parse_arguments()
    junit = os.path.abspath(os.path.join(given.directory, "junit.xml"))
    if os.path.exists(junit):
        os.remove(junit)
    status, summary = run_ctest(given.directory, junit, given.arguments)
    unlisted = 0
    failures = []
    if os.path.exists(junit):
        unlisted = report(read_skips(junit), read_allowed(given.allowed))
        failures = read_failures(junit)
    elif status == 0:
        print("run_ctest: ctest left no JUnit file, so skips cannot be told")
        status = 1
    if unlisted:
        failures.append(f"{unlisted} skip(s) not listed in {given.allowed}")
        print(f"run_ctest: {failures[-1]}: this run fails")
    repeat_earlier(given.failures)
    print()
    sys.stdout.write("".join(summary))
    if status != 0 or unlisted:
        write_failures(given.failures, given.preset, failures or [f"ctest ended with {status}"])
        sys.exit(1)


if __name__ == "__main__":
    main()
