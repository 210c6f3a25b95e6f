"""Runs the GPT and reads what it writes.

  ...test.py MEGASCOPE_GPT MPIRUN...      the launcher with its options, before -n
"""

import array
import math
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402
import reported_skips  # noqa: E402

PROGRAM, LAUNCHER = sys.argv[1], sys.argv[2:]
TIME_LIMIT_S = 120
GROUPS = ("exp_avg/", "exp_avg_sq/")


class Case(in_directory.InDirectory):
    def start(self, words, dp=1, tp=1, pp=1, ranks=None):
        """The finished process."""
        count = ranks or dp * tp * pp
        launcher = [*LAUNCHER, "-n", count] if count > 1 else []  # mpirun takes 2 s to end after a rank that has refused
        command = [*launcher, PROGRAM, "--dp", dp, "--tp", tp, "--pp", pp, *words]
        return subprocess.run(list(map(str, command)), capture_output=True, encoding="latin-1", timeout=TIME_LIMIT_S)

    def run_gpt(self, words, **split):
        """What a good run prints: losses, one a step, by step; and the other lines."""
        done = self.start(words, **split)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        lines = [re.fullmatch(r"step (\d+) loss (\S+)", line) for line in done.stdout.splitlines()]
        losses = {int(match[1]): float(match[2]) for match in lines if match}
        others = [line for line, match in zip(done.stdout.splitlines(), lines) if not match]
        return losses, "\n".join(others)

    def assert_close(self, found, expected, relative):
        self.assertEqual(list(found), list(expected))
        for step, loss in expected.items():
            self.assertTrue(math.isclose(found[step], loss, rel_tol=relative), f"step {step}: {found[step]}, not {loss}")


def read_checkpoint(path):
    """(fields of the header, name -> (shape, array of its numbers))."""
    fields, tensors = {}, {}
    with open(path, "rb") as file:
        assert file.readline() == b"megascope-gpt checkpoint 1\n"
        for line in iter(file.readline, b"end\n"):
            name, *rest = line.decode().split()
            if name == "tensor":
                tensors[rest[0]] = (list(map(int, rest[1:])), array.array("f"))
            else:
                fields[name] = int(rest[0])
        for shape, numbers in tensors.values():
            numbers.fromfile(file, math.prod(shape))
        assert not file.read(1)
    return fields, tensors


def largest_difference(path, other):
    """Between the weights of two checkpoints."""
    (_, ours), (_, theirs) = read_checkpoint(path), read_checkpoint(other)
    assert list(ours) == list(theirs)
    return max(max(abs(a - b) for a, b in zip(ours[name][1], theirs[name][1]))
               for name in ours if not name.startswith(GROUPS))


def main():
    reported_skips.main("-v")
