"""What cannot be done is said in one line, by one rank, with an exit code, and no rank hangs."""

import concurrent.futures
import subprocess

import program

SMALL = ["--layers", 2, "--hidden", 32, "--heads", 4, "--sequence", 16, "--batch", 4, "--micro-batches", 2]
IMPOSSIBLE = [
    (["--heads", 3], {}, "--heads 3 does not divide the hidden size (32)"),
    (["--kv-heads", 3], {}, "--kv-heads 3 does not divide the heads (4)"),
    ([], {"tp": 3}, "--tp 3 does not divide the heads (4)"),
    (["--kv-heads", 1], {"tp": 2}, "--tp 2 does not divide the heads of keys and values (1)"),
    (["--ffn", 33], {"tp": 2}, "--tp 2 does not divide the width of the MLP (33)"),
    ([], {"pp": 3}, "--pp 3 x --chunks 1 does not divide the layers (2)"),
    (["--schedule", "interleaved"], {"pp": 2}, "--pp 2 x --chunks 2 does not divide the layers (2)"),
    ([], {"dp": 3}, "--dp 3 x --micro-batches 2 does not divide --batch (4)"),
    (["--micro-batches", 3], {}, "--dp 1 x --micro-batches 3 does not divide --batch (4)"),
    (["--layers", 4, "--micro-batches", 1, "--schedule", "interleaved"], {"pp": 2}, "interleaved: --pp 2 does not divide --micro-batches (1)"),
    (["--chunks", 2], {}, "--chunks is for --schedule interleaved"),
    ([], {"dp": 2, "ranks": 3}, "--dp 2 x --tp 1 x --pp 1 is not the number of ranks (3)"),
    ([], {"tp": 2, "ranks": 1}, "--dp 1 x --tp 2 x --pp 1 is not the number of ranks (1)"),
    (["--schedule", "zigzag"], {"pp": 2}, "--schedule: zigzag not in {1f1b,interleaved}"),
    (["--dtype", "fp8"], {}, "--dtype: fp8 not in {fp32,bf16}"),
    (["--norm", "batch"], {}, "--norm: batch not in {layer,rms}"),
    (["--batch", 0], {}, "--batch: Value 0 not in range"),
    (["--steps", "many"], {}, "--steps: Value many not in range"),
    (["--steps", -1], {}, "--steps: Value -1 not in range"),
    (["--learning-rate", "nan"], {}, "--learning-rate, --clip and --temperature must be finite"),
    (["--no-such-option"], {}, "--no-such-option"),
    (["--generate", ""], {}, "--generate: the prompt is empty"),
    (["--hidden", 1 << 23], {}, "a model or micro-batch of this size does not fit"),
    (["--hidden", 4096, "--layers", 4096], {}, "a model or micro-batch of this size does not fit"),
    (["--data", "/no/such/file"], {"pp": 2}, "/no/such/file: No such file or directory"),
    (["--data", "/usr/share"], {"dp": 2}, "/usr/share: "),
    (["--data", "/dev/null"], {"tp": 2}, "/dev/null: 0 bytes are too few for sequences of 16"),
    (["--load", "/no/such/file"], {"pp": 2}, "/no/such/file: No such file or directory"),
    (["--load", "/usr/share"], {}, "/usr/share: "),
    (["--load", "/usr/share/common-licenses/GPL-3"], {"tp": 2}, "GPL-3: not a checkpoint of this program"),
    (["--steps", 1, "--checkpoint", "/no/such/directory/file"], {"dp": 2}, "/no/such/directory/file.partial: No such file or directory"),
    (["--steps", 1, "--checkpoint", "/proc/file"], {"pp": 2}, "/proc/file.partial: "),
]


class Refusals(program.Case):
    def refused(self, words, expected, **split):
        self.judge(self.start([*SMALL, "--steps", 2, *words], **split), expected)

    def judge(self, done, expected):
        self.assertNotEqual(done.returncode, 0)
        said = [line for line in done.stderr.splitlines() if line.startswith("megascope-gpt: ")]
        self.assertEqual(len(said), 1, done.stderr)
        self.assertIn(expected, said[0])
        for word in ("MPI_ABORT", "Segmentation", "terminate called", "*** "):
            self.assertNotIn(word, done.stderr + done.stdout)

    def test_what_is_impossible(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:  # they wait more than they work
            runs = [pool.submit(self.start, [*SMALL, "--steps", 2, *words], **split) for words, split, _ in IMPOSSIBLE]
        for (words, split, expected), run in zip(IMPOSSIBLE, runs):
            with self.subTest(words=words, split=split):
                self.judge(run.result(), expected)

    def test_a_text_that_is_a_byte_too_short(self):
        with open(self.path("text"), "wb") as file:
            file.write(b"a" * 16)
        self.refused(["--data", self.path("text")], "16 bytes are too few for sequences of 16", dp=2)
        with open(self.path("text"), "ab") as file:
            file.write(b"b")
        self.run_gpt([*SMALL, "--steps", 2, "--data", self.path("text")], dp=2)

    def test_a_text_that_never_ends(self):
        self.refused(["--data", "/dev/zero"], "/dev/zero: more than 256 MiB")

    def test_help_is_no_error(self):
        done = self.start(["--help"], dp=2)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(done.stdout.count("--micro-batches"), 1)


class Checkpoints(Refusals):
    test_what_is_impossible = test_a_text_that_is_a_byte_too_short = test_a_text_that_never_ends = test_help_is_no_error = None

    def setUp(self):
        super().setUp()
        self.run_gpt([*SMALL, "--steps", 1, "--checkpoint", self.path("good")])
        with open(self.path("good"), "rb") as file:
            self.good = file.read()

    def broken(self, contents, expected, **split):
        with open(self.path("bad"), "wb") as file:
            file.write(contents)
        self.refused(["--load", self.path("bad")], expected, **split)

    def test_of_another_model(self):
        self.refused(["--load", self.path("good"), "--hidden", 64], "the checkpoint's hidden is 32, not 64", pp=2)
        self.refused(["--load", self.path("good"), "--norm", "rms"], "the checkpoint's rms_norm is 0, not 1")
        self.refused(["--load", self.path("good")], "--tp 3 does not divide the heads (4)", tp=3)

    def test_cut_short_or_too_long(self):
        self.broken(self.good[:-1], f"has {len(self.good) - 1} bytes, not {len(self.good)}", tp=2)
        self.broken(self.good + b"\0", f"has {len(self.good) + 1} bytes, not {len(self.good)}")
        self.broken(self.good[:100], "not a checkpoint of this program")
        self.broken(b"", "not a checkpoint of this program")

    def test_with_a_header_that_lies(self):
        for old, new, expected in ((b"layers 2", b"layers 3", "tensors do not match"),
                                   (b"layers 2", b"layers 0", "does not describe a valid model"),
                                   (b"hidden 32", b"hidden 2000000000", "does not describe a valid model"),
                                   (b"heads 4", b"heads x", "does not describe a valid model"),
                                   (b"step 1", b"step -1", "does not describe a valid model"),
                                   (b"checkpoint 1", b"checkpoint 2", "not a checkpoint"),
                                   (b"head.output.weight 256 32", b"head.output.weight 32 256", "tensors do not match")):
            with self.subTest(new=new):
                self.broken(self.good.replace(old, new, 1), expected)

    def test_that_cannot_be_written_leaves_the_last_one(self):
        """Files may have 32 MiB: enough for MPI's own, not for the checkpoint of this model."""
        words = ["--hidden", 256, "--layers", 8, "--steps", 0, "--checkpoint", self.path("good")]
        command = ["prlimit", f"--fsize={32 << 20}", program.PROGRAM, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, restore_signals=False)  # no SIGXFSZ
        self.judge(done, "good.partial: cannot be written")
        self.refused(["--checkpoint", self.directory], f"{self.directory}: Is a directory", dp=2)
        with open(self.path("good"), "rb") as file:
            self.assertEqual(file.read(), self.good)


if __name__ == "__main__":
    program.main()
