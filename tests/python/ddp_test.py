"""examples/torch_ddp.py, with its gradients over MPI and over gloo: it learns, the same with and without us, and the run shows how.

  ddp_test.py MEGASCOPE MPIRUN...
"""

import glob
import importlib.util
import os
import re
import sys

from case import MEGASCOPE, MPIRUN, PACKAGES, PYTHON, SOURCE, Case, main

EXAMPLE = os.path.join(SOURCE, "examples", "torch_ddp.py")
STEPS = 12
sys.path.insert(0, os.path.join(SOURCE, "tests", "tools"))
import launch  # noqa: E402  pylint: disable=wrong-import-position

WORDS = [PYTHON, EXAMPLE, "--steps", str(STEPS), "--time", "32"]


class Ddp(Case):
    def learned(self, said):
        """The losses of all steps and the hash of the parameters, which must be there."""
        losses = [float(loss) for loss in re.findall(r"^step \d+ loss (\S+)$", said, re.MULTILINE)]
        self.assertEqual(len(losses), STEPS, said)
        self.assertLess(losses[-1], losses[0] - 1, "it does not learn")
        (digest,) = re.findall(r"^parameters (\w{64})$", said, re.MULTILINE)
        return losses, digest

    def train_under_mpirun(self, backend, **settings):
        settings = {"PYTHONPATH": PACKAGES, **settings}
        return self.learned(self.call(*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", "2", *WORDS, "--backend", backend))

    def check_regions(self, directory, ranks=2):
        report = self.report(directory)
        counts = self.counts(report)
        for region in ("step", "forward", "backward", "optimizer", "h.0.attention", "h.1.mlp.2", "h.1.mlp.2 backward", "head"):
            self.assertEqual(counts.get(region), ranks * STEPS, f"{region}: {counts}")
        self.assertEqual(sum(report["losses"].values()), 0)
        return report

    def test_gradients_over_mpi(self):
        bare = self.train_under_mpirun("mpi4py")
        recorded = self.train_under_mpirun("mpi4py", **self.settings(MEGASCOPE_TENSORS="tokens+*.weight+bucket*", MEGASCOPE_TRACE="full"))
        self.assertEqual(bare, recorded)
        report = self.check_regions(self.run_directory)
        reductions = self.counts(report)["average gradients"]
        self.assertEqual(reductions, 2 * STEPS)
        self.assertEqual(report["functions"]["MPI_Allreduce"]["calls"], reductions)
        paths = self.nested(rank=1)
        reduced = [path for path in paths if path.endswith("MPI_Allreduce")]
        self.assertEqual(len([path for path in reduced if path.startswith("step/backward/") and path.endswith("average gradients/MPI_Allreduce")]),
                         STEPS, reduced)
        self.assertEqual([event["args"]["value"] for event in self.events(rank=1) if event["ph"] == "C" and event["name"] == "loss"], bare[0])
        kinds = {event["args"]["kind"] for event in self.events(rank=1) if event.get("cat") == "tensor"}
        self.assertLessEqual({"input_tokens", "grad_unreduced", "grad_reduced", "weight", "weight_updated", "exp_avg"}, kinds)
        self.assertEqual(self.analyzed()["steps"], STEPS)

    def check_fragments(self):
        fragments = glob.glob(os.path.join(self.directory, "**", "solo-*"), recursive=True)
        self.assertEqual(sorted(os.path.basename(fragment) for fragment in fragments), ["solo-0", "solo-1"])
        joined = os.path.join(self.directory, "joined")
        self.call(MEGASCOPE, "join", *fragments, "--out", joined)
        self.assertEqual(self.check_regions(joined)["ranks"], 2)
        backward = {path for path in self.nested(1, joined) if path.endswith("h.0 backward")}
        self.assertEqual(backward, {"step/backward/h.0 backward"})
        self.assertEqual(self.analyzed(joined)["steps"], STEPS)
        self.call("grep", "-q", "--binary-files=text", "dp 1 2", os.path.join(joined, "rank-1.mgt"))

    def test_over_gloo_under_mpirun(self):
        bare = self.train_under_mpirun("gloo")
        self.assertEqual(bare, self.train_under_mpirun("gloo", **self.settings()))
        self.check_fragments()

    def test_over_gloo_by_pytorchs_launcher(self):
        # Without --redirects and --tee version 1.13 of it fails under Python 3.11.
        words = [PYTHON, "-m", "torch.distributed.run", "--nproc_per_node=2", "--redirects=2", "--tee=2", "--rdzv_backend=c10d",
                 "--rdzv_endpoint=localhost:0", *WORDS[1:], "--backend", "gloo"]
        quiet = {"PYTHONWARNINGS": "ignore", "OMP_NUM_THREADS": "1"}
        self.assertEqual(self.learned(self.call(*words, **quiet)), self.learned(self.call(*words, **self.settings(**quiet))))
        self.check_fragments()

    def test_what_is_no_text_is_named(self):
        self.call(PYTHON, EXAMPLE, "--data", "/no/such/text", code=2)
        self.assertIn("--data: /no/such/text is no file with more than 64 bytes", self.said)


if __name__ == "__main__":
    for name in ("torch", "mpi4py"):
        if importlib.util.find_spec(name) is None:
            print(f"SKIPPED: there is no {name}")
            sys.exit(77)
    main()
