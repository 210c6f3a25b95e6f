"""What other users plant under the names that our programs open: nothing of theirs is followed, waited for or overwritten.

  matrix_test.py COMMAND PROGRAM MPIRUN...

The names are not listed here: strace tells which names below the test's directories each program opens, creates, renames or looks at. Each of them is then
replaced by each trick, the program is run again, and the victim's home is compared with what it was. MEGASCOPE_TEST_MATRIX=all tries every
combination, else a quarter of them, chosen by a hash of their names.
"""

import hashlib
import os
import pathlib
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tools"))
import launch  # noqa: E402
import reported_skips  # noqa: E402

COMMAND, BUILT_PROGRAM, *MPIRUN = sys.argv[1:]
ATTACKER, VICTIM, GROUP = 4001, 4002, 4100
MARK = "private key of the victim"
LIMIT_S = 30
FRESH = re.compile(r"[0-9a-f]{16}|XXXXXX")
PATH = re.compile(r'(?:<([^>]*)>, )?"((?:[^"\\]|\\.)*)"')  # below an open directory, which strace names
FORMATS = ("otf2", "perfetto", "chrome")


def missing():
    """What the machine lacks to be two users, or None."""
    if os.geteuid() != 0:
        return "other users are played by root only"
    for tool in ("strace", "setpriv"):
        if not shutil.which(tool):
            return f"there is no {tool}"
    probe = subprocess.run(["strace", "-o", os.devnull, "true"], capture_output=True, check=False)
    return None if probe.returncode == 0 else "strace may not trace here"


class World:
    """A home that is private, a project directory of a group, and a scratch directory of everybody."""

    def __init__(self, user):
        self.user = user
        self.base = tempfile.mkdtemp(prefix="security_matrix.", dir="/tmp")
        os.chmod(self.base, 0o755)
        self.home, self.project, self.scratch = (os.path.join(self.base, name) for name in ("home", "project", "scratch"))
        for path, mode, owner, group in ((self.home, 0o700, user, user), (self.project, 0o2775, user, GROUP), (self.scratch, 0o1777, 0, 0)):
            os.mkdir(path)
            os.chown(path, owner, group)
            os.chmod(path, mode)
        os.mkdir(os.path.join(self.home, "directory"))
        for name in ("secret", "directory/secret"):
            with open(os.path.join(self.home, name), "w", encoding="utf-8") as file:
                file.write(MARK + "\n" + self.scratch + "\n" * 40)
            os.chmod(os.path.join(self.home, name), 0o600)
        for entry in ("directory", "secret", "directory/secret"):
            os.chown(os.path.join(self.home, entry), user, user)

    def as_user(self, words):
        if self.user == 0:
            return words
        return ["setpriv", f"--reuid={self.user}", f"--regid={GROUP}", "--clear-groups", *words]

    def environment(self):
        kept = launch.clean_environment()
        kept.pop("TMPDIR", None)
        kept.update(HOME=self.home, MEGASCOPE_SCRATCH=self.scratch)
        return kept

    def start(self, words):
        """Exit code, or None where it took too long; ended by a signal: negative."""
        with subprocess.Popen(self.as_user(words), cwd=self.project, env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True, umask=0o002) as process:
            try:
                return process.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                return None

    def home_state(self):
        """Everything that must stay as it is."""
        state = {}
        for directory, _, names in os.walk(self.home):
            for name in [".", *names]:
                path = os.path.join(directory, name)
                info = os.lstat(path)
                content = hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() if stat.S_ISREG(info.st_mode) else ""
                state[path] = (info.st_mode, info.st_uid, info.st_gid, content)
        return state

    def leaks(self):
        """Files that others can read and that hold what was in the home; names of the same file do not count."""
        own = {os.lstat(os.path.join(directory, name)).st_ino for directory, _, names in os.walk(self.home) for name in names}
        found = []
        for top in (self.project, self.scratch):
            for directory, _, names in os.walk(top):
                for name in names:
                    path = os.path.join(directory, name)
                    info = os.lstat(path)
                    if stat.S_ISREG(info.st_mode) and info.st_ino not in own and MARK.encode() in pathlib.Path(path).read_bytes():
                        found.append(path)
        return found

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)


def remove(path):
    if os.path.islink(path) or not os.path.isdir(path):
        if os.path.lexists(path):
            os.unlink(path)
    else:
        shutil.rmtree(path)


def plant(trick, path, world):
    """False: the trick does not fit."""
    remove(path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    home = world.home
    if trick == "link to a file":
        os.symlink(os.path.join(home, "secret"), path)
    elif trick == "link to nothing":
        os.symlink(os.path.join(home, "created"), path)
    elif trick == "link to a directory":
        os.symlink(os.path.join(home, "directory"), path)
    elif trick == "hard link":
        os.link(os.path.join(home, "secret"), path)
        return
    else:
        os.mkfifo(path, 0o666)
        os.chmod(path, 0o666)
    os.lchown(path, ATTACKER, GROUP)


TRICKS = ("link to a file", "link to nothing", "link to a directory", "hard link", "FIFO")
COMMANDS = {
    "report": ["report", "run"],
    "analyze": ["analyze", "run"],
    "hang": ["hang", "run"],
    "recover": ["recover", "run"],
    "recover here": ["recover", "--here", "--scratch", "{scratch}"],
    "join": ["join", "run", "-o", "joined"],
    **{f"export {name}": ["export", "run", "-f", name] for name in FORMATS},
    "synth": ["synth", "-o", "made", "--steps", "2", "--truth", "truth.json"],
}


REASON = missing()


@unittest.skipIf(REASON, REASON)
class Matrix(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.tried, cls.harmed = 0, []
        cls.installed = tempfile.mkdtemp(prefix="security_matrix_installed.", dir="/tmp")  # the build may be in a private directory
        os.chmod(cls.installed, 0o755)
        built = os.path.dirname(os.path.dirname(os.path.realpath(COMMAND)))
        for name in ("bin/megascope", "lib"):
            os.makedirs(os.path.join(cls.installed, os.path.dirname(name)), exist_ok=True)
            subprocess.run(["cp", "-a", os.path.join(built, name), os.path.join(cls.installed, name)], check=True)
        cls.program = shutil.copy(BUILT_PROGRAM, cls.installed)
        cls.megascope = os.path.join(cls.installed, "bin", "megascope")
        cls.library = os.path.join(cls.installed, "lib", "libmegascope.so")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.installed, ignore_errors=True)
        print(f"{cls.tried} combinations of program, name and trick tried, {len(cls.harmed)} of them did harm", flush=True)

    def world(self, user, template=None):
        world = World(user)
        self.addCleanup(world.close)
        if template:
            for name in ("project", "scratch"):
                shutil.rmtree(os.path.join(world.base, name))
                subprocess.run(["cp", "-a", os.path.join(template.base, name), world.base], check=True)
            self.point_run_id_at(world, template)
        return world

    def point_run_id_at(self, world, template):
        path = os.path.join(world.project, "run", "run-id")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                text = file.read().replace(template.base, world.base)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)

    def recorded(self, user, *ending):
        """A world with a run. ending: how its program ends; "kill" leaves its traces in the scratch directory."""
        world = self.world(user)
        self.assertIsNotNone(world.start(self.job(ending)))
        self.assertTrue(os.path.exists(os.path.join(world.project, "run", "run-id")), os.listdir(world.project))
        return world

    def job(self, ending=(), **variables):
        settings = {"LD_PRELOAD": self.library, "MEGASCOPE_OUT": "run", "MEGASCOPE_EXPORT": "none", **variables}
        return [*MPIRUN, *launch.setting(MPIRUN, **settings), "-n", "2", self.program, *ending]

    def names_of(self, world, words):
        """Names below project and scratch that the program uses, relative to the base; fresh ones are left out."""
        log = os.path.join(world.base, "log")
        traced = ["strace", "-f", "-qq", "-y", "-s", "4096", "-e", "trace=%file", "-o", log, *world.as_user(words)]
        subprocess.run(traced, cwd=world.project, env=world.environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=LIMIT_S, umask=0o002)
        names = set()
        with open(log, encoding="utf-8", errors="replace") as file:
            for line in file:
                for directory, path in PATH.findall(line):
                    names.add(self.relative(world, os.path.join(directory, path)))
        os.unlink(log)
        return sorted(name for name in names if name and not FRESH.search(os.path.basename(name)))

    def relative(self, world, path):
        whole = os.path.normpath(os.path.join(world.project, path))
        name = os.path.relpath(whole, world.base)
        inside = name.startswith(("project/", "scratch/"))
        return name if inside else None

    def is_chosen(self, *words):
        if os.environ.get("MEGASCOPE_TEST_MATRIX") == "all":
            return True
        if "join" in words and "hard link" in words:
            return True  # found once that join copied such a file
        return hashlib.sha256("|".join(words).encode()).digest()[0] % 4 == 0

    def try_all(self, user, what, words, template, prefix):
        probe = self.world(user, template)
        names = [name for name in self.names_of(probe, self.filled(words, probe)) if name.startswith(prefix)]
        self.assertTrue(names, f"{what}: strace saw no name")
        probe.close()
        for name in names:
            for trick in TRICKS:
                if self.is_chosen(what, name, trick, str(user)):
                    with self.subTest(program=what, name=name, trick=trick, user=user):
                        self.try_one(user, what, words, template, name, trick)

    def filled(self, words, world):
        return [word.replace("{scratch}", world.scratch) for word in words]

    def try_one(self, user, what, words, template, name, trick):
        world = self.world(user, template)
        plant(trick, os.path.join(world.base, name), world)
        before = world.home_state()
        type(self).tried += 1
        code = world.start(self.filled(words, world))
        problems = []
        if code is None:
            problems.append("did not end")
        elif code < 0 and code != -signal.SIGTERM:
            problems.append(f"ended by signal {-code}")
        if world.home_state() != before:
            problems.append("changed the victim's home")
        problems += [f"copied a private file to {os.path.relpath(path, world.base)}" for path in world.leaks()]
        if problems:
            type(self).harmed.append((what, name, trick, user, problems))
        world.close()
        self.assertEqual(problems, [])

    def commands(self, user, template):
        for what, arguments in COMMANDS.items():
            self.try_all(user, what, [self.megascope, *arguments], template, "project/")

    def test_group_members_plant_into_a_run_directory_that_they_can_write(self):
        template = self.recorded(VICTIM)
        self.commands(VICTIM, template)

    def test_group_members_plant_into_a_run_directory_before_its_traces_are_recovered(self):
        template = self.recorded(VICTIM, "kill")
        self.try_all(VICTIM, "recover", [self.megascope, "recover", "run"], template, "project/")
        self.try_all(VICTIM, "recover here", [self.megascope, *COMMANDS["recover here"]], template, "project/")

    def test_root_looks_at_a_run_directory_of_a_user_who_planted(self):
        template = self.recorded(0)
        for directory, _, names in os.walk(template.project):
            for name in (".", *names):
                os.lchown(os.path.join(directory, name), ATTACKER, GROUP)
        self.commands(0, template)

    def test_others_plant_into_the_scratch_directory(self):
        for user in (VICTIM, 0):
            template = self.recorded(user, "kill")
            self.try_all(user, "recover here", [self.megascope, *COMMANDS["recover here"]], template, "scratch/")
            self.try_all(user, "recover", [self.megascope, "recover", "run"], template, "scratch/")

    def test_others_plant_before_a_job_starts(self):
        for user in (VICTIM, 0):
            empty = self.world(user)
            words = self.job(MEGASCOPE_EXPORT="+".join(FORMATS))
            self.try_all(user, "a job", words, empty, "project/")
            self.try_all(user, "a job", words, empty, "scratch/")


if __name__ == "__main__":
    reported_skips.main()
