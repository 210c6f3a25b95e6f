"""The programs: what each needs, how it is started, and what of its output must be the same with and without MegaScope."""

import pathlib
import re
import shutil
import subprocess

import silicon

HERE = pathlib.Path(__file__).parent
PYTHON = "/usr/bin/python3"  # Debian's, which has Debian's modules

LAMMPS_INPUT = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
thermo 20
run 200
"""
LARGE = 2**31 + 2**20  # bytes, in many.cpp
HPCC_TEMPLATE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
HPCC_LINES = {5: "100 Ns", 7: "40 NBs", 10: "1 Ps", 11: "2 Qs"}  # small enough for a test; line numbers from 0


class App:
    """programs: where those are that were built here; ranks; exit_code of a good run; is_whole: all ranks reach MPI_Finalize
    with no message left over; judges: who looks at the traces (run_app.py), of large traces only the fast ones;
    received: bytes that functions of the report must have received."""
    ranks = 2
    exit_code = 0
    is_whole = True
    environment = {}
    programs = pathlib.Path()
    judges = ("otf2", "timelines")
    received = {}

    def missing(self):
        """What is not installed, or None."""
        return None

    def prepare(self, directory):
        """Puts input into directory; the command that a rank runs there."""
        raise NotImplementedError

    def results(self, directory, output):
        """What must be equal: all that is printed, line by line."""
        return output.splitlines()


class Program(App):
    program = ""

    def missing(self):
        return None if shutil.which(self.program) else self.program


class Lammps(Program):
    program = "lmp"

    def prepare(self, directory):
        (directory / "in.lj").write_text(LAMMPS_INPUT)
        return ["lmp", "-in", "in.lj", "-log", "none"]

    def results(self, directory, output):
        """The thermodynamic table, digit by digit."""
        rows = [line.split() for line in output.splitlines() if re.match(r"^ +\d+ +[-\d.]", line)]
        return [row for row in rows if len(row) == 6]


class Hpcc(Program):
    program = "hpcc"

    def prepare(self, directory):
        lines = HPCC_TEMPLATE.read_text().splitlines()
        for number, text in HPCC_LINES.items():
            lines[number] = text
        (directory / "hpccinf.txt").write_text("\n".join(lines) + "\n")
        return ["hpcc"]

    def results(self, directory, output):
        """What does not depend on speed: which parts ran, the residuals of HPL, the verdicts."""
        text = (directory / "hpccoutf.txt").read_text()
        found = re.findall(r"^(?:Begin|End) of .*|^\|\|Ax-b.*|^Success=.*|^.*_n=.*|^CommWorldProcs=.*|^HPL_N.*=.*|"
                           r"^.*tests? completed.*|^.*(?:Failed|failed).*", text, re.M)
        return [line for line in found if not re.search(r"time|GFlops|GBs|GUPs", line)]


class Ours(App):
    """A program of this directory, built as app_NAME; all it prints must be equal."""

    def __init__(self, name, *arguments, exit_code=0, is_whole=True, judges=App.judges, received=None):
        self.name, self.arguments, self.exit_code, self.is_whole = name, arguments, exit_code, is_whole
        self.judges, self.received = judges, received or {}

    def prepare(self, directory):
        return [str(self.programs / f"app_{self.name}"), *self.arguments]


class PwX(Program):
    """Quantum-espresso, a Fortran program with communicators for pools of processes, of which there are two."""
    program = "pw.x"
    ranks = 4
    environment = {"OMP_NUM_THREADS": "1"}

    def prepare(self, directory):
        silicon.write(directory)
        return ["pw.x", "-nk", "2", "-in", "si.in"]

    def results(self, directory, output):
        """Energies, bands, forces and stress, digit by digit: all but times."""
        return [line for line in output.splitlines() if not re.search(r"secs|WALL|starts on|terminated on", line)]


class Python(App):
    """A script of this directory that prints on rank 0."""

    def __init__(self, script, *arguments, needs=("mpi4py", "numpy"), ranks=2, exit_code=0, is_whole=True,
                 environment=None, runner="mpi4py"):
        self.script, self.arguments, self.needs = script, arguments, needs
        self.ranks, self.exit_code, self.is_whole, self.environment = ranks, exit_code, is_whole, environment or {}
        self.runner = runner

    def missing(self):
        for module in self.needs:
            found = subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False)
            if found.returncode != 0:
                return f"{PYTHON}'s module {module}"
        return None

    def prepare(self, directory):
        return [PYTHON, "-m", self.runner, str(HERE / self.script), *self.arguments]


APPS = {
    "lammps": Lammps(),
    "hpcc": Hpcc(),
    "pw_x": PwX(),
    "torch": Python("torch_ddp.py", needs=("mpi4py", "torch"), environment={"OMP_NUM_THREADS": "1"}),
    "hdf5": Python("parallel_hdf5.py", needs=("mpi4py", "h5py")),
    "mpi4py": Python("mpi4py_idioms.py"),
    "mpi4py_pool": Python("mpi4py_pool.py", ranks=3, runner="mpi4py.futures"),
    "mpi4py_by_hand": Python("mpi4py_control.py", "by-hand"),
    "mpi4py_level": Python("mpi4py_control.py", "level"),
    "mpi4py_exception": Python("mpi4py_control.py", "exception", exit_code=1, is_whole=False),
    "mpi4py_exit": Python("mpi4py_control.py", "exit", exit_code=3, is_whole=False),
    "mpi4py_truncated": Python("mpi4py_control.py", "truncated", exit_code=15, is_whole=False),
    "threads": Ours("threads"),
    "communicators": Ours("communicators"),
    "halo": Ours("halo"),
    "many_calls": Ours("many", "calls", judges=("otf2-print",)),
    "many_requests": Ours("many", "requests", judges=("otf2",)),
    "many_bytes": Ours("many", "bytes", received={"MPI_Recv": LARGE, "MPI_Bcast": 2 * LARGE}),
    "misuse_returned": Ours("misuse", "returned"),
    "misuse_freed": Ours("misuse", "freed", is_whole=False),  # which communicator it is cannot be known
    "misuse_unfreed": Ours("misuse", "unfreed", is_whole=False),
    "unseen_end": Ours("misuse", "unseen"),
    "misuse_fatal": Ours("misuse", "fatal", exit_code=6, is_whole=False),
}
