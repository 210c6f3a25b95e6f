"""Two hosts on one machine: network namespaces with a wire between them, host names that nothing resolves, a CLOCK_MONOTONIC of
their own, and directories of their own. Needs root, `ip` and `unshare`.

    hosts = Hosts()
    reason = hosts.make()        # why not, or None
    job = Job(hosts, directory, mpirun_words)
    job.start(["-n", "2"], [program], {"MEGASCOPE_OUT": ...})
    hosts.remove()
"""

import os
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import launch  # noqa: E402

LIMIT_S = 60
MONOTONIC_S = (1000, 5000)  # by host
SYSTEM_CLOCK = ("+0s", "+1000s")  # by host, where libfaketime is preloaded
NETWORK = "10.99.71"
NAMES = ("left", "right")

AGENT = """#!/bin/sh
# What mpirun calls: [options] ADDRESS command...
while [ "${{1#-}}" != "$1" ]; do case $1 in -l|-p|-o|-i) shift 2 ;; *) shift ;; esac; done
case $1 in
{hosts}
esac
shift
exec ip netns exec "$netns" unshare --uts --mount --time --monotonic="$shift_s" --boottime="$shift_s" -- \\
  /bin/sh -c "hostname $name; export FAKETIME=$clock FAKETIME_DONT_FAKE_MONOTONIC=1; mount --bind {directory}/$name {directory}/local; $*"
"""


def call(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False, **more)


class Hosts:
    """Two hosts with a wire between them."""

    def __init__(self):
        self.namespaces = [f"megascope{os.getpid()}{letter}" for letter in "ab"]
        self.made = []

    def make(self):
        """The reason why not, or nothing."""
        if not shutil.which("ip") or not shutil.which("unshare"):
            return "no ip or unshare"
        for name in self.namespaces:
            result = call("ip", "netns", "add", name)
            if result.returncode != 0:
                return "cannot make a network namespace: " + result.stderr.strip()
            self.made.append(name)
        one, other = self.namespaces
        result = call("ip", "link", "add", "wire", "netns", one, "type", "veth", "peer", "name", "wire", "netns", other)
        for number, name in enumerate(self.namespaces, 1):
            for words in (["addr", "add", f"{NETWORK}.{number}/24", "dev", "wire"], ["link", "set", "wire", "up"], ["link", "set", "lo", "up"]):
                result = result if result.returncode != 0 else call("ip", "-n", name, *words)
        result = result if result.returncode != 0 else call("unshare", "--uts", "--mount", "--time", "--monotonic=1", "true")
        return result.stderr.strip() or None if result.returncode == 0 else "cannot make hosts: " + result.stderr.strip()

    def remove(self):
        for name in self.made:
            call("ip", "netns", "del", name)


class Job:
    """How Open MPI starts ranks on both hosts. In `directory` there is one directory a host, which the host sees as `local`."""

    def __init__(self, hosts, directory, mpirun):
        self.directory, self.mpirun = directory, mpirun
        for name in (*NAMES, "local"):
            os.mkdir(f"{directory}/{name}")
        lines = [f'  {NETWORK}.{number}) netns={netns} name={name} shift_s={shift_s} clock={clock} ;;' for number, (netns, name, shift_s, clock) in
                 enumerate(zip(hosts.namespaces, NAMES, MONOTONIC_S, SYSTEM_CLOCK), 1)]
        self.agent = f"{directory}/agent"
        with open(self.agent, "w", encoding="utf-8") as file:
            file.write(AGENT.format(hosts="\n".join(lines), directory=directory))
        os.chmod(self.agent, 0o755)

    def start(self, ranks, program, variables, network=NETWORK):
        """Ranks on both hosts in turn, half of them on each; the launcher on the first. MPI's own messages go through `network`.
        The completed process."""
        words = [*self.mpirun, "--mca", "plm", "rsh", "--mca", "plm_rsh_agent", self.agent, "--mca", "pml", "ob1", "--mca", "btl",
                 "self,vader,tcp", "--mca", "btl_tcp_if_include", f"{network}.0/24", "--mca", "oob_tcp_if_include", f"{NETWORK}.0/24",
                 "--host", f"{NETWORK}.1:{ranks // 2},{NETWORK}.2:{ranks // 2}", "-n", str(ranks), "--map-by", "node"]
        for name, value in variables.items():
            words += ["-x", f"{name}={value}"]
        kept = launch.clean_environment()
        return call(self.agent, f"{NETWORK}.1", *words, *program, cwd=self.directory, env=kept)
