"""Ranks on a real Slurm that do not have the library, or another one, and nodes without a common directory: no rank waits for ever,
one line names the ranks, and `megascope join` makes one run of what is there."""

import glob
import os
import pathlib

import lab

LAPS = 20
NODES = ["n0", "n1", "n2", "n3"]
OTHER_VERSION = b"9.1.0"  # the end stays: linkers let "0" be the end of a longer string


class Case(lab.Case):
    def check_joined(self, fragments, ranks):
        """All that these ranks did is in the run that the fragments make."""
        self.call(self.lab.command, "join", *fragments, "--out", "all")
        report = self.report(f"{self.directory}/all")
        self.assertEqual([row["rank"] for row in report["per_rank"]], ranks)
        self.assertEqual([row["host"] for row in report["per_rank"]], [NODES[rank] for rank in ranks])
        self.assertEqual(report["missing_ranks"], [rank for rank in range(4) if rank not in ranks])
        self.assertEqual({row["end_state"] for row in report["per_rank"]}, {"finalized"})
        self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], len(ranks) * LAPS)
        self.assertEqual(report["matrix"]["messages"], len(ranks) * LAPS)
        self.assertEqual(sum(report["losses"].values()), 0)
        return report


class Company(Case):
    def run_with(self, preload_of):
        """preload_of: by node. What srun printed on stderr."""
        script = f"{self.directory}/start.sh"
        cases = "".join(f"  {node}) export LD_PRELOAD={preload} ;;\n" for node, preload in preload_of.items() if preload)
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\ncase $SLURMD_NODENAME in\n{cases}esac\nexec ./app {LAPS}\n")
        os.chmod(script, 0o755)
        result = self.call("srun", "-Q", "-N4", "-n4", "-w", "n[0-3]", "./start.sh")
        self.assertEqual(result.stdout, "4 ranks, sum 6\n")
        return result.stderr

    def fragments(self):
        return glob.glob(f"{self.directory}/megascope-*")

    def test_one_rank_is_bare(self):
        ours = self.lab.library
        text = self.run_with({"n0": ours, "n1": ours, "n3": ours})
        self.assertEqual(text.count("not all ranks have the library (missing: 2)"), 1, text)
        self.check_joined(self.fragments(), [0, 1, 3])

    def test_rank_0_is_bare(self):
        ours = self.lab.library
        text = self.run_with({"n1": ours, "n2": ours, "n3": ours})
        self.assertEqual(text.count("not all ranks have the library (missing: 0)"), 1, text)
        self.check_joined(self.fragments(), [1, 2, 3])

    def test_the_path_is_wrong_on_one_node(self):
        ours = self.lab.library
        text = self.run_with({"n0": ours, "n1": "/nowhere/libmegascope.so", "n2": ours, "n3": ours})
        self.assertIn("/nowhere/libmegascope.so", text, "the loader says it")
        self.assertEqual(text.count("not all ranks have the library (missing: 1)"), 1, text)
        self.check_joined(self.fragments(), [0, 2, 3])

    def test_a_node_has_another_version(self):
        other = pathlib.Path(self.directory) / "libmegascope.so"
        ours = self.lab.library
        other.write_bytes(pathlib.Path(ours).read_bytes().replace(b"0.1.0", OTHER_VERSION))
        text = self.run_with({"n0": ours, "n1": ours, "n2": str(other), "n3": str(other)})
        self.assertEqual(text.count("not all ranks have version 0.1.0 of the library (missing: 2 3)"), 1, text)
        self.assertEqual(text.count("not all ranks have version 9.1.0 of the library (missing: 0 1)"), 1, text)
        self.check_joined(self.fragments(), [0, 1, 2, 3])


class NoCommonDirectory(Case):
    def test_fragments_of_nodes_make_one_run(self):
        self.needs_isolation()
        here = self.lab.local
        setting = f"--export=ALL,LD_PRELOAD={self.lab.library},MEGASCOPE_OUT={here}/run,MEGASCOPE_SCRATCH={here}"
        result = self.call("srun", "-Q", "-N4", "-n4", "-w", "n[0-3]", setting, "./app", str(LAPS))
        self.assertEqual(result.stdout, "4 ranks, sum 6\n")
        run = f"{self.lab.local_of('n0')}/run"
        fragments = [run] + [fragment for node in NODES[1:] for fragment in glob.glob(f"{self.lab.local_of(node)}/megascope-*/*")]
        self.assertEqual(len(fragments), 4, fragments)
        self.assertEqual(self.report(run)["missing_ranks"], [1, 2, 3])
        self.check_joined(fragments, [0, 1, 2, 3])


if __name__ == "__main__":
    lab.main()
