"""Every #include: modules include modules of lower layers only, each vendor header has one home, the environment one reader."""

import os
import re
import sys

import repository

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LAYER = re.compile(r"^megascope_add_layer\(\w+ LEVEL ([\d.]+)", re.MULTILINE)
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
READS_ENVIRONMENT = ("core/config/", "plugin/api/stub.c")  # the stub is linked into programs, without other code of MegaScope
# The library never ends the application and never writes to its stdout.
LIBRARY_MODULES = ("core/", "mpi_layer/", "plugin/run/", "plugin/api/", "plugin/nvtx/")
ENDS_OR_PRINTS = re.compile(r"std::cout|(?<![\w.>:])printf\s*\(|\bputs\s*\(|(?<![\w.>])(?:std::)?(?:exit|abort)\s*\(")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")', re.MULTILINE)


def layers_of(root):
    """{module: layer} as CMake has them; a module is a directory whose CMakeLists.txt adds a layer."""
    layers = {}
    for path in repository.files(root):
        layer = path.endswith("/CMakeLists.txt") and path.split("/")[0] not in OUTSIDE and LAYER.search(repository.read(root, path))
        if layer:
            layers[os.path.dirname(path)] = float(layer[1])
    return layers


# A file belongs to the longest prefix. Modules of one layer never include each other; decimals order the modules of one parent
# directory only.
LAYERS = layers_of(ROOT)


def module_of(path):
    modules = [module for module in LAYERS if path.startswith(module + "/")]
    return max(modules, key=len) if modules else None


def sideways_or_upward(path, included):
    module, other = module_of(path), module_of(included)
    if other is None or module == other:
        return None
    if LAYERS[other] >= LAYERS[module]:
        return f"{included} is of layer {LAYERS[other]}, not below {module} ({LAYERS[module]})"
    if int(LAYERS[other]) == int(LAYERS[module]) and os.path.dirname(other) != os.path.dirname(module):
        return f"{included} is of another directory than {module}: decimals order the modules of one parent directory only"
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
        if ENDS_OR_PRINTS.search(line) and path.startswith(LIBRARY_MODULES):
            problems.append(f"{path}:{number}: library code does not exit, abort or write to stdout")
    return problems


def table_problems(text, layers):
    """Rows of docs/architecture.md (| layer | `directory`, ... |) that are not the layers of CMake; directories without a row."""
    problems, seen = [], set()
    for layer, names in re.findall(r"^\| ([\d.]+) \| ((?:`[\w/]+`,? ?)+)", text, re.MULTILINE):
        for name in re.findall(r"`([\w/]+)`", names):
            seen.add(name)
            inside = [one for module, one in layers.items() if module == name or module.startswith(name + "/")]
            # A row may be a whole directory, such as analysis, of layer 1.
            if not inside or (layers.get(name, float(layer)) != float(layer)) or any(int(one) != int(float(layer)) for one in inside):
                problems.append(f"docs/architecture.md: {name} is not of layer {layer} in CMake")
    return problems + [f"docs/architecture.md: no row for {module}" for module in layers
                       if not any(module == name or module.startswith(name + "/") for name in seen)]


def main(root):
    problems = table_problems(repository.read(root, "docs/architecture.md"), LAYERS)
    for path in repository.files(root):
        if not repository.is_code(path):
            continue
        if path.split("/")[0] not in OUTSIDE and module_of(path) is None:
            problems.append(f"{path}: is in no module: no CMakeLists.txt on its way adds a layer")
            continue
        problems += check_file(path, repository.read(root, path),
                               lambda name: os.path.exists(os.path.join(root, name)))
    repository.finish(problems, "includes")


if __name__ == "__main__":
    main(sys.argv[1])
