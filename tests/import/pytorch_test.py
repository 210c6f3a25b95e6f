"""megascope import --from pytorch: hand-written files of a GPU job in Kineto's format, and real traces of torch.profiler (Debian's PyTorch on the CPU, DDP
over gloo).

  pytorch_test.py MEGASCOPE
"""

import importlib.util
import json
import os
import socket
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "tools")]
import kineto_job  # noqa: E402
import launch  # noqa: E402
from import_case import Case  # noqa: E402

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "profiled_ddp.py")
SIZES = "dp=4,pp=2"


class GpuJob(Case):
    def files(self, job, suffix=".json.gz"):
        directory = os.path.join(self.directory, "profile")
        os.mkdir(directory)
        return directory, [self.write(f"profile/rank-{rank}.1.pt.trace{suffix}", content) for rank, content in job.files.items()]

    def check_answer(self, job, found):
        self.assertEqual((found["matching"]["messages"], found["matching"]["collectives"], found["matching"]["unmatched"]), (job.steps * 16, job.steps * 2, 0))
        self.assertEqual(found["steps"], job.steps)

    def test_the_slow_rank_is_found(self):
        job = kineto_job.Job(slow=5)
        directory, _ = self.files(job)
        result = self.call("import", directory, "--parallel", SIZES, "--out", self.run_directory)
        self.assertIn("of 8 workers", result.stdout)
        found = self.analyze(code=1)
        self.check_answer(job, found)
        self.assertEqual(found["import"]["format"], "pytorch")
        self.assertEqual([(c["kind"], c["ranks"]) for c in found["culprits"]], [("slow_compute", [5])])

    def test_a_healthy_job_is_not_blamed(self):
        job = kineto_job.Job()
        _, files = self.files(job, ".json")
        self.call("import", "--from", "pytorch", *files, "--parallel", SIZES, "--out", self.run_directory)
        found = self.analyze(code=0)
        self.check_answer(job, found)
        self.assertEqual(found["culprits"], [])

    def test_a_rank_without_a_file_is_missing(self):
        directory, files = self.files(kineto_job.Job())
        os.remove(files[3])
        self.assertIn("1 of 8 ranks miss: 3", self.call("import", directory, "--out", self.run_directory).stdout)

    def test_every_operation_comes_back(self):
        job = kineto_job.Job(steps=3)
        directory, _ = self.files(job)
        self.call("import", directory, "--out", self.run_directory)
        self.assertEqual(self.analyze(code=0)["matching"]["calls"], sum(event["ph"] == "X" for events in job.events.values() for event in events))

    def test_damage_is_repaired(self):
        job = kineto_job.Job(slow=5)
        whole, _ = self.files(job)
        self.call("import", whole, "--parallel", SIZES, "--out", self.run_directory)
        expected = self.analyze(code=1)
        for rank, content in job.files.items():
            kernels = [event for event in content["traceEvents"] if event.get("cat") == "kernel" and event["name"].startswith("gemm")]
            kernels[3 + rank]["dur"] *= -1
            del kernels[20 + rank]["dur"]
            self.write(f"profile/rank-{rank}.1.pt.trace.json.gz", content)
        self.run_directory += "2"
        self.call("import", whole, "--parallel", SIZES, "--out", self.run_directory)
        found = self.analyze(code=1)
        self.assertEqual({kind: found["import"]["repairs"][kind] for kind in ("negative_duration", "missing_duration")}, {"negative_duration": 8, "missing_duration": 8})
        self.assertAlmostEqual(found["slowdown"] / expected["slowdown"], 1.0, delta=0.01)
        self.assertEqual([c["ranks"] for c in found["culprits"]], [[5]])


@unittest.skipUnless(importlib.util.find_spec("torch"), "there is no PyTorch")
class RealTraces(Case):
    """PyTorch 1.13 of Debian: profiled training of 3 ranks over gloo, of which rank 1 does its forward pass four times."""

    RANKS = 3

    def profile(self):
        directory = os.path.join(self.directory, "profile")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        environment = launch.clean_environment()
        ranks = [subprocess.Popen([sys.executable, PROGRAM, str(rank), str(self.RANKS), directory, str(port)], env=environment, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True) for rank in range(self.RANKS)]
        for rank in ranks:
            said = rank.communicate(timeout=200)[1]
            self.assertEqual(rank.returncode, 0, said)
        return directory

    def test_operations_steps_and_collectives(self):
        directory = self.profile()
        operations = 0
        reductions = 0
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), encoding="utf-8") as file:
                events = json.load(file)
            events = events if isinstance(events, list) else events["traceEvents"]
            operations += sum(event["ph"] == "X" for event in events)
            reductions += sum(event["ph"] == "X" and event["name"] == "gloo:all_reduce" for event in events)
        result = self.call("import", directory, "--out", self.run_directory)
        self.assertIn(f"of {self.RANKS} workers", result.stdout)
        found = json.loads(self.call("analyze", self.run_directory, "--json", code=(0, 1)).stdout)
        self.assertEqual((found["matching"]["calls"], found["steps"]), (operations, 6))
        self.assertEqual(set(found["import"]["repairs"]) - {"overlap"}, set())
        self.assertGreaterEqual(found["matching"]["collectives"], reductions // self.RANKS)
        self.assertEqual(found["matching"]["unmatched"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
