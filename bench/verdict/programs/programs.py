"""Real programs with four ranks that run for some seconds: requirements, input and command of each."""

import dataclasses
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PYTHON = "/usr/bin/python3"        # Debian's Python, which finds Debian's modules
POTENTIALS = "/usr/share/lammps/potentials"
HPCC_TEMPLATE = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt")
HPCC_LINES = {5: "600 Ns", 7: "80 NBs", 10: "2 Ps", 11: "2 Qs"}  # numbers of lines from 0

LAMMPS_CRYSTAL = """units metal
atom_style atomic
lattice {lattice}
region box block 0 {size} 0 {size} 0 {size}
create_box 1 box
create_atoms 1 box
mass 1 {mass}
velocity all create 600 87287 loop geom
{potential}
neighbor 1.0 bin
neigh_modify delay 5 every 1
fix 1 all nve
timestep 0.001
thermo 20
run {steps}
"""
LAMMPS_LIQUID = """units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 {size} 0 {size} 0 {size}
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
run {steps}
"""


@dataclasses.dataclass
class Program:
    """command: a function of (work directory, build directory) that writes input and returns what a rank runs. sends: the
    program calls C functions of point-to-point messages. modules: required Python modules. environment: additional variables."""
    command: object
    needs: tuple = ()
    modules: tuple = ()
    sends: bool = True
    environment: dict = dataclasses.field(default_factory=dict)

    def missing(self, build):
        """Returns the first missing requirement, or None."""
        for name in self.needs:
            path = name.format(build=build)
            if not (shutil.which(path) or os.path.exists(path)):
                return path
        for module in self.modules:
            if subprocess.run([PYTHON, "-c", f"import {module}"], capture_output=True, check=False).returncode != 0:
                return f"{PYTHON}'s module {module}"
        return None


def lammps(text, **values):
    def command(directory, build):
        del build
        (directory / "in.lammps").write_text(text.format(**values), encoding="utf-8")
        return ["lmp", "-in", "in.lammps", "-log", "none"]
    return Program(command, ("lmp", POTENTIALS))


def hpcc(directory, build):
    del build
    lines = HPCC_TEMPLATE.read_text(encoding="utf-8").splitlines()
    for number, text in HPCC_LINES.items():
        lines[number] = text
    (directory / "hpccinf.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["hpcc"]


def pw_x(directory, build):
    del build
    sys.path.insert(0, str(ROOT / "tests" / "apps"))
    import silicon  # pylint: disable=import-outside-toplevel
    silicon.write(directory)
    text = (directory / "si.in").read_text(encoding="utf-8")
    (directory / "si.in").write_text(text.replace("ecutwfc = 12.0", "ecutwfc = 24.0").replace("2 2 2 1 1 1", "3 3 3 1 1 1"), encoding="utf-8")
    return ["pw.x", "-nk", "2", "-in", "si.in"]


def heat2d(directory, build):
    del directory
    return [f"{build}/examples/heat2d", "--cells", "1200", "--steps", "500"]


def gpt(*words, steps, sends=False):
    """sends: True only with pipeline stages, because replicas and tensor-parallel ranks use collectives."""
    def command(directory, build):
        del directory
        return [f"{build}/bin/megascope-gpt", "--steps", str(steps), *words]
    return Program(command, ("{build}/bin/megascope-gpt",), sends=sends)


def script(name, *words, modules=("mpi4py", "numpy"), sends=True):
    def command(directory, build):
        del directory, build
        return [PYTHON, "-m", "mpi4py", str(HERE / name), *words]
    return Program(command, (PYTHON,), modules, sends)


def torch_ddp(directory, build):
    del directory, build
    return [PYTHON, "-m", "mpi4py", str(ROOT / "examples" / "torch_ddp.py"), "--backend", "mpi4py", "--steps", "12"]


PROGRAMS = {
    "lammps_liquid": lammps(LAMMPS_LIQUID, size=16, steps=200),
    "lammps_copper": lammps(LAMMPS_CRYSTAL, lattice="fcc 3.615", mass=63.55, size=10, steps=200,
                            potential=f"pair_style eam\npair_coeff 1 1 {POTENTIALS}/Cu_u3.eam"),
    "lammps_silicon": lammps(LAMMPS_CRYSTAL, lattice="diamond 5.431", mass=28.06, size=6, steps=200,
                             potential=f"pair_style tersoff\npair_coeff * * {POTENTIALS}/Si.tersoff Si"),
    "hpcc": Program(hpcc, ("hpcc", str(HPCC_TEMPLATE))),
    "pw_x": Program(pw_x, ("pw.x",), sends=False),
    "heat2d": Program(heat2d, ("{build}/examples/heat2d",)),
    "gpt_dp": gpt("--dp", "4", steps=20),
    "gpt_pp": gpt("--pp", "2", "--dp", "2", steps=24, sends=True),
    "gpt_tp": gpt("--tp", "2", "--dp", "2", steps=12),
    "torch_ddp": Program(torch_ddp, (PYTHON,), ("mpi4py", "torch"), sends=False, environment={"PYTHONPATH": str(ROOT / "python")}),
    "conjugate_gradient": script("conjugate_gradient.py", "1200", "80"),
    "checkpoints": script("checkpoints.py", "60", modules=("mpi4py", "numpy", "h5py")),
}
