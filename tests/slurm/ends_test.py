"""The ends that a job on Slurm really meets: a readable trace of every rank afterwards, with every call that had returned."""

import os
import signal
import time

import lab

LAPS = 20
NODES = ["n0", "n1", "n2", "n3"]


class Case(lab.Case):
    """Each on four nodes whose scratch is local to the node, where the machine allows that."""

    def preload(self):
        scratch = self.lab.local if self.lab.is_isolated else f"{self.lab.directory}/shared_scratch"
        os.makedirs(scratch, exist_ok=True)
        return f"--export=ALL,LD_PRELOAD={self.lab.library},MEGASCOPE_SCRATCH={scratch}"

    def words(self, *what, options=()):
        return ["srun", "-N4", "-n4", "-w", "n[0-3]", *options, self.preload(), "./app", str(LAPS), *what]

    def wait_for_ranks(self, ranks=range(4)):
        marks = [f"{self.directory}/here.{rank}" for rank in ranks]
        self.wait_for("the ranks", lambda: all(os.path.exists(mark) for mark in marks))

    def check_fragments(self, ends="recovered", state_of=None):
        """The fragments lie on their nodes; collect.sh brings them in, and then every call that had returned is there."""
        directory = self.run_directory()
        self.call(f"{self.lab.scripts}/collect.sh", directory)
        report = self.report(directory)
        state_of = state_of or {}
        self.assertEqual([row["end_state"] for row in report["per_rank"]], [state_of.get(rank, ends) for rank in range(4)])
        self.assertEqual([row["host"] for row in report["per_rank"]], NODES)
        self.assertEqual(report["missing_ranks"], [])
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], 4 * LAPS)
        self.assertEqual(report["functions"]["MPI_Allreduce"]["calls"], 4)
        self.assertEqual(report["matrix"]["messages"], 4 * LAPS)
        self.assertEqual(sum(report["losses"].values()), 0)
        return report

    def batch(self, *options):
        """A batch job whose ranks wait; its number, when they are there."""
        job = self.submit("#!/bin/sh\n" + " ".join(self.words("wait", "here")) + "\n", "-N4", "-n4", "-w", "n[0-3]", *options)
        self.wait_for_ranks()
        return job

    def interactive(self, *options):
        process = self.start(*self.words("wait", "here", options=options))
        self.wait_for_ranks()
        return process


class Ends(Case):
    def test_scancel(self):
        job = self.batch()
        self.call("scancel", job)
        self.wait_for_job(job)
        self.check_fragments()

    def test_sigterm_to_srun(self):
        process = self.interactive()
        process.send_signal(signal.SIGTERM)
        process.wait(lab.LIMIT_S)
        self.check_fragments()

    def test_two_interrupts(self):
        process = self.interactive()
        process.send_signal(signal.SIGINT)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        process.wait(lab.LIMIT_S)
        self.check_fragments()

    def test_abort(self):
        process = self.start(*self.words("abort"))
        self.assertNotEqual(process.wait(lab.LIMIT_S), 0)
        report = self.check_fragments(state_of={1: "aborted"})
        self.assertIn((1, "MPI_Abort"), [(row["rank"], row["function"]) for row in report["pending"]["longest"]])

    def test_a_rank_leaves_under_kill_on_bad_exit(self):
        process = self.start(*self.words("leave", options=("-K",)))
        self.assertNotEqual(process.wait(lab.LIMIT_S), 0)
        self.check_fragments()

    def test_a_rank_leaves_and_the_others_wait(self):
        """Without -K the job goes on: what is there so far can be read, and again after the end."""
        process = self.start(*self.words("leave"))
        self.wait_for("the message of srun", lambda: "Exited with exit code 5" in self.output())
        self.call(f"{self.lab.scripts}/collect.sh", self.run_directory())
        self.assertEqual([row["end_state"] for row in self.report()["per_rank"]][1], "recovered")
        process.send_signal(signal.SIGTERM)
        process.wait(lab.LIMIT_S)
        self.check_fragments()

    def test_every_task_is_killed_at_once(self):
        process = self.interactive("-J", "victim")
        self.call("scancel", "--signal=KILL", "--full", "--name=victim")
        process.wait(lab.LIMIT_S)
        self.check_fragments()


class TimeLimit(Case):
    """A ctest of its own, because Slurm's shortest limit is a minute; both jobs wait for theirs together."""

    def test_of_srun_and_of_a_batch_job(self):
        of_srun, of_batch = self.directory, f"{self.directory}/batch"
        process = self.interactive("-t", "1")
        os.mkdir(of_batch)
        os.symlink(self.lab.program, f"{of_batch}/app")
        self.directory = of_batch
        job = self.batch("-t", "1")
        self.assertNotEqual(process.wait(150), 0)
        self.wait_for_job(job)
        self.assertIn("JobState=TIMEOUT", self.call("scontrol", "show", "job", job).stdout)
        for self.directory in (of_batch, of_srun):
            self.check_fragments()


class LostNode(Case):
    """The node goes: its daemon and its part of the job are killed. Last, since the node is started anew."""

    def test_is_named_and_its_fragments_come_when_it_is_back(self):
        self.needs_isolation()
        process = self.interactive("-J", "victim")
        self.kill_node("n3")
        self.call("scontrol", "update", "nodename=n3", "state=down", "reason=test")
        self.call("scancel", "--name=victim")
        process.wait(lab.LIMIT_S)
        directory = self.run_directory()
        result = self.call(f"{self.lab.scripts}/collect.sh", directory, expected=1)
        self.assertIn("collect.sh: n3 is down", result.stderr)
        self.assertIn("1 of 4 ranks miss: 3;", result.stdout)
        report = self.report(directory)
        self.assertEqual(report["missing_ranks"], [3])
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], 3 * LAPS)
        self.lab.start_node("n3")
        self.resume("n3")
        self.check_fragments()

    def kill_node(self, node):
        """SIGKILL to the node's slurmd, and to the step and the ranks on it."""
        doomed = {self.lab.pids[node]}
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            try:
                with open(f"/proc/{pid}/environ", "rb") as file:
                    entries = file.read().split(b"\0")
                is_here = f"SLURMD_NODENAME={node}".encode() in entries and os.readlink(f"/proc/{pid}/exe") == self.lab.program
                ours = ("SLURM_CONF=" + self.lab.environment["SLURM_CONF"]).encode() in entries
                if is_here and ours:
                    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                        doomed |= {pid, int(file.read().rpartition(") ")[2].split()[1])}
            except OSError:
                continue
        self.assertEqual(len(doomed), 3, "slurmd, slurmstepd, one rank")
        for pid in doomed:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    lab.main()
