"""What the tests of Slurm share: an installed MegaScope, a private cluster, and cases that run programs on it.

A test's command line: BUILD_DIRECTORY PROGRAM [unittest's arguments]. Without Slurm it is skipped (77).
"""

import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "tools"))
import launch  # noqa: E402
import reported_skips  # noqa: E402

BUILD, PROGRAM = (os.path.abspath(path) for path in sys.argv[1:3])
NEEDED = ("srun", "slurmctld", "slurmd", "munged")
SKIPPED = 77
LIMIT_S = 90  # a loaded machine once took 14 s for a first step
# In addition to launch.py's: jobs find the installed library as users do, and the lab configures Open MPI itself.
NOT_HANDED_ON = ("LD_", *launch.KEPT)


def clean_environment():
    return {name: value for name, value in launch.clean_environment().items() if not name.startswith(NOT_HANDED_ON)}


def has_plugin():
    return os.path.exists(f"{BUILD}/lib/slurm/megascope_spank.so")


class Lab:
    """An installed MegaScope and a running cluster, in a directory that goes when the lab closes."""

    def __init__(self, **settings):
        self.directory = tempfile.mkdtemp(prefix="msl.", dir="/tmp")
        os.chmod(self.directory, 0o755)
        self.prefix = f"{self.directory}/usr"
        self.process = None
        try:
            self.install()
            self.start(settings)
        except BaseException:
            self.close()
            raise

    def install(self):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.prefix], check=True, stdout=subprocess.DEVNULL)
        (self.library,) = glob.glob(f"{self.prefix}/lib*/libmegascope.so") + glob.glob(f"{self.prefix}/lib/*/libmegascope.so")
        self.command = f"{self.prefix}/bin/megascope"
        self.scripts = f"{self.prefix}/share/megascope/slurm"
        self.plugin = f"{os.path.dirname(self.library)}/slurm/megascope_spank.so"
        self.program = f"{self.directory}/app"
        shutil.copy(PROGRAM, self.program)
        self.write_loader_cache()

    def write_loader_cache(self):
        """The machine's cache with the installed library in it, as after ldconfig of an administrator."""
        self.loader_cache = f"{self.directory}/ld.so.cache"
        with open(f"{self.directory}/ld.so.conf", "w", encoding="utf-8") as file:
            file.write(f"{os.path.dirname(self.library)}\ninclude /etc/ld.so.conf\n")
        subprocess.run(["/sbin/ldconfig", "-X", "-C", self.loader_cache, "-f", f"{self.directory}/ld.so.conf"], check=True,
                       stderr=subprocess.DEVNULL)

    def start(self, settings):
        cluster = f"{self.directory}/c"
        os.mkdir(cluster)
        settings = {name: value.format(lab=self) if isinstance(value, str) else value for name, value in settings.items()}
        settings = {"ld_cache": self.loader_cache, "remove_when_killed": self.directory, **settings}
        self.process = subprocess.Popen([sys.executable, f"{HERE}/daemons.py", cluster, json.dumps(settings)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        facts = json.loads(self.process.stdout.readline())
        if not facts["ready"]:
            raise RuntimeError(facts["problem"])
        self.is_isolated, self.pids = facts["isolated"], facts["pids"]
        self.local = f"{cluster}/local"        # node-local, as a task sees it
        self.local_of = lambda node: f"{cluster}/node/{node}"  # the same, seen from here
        self.environment = {**clean_environment(), "SLURM_CONF": f"{cluster}/etc/slurm.conf",
                            "OMPI_MCA_btl_tcp_if_include": "lo", "OMPI_MCA_btl": "self,vader,tcp", "OMPI_MCA_pml": "ob1",
                            "OMPI_MCA_mpi_yield_when_idle": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1"}

    def start_node(self, name):
        """Starts the daemon of a node that is gone."""
        self.process.stdin.write(f"start {name}\n")
        self.process.stdin.flush()
        self.pids = json.loads(self.process.stdout.readline())["pids"]

    def close(self):
        """Ends the cluster; what would not end."""
        left = []
        if self.process is not None:
            try:
                self.process.stdin.write("done")
                self.process.stdin.close()
                lines = self.process.stdout.readlines()
                left = json.loads(lines[-1])["left"] if lines else []
            except BrokenPipeError:
                pass
            self.process.stdout.close()
            self.process.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
        return left


class Case(unittest.TestCase):
    """A test with a directory of its own. The lab is the module's."""

    lab = None

    def setUp(self):
        self.directory = f"{self.lab.directory}/{type(self).__name__}.{self._testMethodName[5:]}"
        os.mkdir(self.directory)
        os.chmod(self.directory, 0o777)
        os.symlink(self.lab.program, f"{self.directory}/app")

    def needs_isolation(self):
        if not self.lab.is_isolated:
            self.skipTest("nodes of their own need the right to unshare and mount")

    def environment(self, **variables):
        return {**self.lab.environment, "MEGASCOPE_EXPORT": "none", **variables}

    def call(self, *words, expected=0, variables=None, environment=None, limit_s=LIMIT_S, **more):
        """Runs a command in the test's directory; its result. expected: its exit status; None: any."""
        environment = environment if environment is not None else self.environment(**(variables or {}))
        result = subprocess.run(words, cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                                text=True, timeout=limit_s, check=False, **more)
        if expected is not None:
            self.assertEqual(result.returncode, expected, result.stdout + result.stderr)
        return result

    def submit(self, text, *options, variables=None):
        """Hands in a batch script; the job's number. Its output goes to job.out."""
        with open(f"{self.directory}/job.sh", "w", encoding="utf-8") as file:
            file.write(text)
        return self.call("sbatch", "--parsable", "-o", "job.out", *options, "job.sh", variables=variables).stdout.strip()

    def sbatch(self, text, *options, expected="COMPLETED", **more):
        """Runs a batch script to its end, which must be as expected."""
        job = self.submit(text, *options, **more)
        self.wait_for_job(job)
        states = re.findall(r"JobState=(\w+)", self.call("scontrol", "show", "job", job).stdout)
        self.assertEqual(set(states), {expected}, self.output("job.out"))

    def wait_for_job(self, job):
        self.wait_for(f"the end of job {job}", lambda: not self.call("squeue", "-h", "-j", job, expected=None).stdout.strip())

    def output(self, name="output"):
        path = f"{self.directory}/{name}"
        if not os.path.exists(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def start(self, *words, variables=None):
        """Starts a command and goes on; ended with the test. Its output goes to a file."""
        with open(f"{self.directory}/output", "ab") as out:
            process = subprocess.Popen(words, cwd=self.directory, env=self.environment(**(variables or {})), stdout=out, stderr=out,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def wait_for(self, what, condition, limit_s=LIMIT_S):
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                self.fail(f"not within {limit_s} s: {what}\n{self.output()}{self.output('job.out')}")
            time.sleep(0.1)

    def resume(self, node):
        """Back from `down`; it may have come back by itself."""
        self.call("scontrol", "update", f"nodename={node}", "state=resume", expected=None)
        self.wait_for(node, lambda: self.call("sinfo", "-h", "-n", node, "-o", "%t").stdout.strip() == "idle")

    def run_directory(self, name="megascope-*"):
        """The only run directory that there is."""
        found = glob.glob(f"{self.directory}/{name}")
        self.assertEqual(len(found), 1, found)
        return found[0]

    def report(self, directory=None):
        """`megascope report --json` of the run directory: from the traces."""
        return json.loads(self.call(self.lab.command, "report", "--json", directory or self.run_directory()).stdout)

    def stored_report(self, directory=None):
        with open(f"{directory or self.run_directory()}/report.json", encoding="utf-8") as file:
            return json.load(file)

    def check_whole(self, report, ranks, laps, nodes, ends="finalized"):
        """Every rank of the ring, with the right counts, on these nodes in the order of ranks."""
        self.assertEqual(report["missing_ranks"], [])
        self.assertEqual([row["rank"] for row in report["per_rank"]], list(range(ranks)))
        self.assertEqual([row["host"] for row in report["per_rank"]], nodes)
        self.assertEqual({row["end_state"] for row in report["per_rank"]}, {ends})
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], ranks * laps)
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["bytes_sent"], ranks * laps * 64)
        self.assertEqual(report["functions"]["MPI_Allreduce"]["calls"], ranks)
        self.assertEqual(report["matrix"]["messages"], ranks * laps)
        heaviest = {(pair["source"], pair["destination"]): pair["messages"] for pair in report["matrix"]["heaviest"]}
        self.assertEqual(heaviest, {(rank, (rank + 1) % ranks): laps for rank in range(ranks)})
        self.assertEqual(sum(report["losses"].values()), 0)


def main(**settings):
    """Runs the calling module's tests on a cluster of their own."""
    missing = [name for name in NEEDED if shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin:" + os.environ["PATH"]) is None]
    if missing:
        print(f"SKIPPED: no {', '.join(missing)} (scripts/setup.sh slurm)")
        sys.exit(SKIPPED)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # unittest lets nothing else end a test
    try:
        Case.lab = Lab(**settings)
    except RuntimeError as problem:
        if os.geteuid() == 0:
            raise
        print(f"SKIPPED: this user cannot start a cluster: {problem}")
        sys.exit(SKIPPED)
    try:
        program = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=2,
                                testRunner=unittest.TextTestRunner(resultclass=reported_skips.Result, stream=sys.stdout, verbosity=2))
    finally:
        left = Case.lab.close()
    if left:
        print("did not end: " + ", ".join(left))
    sys.exit(0 if program.result.wasSuccessful() and not left else 1)
