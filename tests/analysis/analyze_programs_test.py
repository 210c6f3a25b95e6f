"""megascope analyze on programs that really run, as a user calls it.

  analyze_programs_test.py MEGASCOPE WAITING MPIRUN...
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

MEGASCOPE, WAITING, *MPIRUN = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tools"))
import launch  # noqa: E402
import recorded_case  # noqa: E402

HEAT2D = os.path.join(os.path.dirname(MEGASCOPE), "..", "examples", "heat2d")
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
STEPS = 40
DELAY_US = 10_000
TRIES = 3
DISTURBED = 0.2


class Case(recorded_case.Case):
    megascope, mpirun = MEGASCOPE, MPIRUN
    decoding = "strict"

    def setUp(self):
        super().setUp()
        self.scratch = self.make_directory("scratch")

    def record(self, mode, slow, ranks=4, delay_us=DELAY_US, directory=None, **variables):
        settings = {"MEGASCOPE_SCRATCH": self.scratch, "MEGASCOPE_EXPORT": "none", "MEGASCOPE_OUT": directory or self.run_directory, **variables}
        return self.finished(*MPIRUN, *launch.setting(MPIRUN, LD_PRELOAD=self.library), "-n", ranks, WAITING, mode, slow, delay_us, STEPS, **settings)

    def analyze(self, *words, directory=None):
        return self.finished(MEGASCOPE, "analyze", directory or self.run_directory, *words)

    def found(self):
        result = self.analyze("--json")
        found = json.loads(result.stdout)
        has_found = bool(found["culprits"] or found["matching"]["mismatches"])
        self.assertEqual((result.returncode, result.stderr), (1 if has_found else 0, ""))
        return found

    def play(self, mode, slow, **variables):
        """Records and analyses; records again where the machine delayed ranks by a good part of what was put in, as they say themselves."""
        for _ in range(TRIES):
            shutil.rmtree(self.run_directory, ignore_errors=True)
            said = self.record(mode, slow, **variables).stderr
            overslept_us = {int(rank): int(time_us) for rank, time_us in re.findall(r"overslept (\d+) (\d+)", said)}
            if max(overslept_us.values()) < DISTURBED * STEPS * DELAY_US:
                break
        found = self.found()
        self.check_blame(found, slow)
        return found

    def check_blame(self, found, slow):
        """The slow rank causes nearly all of it, and about what was injected."""
        caused = {rank["rank"]: rank["caused_s"] for rank in found["per_rank"]}
        self.assertEqual(max(caused, key=caused.get), slow, caused)
        self.assertAlmostEqual(sum(caused.values()), found["waits"]["total_s"], places=6)
        self.assertGreater(caused[slow], 0.6 * found["waits"]["total_s"], caused)
        self.assertRegex(found["verdict"], rf"[Rr]ank {slow}\b")
        self.assertIn(slow, found["culprits"][0]["ranks"], found["culprits"])
        self.assertEqual(found["clock"]["violations"], 0)


class Waits(Case):
    def test_a_late_rank_is_named_at_a_collective(self):
        found = self.play("allreduce", 2)
        injected_s = 3 * STEPS * DELAY_US / 1e6  # that the other three wait
        self.assertGreater(found["waits"]["kinds"]["wait at NxN"]["s"], 0.7 * injected_s)
        self.assertEqual(found["matching"]["collectives"], STEPS + 1)
        self.assertEqual(found["matching"]["unmatched"], 0)

    def test_a_late_sender_is_named_through_the_ranks_behind_it(self):
        found = self.play("chain", 1)
        self.assertEqual(found["matching"]["messages"], 3 * STEPS)
        self.assertEqual(found["matching"]["unmatched"], 0)

    def test_nonblocking_neighbours(self):
        found = self.play("halo", 3)
        self.assertEqual(found["matching"]["messages"], 8 * STEPS)
        self.assertEqual(found["matching"]["unmatched"], 0)

    def test_wildcards(self):
        found = self.play("wildcard", 1)
        self.assertEqual(found["matching"]["messages"], 3 * STEPS)
        self.assertEqual(found["matching"]["unmatched"], 0)

    def test_clocks_that_differ(self):
        found = self.play("halo", 2, MEGASCOPE_TEST_CLOCK="1/1000000000/100+2/-5000000/-50+3/7000/20/3000")
        self.assertEqual(found["clock"]["domains"], 4)
        self.assertGreater(found["clock"]["p99_ns"], 0)
        self.assertEqual((found["matching"]["messages"], found["matching"]["unmatched"]), (8 * STEPS, 0))

    def test_text_begins_with_the_answer(self):
        found = self.play("allreduce", 0)
        result = self.analyze()
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertTrue(" ".join(result.stdout.split()).startswith(found["verdict"]), result.stdout)
        self.assertEqual(found["steps_are"], "inferred")
        self.assertIn(f"The application annotates no steps: {found['steps']} were inferred from repeating calls.", result.stdout)
        self.assertIn("Ranks wait for each other", found["verdict"])
        for part in ("Rank 0 ", "Wait states by rank", "Wait states by kind", "Critical path", "Matched: 0 messages, 41 collectives"):
            self.assertIn(part, result.stdout)


def pattern_of(sentences):
    """Ranks, what they do and the words for causes are as shown. Numbers, the node and the steps may differ."""
    when = r"(?:in \d+ of the \d+ steps )?(?:in the whole run|of the run|since step \d+|from step \d+ to \d+)"
    differing = {r"\(vm\)": r"\(\S+\)", "in the whole run": when, r"[\d.]+ times": r"[\d.]+ times", r"[\d.]+ %": r"[\d.]+ %",
                 r"[\d.]+ [mu]?s\b": r"[\d.]+ [mu]?s"}
    parts = re.split(f"({'|'.join(differing)})", sentences)
    return "".join(next((general for exact, general in differing.items() if re.fullmatch(exact, part)), re.escape(part)) for part in parts)


class Readme(Case):
    def first_result(self, options, arguments):
        """The verdict at the end of the run and what `megascope analyze` prints, with single blanks."""
        shutil.rmtree(self.run_directory, ignore_errors=True)
        done = self.finished(MEGASCOPE, "run", "--", *MPIRUN, *options, HEAT2D, *arguments, MEGASCOPE_OUT=self.run_directory,
                             MEGASCOPE_SCRATCH=self.scratch)
        self.assertEqual(done.returncode, 0, done.stderr)
        return " ".join((done.stderr.partition("\nVerdict ")[2] + self.analyze().stdout).split())

    def test_shows_sentences_that_its_first_program_leads_to(self):
        with open(README, encoding="utf-8") as file:
            text = file.read()
        command = re.search(r"^MEGASCOPE_OUT=\w+ megascope run -- mpirun (-n \d+) \S+/examples/heat2d (.*?) +#", text, re.MULTILINE)
        shown = re.search(r"It ends with a verdict\b[^:]*:\n\n((?:    .*\n)+)\n", text)[1]
        patterns = [pattern_of(sentences) for sentences in " ".join(shown.split()).split(" ... ")]
        said = self.first_result(command[1].split(), command[2].split())
        for pattern in patterns:
            self.assertRegex(said, pattern)


class Timelines(Case):
    def exported(self, directory, *words):
        result = subprocess.run([MEGASCOPE, "export", self.run_directory, "-f", "chrome", "-o", os.path.join(self.directory, directory), *words],
                                capture_output=True, text=True, timeout=100)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        with gzip.open(os.path.join(self.directory, directory, "trace.json.gz"), "rt", encoding="utf-8") as file:
            return json.load(file)["traceEvents"], result.stdout

    def test_show_who_is_slow_and_who_waits_for_it(self):
        first = self.play("allreduce", 2)["culprits"][0]
        events, said = self.exported("with")
        self.assertRegex(said, r"findings: \d+ root causes?, \d+ wait states\n")
        (finding,) = [event for event in events if event.get("cat") == "finding" and event["pid"] == 2
                      and event["args"].get("factor") == first["factor"] and event["args"]["onset_step"] == first["onset_step"]]
        self.assertRegex(finding["name"], r"[Rr]ank 2\b")
        self.assertGreaterEqual(finding["dur"], DELAY_US * (first["last_step"] - first["onset_step"]), "over all its steps")
        calls = {(event["pid"], event["ts"]): event for event in events if event.get("name") == "MPI_Allreduce" and event["ph"] == "X"}
        waits = [event for event in events if event.get("name") == "wait at NxN: rank 2"]
        self.assertGreater(len(waits), 2 * STEPS)
        for wait in waits:
            self.assertLessEqual(wait["dur"], calls[wait["pid"], wait["ts"]]["dur"])
            self.assertEqual(wait["args"]["waits_for"], 2)
        self.assertGreater(sum(wait["dur"] for wait in waits), 0.7 * 3 * STEPS * DELAY_US)

    def test_show_nothing_of_it_when_told_so(self):
        self.record("allreduce", 2)
        events, said = self.exported("without", "--no-findings")
        self.assertNotIn("findings", said)
        self.assertEqual([event for event in events if event.get("cat") in ("finding", "wait")], [])


class BadInput(Case):
    def test_a_killed_rank(self):
        self.record("die", 2)
        subprocess.run([MEGASCOPE, "recover", self.run_directory, "--scratch", self.scratch], capture_output=True, timeout=100, check=False)
        found = self.found()
        # The last one is that in which the others wait, if they came to it before the launcher ended them.
        self.assertIn(found["matching"]["collectives"], (STEPS // 2 + 1, STEPS // 2 + 2))
        self.assertEqual(found["matching"]["mismatches"], [])
        self.assertTrue(any("before MPI_Finalize" in limit for limit in found["limits"]), found["limits"])

    def test_a_missing_rank(self):
        self.record("halo", 1)
        os.remove(os.path.join(self.run_directory, "rank-3.mgt"))
        found = self.found()
        self.assertIn("No trace of rank 3 is available. Waits for ranks without a trace are not detected.", found["limits"])
        self.assertEqual(found["matching"]["messages"], 4 * STEPS)
        self.assertGreater(found["matching"]["unmatched_receives"]["no_trace"], 0)
        self.assertEqual(found["matching"]["unmatched_receives"]["no_partner"], 0)

    def test_a_truncated_rank(self):
        self.record("allreduce", 1)
        path = os.path.join(self.run_directory, "rank-3.mgt")
        size = os.path.getsize(path)
        os.truncate(path, size // 3 // 4096 * 4096)  # what calls there were is cut off
        result = self.analyze("--json")
        self.assertIn(result.returncode, (0, 1))
        found = json.loads(result.stdout)
        self.assertLess(found["matching"]["collectives"], STEPS + 2)
        self.assertEqual(found["matching"]["mismatches"], [])
        self.assertTrue(found["limits"])

    def test_one_rank(self):
        self.record("allreduce", 0, ranks=1)
        self.assertEqual(self.found()["verdict"], "The run has one rank, so no rank waits for another.")

    def test_no_trace(self):
        os.mkdir(self.run_directory)
        result = self.analyze()
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("run", result.stderr)

    def test_traces_of_two_jobs(self):
        other = os.path.join(self.directory, "other")
        self.record("allreduce", 1)
        self.record("allreduce", 1, directory=other)
        shutil.copy(os.path.join(other, "rank-1.mgt"), os.path.join(self.run_directory, "rank-1.mgt"))
        result = self.analyze("--json")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("rank 1 and rank 0 belong to different jobs", result.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]], verbosity=2)
