#!/usr/bin/env python3
"""The live view of real jobs: what clients are told is what the job's lines and its trace say, and the job is as it is without.

  job_test.py LIBRARY MEGASCOPE GPT PLAIN_LOOP LARGE_VIEWS LAUNCHER...
"""

import json
import math
import os
import pathlib
import re
import socket
import stat
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import live_client  # noqa: E402
from job import Job, slices_of  # noqa: E402

LIBRARY, MEGASCOPE, GPT, PLAIN_LOOP, LARGE_VIEWS, *LAUNCHER = sys.argv[1:]
SMALL = ["--layers", "4", "--hidden", "32", "--heads", "4", "--sequence", "16", "--batch", "4", "--micro-batches", "2"]


def gpt(steps, *more, live="0", settings=None, ranks=4):
    return Job(LAUNCHER, [GPT, *SMALL, "--steps", steps, *more], ranks, LIBRARY, settings, live)


class Viewer:
    """A client that asks for panels and keeps all that comes, until the run ends."""

    def __init__(self, job, **panels):
        self.client = live_client.Client(job)
        self.frames = {name: [] for name in panels}
        self.names, self.counters, self.texts = {}, {}, []
        for name, what in panels.items():
            self.client.say(type="subscribe", panel=name, **what)
            self.client.say(type="credit", panel=name, frames=62)

    def follow(self, wanted=lambda viewer: False):
        """Until wanted(self), or the end of the run."""
        while not wanted(self):
            message = self.client.receive()
            if isinstance(message, dict):
                self.texts.append(message)
                self.names.update({tensor["id"]: tensor for tensor in message.get("tensors", [])})
                self.counters.update({counter["id"]: counter for counter in message.get("counters", [])})
                if message["type"] == "end":
                    break
                continue
            panel = message.metadata["panel"]
            self.frames[panel].append(message)
            if len(self.frames[panel]) % 32 == 0:
                self.client.say(type="credit", panel=panel, frames=32)
        self.client.close()
        return self

    def series(self, panel, column="value"):
        """Of frames of counters or statistics: (step, id) -> value."""
        values = {}
        for frame in self.frames[panel]:
            for step, row in zip(frame.steps, frame.columns[column]):
                values.update({(step, id_): value for id_, value in zip(frame.ids, row) if not math.isnan(value)})
        return values


class OfATrainingGpt(unittest.TestCase):
    """One job, all of whose panels are looked at."""

    @classmethod
    def setUpClass(cls):
        cls.job = gpt(150, "--tp", 2, "--pp", 2).find_server()
        cls.url_mode = stat.S_IMODE(os.stat(cls.job.directory / "live_url").st_mode)
        norm = {"what": "tensor", "kind": "weight", "view": {"type": "whole"}, "encoding": "f32"}
        cls.viewer = Viewer(cls.job, steps={"what": "steps"}, counters={"what": "counters", "names": ["loss", "gradient_norm"]},
                            weights={"what": "statistics", "names": ["*"], "kinds": ["weight"]},
                            whole={**norm, "name": "*norm1.weight"},
                            tiles={"what": "tensor", "name": "mlp1", "kind": "actv_out", "view": {"type": "tile", "tiles": 7, "method": "absmax", "keep": 2},
                                   "encoding": "f32"},
                            elements={"what": "tensor", "name": "mlp1", "kind": "actv_out", "view": {"type": "whole"}, "encoding": "f32"}).follow()
        cls.code = cls.job.end()
        cls.events = cls.job.chrome(MEGASCOPE)

    @classmethod
    def tearDownClass(cls):
        cls.job.__exit__()

    def test_the_job_ends_well(self):
        self.assertEqual(self.code, 0, self.job.errors)
        self.assertEqual(self.viewer.texts[-1]["reason"], "finished")
        self.assertEqual([text for text in self.viewer.texts if text["type"] == "error"], [])

    def test_losses_are_those_of_the_lines(self):
        printed = {int(step): float(loss) for step, loss in (re.match(r"step (\d+) loss (\S+)", line).groups() for line in self.job.lines if line.startswith("step "))}
        loss = next(id_ for id_, counter in self.viewer.counters.items() if counter["name"] == "loss")
        seen = {step: value for (step, id_), value in self.viewer.series("counters").items() if id_ == loss}
        self.assertGreater(len(seen), 100)
        self.assertEqual(min(seen), min(printed), "the curve begins with the run, though no client looked then")
        for step, value in seen.items():
            self.assertAlmostEqual(value, printed[step], delta=1e-4 * printed[step])

    def test_counters_are_those_of_the_trace(self):
        for name in ("loss", "gradient_norm"):
            recorded = [value for event in self.events if event["ph"] == "C" and event["name"] == name for value in event["args"].values()]
            ids = [id_ for id_, counter in self.viewer.counters.items() if counter["name"] == name]
            seen = [value for (_, id_), value in sorted(self.viewer.series("counters").items()) if id_ in ids]
            self.assertGreater(len(seen), 100, name)
            self.assertLessEqual(set(seen), set(recorded), name)

    def test_times_of_steps_and_of_mpi_are_those_of_the_trace(self):
        steps = {rank: slices_of(self.events, rank, "step") for rank in range(4)}
        calls = {rank: slices_of(self.events, rank) for rank in range(4)}
        compared, apart = 0, []
        for frame in self.viewer.frames["steps"]:
            for row, step in enumerate(frame.steps):
                for rank in range(4):
                    step_ms, mpi_ms = frame.columns["step_ms"][row][rank], frame.columns["mpi_ms"][row][rank]
                    if step < 1 or math.isnan(step_ms):
                        continue
                    begin, end = steps[rank][step]
                    in_calls = sum(b - a for a, b in calls[rank] if begin <= a and b <= end) / 1000
                    apart.append(abs(mpi_ms - in_calls))
                    compared += 1
                    self.assertLessEqual(mpi_ms, step_ms + 0.01, (step, rank))
                    self.assertGreaterEqual(step_ms + 0.01, (end - begin) / 1000, (step, rank))
        self.assertGreater(compared, 400)
        self.assertLess(sorted(apart)[len(apart) // 2], 0.02, "ms, the median")

    def test_statistics_are_those_of_the_elements(self):
        """All elements of a weight, and its norm over all ranks, of one step."""
        norms = self.viewer.series("weights", "norm")
        compared = 0
        for frame in self.viewer.frames["whole"]:
            self.assertEqual(frame.metadata["missing"], 0)
            key = (frame.metadata["step"], frame.metadata["tensor"])
            if key in norms:
                self.assertAlmostEqual(norms[key], math.sqrt(sum(value * value for value in frame.values)), delta=1e-6)
                compared += 1
        self.assertGreater(compared, 4)

    def test_tiles_are_those_of_the_elements(self):
        """Of a tensor that two ranks share, joined: 32 sequences' tokens by 128 features in tiles of 19."""
        whole = {(frame.metadata["step"], frame.metadata["layer"]): frame for frame in self.viewer.frames["elements"]}
        compared = 0
        for tiles in self.viewer.frames["tiles"]:
            elements = whole.get((tiles.metadata["step"], tiles.metadata["layer"]))
            if elements is None:
                continue
            sequences, tokens, features = elements.metadata["shape"]
            width = -(-features // 7)
            self.assertEqual(tiles.metadata["shape"], [sequences, tokens, -(-features // width)])
            self.assertEqual(len(tiles.metadata["ranks"]), 2)
            expected = [max(abs(value) for value in elements.values[row * features + begin:row * features + min(begin + width, features)])
                        for row in range(sequences * tokens) for begin in range(0, features, width)]
            self.assertEqual(list(tiles.values), expected)
            compared += 1
        self.assertGreater(compared, 2)

    def test_all_layers_of_all_stages_come(self):
        self.assertEqual({frame.metadata["layer"] for frame in self.viewer.frames["tiles"]}, {0, 1, 2, 3})
        self.assertEqual({tuple(frame.metadata["ranks"]) for frame in self.viewer.frames["tiles"]}, {(0, 1), (2, 3)})

    def test_the_token_is_for_its_user_only(self):
        self.assertEqual(self.url_mode, 0o600)
        self.assertFalse((self.job.directory / "live_url").exists(), "it is of no use any more")
        for path in self.job.directory.rglob("*"):
            if path.is_file():
                self.assertNotIn(self.job.token.encode(), path.read_bytes(), path)


class OfOtherJobs(unittest.TestCase):
    def test_the_job_computes_the_same_with_viewers_and_without(self):
        with gpt(30, "--tp", 2, "--dp", 2, live="off") as job:
            self.assertEqual(job.end(), 0)
            alone = job.lines
        with gpt(30, "--tp", 2, "--dp", 2) as job:
            viewer = Viewer(job.find_server(), all={"what": "tensor", "name": "*", "view": {"type": "tile"}}, statistics={"what": "statistics"})
            stalled = live_client.Client(job, receive_buffer=4096)  # never reads
            stalled.say(type="subscribe", panel="all", what="tensor", name="*", view={"type": "tile"})
            stalled.say(type="credit", panel="all", frames=64)
            viewer.follow()
            self.assertEqual(job.end(), 0, job.errors)
            self.assertEqual(job.lines, alone)
            stalled.close()

    def test_a_program_without_steps_shows_its_ranks(self):
        with Job(LAUNCHER, [PLAIN_LOOP, 5], 2, LIBRARY) as job:
            viewer = Viewer(job.find_server(), steps={"what": "steps"})
            viewer.follow()
            self.assertEqual(job.end(), 0, job.errors)
            frames = viewer.frames["steps"]
            self.assertEqual({frame.metadata["interval_ms"] for frame in frames}, {500})
            shares = {0: [], 1: []}
            for frame in frames:
                for row in range(len(frame.steps)):
                    for rank in shares:
                        length, mpi = frame.columns["step_ms"][row][rank], frame.columns["mpi_ms"][row][rank]
                        if not math.isnan(length):
                            shares[rank].append(mpi / length)
            self.assertGreater(len(shares[0]), 4)
            self.assertGreater(len(shares[1]), 4)
            self.assertGreater(sorted(shares[0])[len(shares[0]) // 2], sorted(shares[1])[len(shares[1]) // 2], "rank 0 waits for rank 1")

    def test_a_rank_that_waits_by_testing_is_shown(self):
        with Job(LAUNCHER, [PLAIN_LOOP, 4, "test"], 2, LIBRARY) as job:
            viewer = Viewer(job.find_server(), steps={"what": "steps"})
            viewer.follow()
            self.assertEqual(job.end(), 0, job.errors)
            lengths = [frame.columns["step_ms"][row][0] for frame in viewer.frames["steps"] for row in range(len(frame.steps))]
            self.assertGreater(len([length for length in lengths if not math.isnan(length)]), 3)

    def test_all_ranks_say_who_they_are(self):
        with gpt(150, "--tp", 2, "--pp", 2) as job:
            Viewer(job.find_server(), steps={"what": "steps"}).follow(lambda viewer: len(viewer.frames["steps"]) > 3)
            status, body = live_client.http(job.port, f"/api/v1/ranks?token={job.token}")[::2]
            ranks = json.loads(body)
            self.assertEqual(job.end(), 0, job.errors)
        self.assertEqual(status, 200)
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1, 2, 3])
        self.assertEqual({rank["host"] for rank in ranks}, {socket.gethostname()})
        self.assertEqual(len({rank["pid"] for rank in ranks}), 4)
        self.assertEqual(len({rank["place"] for rank in ranks}), 4)
        self.assertIn("tp 1", ranks[1]["place"])

    def test_a_job_of_one_rank(self):
        with gpt(60, ranks=1) as job:
            viewer = Viewer(job.find_server(), tiles={"what": "tensor", "name": "hidden", "view": {"type": "tile", "tiles": 4, "method": "rms"}})
            viewer.follow()
            self.assertEqual(job.end(), 0, job.errors)
            self.assertGreater(len(viewer.frames["tiles"]), 0)

    def test_where_letters_are_full_each_layer_has_its_turn(self):
        with Job(LAUNCHER, [LARGE_VIEWS, "layers", 60, 50], 1, LIBRARY) as job:
            viewer = Viewer(job.find_server(), act={"what": "tensor", "name": "act", "view": {"type": "tile", "tiles": 96}})
            has_drops = lambda: any("did not fit into rank updates" in text.get("reason", "") for text in viewer.texts)  # noqa: E731
            viewer.follow(lambda _: has_drops() and len({frame.metadata["layer"] for frame in viewer.frames["act"]}) == 12)
            self.assertEqual(job.end(), 0, job.errors)
            self.assertEqual({frame.metadata["layer"] for frame in viewer.frames["act"]}, set(range(12)))
            self.assertTrue(has_drops(), "more is shown than there is space for")
            self.assertEqual([text for text in viewer.texts if text["type"] == "notice"], [])

    def test_views_of_slow_steps_are_whole(self):
        with Job(LAUNCHER, [LARGE_VIEWS, "split", 9, 2200], 2, LIBRARY) as job:
            viewer = Viewer(job.find_server(), act={"what": "tensor", "name": "act", "view": {"type": "tile", "tiles": 96}}).follow()
            self.assertEqual(job.end(), 0, job.errors)
            frames = [frame for frame in viewer.frames["act"] if frame.metadata["step"] < 8]  # what the end does to the last is not asked here
            self.assertGreater(len(frames), 0)
            incomplete = [(frame.metadata["step"], frame.metadata["ranks"]) for frame in frames if frame.metadata["missing"] != 0 or frame.metadata["ranks"] != [0, 1]]
            self.assertEqual(incomplete, [], f"of the steps {[frame.metadata['step'] for frame in frames]}")

    def test_what_cannot_be_shown_is_said(self):
        with gpt(60, "--hidden", 160, ranks=1) as job:
            viewer = Viewer(job.find_server(), whole={"what": "tensor", "name": "*", "kind": "weight", "view": {"type": "whole"}})
            viewer.follow(lambda viewer: any(text["type"] == "notice" for text in viewer.texts))
            notice = next(text for text in viewer.texts if text["type"] == "notice")
            self.assertRegex(notice["text"], r"has \d+ elements; at most 65536 can be shown without reduction")

    def test_a_port_that_is_taken_is_said_and_the_job_goes_on(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            with gpt(5, ranks=1, live=str(port)) as job:
                self.assertEqual(job.end(), 0)
                self.assertTrue(any("no live view" in line and str(port) in line for line in job.errors), job.errors)

    def test_without_talking_there_is_none(self):
        with gpt(5, ranks=1, settings={"MEGASCOPE_CONTROL": "off"}) as job:
            self.assertEqual(job.end(), 0)
            self.assertIn("megascope: no live view: it needs the step exchange, which MEGASCOPE_CONTROL=off disables", job.errors)

    def test_off_is_off(self):
        with gpt(5, ranks=1, live="off") as job:
            self.assertEqual(job.end(), 0)
            self.assertFalse(any("live view" in line for line in job.errors), job.errors)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
