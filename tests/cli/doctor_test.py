"""`megascope doctor`: each finding provoked for real.

  doctor_test.py MEGASCOPE PROGRAM COMPILER OTHER_MPICC     OTHER_MPICC: another MPI's, or empty
"""

import ctypes
import json
import os
import shutil
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import in_directory  # noqa: E402
import reported_skips  # noqa: E402

MEGASCOPE, PROGRAM, COMPILER, OTHER_MPICC = sys.argv[1:5]
LIBRARY = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(MEGASCOPE))), "lib", "libmegascope.so")
ABOUTS = ["library", "exports", "options", "mpi", "fortran", "launcher", "preload", "scratch", "directory", "clock", "ptrace", "slurm", "gpu"]
CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | 0x40000


class Case(in_directory.InDirectory):
    def setUp(self):
        super().setUp()
        self.bin = self.make_directory("bin")

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(self.path(name), 0o755)
        return self.path(name)

    def build(self, name, text, *options, compiler=COMPILER):
        source = self.write(name + ".c", text)
        made = subprocess.run([compiler, "-o", self.path(name), source, *options], capture_output=True, text=True)
        if made.returncode != 0:
            self.skipTest(f"cannot be built here: {made.stderr[:200]}")
        return self.path(name)

    def call(self, *words, before=None, **variables):
        return self.finished(MEGASCOPE, "doctor", *words, before=before, **{"PATH": self.bin + ":" + os.environ["PATH"], **variables})

    def findings(self, *words, **more):
        result = self.call("--json", *words, **more)
        answer = json.loads(result.stdout)
        problems = [one for one in answer["findings"] if one["verdict"] == "problem"]
        self.assertEqual((answer["problems"], result.returncode), (len(problems), 1 if problems else 0))
        for one in problems:
            self.assertNotEqual(one["remedy"], "", one)
        return answer["findings"]

    def about(self, about, *words, **more):
        return [one for one in self.findings(*words, **more) if one["about"] == about]

    def expect(self, about, verdict, part, *words, **more):
        found = self.about(about, *words, **more)
        self.assertTrue(any(one["verdict"] == verdict and part in one["text"] for one in found), found)


class Machine(Case):
    def test_looks_at_everything(self):
        self.write("bin/srun", "#!/bin/sh\necho 'MPI plugin types are...'\necho '\tpmix'\n")
        found = self.findings()
        self.assertEqual([one["about"] for one in found if one["about"] != "root"], ABOUTS)
        verdicts = {one["about"]: one["verdict"] for one in found}
        for about in ("library", "options", "mpi", "preload", "slurm"):
            self.assertEqual(verdicts[about], "ok", found)

    def test_text_is_a_line_a_finding(self):
        result = self.call(MEGASCOPE_ENABLE="0")
        lines = result.stdout.splitlines()
        self.assertEqual((result.returncode, result.stderr), (1, ""))
        self.assertIn("problem  options   MEGASCOPE_ENABLE=0: nothing will be recorded", lines)
        self.assertIn(19 * " " + "Unset it or set it to 1.", lines)
        self.assertRegex(lines[-1], r"^\d problems?\. For other causes of an empty run see docs/nothing_recorded.md$")

    def test_bad_usage(self):
        for words in (["--jsn"], ["nosuchprogram"]):
            result = self.call(*words)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertRegex(result.stderr, "^megascope: .*" + words[0])

    def test_options_that_are_not_understood(self):
        self.expect("options", "problem", "MEGASCOPE_EXPROT is not an option", MEGASCOPE_EXPROT="otf2")
        self.expect("options", "problem", "MPI_Rcv is neither", MEGASCOPE_MPI="-MPI_Rcv")
        self.expect("options", "problem", "*@wieght is ignored: wieght is not a tensor kind", MEGASCOPE_TENSORS="*@wieght")
        self.expect("options", "ok", "MEGASCOPE_REPORT=short", MEGASCOPE_REPORT="short")

    def test_never_hangs(self):
        self.write("bin/srun", "#!/bin/sh\nsleep 1000\n")
        begin = time.monotonic()
        self.expect("slurm", "note", "no answer in 10 s")
        self.assertLess(time.monotonic() - begin, 40)

    def test_never_waits_for_a_launcher(self):
        self.write("bin/mpirun", "#!/bin/sh\nsleep 1000\n")
        begin = time.monotonic()
        self.expect("launcher", "problem", "an unknown MPI", "--", "mpirun", "-n", "2", PROGRAM)
        self.assertLess(time.monotonic() - begin, 60)


class Program(Case):
    EMPTY = "int main(void) { return 0; }"

    def test_dynamic(self):
        self.expect("program", "ok", "linked dynamically", PROGRAM)
        self.expect("mpi", "ok", "libmp", "--", PROGRAM, "--json")

    def test_static(self):
        self.expect("program", "problem", "statically linked", self.build("static", self.EMPTY, "-static"))

    def test_other_rights(self):
        copy = self.path("copy")
        shutil.copy(PROGRAM, copy)
        os.chmod(copy, 0o4755)
        self.expect("program", "problem", "is set-user-ID or has capabilities", copy)

    def test_32_bits(self):
        with open(PROGRAM, "rb") as file:
            header = bytearray(file.read(4096))
        header[4] = 1  # ELFCLASS32
        with open(self.path("old"), "wb") as file:
            file.write(header)
        os.chmod(self.path("old"), 0o755)
        self.expect("program", "problem", "not a 64-bit program", self.path("old"))

    def test_mpi_inside(self):
        inside = "int PMPI_Init(int* a, char*** b) { return a == 0 && b == 0; } int main(void) { return PMPI_Init(0, 0) - 1; }"
        self.expect("program", "problem", "MPI is linked into the program itself", self.build("inside", inside))

    def test_a_script_and_no_mpi(self):
        self.expect("program", "note", "is not a binary", self.write("script", "#!/bin/sh\n"))
        self.expect("mpi", "note", "is not linked with MPI", self.build("empty", self.EMPTY))

    def test_a_library_that_is_not_found(self):
        self.build("libmissing.so", "int f(void) { return 0; }", "-shared", "-fPIC", "-Wl,-soname,libmissing.so")
        needs = self.build("needs", "int f(void); int main(void) { return f(); }", "-L" + self.directory, "-lmissing")
        os.remove(self.path("libmissing.so"))
        self.expect("mpi", "problem", "needs libmissing.so, which is not found", needs)

    @unittest.skipIf(not OTHER_MPICC, "no other MPI is installed")
    def test_another_mpi(self):
        text = "#include <mpi.h>\nint main(int c, char** v) { MPI_Init(&c, &v); return MPI_Finalize(); }"
        other = self.build("other", text, compiler=OTHER_MPICC)
        self.expect("program", "problem", "another MPI library", other)
        self.expect("mpi", "problem", "nothing will be recorded", other)
        self.expect("launcher", "problem", "this MegaScope is for", OTHER_MPICC.replace("mpicc", "mpirun"), "-n", "2", PROGRAM)


class Ranks(Case):
    def cores(self):
        """Of the processors that this process may use; those of one core count once."""
        found = set()
        for processor in os.sched_getaffinity(0):
            directory = f"/sys/devices/system/cpu/cpu{processor}/topology/"
            with open(directory + "core_id", encoding="ascii") as core, open(directory + "physical_package_id", encoding="ascii") as package:
                found.add((package.read(), core.read()))
        return len(found)

    def launcher(self, name, text):
        return self.write("bin/" + name, f"#!/bin/sh\necho '{text}'\n")

    def test_more_ranks_than_cores(self):
        self.launcher("mpirun", "mpirun (Open MPI) 4.1.4")
        most = self.cores()
        for count in (["-n", str(most + 1)], ["-np", str(most + 1)], ["-n", "1", PROGRAM, ":", "-n", str(most)]):
            command = ["mpirun", "--allow-run-as-root", *count, PROGRAM]
            found = self.about("ranks", "--", *command)
            self.assertEqual([one["verdict"] for one in found], ["note"], command)
            self.assertRegex(found[0]["text"], rf"^more ranks than cores: {most + 1} ranks on ")
            lines = [line for line in self.call("--", *command).stdout.splitlines() if "more ranks than cores" in line]
            self.assertEqual(len(lines), 1)
        for words in (["-n", "1", PROGRAM], [PROGRAM, "-n", str(most + 1)], ["-n", str(most + 1), "--host", "a,b", PROGRAM]):
            self.assertEqual(self.about("ranks", "--", "mpirun", "--allow-run-as-root", *words), [], words)

    def test_fewer_processors_than_cores_by_affinity(self):
        one = min(os.sched_getaffinity(0))
        self.launcher("mpirun", "mpirun (Open MPI) 4.1.4")
        found = self.about("ranks", "--", "mpirun", "--allow-run-as-root", "-n", "2", PROGRAM, before=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual([each["text"].partition(";")[0] for each in found], ["more ranks than cores: 2 ranks on 1 usable core"])

    def control_group(self):
        """A new one that grants 1.5 processors."""
        for root, settings in (("/sys/fs/cgroup", {"cpu.max": "150000 100000"}),
                               ("/sys/fs/cgroup/cpu", {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "150000"})):
            group = f"{root}/doctor_test.{os.getpid()}"
            if not os.path.exists(root + "/cgroup.procs"):
                continue
            try:
                os.mkdir(group)
                self.addCleanup(os.rmdir, group)
                for name, value in settings.items():
                    with open(f"{group}/{name}", "w", encoding="ascii") as file:
                        file.write(value)
                return group
            except OSError as problem:
                self.skipTest(f"no control group can be made here: {problem}")
        self.skipTest("no control group with a limit can be made here")

    def test_a_control_group_that_grants_less(self):
        group = self.control_group()

        def enter():
            with open(group + "/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

        self.launcher("mpirun", "mpirun (Open MPI) 4.1.4")
        found = self.about("ranks", "--", "mpirun", "--allow-run-as-root", "-n", "2", PROGRAM, before=enter)
        self.assertIn("1.5 processors granted by the control group", found[0]["text"])

    def test_srun_in_a_job(self):
        self.launcher("srun", "MPI plugin types are... pmix")
        job = {"SLURM_JOB_ID": "7", "SLURM_CPUS_ON_NODE": "4", "SLURM_JOB_NUM_NODES": "2"}
        for words in (["-n", "9"], ["-n9"], ["--ntasks=9"], ["--ntasks", "9"]):
            self.expect("ranks", "note", "9 ranks on 8 processors of the job", "--", "srun", *words, PROGRAM, **job)
        self.assertEqual(self.about("ranks", "--", "srun", "-n", "8", PROGRAM, **job), [])
        self.assertEqual(self.about("ranks", "--", "srun", "-n", "800", PROGRAM), [], "outside of a job it asks for nodes first")

    @unittest.skipUnless(os.geteuid() == 0, "of root only")
    def test_open_mpi_refuses_root(self):
        allowed = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        forbidden = dict.fromkeys(allowed, "0")
        mpirun = shutil.which("mpirun.openmpi")
        if mpirun is not None:
            real = subprocess.run([mpirun, "-n", "1", "true"], env={**os.environ, **forbidden}, capture_output=True, text=True, timeout=100)
            self.assertNotEqual(real.returncode, 0, "it does not refuse any more")
            self.assertEqual(subprocess.run([mpirun, "-n", "1", "true"], env={**os.environ, **allowed}, timeout=100).returncode, 0)
        self.launcher("mpirun", "mpirun (Open MPI) 4.1.4")
        self.expect("root", "problem", "refuses to run as root", "--", "mpirun", "-n", "1", PROGRAM, **forbidden)
        self.assertEqual(self.about("root", "--", "mpirun", "--allow-run-as-root", "-n", "1", PROGRAM, **forbidden), [])
        self.assertEqual(self.about("root", "--", "mpirun", "-n", "1", PROGRAM, **allowed), [])
        self.assertEqual(self.about("root", "--", PROGRAM, **allowed), [])

    @unittest.skipIf(os.geteuid() == 0, "of ordinary users only")
    def test_open_mpi_takes_ordinary_users(self):
        self.launcher("mpirun", "mpirun (Open MPI) 4.1.4")
        self.assertEqual(self.about("root", "--", "mpirun", "-n", "1", PROGRAM), [])


class Preloads(Case):
    def test_another_tool(self):
        tool = self.build("libtool.so", "int MPI_Init(int* a, char*** b) { return a == 0 && b == 0; }", "-shared", "-fPIC")
        self.expect("preload", "problem", "libtool.so wraps MPI calls as well", LD_PRELOAD=f"{LIBRARY}:{tool}")

    def test_our_own_once_and_twice(self):
        copy = self.path("libmegascope.so")
        shutil.copy(LIBRARY, copy)
        self.expect("preload", "ok", "MegaScope is already in LD_PRELOAD", LD_PRELOAD=LIBRARY)
        self.expect("preload", "note", "more than once", LD_PRELOAD=f"{LIBRARY}:{copy}")

    def test_a_path_that_is_wrong(self):
        self.expect("preload", "problem", "/nosuch.so is in LD_PRELOAD but was not loaded", LD_PRELOAD="/nosuch.so")


class Storage(Case):
    def test_a_directory_that_is_not_there(self):
        self.expect("scratch", "problem", "/nosuch", MEGASCOPE_SCRATCH="/nosuch")

    def test_little_space_in_memory(self):
        def mount_little():
            libc = ctypes.CDLL(None, use_errno=True)
            if (libc.unshare(CLONE_NEWNS) != 0 or libc.mount(None, b"/", None, MS_REC_PRIVATE, None) != 0 or
                    libc.mount(b"tmpfs", self.bin.encode(), b"tmpfs", 0, b"size=512m") != 0):
                raise OSError(ctypes.get_errno(), "no right to mount")
        try:
            self.expect("scratch", "problem", "(tmpfs), 512 MiB free", before=mount_little, MEGASCOPE_SCRATCH=self.bin)
        except subprocess.SubprocessError:
            self.skipTest("no right to mount")
        self.expect("scratch", "note", "it uses memory", before=mount_little, MEGASCOPE_SCRATCH=self.bin, MEGASCOPE_BUFFER_SIZE="1M")
        self.expect("scratch", "note", f"a rank uses up to {224 // os.cpu_count()} MiB", before=mount_little, MEGASCOPE_SCRATCH=self.bin,
                    MEGASCOPE_BUFFER_SIZE="auto")  # half of what is free above an eighth
        if os.cpu_count() > 1:
            self.expect("scratch", "note", "space for 1 full rank,", before=mount_little, MEGASCOPE_SCRATCH=self.bin,
                        MEGASCOPE_BUFFER_SIZE="400M")

    def test_a_run_directory_of_this_node_only(self):
        self.expect("directory", "ok", self.directory)
        self.expect("directory", "problem", "visible on this node only", SLURM_STEP_NUM_NODES="2")


class Slurm(Case):
    def srun(self, text="pmix"):
        self.write("bin/srun", f"#!/bin/sh\necho 'MPI plugin types are...'\necho '{text}'\n")

    def test_missing_in_a_job(self):
        os.symlink(PROGRAM, self.path("bin/app"))
        self.expect("slurm", "problem", "srun is not in PATH", PATH=self.bin, SLURM_JOB_ID="7")

    def test_without_pmix(self):
        self.srun("none")
        self.expect("slurm", "problem", "no PMIx plugin")

    def test_plugins_that_are_not_known(self):
        self.write("bin/srun", "#!/bin/sh\necho 'srun: error: Unable to contact slurm controller'\n")
        self.expect("slurm", "note", "srun --mpi=list lists no MPI plugin: srun: error: Unable to contact slurm controller")
        self.write("bin/srun", "#!/bin/sh\n")
        self.expect("slurm", "note", "srun --mpi=list lists no MPI plugin: it printed nothing")

    def test_values_that_were_cut(self):
        self.srun()
        for words in (["srun", "--export=ALL,MEGASCOPE_EXPORT=otf2,chrome", PROGRAM],
                      ["srun", "--export", "ALL,MEGASCOPE_EXPORT=otf2,chrome", PROGRAM]):
            self.expect("slurm", "problem", "the ranks get MEGASCOPE_EXPORT=otf2 without chrome", "--", *words)
        self.expect("slurm", "problem", "MEGASCOPE_MPI=-MPI_Test without -MPI_Iprobe",
                    SLURM_EXPORT_ENV="ALL,MEGASCOPE_MPI=-MPI_Test,-MPI_Iprobe")
        for good in ("ALL,MEGASCOPE_EXPORT=otf2+chrome,HOME", "ALL,MEGASCOPE_EXPORT=otf2,HOME"):
            self.assertEqual([one["verdict"] for one in self.about("slurm", SLURM_EXPORT_ENV=good)], ["ok"])

    def test_options_that_are_not_handed_on(self):
        self.srun()
        self.expect("slurm", "problem", "without ALL: the ranks do not get MEGASCOPE_REPORT", "--", "srun",
                    "--export=LD_PRELOAD=libmegascope.so,MEGASCOPE_OUT", PROGRAM, MEGASCOPE_REPORT="short", MEGASCOPE_OUT="x")


if __name__ == "__main__":
    reported_skips.main(*sys.argv[5:])
