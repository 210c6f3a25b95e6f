#!/usr/bin/env python3
"""The live view of an unmodified MPI program: what clients get of its calls is what the program did; and polls for requests are no steps.

  plain_job_test.py LIBRARY MEGASCOPE GPT PLAIN_RING LAUNCHER...
"""

import pathlib
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "live"))

import live_client  # noqa: E402
from job import Job  # noqa: E402

LIBRARY, MEGASCOPE, GPT, PLAIN_RING, *LAUNCHER = sys.argv[1:]
RANKS = 3
NEXT_BYTES, FIRST_BYTES = 8000, 8


class OfAPlainProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with Job(LAUNCHER, [PLAIN_RING, 6], RANKS, LIBRARY) as job:
            client = live_client.Client(job.find_server())
            cls.hello = client.text("hello")
            client.say(type="subscribe", panel="calls", what="calls")
            client.say(type="credit", panel="calls", frames=62)
            cls.frames, cls.end = [], None
            while cls.end is None:
                message = client.receive()
                if not isinstance(message, dict):
                    cls.frames.append(message)
                elif message["type"] == "end":
                    cls.end = message
            client.close()
            assert job.end() == 0, job.errors
            cls.directory = str(job.directory)
            cls.iterations = next(int(line.split()[1]) for line in job.lines if line.startswith("iterations "))
        cls.last = cls.frames[-1]

    def test_functions_and_how_often_they_were_called(self):
        calls = {name: row["calls"] for name, row in self.last.total.items()}
        self.assertLessEqual({"MPI_Sendrecv", "MPI_Send", "MPI_Recv", "MPI_Allreduce", "MPI_Bcast"}, set(calls))
        for name, per_iteration in (("MPI_Sendrecv", RANKS), ("MPI_Allreduce", RANKS), ("MPI_Send", RANKS - 1), ("MPI_Recv", RANKS - 1)):
            self.assertGreater(calls[name], 0)
            self.assertLessEqual(calls[name], per_iteration * self.iterations)
        # Ranks report at different moments, half a second apart and one iteration at most: the last report has most of the run.
        self.assertGreater(calls["MPI_Allreduce"], RANKS * self.iterations // 2)
        self.assertEqual(self.last.total["MPI_Sendrecv"]["sent"], calls["MPI_Sendrecv"] * NEXT_BYTES)

    def test_bytes_by_sender_and_receiver(self):
        for sender in range(RANKS):
            for receiver in range(RANKS):
                to_next = NEXT_BYTES if receiver == (sender + 1) % RANKS else 0
                to_first = FIRST_BYTES if receiver == 0 and sender != 0 else 0
                messages, sent = self.last.messages_to[sender][receiver], self.last.bytes_to[sender][receiver]
                expected = messages * (to_next or to_first) if not (to_next and to_first) else None
                self.assertEqual(messages > 0, bool(to_next or to_first), (sender, receiver))
                if expected is not None:
                    self.assertEqual(sent, expected, (sender, receiver))
                else:  # the last rank's next one is rank 0: of an iteration it may have made the first call only
                    self.assertGreaterEqual(sent, messages // 2 * (NEXT_BYTES + FIRST_BYTES))
                    self.assertLessEqual(sent, (messages // 2 + 1) * (NEXT_BYTES + FIRST_BYTES))

    def test_time_in_mpi_by_rank(self):
        shares = [mpi / elapsed for mpi, elapsed in zip(self.last.mpi_ms, self.last.elapsed_ms)]
        self.assertTrue(all(0 < share < 1.01 for share in shares), shares)
        self.assertLess(shares[1], min(shares[0], shares[2]), "the others wait for rank 1")
        total = sum(row["time_ms"] for row in self.last.total.values())
        self.assertAlmostEqual(total, sum(self.last.mpi_ms), delta=1e-6 * total)

    def test_sums_grow_and_the_newest_interval_is_a_part_of_them(self):
        self.assertGreater(len(self.frames), 3)
        for before, frame in zip(self.frames, self.frames[1:]):
            for name, row in frame.total.items():
                self.assertGreaterEqual(row["calls"], before.total.get(name, row)["calls"])
                self.assertLessEqual(frame.newest[name]["calls"], row["calls"])
        self.assertLess(self.last.newest["MPI_Allreduce"]["calls"], self.last.total["MPI_Allreduce"]["calls"])

    def test_the_end_says_where_the_report_is(self):
        self.assertEqual(self.end["reason"], "finished")
        self.assertEqual(self.end["directory"], self.directory)
        self.assertEqual(self.hello["run"]["directory"], self.directory)


class OfOneRank(unittest.TestCase):
    def test_it_ends_with_an_empty_verdict(self):
        for export in ("none", "chrome"):
            with self.subTest(export), Job(LAUNCHER, [PLAIN_RING, 2], 1, LIBRARY, {"MEGASCOPE_EXPORT": export}) as job:
                client = live_client.Client(job.find_server())
                self.assertEqual(client.text("end")["reason"], "finished")
                self.assertEqual(client.receive(), {"type": "verdict", "text": ""})
                self.assertEqual(client.closed(), 1000)
                self.assertEqual(job.end(), 0, job.errors)


class OfAProgramThatServes(unittest.TestCase):
    def test_polls_for_requests_are_no_steps(self):
        steps = 20
        command = [GPT, "--dp", 2, "--layers", 2, "--hidden", 32, "--heads", 4, "--sequence", 16, "--batch", 4, "--micro-batches", 2, "--steps", steps, "--serve", 3]
        with Job(LAUNCHER, command, 2, LIBRARY, {"MEGASCOPE_LIVE_CONTROL": "allow"}) as job:
            client = live_client.Client(job.find_server())
            client.say(type="subscribe", panel="steps", what="steps")
            client.say(type="credit", panel="steps", frames=62)
            seen, end = set(), None
            while end is None:
                message = client.receive()
                if not isinstance(message, dict):
                    seen.update(message.steps)
                elif message["type"] == "end":
                    end = message
            client.close()
            self.assertEqual(job.end(), 0, job.errors)
        self.assertLessEqual(set(range(1, steps - 1)), seen)
        # Of the first polls, and of such during which a rank was held up, it is not known that they are nothing else.
        self.assertLess(len(seen), steps + 10, sorted(seen)[steps:])
        self.assertLess(end["steps"], steps + 10)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
