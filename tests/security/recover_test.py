"""`megascope recover` and `megascope report` among other users."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

from case import ATTACKER, LIMIT_S, PROGRAM, SECRET, VICTIM, Case, as_user, listing, main, needs_two_users, python_of, wait_for

# Puts a directory with links to private files in the place of the victim's, and back, again and again.
SWAP = """
import os, sys
home, mine, aside = sys.argv[1:]
while True:
    try:
        os.rename(home, aside)
        os.rename(mine, home)
        os.rename(home, mine)
        os.rename(aside, home)
    except OSError:
        pass
"""
LEFTOVERS = 100_000
NETWORK_SCRATCH = os.path.join(os.path.dirname(os.path.realpath(PROGRAM)), "security_network_scratch.so")


def text_of(result):
    return (result.stdout + result.stderr).decode(errors="replace")


@needs_two_users
class TwoUsers(Case):
    """The attacker's directory has the name that the victim's would have."""

    def planted(self, scratch=None):
        """A run of the attacker's under the victim's name, whose second trace is a link to a private file of the victim."""
        secret = self.secret()
        elsewhere = self.elsewhere(ATTACKER)
        out = self.killed_run(f"{elsewhere}/run", ATTACKER, scratch)
        os.chmod(out, 0o777)
        scratch = scratch or self.scratch
        home = f"{scratch}/megascope-{VICTIM}"
        os.rename(f"{scratch}/megascope-{ATTACKER}", home)
        os.chmod(home, 0o755)
        run, = os.listdir(home)
        os.chmod(f"{home}/{run}", 0o755)
        os.chmod(f"{home}/{run}/rank-0.mgt", 0o644)
        os.symlink(secret, f"{home}/{run}/rank-1.mgt")
        return out, f"{home}/{run}"

    def elsewhere(self, uid):
        """A directory of the user, on another file system than scratch where there is one: traces are then copied, not renamed."""
        directory = tempfile.mkdtemp(prefix="security.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, directory, ignore_errors=True)
        os.chown(directory, uid, uid)
        os.chmod(directory, 0o755)
        return directory

    def test_private_files_stay_where_they_are(self):
        out, _ = self.planted()
        before = listing(out)
        result = self.call("recover", "--here", "--scratch", self.scratch, uid=VICTIM)
        self.assertEqual(listing(out), before)
        self.assert_no_secret(out)
        self.assertIn(f"megascope: cannot use {self.scratch}/megascope-{VICTIM}: it belongs to another user\n", text_of(result))

    def test_a_run_directory_of_another_user_is_not_written_to(self):
        """The victim names it herself."""
        out, _ = self.planted()
        before = listing(out)
        result = self.call("recover", out, "--scratch", self.scratch, uid=VICTIM)
        self.assertEqual((result.returncode, listing(out)), (2, before))
        self.assertIn(f"cannot use {out}: it belongs to another user (uid {ATTACKER}), not to uid {VICTIM}; run this as that user", text_of(result))

    def test_root_gives_up_nothing_either(self):
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM)
        before = listing(self.directory)
        for words in (["recover", out], ["recover", out, "--scratch", self.scratch], ["recover", "--here", "--scratch", self.scratch]):
            result = self.call(*words)
            self.assertEqual(listing(self.directory), before, words)
            if "--here" not in words:
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"run this as that user: setpriv --reuid={VICTIM} --regid={VICTIM} --clear-groups megascope recover '{out}'", text_of(result))
        link = f"{self.directory}/link"
        os.symlink(self.make("roots"), link)
        self.write(f"{self.directory}/roots/run-id", f"../../{VICTIM}\n{self.scratch}\n")
        self.assertEqual(self.call("recover", link).returncode, 2)
        self.assertEqual(len(self.left_in(VICTIM)), 1)
        self.assertEqual(self.call("recover", out, uid=VICTIM).returncode, 0)

    def test_a_directory_of_another_user_with_the_same_run_id_is_no_run_directory(self):
        """The run directory has got another name, so recover looks for it, and the attacker knows the id."""
        common = self.make("common", mode=0o1777)
        out = self.killed_run(f"{common}/run", VICTIM)
        with open(f"{out}/run-id", encoding="utf-8") as file:
            run_id = file.read()
        for name in ("a", "run-2", "zz"):
            self.write(f"{self.make(f'{common}/{name}', ATTACKER, 0o777)}/run-id", run_id, ATTACKER, 0o644)
        for i in range(20):  # directories of the victim's that a group can write to; which one is read first the file system decides
            self.write(f"{self.make(f'{common}/shared-{i}', VICTIM, 0o777)}/run-id", run_id, ATTACKER, 0o644)
        os.rename(out, f"{common}/renamed")
        os.symlink(f"{common}/a", out)
        result = self.call("recover", "--here", "--scratch", self.scratch, uid=VICTIM)
        self.assertEqual(result.returncode, 0, text_of(result))
        self.assertTrue(os.path.isfile(f"{common}/renamed/rank-0.mgt"))
        self.assertEqual(os.listdir(f"{common}/a"), ["run-id"])

    def test_a_fifo_holds_no_process(self):
        _, run = self.planted()
        os.remove(f"{run}/rank-0.mgt")
        os.mkfifo(f"{run}/rank-0.mgt", 0o666)
        self.call("recover", "--here", "--scratch", self.scratch, uid=VICTIM, limit_s=20)
        os.mkfifo(f"{self.directory}/run-id", 0o666)
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM, self.make("own", VICTIM, 0o700))
        os.mkfifo(f"{out}/rank-1.mgt", 0o666)
        os.mkfifo(f"{out}/rank-2.mgt.part", 0o666)
        result = self.call("recover", out, uid=VICTIM, limit_s=20)
        self.assertEqual(result.returncode, 0, text_of(result))

    def test_a_directory_that_is_swapped_for_another_while_it_is_read(self):
        """The parent is not sticky, so the attacker can rename what is in it."""
        scratch = self.make("open", mode=0o777)
        _, planted = self.planted(scratch)
        theirs = f"{scratch}/theirs"
        os.rename(os.path.dirname(planted), theirs)
        victims = self.elsewhere(VICTIM)
        home = f"{scratch}/megascope-{VICTIM}"
        for turn in range(3):
            out = self.killed_run(f"{victims}/run{turn}", VICTIM, scratch)
            run, = os.listdir(home)
            os.rename(f"{theirs}/{os.listdir(theirs)[0]}", f"{theirs}/{run}")
            with subprocess.Popen(as_user(ATTACKER, [python_of(ATTACKER), "-c", SWAP, home, theirs, f"{scratch}/aside"])) as swapper:
                try:
                    for words in [["recover", out, "--scratch", scratch], ["recover", "--here", "--scratch", scratch]] * 15:
                        self.call(*words, uid=VICTIM)
                    self.assertIsNone(swapper.poll())
                finally:
                    swapper.kill()
            self.assert_no_secret(victims)
            self.assertFalse(os.path.lexists(f"{out}/rank-1.mgt"))
            if os.path.lexists(f"{scratch}/aside"):  # the attacker was stopped in between
                if os.path.lexists(home):
                    os.rename(home, theirs)
                os.rename(f"{scratch}/aside", home)
            self.assertEqual(self.call("recover", out, uid=VICTIM).returncode, 0)
            self.assertTrue(os.path.isfile(f"{out}/rank-0.mgt"))

    def test_links_in_a_run_directory_that_a_group_writes_to(self):
        out = self.killed_run(f"{self.make('victims', VICTIM)}/run", VICTIM)
        os.chmod(out, 0o777)
        secret = self.secret()
        for name in ("rank-0.mgt.part", "rank-1.mgt", "rank-0.mgt.0123456789abcdef.part"):
            os.symlink(secret, f"{out}/{name}")
        os.link(secret, f"{out}/rank-3.mgt.part")
        result = self.call("recover", out, uid=VICTIM)
        self.assertEqual(result.returncode, 0, text_of(result))
        with open(secret, encoding="utf-8") as file:
            self.assertEqual(file.read(), SECRET)
        self.assertEqual(os.lstat(f"{out}/rank-0.mgt").st_mode & 0o177777, 0o100600)

    def test_a_run_id_that_a_group_member_planted_brings_nothing(self):
        """It names another run of the victim, and a private directory of hers that is not for scratch."""
        victims = self.make("victims", VICTIM)
        out = self.killed_run(f"{victims}/run", VICTIM)
        os.chmod(out, 0o777)
        self.killed_run(f"{victims}/other", VICTIM)
        with open(f"{victims}/other/run-id", encoding="utf-8") as file:
            lines = file.read().splitlines()
        private = self.make("private", VICTIM, 0o700)
        self.make(f"{private}/{lines[0]}", VICTIM, 0o700)
        shutil.copy(self.left_in(VICTIM)[0], f"{private}/{lines[0]}/rank-7.mgt")
        os.chown(f"{private}/{lines[0]}/rank-7.mgt", VICTIM, VICTIM)
        left = self.left_in(VICTIM)
        os.unlink(f"{out}/run-id")
        self.write(f"{out}/run-id", "\n".join([*lines[:4], f"{private}/{lines[0]}"]) + "\n", ATTACKER)
        os.chmod(f"{out}/run-id", 0o644)
        result = self.call("recover", out, uid=VICTIM)
        self.assertEqual((result.returncode, self.left_in(VICTIM), os.listdir(f"{private}/{lines[0]}")), (2, left, ["rank-7.mgt"]))
        self.assertIn("it belongs to another user, or has more than one name", text_of(result))
        os.chown(f"{out}/run-id", VICTIM, VICTIM)  # even as her own file it leads to no other directory than one of scratch
        self.call("recover", out, uid=VICTIM)
        self.assertEqual(os.listdir(f"{private}/{lines[0]}"), ["rank-7.mgt"])

    def test_what_lies_beside_a_run_does_not_stop_its_report(self):
        common = self.make("common", mode=0o1777)
        out = self.killed_run(f"{common}/run", VICTIM)
        self.assertEqual(self.call("recover", out, uid=VICTIM).returncode, 0)
        for name in ("a", "z"):
            beside = self.make(f"{common}/{name}", ATTACKER)
            for fifo in ("run-id", "rank-0.mgt", "report.json"):
                os.mkfifo(f"{beside}/{fifo}", 0o666)
        for words in (["report", out], ["report", out, "--json"], ["hang", out], ["analyze", out]):
            result = self.call(*words, uid=VICTIM, limit_s=30)
            self.assertIn(result.returncode, (0, 1), text_of(result))


class OneUser(Case):
    def test_a_trace_that_is_copied_to_another_file_system_is_private(self):
        if os.stat("/dev/shm").st_dev == os.stat("/tmp").st_dev:
            self.skipTest("/tmp and /dev/shm are one file system")
        other = tempfile.mkdtemp(prefix="security.", dir="/dev/shm")
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        out = self.killed_run(f"{other}/run")
        self.assertEqual(self.call("recover", out).returncode, 0)
        self.assertEqual(os.stat(f"{out}/rank-0.mgt").st_mode & 0o7777, 0o600)
        self.assertEqual(self.left_in(None), [])

    def test_a_job_that_runs_is_copied_and_its_ranks_are_listed_once(self):
        out = f"{self.directory}/run"
        process = self.start_run(out)
        for scratches in ([], ["--scratch", f"{self.scratch},{self.scratch}/,{self.scratch}/."]):
            text = text_of(self.call("recover", out, *scratches))
            self.assertEqual(text.count("process of rank-0.mgt still runs"), 1, text)
            self.assertIn("1 trace in ", text)
        text = text_of(self.call("recover", "--here", "--scratch", self.scratch))
        self.assertIn("belongs to a run that is still active; it was not moved", text)
        self.assertEqual(len(self.left_in(None)), 1)
        self.kill(process)
        text = text_of(self.call("recover", out))
        self.assertNotIn("still runs", text)
        self.assertEqual(self.left_in(None), [])

    def test_a_job_in_a_pid_namespace_keeps_its_trace(self):
        """As in a container. The program must not be pid 1 there."""
        inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to unshare")
        for name, mounts in (("with", inside), ("without", inside[:-1])):  # /proc of its own
            out = f"{self.directory}/{name}"
            process = self.start_run(out, prefix=[*mounts, "sh", "-c", '"$@"; exit $?', "sh"])
            left = self.left_in(None)
            self.assertEqual(len(left), 1)
            self.assertIn("belongs to a run that is still active", text_of(self.call("recover", "--here", "--scratch", self.scratch)))
            self.assertIn("process of rank-0.mgt still runs: its trace so far was copied", text_of(self.call("recover", out)))
            self.assertEqual(self.left_in(None), left, "the trace was not taken from it")
            self.kill(process)
            wait_for("the kernel", lambda: "still runs" not in text_of(self.call("recover", out)), 20)
            self.assertEqual(self.left_in(None), [])

    def test_a_job_that_writes_to_a_file_server_keeps_its_trace_on_the_server(self):
        """The job sees a network file system and maps nothing, this machine exports it and sees a local disk."""
        inside = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to unshare")
        scratch = self.make("network-scratch", mode=0o1777)
        out = f"{self.directory}/run"
        self.start_run(out, scratch=scratch, prefix=[*inside, "sh", "-c", '"$@"; exit $?', "sh"], also_preload=NETWORK_SCRATCH)
        left = self.left_in(None, scratch)
        self.assertEqual(len(left), 1)
        text = text_of(self.call("recover", "--here", "--scratch", scratch))
        self.assertIn("1 trace was not moved: its process may still be running on another machine or in another PID namespace", text)
        self.assertIn(f"{left[0]} was copied, not moved: its process may still run", text_of(self.call("recover", out)))
        self.assertEqual(self.left_in(None, scratch), left)

    def test_a_job_in_a_time_namespace_keeps_its_trace(self):
        """The kernel shows start times with the offset of the reader's namespace."""
        inside = ["unshare", "--time", "--boottime", "1000000", "--fork", "--kill-child"]
        if subprocess.run([*inside, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to unshare")
        out = f"{self.directory}/run"
        process = self.start_run(out, prefix=inside)
        left = self.left_in(None)
        self.assertIn("process of rank-0.mgt still runs: its trace so far was copied", text_of(self.call("recover", out)))
        self.assertEqual((self.left_in(None), len(left)), (left, 1))
        self.kill(process)
        wait_for("the kernel", lambda: "still runs" not in text_of(self.call("recover", out)), 20)
        self.assertEqual(self.left_in(None), [])

    def test_a_kill_between_link_and_unlink_is_made_good(self):
        """Where the file system cannot rename without replacing. Both names are of one file then."""
        out = self.killed_run(f"{self.directory}/run")
        left, = self.left_in(None)
        os.link(left, f"{out}/rank-0.mgt")
        self.assertEqual(self.call("recover", out).returncode, 0)
        self.assertEqual((self.left_in(None), os.stat(f"{out}/rank-0.mgt").st_nlink), ([], 1))

    def test_without_proof_that_the_writer_is_gone_the_original_stays(self):
        """On this file system the kernel does not tell who maps a file, and its process was in another PID namespace."""
        for name in ("lower", "upper", "work", "merged"):
            self.make(name)
        options = ",".join(f"{name}dir={self.directory}/{name}" for name in ("lower", "upper", "work"))
        merged = f"{self.directory}/merged"
        if subprocess.run(["mount", "-t", "overlay", "overlay", "-o", options, merged], capture_output=True, check=False).returncode != 0:
            self.skipTest("no right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", merged], check=False)
        out = f"{self.directory}/run"
        self.kill(self.start_run(out, scratch=merged, prefix=["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "sh", "-c", '"$@"; exit $?', "sh"]))
        left = self.left_in(None, merged)
        self.assertEqual(len(left), 1)
        text = text_of(self.call("recover", "--here", "--scratch", merged))
        self.assertIn("1 trace was not moved: its process may still be running on another machine or in another PID namespace", text)
        self.assertEqual((self.left_in(None, merged), os.path.exists(f"{out}/rank-0.mgt")), (left, False))
        for recovered in (1, 0):  # the second time there is nothing new
            text = text_of(self.call("recover", out))
            self.assertEqual(text.count("recovered "), recovered, text)
            self.assertIn(f"{left[0]} was copied, not moved: its process may still run", text)
            self.assertEqual(self.left_in(None, merged), left)
        self.assertEqual(json.loads(self.call("report", "--json", out).stdout)["end_states"]["running"], 1)

    def test_names_with_every_byte_that_is_legal(self):
        name = bytes(byte for byte in range(1, 256) if byte != ord("/")).decode(errors="surrogateescape")
        plain = os.path.realpath(self.directory)
        out = f"{plain}/{name[:120]}/{name[120:]}"
        os.mkdir(os.path.dirname(out))
        os.rename(self.scratch, f"{plain}/scratch \x1b]0;x\x07")
        self.scratch = f"{plain}/scratch \x1b]0;x\x07"
        self.killed_run(out)
        self.write(f"{out}/rank-7\x1b]0;title\x07\x9b\n.mgt", "no trace")
        for words in (["recover", "--here", "--scratch", self.scratch], ["recover", out], ["report", out], ["hang", out], ["report", out + "x"]):
            result = self.call(*words)
            raw = result.stdout + result.stderr
            self.assertIsNone(re.search(rb"[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", raw), raw)
            for line in raw.decode().splitlines():  # UTF-8, and no line that a name began
                self.assertNotRegex(line, r"^\.mgt")
        self.assertTrue(os.path.isfile(f"{out}/rank-0.mgt"))

    def test_two_recoveries_at_once(self):
        outs = [self.killed_run(f"{self.directory}/run{i}") for i in range(3)]
        words = [self.command, "recover", "--here", "--scratch", self.scratch]
        both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) for _ in range(4)]
        texts = [process.communicate(timeout=LIMIT_S)[0].decode() for process in both]
        self.assertEqual([process.returncode for process in both], [0] * 4, texts)
        for out in outs:
            self.assertEqual(sorted(name for name in os.listdir(out) if name.startswith("rank-")), ["rank-0.mgt"])
        self.assertEqual("".join(texts).count("recovered "), len(outs), texts)
        self.assertEqual(self.left_in(None), [])

    def test_recoveries_while_jobs_begin_and_end(self):
        """For anything that they copy meanwhile, each job's own trace is there in the end, and whole."""
        rounds, calls_a_round = 5000, 6
        for turn in range(3):
            out = f"{self.directory}/run{turn}"
            ends = threading.Event()

            def recover(out=out, ends=ends):
                while not ends.is_set():
                    self.call("recover", "--here", "--quiet", "--scratch", self.scratch)
                    self.call("recover", out)
            threads = [threading.Thread(target=recover) for _ in range(2)]
            for thread in threads:
                thread.start()
            try:
                subprocess.run([self.program, "finish", f"{self.directory}/book{turn}", str(rounds)], check=True, timeout=LIMIT_S, capture_output=True,
                               env=self.environment(LD_PRELOAD=self.library, MEGASCOPE_OUT=out, MEGASCOPE_SCRATCH=self.scratch, MEGASCOPE_EXPORT="none"))
            finally:
                ends.set()
                for thread in threads:
                    thread.join()
            report = json.loads(self.call("report", "--json", out).stdout)
            self.assertEqual(report["end_states"]["finalized"], 1, report["end_states"])
            self.assertEqual(sum(report["losses"].values()) if isinstance(report["losses"], dict) else sum(report["losses"]), 0)
            self.assertGreaterEqual(sum(function["calls"] for function in report["functions"].values()), rounds * calls_a_round)
            self.assertEqual(self.left_in(None), [])

    def test_many_leftovers_take_bounded_time_and_memory(self):
        """All of them of one run directory's neighbourhood that does not exist any more, and one that does."""
        out = self.killed_run(f"{self.directory}/run")
        home = f"{self.scratch}/megascope-{os.geteuid()}"
        run, = os.listdir(home)
        count = int(os.environ.get("MEGASCOPE_TEST_LEFTOVERS", LEFTOVERS // 20))
        for i in range(count):
            os.mkdir(f"{home}/{i:016x}", 0o700)
            if i % 10 == 0:
                os.link(f"{home}/{run}/rank-0.mgt", f"{home}/{i:016x}/rank-0.mgt")
        script = "import resource, subprocess, sys; r = subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL).returncode; " \
                 "print('used', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, r)"
        result = subprocess.run([sys.executable, "-c", script, self.command, "recover", "--here", "--scratch", self.scratch],
                                capture_output=True, text=True, timeout=LIMIT_S, check=True)
        used_kib, code = map(int, re.search(r"used (\d+) (\d+)", result.stdout).groups())
        self.assertEqual(code, 2, "those without a run directory stay")
        self.assertTrue(os.path.isfile(f"{out}/rank-0.mgt"))
        self.assertLess(used_kib, 128 << 10)
        self.assertEqual(len(os.listdir(home)), count)


if __name__ == "__main__":
    main()
