"""Looks for contradictions in the output of `megascope analyze` on many generated runs, healthy and faulty ones.

    python3 contradiction_lint.py MEGASCOPE --runs 10000 --jobs 2

A run of a seed is made by `megascope synth`, or, each tenth, a timeline of timeline_model.py in MegaScan's format. No truth is
compared. Prints each rule with its count and the first seeds, and examples with --show; --first N --runs 1 repeats a run.
"""

import argparse
import concurrent.futures
import json
import os
import random
import subprocess
import sys
import tempfile

import contradictions
import corpus
import timeline_cases
import timeline_files
import timeline_model

FOREIGN_EVERY = 10
FIRST_FOREIGN_SEED = 10000         # beyond those of the corpus
SEEDS_SHOWN = 6
RANK_FAULTS = ("slow_compute@{rank},x={x}", "host_stall@{rank},x={x}")
GROUP_FAULTS = ("stage_imbalance@{stage},x={x}", "input_imbalance@{replica},x={x}")
TIMES = ("", "", ",from={first}", ",from={first},to={last}", ",every=1/3")


def fault_words(draw, grid, steps, is_pipeline):
    """The words of one --fault."""
    tp, pp, dp = grid
    world = tp * pp * dp
    forms = list(RANK_FAULTS) + ["slow_link@{one}-{other},x={times}"]
    if is_pipeline:
        forms += [form for form, there in zip(GROUP_FAULTS, (pp > 1, dp > 1)) if there]
    first = draw.randrange(0, max(1, steps // 2))
    one, other = draw.sample(range(world), 2)
    text = draw.choice(forms) + draw.choice(TIMES)
    return text.format(rank=draw.randrange(world), x=draw.choice((0.03, 0.1, 0.2, 0.5, 1)), stage=draw.randrange(pp),
                       replica=draw.randrange(dp), one=one, other=other, times=draw.choice((2, 5, 9)), first=first,
                       last=first + draw.randrange(2, steps // 2))


def synth_words(seed):
    """Arguments of `megascope synth` for a seed."""
    draw = random.Random(f"lint:{seed}")
    pattern, steps = draw.choice(("1f1b", "1f1b", "halo", "interleaved")), draw.choice((10, 20, 40))
    if pattern == "halo":
        grid = (draw.choice((2, 4)), 1, draw.choice((2, 4)))
        sizes = ["--grid-x", grid[0], "--grid-y", grid[2]]
    else:
        grid = draw.choice([(2, 2, 2), (1, 2, 4), (2, 4, 1), (4, 2, 2), (1, 4, 2)])
        sizes = ["--tp", grid[0], "--pp", grid[1], "--dp", grid[2], "--micro-batches", draw.choice((4, 8))]
    noise = ["--noise", draw.choice((0.01, 0.02, 0.05, 0.1)), "--pauses", draw.choice((0, 0, 0.05)), "--pareto", draw.choice((0, 0, 0.01))]
    words = ["--pattern", pattern, "--steps", steps, "--seed", seed, *sizes, *noise]
    for _ in range(draw.choice((0, 1, 1, 1, 2))):
        words += ["--fault", fault_words(draw, grid, steps, pattern != "halo")]
    return [str(word) for word in words]


def foreign_run(program, seed, directory, run):
    """A timeline of a case, without its truth."""
    _, job, faults = timeline_cases.case_of(seed)
    timeline_files.write_directory(job, timeline_model.simulate(job, faults), directory)
    corpus.megascope(program, "import", "--from", "megascan", directory, "--out", run)


def output_of_seed(program, seed):
    with tempfile.TemporaryDirectory(prefix="lint.") as scratch:
        run = os.path.join(scratch, "run")
        if seed % FOREIGN_EVERY == 0:
            foreign_run(program, FIRST_FOREIGN_SEED + seed // FOREIGN_EVERY, os.path.join(scratch, "timeline"), run)
        else:
            corpus.megascope(program, "synth", "--out", run, *synth_words(seed))
        text = corpus.megascope(program, "analyze", run, codes=(0, 1))
        answer = corpus.megascope(program, "analyze", run, "--json", codes=(0, 1))
        return contradictions.Output(text.stdout, json.loads(answer.stdout), text.returncode)


def look(program, seed):
    """(seed, [(rule, sentence)], error)."""
    try:
        return seed, contradictions.contradictions(output_of_seed(program, seed)), ""
    except (corpus.Failed, subprocess.TimeoutExpired) as error:
        return seed, [], str(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("megascope", help="the command")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--show", type=int, default=1, help="examples a rule")
    arguments = parser.parse_args()
    found, failed, with_some = {}, [], 0
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        seeds = range(arguments.first, arguments.first + arguments.runs)
        for seed, sentences, error in pool.map(look, [arguments.megascope] * len(seeds), seeds, chunksize=4):
            with_some += bool(sentences)
            failed += [(seed, error)] if error else []
            for name, sentence in sentences:
                found.setdefault(name, []).append((seed, sentence))
    for name, seen in sorted(found.items(), key=lambda item: -len(item[1])):
        print(f"{len(seen):6} {name}; seeds {', '.join(str(seed) for seed, _ in seen[:SEEDS_SHOWN])}")
        for seed, sentence in seen[:arguments.show]:
            print(f"       seed {seed}: {sentence}")
    for seed, error in failed[:SEEDS_SHOWN]:
        print(f"failed: seed {seed}: {error}")
    print(f"{arguments.runs} runs, {with_some} with contradictions, {len(failed)} failed")
    return 1 if found or failed else 0


if __name__ == "__main__":
    sys.exit(main())
