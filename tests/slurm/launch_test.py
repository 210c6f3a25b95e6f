"""Programs started on a real Slurm in every way that users know, with the installed library: one run directory with all ranks, nodes
told apart, ids of job, step and node, right counts; output and exit status as without us."""

import os

import lab

LAPS = 50
UNPRIVILEGED = 65534
TWO = ["-N2", "-n2", "-w", "n0,n1"]
NODES = ["n0", "n1", "n2", "n3"]


class Srun(lab.Case):
    def test_the_bare_command_finds_the_library_by_name(self):
        self.needs_isolation()
        result = self.call("srun", "-Q", "-N4", "-n8", "--ntasks-per-node=2", "--export=LD_PRELOAD=libmegascope.so", "./app", str(LAPS))
        self.assertEqual(result.stdout, "8 ranks, sum 28\n")
        self.assertIn("megascope: 0.1.0, 8 ranks on 4 nodes, writes to " + self.directory, result.stderr)
        self.assertNotIn("cannot be preloaded", result.stderr)
        directory = self.run_directory()
        for report in (self.report(), self.stored_report()):
            self.check_whole(report, 8, LAPS, [node for node in NODES for _ in range(2)])
            self.check_ids(report, directory)
            self.assertEqual([row["step_node"] for row in report["per_rank"]], [0, 0, 1, 1, 2, 2, 3, 3])
            self.assertEqual(report["nodes"], NODES)
        self.assertEqual({row["format"] for row in self.stored_report()["exports"]}, {"otf2", "perfetto"})
        self.assertRegex(self.call(self.lab.command, "report", directory).stdout,
                         r"Job             Slurm job \d+, step 0, cluster megascope, named app\n")

    def check_ids(self, report, directory):
        job, step = report["job"].split(".")
        self.assertEqual(os.path.basename(directory), f"megascope-{job}.{step}")
        expected = {"cluster_name": "megascope", "job_id": job, "step_id": step, "job_name": "app",
                    "job_nodelist": "n[0-3]", "step_nodelist": "n[0-3]"}
        self.assertEqual(report["slurm"], expected)

    def test_the_task_sees_almost_no_environment(self):
        self.needs_isolation()
        words = ["srun", "-Q", "-N1", "-n1", "--export=LD_PRELOAD=libmegascope.so", "/usr/bin/env"]
        names = {line.partition("=")[0] for line in self.call(*words).stdout.splitlines()}
        self.assertFalse(names & {"PATH", "HOME", "USER", "LD_LIBRARY_PATH"}, names)

    def test_options_are_handed_on_with_all(self):
        setting = f"--export=ALL,LD_PRELOAD={self.lab.library},MEGASCOPE_REPORT=short,MEGASCOPE_MPI=-MPI_Comm_rank+-MPI_Comm_size"
        result = self.call("srun", "-Q", "-N4", "-n4", setting, "./app", str(LAPS), variables={"MEGASCOPE_OUT": "asked/for", "MEGASCOPE_EXPORT": "otf2,chrome"})
        self.assertEqual(result.stdout, "4 ranks, sum 6\n")
        self.check_whole(self.report(self.directory + "/asked/for"), 4, LAPS, NODES)
        exports = self.stored_report(self.directory + "/asked/for")["exports"]
        self.assertEqual({row["format"] for row in exports}, {"otf2", "chrome"})
        self.assertNotIn("MPI_Comm_size", self.report(self.directory + "/asked/for")["functions"])
        self.assertNotIn("MPI functions by time", result.stderr)

    def test_the_library_path_may_be_handed_on(self):
        setting = "--export=LD_PRELOAD=libmegascope.so,LD_LIBRARY_PATH,PATH,OMPI_MCA_btl_tcp_if_include"
        self.call("srun", "-Q", *TWO, setting, "./app", str(LAPS),
                  variables={"LD_LIBRARY_PATH": os.path.dirname(self.lab.library)})
        self.check_whole(self.report(), 2, LAPS, NODES[:2])

    def test_output_and_exit_status_are_the_programs(self):
        words = ["srun", "-Q", *TWO, f"--export=ALL,LD_PRELOAD={self.lab.library}"]
        bare = self.call("srun", "-Q", *TWO, "./app", "3", "exit", "7", expected=7)
        recorded = self.call(*words, "./app", "3", "exit", "7", expected=7)
        self.assertEqual(recorded.stdout, bare.stdout)
        self.check_whole(self.report(), 2, 3, NODES[:2])

    def test_every_step_of_a_job_has_a_run_directory(self):
        text = f"""#!/bin/sh
            srun -Q --export=ALL,LD_PRELOAD={self.lab.library} ./app {LAPS}
            srun -Q --export=ALL,LD_PRELOAD={self.lab.library} ./app 7
            """
        self.sbatch(text, *TWO)
        first, second = sorted(name for name in os.listdir(self.directory) if name.startswith("megascope-"))
        self.check_whole(self.report(f"{self.directory}/{first}"), 2, LAPS, NODES[:2])
        self.check_whole(self.report(f"{self.directory}/{second}"), 2, 7, NODES[:2])
        self.assertEqual((first[-2:], second[-2:]), (".0", ".1"))

    def test_the_batch_script_itself_may_be_preloaded(self):
        self.sbatch("#!/bin/bash\nhostname\nsrun -Q ./app 9\n", *TWO, f"--export=ALL,LD_PRELOAD={self.lab.library}")
        self.check_whole(self.report(), 2, 9, NODES[:2])

    def test_every_task_of_an_array_has_a_run_directory(self):
        """More tasks than nodes: several run on a node at once, and some wait."""
        tasks = range(3, 15)
        text = f"#!/bin/sh\nsrun -Q --export=ALL,LD_PRELOAD={self.lab.library} ./app $SLURM_ARRAY_TASK_ID\n"
        self.sbatch(text, "-N1", "-n1", f"--array={tasks.start}-{tasks.stop - 1}")
        names = [name for name in os.listdir(self.directory) if name.startswith("megascope-")]
        self.assertEqual(len(names), len(tasks))
        ids = {}
        for name in names:
            report = self.report(f"{self.directory}/{name}")
            slurm, (row,) = report["slurm"], report["per_rank"]
            task = int(slurm["array_task_id"])
            ids[task] = slurm["job_id"], slurm["array_job_id"]
            self.assertEqual(name, f"megascope-{slurm['job_id']}.0")
            self.assertEqual((row["end_state"], row["host"]), ("finalized", slurm["step_nodelist"]))
            self.assertEqual(report["functions"]["MPI_Sendrecv"]["calls"], task, "the argument of this task")
        self.assertEqual(sorted(ids), list(tasks))
        self.assertEqual(len({job for job, _ in ids.values()}), len(tasks))
        self.assertEqual(len({array for _, array in ids.values()}), 1)

    def test_components_of_a_heterogeneous_job_are_one_run(self):
        words = ["-N1", "-n1", "-w", "n0", f"--export=ALL,LD_PRELOAD={self.lab.library}", "./app", str(LAPS)]
        result = self.call("srun", "-Q", *words, ":", "-N2", "-n2", "-w", "n1,n2", *words[4:])
        self.assertEqual(result.stdout, "3 ranks, sum 3\n")
        report = self.report()
        self.check_whole(report, 3, LAPS, NODES[:3])
        self.assertEqual(report["slurm"]["het_size"], "2")

    def test_megascope_run_before_and_behind_srun(self):
        self.call(self.lab.command, "run", "-o", "before", "--", "srun", "-Q", *TWO, "./app", str(LAPS))
        self.check_whole(self.report(f"{self.directory}/before"), 2, LAPS, NODES[:2])
        self.call("srun", "-Q", *TWO, self.lab.command, "run", "--", "./app", str(LAPS))
        self.check_whole(self.report(), 2, LAPS, NODES[:2])

    def test_another_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can be another user")
        result = self.call("setpriv", f"--reuid={UNPRIVILEGED}", f"--regid={UNPRIVILEGED}", "--clear-groups", "srun", "-Q", *TWO,
                           f"--export=ALL,LD_PRELOAD={self.lab.library}", "./app", str(LAPS))
        self.assertEqual(result.stdout, "2 ranks, sum 1\n")
        self.check_whole(self.report(), 2, LAPS, NODES[:2])
        self.assertEqual(os.stat(self.run_directory()).st_uid, UNPRIVILEGED)


class Mpirun(lab.Case):
    """There SLURM_PROCID is that of Open MPI's daemon, not of the rank."""

    def setUp(self):
        super().setUp()
        each = 2 if self.lab.is_isolated else 1  # nodes that share /dev/shm would use each other's shared-memory segments
        self.nodes = [node for node in NODES[:2] for _ in range(each)]
        self.allocation = ["-N2", f"-n{2 * each}", "-w", "n0,n1", f"--ntasks-per-node={each}"]
        self.mpirun = ["mpirun.openmpi", "--mca", "plm_slurm_args", "--mpi=none", "-n", str(2 * each), "-x",
                       f"LD_PRELOAD={self.lab.library}", "./app", str(LAPS)]

    def check_run(self):
        report = self.report()
        self.check_whole(report, len(self.nodes), LAPS, self.nodes)
        self.assertEqual(report["slurm"]["job_nodelist"], "n[0-1]")
        self.assertTrue(report["slurm"]["job_id"])

    def test_in_an_allocation(self):
        result = self.call("salloc", "-Q", *self.allocation, *self.mpirun)
        self.assertIn(f"{len(self.nodes)} ranks, sum ", result.stdout)
        self.check_run()

    def test_in_a_batch_script(self):
        self.sbatch("#!/bin/sh\n" + " ".join(self.mpirun) + "\n", *self.allocation)
        self.check_run()


class Bare(lab.Case):
    def test_a_wrong_path_leaves_the_program_alone(self):
        result = self.call("srun", "-Q", *TWO, "--export=ALL,LD_PRELOAD=/nosuch/libmegascope.so", "./app", "3")
        self.assertEqual(result.stdout, "2 ranks, sum 1\n")
        self.assertIn("cannot be preloaded", result.stderr)
        self.assertEqual([name for name in os.listdir(self.directory) if name.startswith("megascope")], [])

    def test_programs_without_mpi_leave_nothing(self):
        result = self.call("srun", "-Q", *TWO, f"--export=ALL,LD_PRELOAD={self.lab.library}", "date")
        self.assertEqual((len(result.stdout.splitlines()), result.stderr), (2, ""))
        self.assertEqual(sorted(os.listdir(self.directory)), ["app"])


if __name__ == "__main__":
    lab.main()
