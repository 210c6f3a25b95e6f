"""Starting ranks with variables of their own: every MPI library's launcher has its own words for that."""

import contextlib
import os
import signal


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
