"""Runs `megascope import` and `megascope analyze` on timelines with known faults, and compares the output with the faults.

    python3 corpus.py MEGASCOPE --cases dev --log evaluations.txt
    python3 corpus.py MEGASCOPE --cases examples,real,damaged --data DIRECTORY --log evaluations.txt

--cases, separated by commas: dev, held-out, held-out-2 to -4, seeds (5, 1-30), examples, real, damaged, programs (runs of
programs/inject.py, --programs), mpi_runs (simulated MPI programs of mpi_runs/; also mpi_runs:held-out, mpi_runs:5001-5072). Details of
held-out runs are printed with --reveal only. Each run of this program adds a line to --log, so that evaluations are counted.
"""

import argparse
import dataclasses
import datetime
import glob
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile

import contradictions
import damage
import foreign_timelines
import groups
import known_timelines
import score
import timeline_cases

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi_runs"))
import cases as mpi_cases  # pylint: disable=wrong-import-position
import runs as mpi_runs  # pylint: disable=wrong-import-position

MPI_RUNS = "mpi_runs"
DAMAGED_SHARE = 0.001
DISTURBED_SHARE = 0.1              # largest share of the cores' time that other processes used during a run of programs/inject.py
TIMEOUT_S = 300


class Failed(Exception):
    """The command ended with an unexpected exit code."""


@dataclasses.dataclass
class Judged:
    """A case and the judged output of it."""
    case: known_timelines.Case
    said: list
    score: score.Score
    contradictions: list
    slowdown: float | None = None
    explained: float | None = None     # share of the loss
    has_hint: bool = False             # the answer has `loss.mostly_in`
    error: str = ""

    @property
    def slowdown_right(self):
        return not self.case.slowdown or (self.slowdown is not None and abs(self.slowdown / self.case.slowdown - 1) <= 0.01)

    @property
    def right(self):
        return not self.error and self.score.right and self.slowdown_right


def megascope(program, *words, codes=(0,)):
    result = subprocess.run([program, *words], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if result.returncode not in codes:
        raise Failed(f"megascope {words[0]} ended with {result.returncode}: {result.stderr.strip()[-300:]}")
    return result


def output_of(program, case, scratch):
    """Imports the case, unless it is a run of MegaScope, and analyses it. Returns the text and the JSON as an Output."""
    run = os.path.join(scratch, "run") if case.arguments else case.source
    if case.arguments:
        shutil.rmtree(run, ignore_errors=True)
        megascope(program, "import", *case.arguments, case.source, "--out", run)
    text = megascope(program, "analyze", run, codes=(0, 1))
    answer = megascope(program, "analyze", run, "--json", codes=(0, 1))
    return contradictions.Output(text.stdout, json.loads(answer.stdout), text.returncode)


def judge(program, case, scratch):
    prepare(case)
    try:
        output = output_of(program, case, scratch)
    except (Failed, subprocess.TimeoutExpired) as error:
        return Judged(case, [], score.Score(missed=1), [], error=str(error))
    said = score.said_of(output.answer)
    return Judged(case, said, score.score_of(said, case.truth["accept"]), contradictions.contradictions(output), output.slowdown,
                  groups.explained_share(output.answer, case.truth), bool((output.answer.get("loss") or {}).get("mostly_in")))


def prepare(case):
    if case.archive and case.damage:
        damage.damage_file(case.archive, case.source, case.damage)
    elif case.archive:
        with tarfile.open(case.archive) as members:
            trusted = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.4
            members.extractall(os.path.dirname(case.source), **trusted)


def generated(seed, corpus, scratch):
    """The timeline of a seed, from the corpus, or generated if the corpus lacks it."""
    directory = foreign_timelines.directory_of(corpus or scratch, seed)
    truth_path = os.path.join(directory, "ground_truth.json")
    if not os.path.exists(truth_path):
        foreign_timelines.write_seed(corpus or scratch, seed)
    with open(truth_path, encoding="utf-8") as file:
        truth = json.load(file)
    return known_timelines.Case(f"{seed} {truth['case']}", directory, ("--from", "megascan"), truth, group="timelines")


def simulated(seed, corpus, scratch):
    """The MPI run of a seed, from the corpus, or generated if the corpus lacks it."""
    directory = mpi_runs.directory_of(corpus or scratch, seed)
    if not os.path.exists(os.path.join(directory, "ground_truth.json")):
        mpi_runs.write_seed(corpus or scratch, seed)
    with open(os.path.join(directory, "ground_truth.json"), encoding="utf-8") as file:
        truth = json.load(file)
    return known_timelines.Case(f"{seed} {truth['case']}", os.path.join(directory, "run"), (), truth, group=f"{MPI_RUNS} {truth['group']}")


def mpi_seeds_of(word):
    """The seeds of "mpi_runs" or "mpi_runs:SEEDS"; None for other words."""
    name, _, seeds = word.partition(":")
    return mpi_runs.seeds_of(seeds or "dev") if name == MPI_RUNS else None


def recorded(directory, with_disturbed):
    """Runs of real programs with a fault, written by programs/inject.py. Runs disturbed by other processes are omitted, unless
    with_disturbed."""
    for path in sorted(glob.glob(os.path.join(directory, "*", "ground_truth.json"))):
        with open(path, encoding="utf-8") as file:
            truth = json.load(file)
        if truth["others_share"] > DISTURBED_SHARE and not with_disturbed:
            continue
        run = os.path.dirname(path)
        yield known_timelines.Case(os.path.basename(run), os.path.join(run, "run"), (), truth, group="programs")


def kept_in(corpus, seed, held_out):
    """The corpus to keep a run in; None for held-out runs, which are not kept."""
    return None if seed in held_out else corpus


def cases_of(words, arguments, scratch):
    """Yields the cases. Each is generated when it is reached."""
    for word in words:
        if word == "programs":
            yield from recorded(arguments.programs, arguments.disturbed)
        elif word == "examples":
            yield from known_timelines.examples(arguments.data, scratch)
        elif word in ("real", "damaged"):
            yield from known_timelines.real_jobs(arguments.data, scratch, DAMAGED_SHARE if word == "damaged" else 0.0)
        elif mpi_seeds_of(word) is not None:
            for seed in mpi_seeds_of(word):
                yield simulated(seed, kept_in(arguments.corpus, seed, mpi_cases.HIDDEN_SEEDS), scratch)
        else:
            for seed in foreign_timelines.seeds_of(word):
                yield generated(seed, kept_in(arguments.corpus, seed, timeline_cases.HIDDEN_SEEDS), scratch)


def held_out_of(word):
    if mpi_seeds_of(word) is not None:
        return set(mpi_seeds_of(word)) & mpi_cases.HIDDEN_SEEDS
    return set(foreign_timelines.seeds_of(word)) & timeline_cases.HIDDEN_SEEDS


def holds_held_out(words):
    named = ("examples", "real", "damaged", "programs")
    return any(held_out_of(word) for word in words if word not in named)


def print_case(judged):
    mark = "yes" if judged.right else ("ranks" if judged.score.ranks_right and not judged.error else "NO")
    print(f"{judged.case.name:34.34} {score.truth_text(judged.case.truth):40.40} "
          f"{(judged.error or score.said_text(judged.said)):76.76} {mark}", flush=True)
    if not judged.slowdown_right and not judged.error:
        print(f"    slowdown {judged.slowdown}, published {judged.case.slowdown}")
    for name, sentence in judged.contradictions:
        print(f"    {name}: {sentence}")


def commit():
    """Short hash of the checked-out commit, with '+' if the tree has changes."""
    here = os.path.dirname(os.path.abspath(__file__))

    def git(*words):
        return subprocess.run(["git", "-C", here, *words], capture_output=True, text=True, check=False).stdout.strip()
    return (git("rev-parse", "--short", "HEAD") or "unknown") + ("+" if git("status", "--porcelain") else "")


def log_evaluation(path, words, totals, revealed):
    now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M")
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{now} {commit()} {','.join(words)} {totals.right}/{totals.cases} contradictions {totals.contradictions}"
                   f"{' revealed' if revealed else ''}\n")


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("megascope", help="the command")
    parser.add_argument("--cases", default="dev", type=lambda text: text.split(","))
    parser.add_argument("--corpus", help="directory with generated runs; those that it lacks are added")
    parser.add_argument("--programs", help="directory with runs of programs/inject.py")
    parser.add_argument("--disturbed", action="store_true", help="include runs during which other processes used more than a tenth of the cores")
    parser.add_argument("--data", default=os.environ.get("MEGASCOPE_TEST_DATA", ""), help="directory with foreign/ and straggler_ar/")
    parser.add_argument("--log", help="file to which this evaluation adds a line")
    parser.add_argument("--reveal", action="store_true", help="print the cases of held-out runs, too")
    parser.add_argument("--wrong-only", action="store_true", help="print cases that are wrong or contradict themselves only")
    arguments = parser.parse_args()
    arguments.hidden = holds_held_out(arguments.cases) and not arguments.reveal
    if "programs" in arguments.cases and not arguments.programs:
        parser.error("--cases programs needs --programs DIRECTORY")
    if holds_held_out(arguments.cases) and not arguments.log:
        parser.error("held-out runs need --log, because each evaluation of them is counted")
    return arguments


def main():
    arguments = read_arguments()
    totals, by_group, sums = score.Totals(), groups.Groups(), {}
    if not arguments.hidden:
        print(f"{'case':34} {'truth':40} {'said':76} right?")
    with tempfile.TemporaryDirectory(prefix="verdict.") as scratch:
        for case in cases_of(arguments.cases, arguments, scratch):
            judged = judge(arguments.megascope, case, scratch)
            for one in (totals, by_group.group(case.group).totals):
                if judged.error:
                    one.add_failure()
                else:
                    one.add(judged.score, case.truth["observable"] == "healthy", len(judged.contradictions), judged.right, judged.has_hint)
            by_group.group(case.group).add_share(judged.explained)
            for name, _ in judged.contradictions:
                sums[name] = sums.get(name, 0) + 1
            if not arguments.hidden and not (arguments.wrong_only and judged.right and not judged.contradictions):
                print_case(judged)
    for line in totals.lines() + by_group.lines() + [f"  {count:4} {name}" for name, count in sorted(sums.items(), key=lambda item: -item[1])]:
        print(line)
    if arguments.log:
        log_evaluation(arguments.log, arguments.cases, totals, arguments.reveal)
    return 0 if totals.right == totals.cases and not totals.contradictions else 1


if __name__ == "__main__":
    sys.exit(main())
