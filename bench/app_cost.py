#!/usr/bin/env python3
"""Wall and CPU time of whole programs with and without recording, interleaved; the 95 % bound is of the median ratio,
by resampling.

  bench/app_cost.py BUILD_DIRECTORY [--rounds 15] [--only NAME]
"""

import argparse
import pathlib
import random
import resource
import shutil
import time

import support

LJ = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 16 0 16 0 16
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
run 300
"""

HPCC_TEMPLATE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
HPCC_LINES = {5: "1500 Ns", 7: "80 NBs", 10: "1 Ps", 11: "2 Qs"}  # line numbers from 0


def hpcc_input():
    lines = HPCC_TEMPLATE.read_text().splitlines()
    for number, text in HPCC_LINES.items():
        lines[number] = text
    return "\n".join(lines) + "\n"


def programs(build):
    """name -> (command, ranks, files beside it)."""
    found = {"heat2d, chatty": ([str(build.directory / "examples" / "heat2d"), "--cells", "768", "--steps", "60000"], 2, {})}
    if shutil.which("lmp"):
        found["LAMMPS"] = (["lmp", "-in", "in.lj", "-log", "none"], 2, {"in.lj": LJ})
    if shutil.which("hpcc") and HPCC_TEMPLATE.exists():
        found["HPCC"] = (["hpcc"], 2, {"hpccinf.txt": hpcc_input()})
    return found


def timed(configuration, program):
    command, ranks, files = program
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begin = time.monotonic()
    with support.Run(configuration, command, ranks, files) as run:
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        report = run.report()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall, cpu, report


def bound(bare, ours, draws=2000):
    """Upper end of the 95 % interval of median(ours) / median(bare)."""
    generator = random.Random(1)
    ratios = sorted(support.median(generator.choices(ours, k=len(ours))) /
                    support.median(generator.choices(bare, k=len(bare))) for _ in range(draws))
    return ratios[int(0.975 * draws)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", help="a program")
    arguments = parser.parse_args()
    build = support.Build(arguments.build)
    configurations = support.configurations(build, with_eztrace=False)
    print("| program | bare s | with s | wall, 95 % bound | CPU | MPI calls | own time outside of calls |")
    print("|---|---|---|---|---|---|---|")
    for name, program in programs(build).items():
        if arguments.only not in (None, name):
            continue
        samples = {"bare": [], "megascope": []}
        report = None
        for _ in range(arguments.rounds):
            for configuration in samples:
                wall, cpu, found = timed(configurations[configuration], program)
                samples[configuration].append((wall, cpu))
                report = found or report
        wall = {key: [sample[0] for sample in values] for key, values in samples.items()}
        cpu = {key: support.median([sample[1] for sample in values]) for key, values in samples.items()}
        ratio = support.median(wall["megascope"]) / support.median(wall["bare"])
        print(f"| {name} | {support.median(wall['bare']):.3f} | {support.median(wall['megascope']):.3f} | "
              f"{(ratio - 1) * 100:+.1f} %, {(bound(wall['bare'], wall['megascope']) - 1) * 100:+.1f} % | "
              f"{(cpu['megascope'] / cpu['bare'] - 1) * 100:+.1f} % | {report['mpi_calls']} | "
              f"{report.get('overhead_s', float('nan')) * 1e3:.2f} ms |")


if __name__ == "__main__":
    main()
