"""Every #include: modules include downwards only, each vendor header has one home, the environment one reader."""

import os
import re
import sys

import repository

# A module and its level; a file belongs to the longest prefix. Modules of one level never include each other;
# decimals order the modules of one parent directory only.
LEVELS = {
    "core/base": 0.1, "core/config": 0.2, "core/record": 0.3, "core/trace": 0.4, "core/buffer": 0.5,
    "core/lifecycle": 0.6, "core/hooks": 0.7, "kernels": 1, "exporters": 1, "analysis": 1, "plugin/tensors": 2.1,
    "plugin/capture": 2.2, "plugin/steps": 2.3, "plugin/api": 2,
    "plugin/nvtx": 2, "plugin/answer": 2, "gpu_layer": 3, "plugin/run": 4,
    "mpi_layer/table": 3.1, "mpi_layer/lookup": 3.2, "mpi_layer/calls": 3.3, "mpi_layer/handles": 3.4,
    "mpi_layer/own_communication": 3.5, "mpi_layer/semantics": 3.6, "mpi_layer/lifecycle": 3.7, "mpi_layer/wrappers": 3.8,
    "mpi_layer/fortran": 3.8,
    "plugin/live/protocol": 3.1, "plugin/live/views": 3.2, "plugin/live/projection": 3.2, "plugin/live/model": 3.3,
    "plugin/live/hub": 3.4, "plugin/live/http": 3.5, "plugin/live/compat": 3.5, "plugin/live/sessions": 3.6,
    "plugin/live/server": 3.7,
    "plugin/cli/common": 4.1, "plugin/cli/launch": 4.2, "plugin/cli/run_directory": 4.2, "plugin/cli/doctor": 4.3,
    "plugin/cli/analyze": 4.3, "plugin/cli/hang": 4.3, "plugin/cli/report": 4.3, "plugin/cli/convert": 4.3, "plugin/cli/run": 4.4,
    "plugin/cli/entry": 4.5,
}
# Directories outside the layers may include any module.
OUTSIDE = ("tests", "bench", "examples", "python", "viewer", "slurm")
# Vendor headers, and the only modules (or file names) that may include them.
VENDORS = [
    (r"mpi\.h|mpi-ext\.h|mpif.*", tuple("mpi_layer/" + part for part in
     ("lookup", "calls", "handles", "own_communication", "semantics", "lifecycle", "wrappers", "fortran")) +
     ("plugin/api/megascope/megascope_mpi.h",)),
    (r"otf2/.*", ("exporters/otf2",)),
    (r"dwarf\.h|libelf\.h|gelf\.h|elfutils/.*", ("analysis/symbols",)),
    (r"protozero/.*", ("exporters/perfetto",)),
    (r"boost/.*", ("plugin/live/sessions", "plugin/live/server")),
    (r"CLI/.*", ("plugin/cli/entry",)),
    (r"nvtx3/.*", ("plugin/nvtx",)),
    (r"cuda.*\.h|cupti.*\.h|nvml\.h", ("gpu_layer", "_cuda.")),
    (r"slurm/.*", ("slurm",)),
    (r"zlib\.h|zstd\.h", ("exporters", "plugin/cli", "analysis")),
    (r"fmt/.*|nlohmann/.*", ("exporters", "analysis", "plugin/answer", "plugin/cli", "plugin/live")),
    (r"thread|mutex|future|condition_variable|pthread\.h",
     ("core", "mpi_layer", "gpu_layer", "plugin", "analysis", "kernels")),
]
ENVIRONMENT = re.compile(r"\b(getenv|secure_getenv|setenv|putenv|unsetenv|environ)\b")
READS_ENVIRONMENT = ("core/config/", "plugin/api/stub.c")  # the stub is in programs, without anything else of ours
# The library never ends the application and never writes to its stdout.
GUEST_ROOMS = ("core/", "mpi_layer/", "plugin/run/", "plugin/api/", "plugin/nvtx/")
GUEST = re.compile(r"std::cout|(?<![\w.>:])printf\s*\(|\bputs\s*\(|(?<![\w.>])(?:std::)?(?:exit|abort)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def module_of(path):
    modules = [module for module in LEVELS if path.startswith(module + "/")]
    return max(modules, key=len) if modules else None


def format_of(path):
    """The format's directory of a file in exporters; None for what the formats share."""
    parts = path.split("/")
    return parts[1] if parts[0] == "exporters" and len(parts) > 2 and parts[1] != "common" else None


def sideways_or_upward(path, included):
    module, other = module_of(path), module_of(included)
    if other is None:
        return None
    if module == other:
        if module == "exporters" and format_of(included) not in (None, format_of(path)):
            return f"{included} is another format's"
        return None
    if LEVELS[other] >= LEVELS[module]:
        return f"{included} is of level {LEVELS[other]}, not below {module} ({LEVELS[module]})"
    if int(LEVELS[other]) == int(LEVELS[module]) and os.path.dirname(other) != os.path.dirname(module):
        return f"{included} is beside {module}: decimals order the modules of one parent directory only"
    return None


def vendor_problem(path, header):
    for pattern, homes in VENDORS:
        if re.fullmatch(pattern, header):
            at_home = any(path.startswith(home + "/") or path == home or (home.startswith("_") and home in path) for home in homes)
            return None if at_home else f"<{header}> belongs to {', '.join(homes)}"
    return None


def check_file(path, text, exists):
    """Problems of one file. `exists` tells whether a path of the repository is there."""
    problems = []
    outside = path.split("/")[0] in OUTSIDE
    for match in INCLUDE.finditer(text):
        angled, quoted = match.groups()
        line = text.count("\n", 0, match.start(1 if angled else 2)) + 1
        if quoted and not exists(quoted) and not (outside and exists(os.path.join(os.path.dirname(path), quoted))):
            problems.append(f"{path}:{line}: \"{quoted}\" is no path from the root of the repository")
            continue
        found = None if outside else (sideways_or_upward(path, quoted) if quoted else vendor_problem(path, angled))
        if found:
            problems.append(f"{path}:{line}: {found}")
    if not outside:
        problems += word_problems(path, repository.without_comments_and_strings(text))
    return problems


def word_problems(path, code):
    problems = []
    for number, line in enumerate(code.splitlines(), 1):
        if ENVIRONMENT.search(line) and not path.startswith(READS_ENVIRONMENT):
            problems.append(f"{path}:{number}: the environment is read in core/config only")
        if GUEST.search(line) and path.startswith(GUEST_ROOMS):
            problems.append(f"{path}:{number}: a guest does not exit, abort or write to stdout")
    return problems


def main(root):
    problems = []
    for path in repository.files(root):
        if not repository.is_code(path):
            continue
        if path.split("/")[0] not in OUTSIDE and module_of(path) is None:
            problems.append(f"{path}: is in no module; add its directory to LEVELS in tests/lint/check_includes.py")
            continue
        problems += check_file(path, repository.read(root, path),
                               lambda name: os.path.exists(os.path.join(root, name)))
    repository.finish(problems, "includes")


if __name__ == "__main__":
    main(sys.argv[1])
