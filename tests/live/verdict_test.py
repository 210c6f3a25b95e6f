#!/usr/bin/python3
"""The verdict on a run that has ended, as clients of the live view get it, and how long the end waits for them.

  verdict_test.py live_feed
"""

import re
import sys
import time
import unittest

from live_client import Client, Closed, Feed

FEED = ""
SMALL = ("--layers", 2, "--tokens", 32, "--width", 100, "--rate", 100)


def feed(*arguments):
    """Begins when it is told to go on: when its clients are there."""
    return Feed(FEED, *SMALL, "--hold", *arguments)


def closed_ms(run):
    """How long the end of the run waited for clients, from when the verdict was there."""
    return int(re.search(r"closed in (\d+) ms", run.end()[0])[1])


class TheVerdict(unittest.TestCase):
    VERDICT = 'Rank 3 delays the others: "late" in <b>MPI_Allreduce</b>, 40 % \u00b5'

    def test_it_comes_after_the_end_and_is_the_last_message(self):
        """800 ms after the end, for which clients that are behind have 300 ms."""
        with feed("--steps", 30, "--linger", 300, "--conclude", 800, "--verdict", self.VERDICT) as run:
            clients = [Client(run) for _ in range(3)]
            clients[0].say(type="subscribe", panel="times", what="steps")
            run.go_on()
            ends = []
            for client in clients:
                self.assertEqual(client.text("end")["reason"], "finished")
                ends.append(time.monotonic())
            for client, end in zip(clients, ends):
                self.assertEqual(client.receive(), {"type": "verdict", "text": self.VERDICT})
                self.assertGreater(time.monotonic() - end, 0.4)
                with self.assertRaises(Closed) as closed:
                    client.receive()
                self.assertEqual(closed.exception.code, 1000)
            self.assertEqual(run.end()[2], 0)

    def test_its_text_is_empty_where_none_was_made(self):
        with feed("--steps", 10, "--conclude", 100) as run:
            client = Client(run)
            run.go_on()
            client.text("end")
            self.assertEqual(client.receive(), {"type": "verdict", "text": ""})
            self.assertEqual(client.closed(), 1000)

    def test_a_long_one_is_cut_between_characters(self):
        with feed("--steps", 10, "--conclude", 100, "--verdict", "x" + "\u00b5" * 50000) as run:
            client = Client(run)
            run.go_on()
            client.text("end")
            self.assertEqual(client.receive()["text"], "x" + "\u00b5" * 32767)
            self.assertEqual(client.closed(), 1000)

    def test_what_a_client_sends_after_the_end_is_not_answered(self):
        with feed("--steps", 10, "--conclude", 500, "--verdict", "none") as run:
            client = Client(run)
            run.go_on()
            client.text("end")
            client.say(type="ping", id=1)
            client.say(type="subscribe", panel="times", what="steps")
            client.say(type="nonsense")
            self.assertEqual(client.receive(), {"type": "verdict", "text": "none"})
            self.assertEqual(client.closed(), 1000)

    def test_a_run_that_ends_without_one_closes_as_before(self):
        for arguments in (("--abort",), ("--abort", "--conclude", 200, "--verdict", "none"), ()):
            with self.subTest(arguments), feed("--steps", 20, *arguments) as run:
                client = Client(run)
                run.go_on()
                self.assertEqual(client.text("end")["reason"], "aborted" if arguments else "finished")
                with self.assertRaises(Closed) as closed:
                    client.receive()
                if not arguments:
                    self.assertEqual(closed.exception.code, 1000)
                self.assertEqual(run.end()[2], 0)

    def test_who_reads_nothing_does_not_hold_the_end_and_does_not_keep_it_from_others(self):
        """One has taken the end and answers nothing any more, another one took none of what it asked for. Both are given up in about 0.25 s, of the 5 s that one
        who takes something could have; where the verdict comes late the second one is gone by then. The run is shorter than the 20 s after which a
        client that reads nothing counts as lost, also under a sanitizer on a busy machine."""
        for until_verdict_ms in (0, 700):
            with self.subTest(until_verdict_ms), Feed(FEED, "--tokens", 512, "--width", 192, "--layers", 2, "--steps", 10, "--linger", 5000,
                                                      "--hold", "--conclude", until_verdict_ms, "--verdict", self.VERDICT) as run:
                reader, silent, stalled = Client(run), Client(run), Client(run, receive_buffer=4096)
                stalled.say(type="subscribe", panel="t", what="tensor", name="*", encoding="f32")
                stalled.say(type="credit", panel="t", frames=62)
                run.go_on()
                self.assertEqual(reader.text("verdict")["text"], self.VERDICT)
                self.assertEqual(reader.closed(), 1000)
                self.assertLess(closed_ms(run), 1500)
                self.assertEqual(silent.text("verdict")["text"], self.VERDICT, "it was sent to it nevertheless")
                self.assertNotIn(b'"type":"verdict"', stalled.buffer)

    def test_a_client_that_goes_before_it_is_not_waited_for(self):
        with feed("--steps", 10, "--conclude", 600, "--verdict", "none") as run:
            first, second = Client(run), Client(run)
            run.go_on()
            first.text("end")
            first.close()
            self.assertEqual(second.text("verdict")["text"], "none")
            self.assertEqual(second.closed(), 1000)
            self.assertLess(closed_ms(run), 1500)


if __name__ == "__main__":
    FEED = sys.argv.pop(1)
    unittest.main(warnings="ignore")
