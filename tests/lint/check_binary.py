"""What a binary shows and needs.

  library FILE    exports, undefined symbols, needed libraries and SONAME of libmegascope.so
  module FILE     the same of a module: exports megascope_module_<name> and nothing else
  wrappers DIRECTORY object files of the wrappers have no landing pads (.gcc_except_table)
"""

import glob
import os
import re
import subprocess
import sys

import repository

EXPORTS = re.compile(r"MPI_\w+|mpi_\w+|megascope_\w+|InitializeInjectionNvtx\w*")
MPI_NAMES = re.compile(r"P?MPI_\w+|p?mpi_\w+|P?MPIX_\w+|ompi_\w+|opal_\w+|mca_\w+|PMIx_\w+", re.IGNORECASE)
LIBC = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2"}
MODULE_LIBRARIES = LIBC | {"libopen-trace-format2.so.10", "libz.so.1", "libzstd.so.1", "libdw.so.1"}
GLIBC_FLOOR = (2, 36)  # Debian 12; stated in LIMITS.md


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbols(file, *options):
    """Dynamic symbols as (name, version): memcpy@GLIBC_2.14 is ("memcpy", "GLIBC_2.14")."""
    for line in run("nm", "-D", *options, file).splitlines():
        name, _, version = line.split()[-1].partition("@")
        yield name, version.lstrip("@")


def dynamic_entries(file, tag):
    return re.findall(rf"\({tag}\).*\[(.*)\]", run("readelf", "-d", "-W", file))


def undefined_problems(file):
    problems = []
    for name, version in symbols(file, "--undefined-only"):
        if MPI_NAMES.fullmatch(name):
            problems.append(f"{file}: {name} is undefined: in a program without MPI it kills or misleads")
        floor = re.fullmatch(r"GLIBC_(\d+)\.(\d+).*", version)
        if floor and (int(floor[1]), int(floor[2])) > GLIBC_FLOOR:
            problems.append(f"{file}: {name} needs {version}, above the stated floor")
    return problems


def needed_problems(file, allowed):
    return [f"{file}: needs {name}" for name in dynamic_entries(file, "NEEDED") if name not in allowed]


def check_library(file):
    problems = [f"{file}: exports {name}, which is not on the list"
                for name, _ in symbols(file, "--defined-only") if not EXPORTS.fullmatch(name)]
    problems += undefined_problems(file) + needed_problems(file, LIBC)
    if dynamic_entries(file, "SONAME") != ["libmegascope.so.1"]:
        problems.append(f"{file}: SONAME is {dynamic_entries(file, 'SONAME')}, not libmegascope.so.1")
    return problems


def check_module(file):
    name = re.fullmatch(r"libmegascope_(\w+)\.so", os.path.basename(file))[1]
    exported = sorted(symbol for symbol, _ in symbols(file, "--defined-only"))
    problems = undefined_problems(file) + needed_problems(file, MODULE_LIBRARIES)
    if exported != [f"megascope_module_{name}"]:
        problems.append(f"{file}: exports {exported}, not megascope_module_{name} alone")
    return problems


def check_wrappers(directory):
    objects = [file for file in glob.glob(os.path.join(directory, "**", "*.o"), recursive=True)
               if "megascope_mpi_wrappers.dir" in file or os.path.basename(file).startswith("wrap_")]
    print(f"{len(objects)} object(s) of wrappers")
    if not objects:
        return [f"{directory}: has no object of a wrapper"]
    return [f"{file}: has landing pads (.gcc_except_table): two unwinders may meet in it"
            for file in objects if ".gcc_except_table" in run("readelf", "-S", "-W", file)]


CHECKS = {"library": check_library, "module": check_module, "wrappers": check_wrappers}

if __name__ == "__main__":
    repository.finish(CHECKS[sys.argv[1]](sys.argv[2]), f"binary {sys.argv[1]}")
