"""What the benchmark scripts share: where things are, how a configuration is run."""

import json
import os
import pathlib
import shutil
import statistics
import subprocess
import tempfile


class Build:
    """A build directory with libmegascope.so and the benchmark programs."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        self.library = self.directory / "lib" / "libmegascope.so"

    def program(self, name):
        return str(self.directory / "bin" / name)

    def floor(self, name):
        return str(self.directory / "lib" / f"lib{name}.so")


def configurations(build, with_eztrace=True, with_places=False):
    """name -> (words before the program, environment)."""
    ours = {"LD_PRELOAD": str(build.library), "MEGASCOPE_REPORT": "off", "MEGASCOPE_EXPORT": "none"}
    result = {
        "bare": ([], {}),
        "forwarder": ([], {"LD_PRELOAD": build.floor("floor_forward")}),
        "clock+32B": ([], {"LD_PRELOAD": build.floor("floor_record")}),
        "megascope": ([], ours),
        "not recording": ([], ours | {"MEGASCOPE_ENABLE": "0"}),
        # All but one function that no program here calls: without any, the library would not record at all.
        "excluded": ([], ours | {"MEGASCOPE_MPI": "none+MPI_Cart_rank"}),
    }
    if with_places:
        result["megascope, places"] = ([], ours | {"MEGASCOPE_CALLSITE": "1"})
    if with_eztrace and shutil.which("eztrace"):
        result["EZTrace"] = (["eztrace", "-t", "openmpi"], {})
    return result


def mpi_environment():
    return {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1"}


class Run:
    """One run in a directory of its own: output lines, bytes left behind, our report if there is one."""

    def __init__(self, configuration, command, ranks=1, files=None):
        words, environment = configuration
        self.directory = tempfile.mkdtemp(prefix="megascope-bench-")
        for name, text in (files or {}).items():
            (pathlib.Path(self.directory) / name).write_text(text)
        launcher = ["mpirun.openmpi", "-n", str(ranks)]
        for name, value in environment.items():
            launcher += ["-x", f"{name}={value}"]
        self.result = subprocess.run(launcher + words + command, cwd=self.directory, capture_output=True, text=True,
                                     env=os.environ | mpi_environment(), timeout=600)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        shutil.rmtree(self.directory, ignore_errors=True)

    def rows(self):
        """name -> numbers, of lines "name number number ..."."""
        rows = {}
        for line in self.result.stdout.splitlines():
            words = line.split()
            if len(words) == 4:
                rows[words[0]] = [float(word) for word in words[1:]]
        return rows

    def report(self):
        for path in pathlib.Path(self.directory).glob("megascope-*/report.json"):
            report = json.loads(path.read_text())
            lost = {cause: count for cause, count in report["losses"].items() if count}
            if lost:
                raise SystemExit(f"records were lost ({lost}): this is not the cost of recording")
            return report
        return None

    def report_text(self):
        for path in pathlib.Path(self.directory).glob("megascope-*/report.txt"):
            return path.read_text()
        return ""

    def trace_bytes(self, suffix):
        return sum(path.stat().st_blocks * 512 for path in pathlib.Path(self.directory).rglob("*" + suffix))


def median(values):
    return statistics.median(values) if values else float("nan")
