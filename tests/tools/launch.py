"""Starting ranks with variables of their own: every MPI library's launcher has its own words for that."""

import contextlib
import os
import signal


# What launchers, a batch system, torchrun, this library and its users set for processes that they start.
OF_LAUNCHERS = ("OMPI_", "PMI", "SLURM_", "SBATCH_", "SRUN_", "RANK", "WORLD_SIZE", "MASTER_", "LOCAL_RANK", "MEGASCOPE_", "NVTX_", "LD_PRELOAD")
KEPT = ("OMPI_MCA", "PMIX_MCA", "OMPI_ALLOW")  # how Open MPI is to run here


def clean_environment(**more):
    """The environment without what has been set for this process as a rank or a recorded program; with more variables."""
    clean = {name: value for name, value in os.environ.items() if name.startswith(KEPT) or not name.startswith(OF_LAUNCHERS)}
    return {**clean, **{name: str(value) for name, value in more.items()}}


def is_hydra(launcher):
    """Is it the launcher of MPICH (else of Open MPI)?"""
    name = os.path.basename(os.path.realpath(launcher[0]))
    return "hydra" in name or "mpich" in name


def setting(launcher, **variables):
    """Words that come behind the launcher's own and set variables in the ranks, not in the launcher."""
    if is_hydra(launcher):
        return [word for name, value in variables.items() for word in ("-genv", name, str(value))]
    return [word for name, value in variables.items() for word in ("-x", f"{name}={value}")]


def kill_all(ranks):
    """SIGKILL to the ranks of a job, by pid. Once one is gone its launcher may end the others before they are reached."""
    for pid in ranks:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
