"""Keeps a private Slurm cluster of virtual nodes on one machine; stops all of it, by pid, when its standard input ends.

  daemons.py DIRECTORY SETTINGS      SETTINGS: JSON, see DEFAULTS

Standard input: "start NODE" starts a node's daemon anew; "done" says that its end is meant.
Prints a line of JSON when every node is idle ({"ready": true, ...}) or when that failed ({"ready": false, "problem": ...}), and
another when all has ended ({"left": [...]}). It leaves its parent, so that whoever kills a test does not kill it too: the test's
end closes the pipe, and that ends the cluster. The directory's path has at most 70 characters (Unix sockets lie in it).

Where the machine allows it, every node has its own host name, /dev/shm and `DIRECTORY/local` (one path, other contents on each
node), /etc/hosts, Open MPI's settings and the loader's cache.
"""

import ctypes
import glob
import json
import os
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import time

DEFAULTS = {
    "nodes": 4, "cpus": 8, "kill_wait_s": 3, "plugstack": "", "more": "",
    "ld_cache": "",     # a file to see as /etc/ld.so.cache on the nodes
    "epilog": "",       # path of a script
    "remove_when_killed": "",  # a directory to remove when standard input ends without the word "done"
}
START_S = 60
PR_SET_PDEATHSIG = 1
MOST_DIRECTORY_CHARACTERS = 70

CONFIGURATION = """\
ClusterName=megascope
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={directory}/run/munge.socket
{communication}
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool/%n
TmpFS={directory}/tmp/%n
SlurmctldPidFile={directory}/run/slurmctld.pid
SlurmdPidFile={directory}/run/slurmd.%n.pid
SlurmctldLogFile={directory}/log/slurmctld.log
SlurmdLogFile={directory}/log/slurmd.%n.log
PlugStackConfig={directory}/etc/plugstack.conf
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=1
SlurmdParameters=config_overrides
MpiDefault=pmix
ReturnToService=0
KillWait={kill_wait_s}
SlurmdTimeout=300
MessageTimeout=30
NodeName=DEFAULT CPUs={cpus} Boards=1 SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000 State=UNKNOWN
NodeName={names} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports}
PartitionName=all Nodes={names} Default=YES MaxTime=INFINITE State=UP OverSubscribe=YES
{more}
"""

# Becomes the node: name, directory of the cluster, loader's cache or nothing, then the daemon's command.
NODE_SCRIPT = """
set -e
hostname "$1"
mount -t tmpfs none /dev/shm
mount --bind "$2/node/$1" "$2/local"
mount --bind "$2/etc/hosts" /etc/hosts
[ ! -e /etc/openmpi/openmpi-mca-params.conf ] || mount --bind "$2/etc/openmpi.conf" /etc/openmpi/openmpi-mca-params.conf
[ -z "$3" ] || mount --bind "$3" /etc/ld.so.cache
shift 3
exec "$@"
"""

# Ranks of different nodes speak TCP, which Open MPI does not do over the loopback device unless told; ranks outnumber cores.
OPEN_MPI = "pml=ob1\nbtl=self,vader,tcp\nbtl_tcp_if_include=lo\nmpi_yield_when_idle=1\n" \
           "btl_vader_single_copy_mechanism=none\n"


class Problem(Exception):
    """Why the cluster cannot be started."""


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def wait_until(condition, limit_s):
    end = time.monotonic() + limit_s
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def can_isolate():
    """May this process give a node a host name and mounts of its own?"""
    words = ["unshare", "--uts", "--mount", "--", "sh", "-c", "hostname n0 && mount -t tmpfs none /dev/shm"]
    return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def free_ports(count):
    """The first of `count` ports in a row that no process uses, below those that the system hands out."""
    for _ in range(200):
        first = random.randrange(15000, 32000 - count)
        sockets = []
        try:
            for port in range(first, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise Problem("no free ports")


class Cluster:
    def __init__(self, directory, settings):
        self.directory = directory
        self.settings = {**DEFAULTS, **settings}
        self.names = [f"n{i}" for i in range(self.settings["nodes"])]
        self.isolated = can_isolate()
        self.daemons = []  # (name, Popen), in the order of their start
        self.environment = {**os.environ, "SLURM_CONF": directory + "/etc/slurm.conf", "LC_ALL": "C",
                            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        self.environment.pop("LD_PRELOAD", None)

    # ---- start

    def start(self):
        if len(self.directory) > MOST_DIRECTORY_CHARACTERS:
            raise Problem(f"{self.directory} is too long for Unix sockets")
        self.make_directories()
        self.start_munge()
        self.configure()
        self.launch("slurmctld", ["slurmctld", "-D", "-c", "-f", self.environment["SLURM_CONF"]])
        for name in self.names:
            self.start_node(name)
        if not wait_until(lambda: self.dead() or self.idle_count() == len(self.names), START_S) or self.dead():
            raise Problem("the nodes did not become idle: " + " ".join(self.dead()) + "\n" + self.last_log_lines())

    def make_directories(self):
        os.chmod(self.directory, 0o755)  # munged wants it so
        for name in ("etc", "run", "log", "state", "spool", "tmp", "node", "local"):
            os.makedirs(f"{self.directory}/{name}", exist_ok=True)
        os.chmod(f"{self.directory}/local", 0o1777)
        for name in self.names:
            os.makedirs(f"{self.directory}/spool/{name}")
            for kind in ("tmp", "node"):
                os.makedirs(f"{self.directory}/{kind}/{name}")
                os.chmod(f"{self.directory}/{kind}/{name}", 0o1777)

    def start_munge(self):
        key, socket_path = f"{self.directory}/etc/munge.key", f"{self.directory}/run/munge.socket"
        with open(os.open(key, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as file:
            file.write(os.urandom(128))
        self.launch("munged", ["munged", "--foreground", "--force", "--num-threads=2", f"--key-file={key}",
                               f"--socket={socket_path}", f"--pid-file={self.directory}/run/munged.pid",
                               f"--seed-file={self.directory}/state/munged.seed", f"--log-file={self.directory}/log/munged.log"])
        if not wait_until(lambda: self.dead() or self.call(["munge", f"--socket={socket_path}", "-n"]) is not None, 20) or self.dead():
            raise Problem("munged does not answer\n" + self.last_log_lines())

    def configure(self):
        port = free_ports(1 + len(self.names))
        host = socket.gethostname().split(".")[0]
        count = len(self.names)
        try:
            resolves = socket.gethostbyname(socket.gethostname()) == "127.0.0.1"
        except OSError:
            resolves = False
        text = CONFIGURATION.format(
            directory=self.directory, host=host, port=port, user=self.user(), cpus=self.settings["cpus"],
            kill_wait_s=self.settings["kill_wait_s"], names="n0" if count == 1 else f"n[0-{count - 1}]",
            ports=port + 1 if count == 1 else f"[{port + 1}-{port + count}]",
            # To the loopback address only, where the machine's own name is there: Slurm binds to that name's address.
            communication="CommunicationParameters=NoCtldInAddrAny,NoInAddrAny" if resolves else "",
            more=self.settings["more"] + (f"\nEpilog={self.settings['epilog']}" if self.settings["epilog"] else ""))
        write(f"{self.directory}/etc/slurm.conf", text)
        write(f"{self.directory}/etc/cgroup.conf", "CgroupAutomount=no\nConstrainCores=no\nConstrainRAMSpace=no\n")
        write(f"{self.directory}/etc/plugstack.conf", self.settings["plugstack"] + "\n")
        write(f"{self.directory}/etc/hosts", f"127.0.0.1 localhost {host} {socket.gethostname()} {' '.join(self.names)}\n")
        write(f"{self.directory}/etc/openmpi.conf", OPEN_MPI)

    @staticmethod
    def user():
        import pwd
        return pwd.getpwuid(os.geteuid()).pw_name

    def on_node(self, name, command):
        if not self.isolated:
            return command
        return ["unshare", "--uts", "--mount", "--", "sh", "-c", NODE_SCRIPT, "sh", name, self.directory, self.settings["ld_cache"],
                *command]

    def start_node(self, name):
        self.launch(name, self.on_node(name, ["slurmd", "-D", "-c", "-N", name, "-f", self.environment["SLURM_CONF"]]))

    def pids(self):
        return {name: process.pid for name, process in self.daemons}

    def launch(self, name, command):
        with open(f"{self.directory}/log/{name}.out", "wb") as out:
            self.daemons.append((name, subprocess.Popen(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=out,
                                                        stderr=out, cwd="/", start_new_session=True,
                                                        preexec_fn=end_with_parent)))

    # ---- while it runs

    def call(self, command):
        """Standard output of a command, None when it fails."""
        try:
            result = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=20, check=False)
        except (OSError, subprocess.TimeoutExpired):
            return None
        return result.stdout if result.returncode == 0 else None

    def idle_count(self):
        return len(set((self.call(["sinfo", "-h", "-N", "-t", "idle", "-o", "%N"]) or "").split()))

    def dead(self):
        return [name for name, process in self.daemons if process.poll() is not None]

    def last_log_lines(self):
        lines = []
        for path in sorted(glob.glob(f"{self.directory}/log/*")):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines += [f"{os.path.basename(path)}: {line.rstrip()}" for line in file.readlines()[-4:]]
        return "\n".join(lines)

    # ---- end

    def stop(self):
        """Ends everything; what would not end."""
        if any(name == "slurmctld" and process.poll() is None for name, process in self.daemons):
            self.cancel_jobs()
        for name, process in reversed(self.daemons):  # the nodes first, munged last
            if process.poll() is None:
                process.terminate()
        left = [name for name, process in self.daemons if not self.ended(process)]
        return left + [f"process {pid}" for pid in self.strays() if not end_process(pid)]

    def cancel_jobs(self):
        def has_none():
            return not (self.call(["squeue", "-h", "-o", "%i"]) or "").split()
        if has_none():
            return
        self.call(["scancel", "-u", self.user()])
        if not wait_until(has_none, 6):
            self.call(["scancel", "--signal=KILL", "--full", "-u", self.user()])
            wait_until(has_none, 10)

    @staticmethod
    def ended(process):
        try:
            process.wait(15)
        except subprocess.TimeoutExpired:
            process.kill()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                return False
        return True

    def strays(self):
        """Processes of jobs that outlived their node's daemon: they have this cluster's configuration and a job id."""
        found = []
        ours = ("SLURM_CONF=" + self.environment["SLURM_CONF"]).encode()
        for path in glob.glob("/proc/[0-9]*/environ"):
            pid = int(path.split("/")[2])
            try:
                with open(path, "rb") as file:
                    entries = file.read().split(b"\0")
                with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
                    is_step = file.read().startswith("slurmstepd")
            except OSError:
                continue
            if ours in entries and (is_step or any(entry.startswith(b"SLURM_JOB_ID=") for entry in entries)):
                found.append(pid)
        return found


def end_process(pid):
    """Ends a process that is not our child. A descriptor names it, so that a reused pid is never hit."""
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:
        return True
    try:
        for number in (signal.SIGTERM, signal.SIGKILL):
            signal.pidfd_send_signal(descriptor, number)
            if select.select([descriptor], [], [], 3)[0]:
                return True
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def say(**facts):
    try:
        print(json.dumps(facts), flush=True)
    except OSError:
        pass  # no process listens any more


class Ended(Exception):
    """This process was told to end."""


def raise_ended(*_):
    raise Ended


def end_with_parent():
    """In a child: SIGTERM when the parent is gone, however it went."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def main(directory, settings):
    if os.fork() != 0:
        os._exit(0)
    os.setsid()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, raise_ended)
    cluster = Cluster(directory, settings)
    last_words = ""
    try:
        cluster.start()
        say(ready=True, isolated=cluster.isolated, pids=cluster.pids())
        for line in sys.stdin:
            last_words = line.strip()
            if last_words.startswith("start "):
                cluster.start_node(last_words.split()[1])
                say(pids=cluster.pids())
    except (Problem, OSError) as problem:
        say(ready=False, problem=str(problem))
        last_words = "done"
    except Ended:
        pass
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    left = cluster.stop()
    if last_words != "done" and cluster.settings["remove_when_killed"]:
        shutil.rmtree(cluster.settings["remove_when_killed"], ignore_errors=True)
    say(left=left)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))
