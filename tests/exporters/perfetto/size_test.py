"""Bytes that a blocking call takes in a Perfetto trace, and whether Perfetto's own reader finds all its data there.

  size_test.py MEGASCOPE PROGRAM PROCESSOR MPIRUN...
"""

import os
import sys

MEGASCOPE, PROGRAM, PROCESSOR, *MPIRUN = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))
import recorded_case  # noqa: E402
import reported_skips  # noqa: E402

RANKS = 4
ROUNDS = 2000
MOST_BYTES = 60          # of a call, with arrow and arguments
MOST_BYTES_OF_PART = 61  # with collectives of a part of the ranks, whose ids are hashes
TIME_BYTES = 2           # differences of times up to 16 us; a slow machine needs more
PACKET, TIMESTAMP = 1, 8  # protobuf fields

ARGUMENTS = """SELECT name, COUNT(*) AS count, COUNT(EXTRACT_ARG(arg_set_id, 'debug.comm')) AS comm, COUNT(EXTRACT_ARG(arg_set_id, 'debug.peer')) AS peer,
  COUNT(EXTRACT_ARG(arg_set_id, 'debug.root')) AS root, SUM(EXTRACT_ARG(arg_set_id, 'debug.tag')) AS tags, SUM(EXTRACT_ARG(arg_set_id, 'debug.bytes')) AS bytes
  FROM slice WHERE name IN ('MPI_Send', 'MPI_Recv', 'MPI_Bcast') GROUP BY name ORDER BY name"""
# Arrows by the functions that they connect; and how many of them connect a rank with the peer that its call names.
ARROWS = """WITH call AS (SELECT slice.id, slice.name, process.pid - 1000000 AS rank, EXTRACT_ARG(slice.arg_set_id, 'debug.peer') AS peer
    FROM slice JOIN thread_track ON thread_track.id = slice.track_id JOIN thread USING (utid) JOIN process USING (upid))
  SELECT MIN(a.name, b.name) AS first, MAX(a.name, b.name) AS second, COUNT(*) AS count, SUM(a.peer = b.rank AND b.peer = a.rank) AS peers
  FROM flow JOIN call a ON a.id = slice_out JOIN call b ON b.id = slice_in GROUP BY 1, 2 ORDER BY 1"""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def fields(data, at, end):
    """(number, beginning of the content, its end) of each field of a protobuf message."""
    while at < end:
        key, at = varint(data, at)
        content = at
        if key & 7 == 0:
            _, at = varint(data, at)
        elif key & 7 == 1:
            at += 8
        else:
            size, content = varint(data, at)
            at = content + size
        yield key >> 3, content, at


class Size(recorded_case.Case):
    megascope, mpirun, processor = MEGASCOPE, MPIRUN, PROCESSOR

    def record(self, communicator):
        self.record_ranks(RANKS, PROGRAM, communicator, ROUNDS, MEGASCOPE_SCRATCH=self.make_directory("scratch"))
        self.call(MEGASCOPE, "export", self.run_directory, "--format", "perfetto", "--no-findings")

    def bytes_of_a_call(self):
        """With the names and tracks of the ranks, which are written once; without the bytes of times that a faster machine would not need."""
        with open(os.path.join(self.run_directory, "trace.perfetto-trace"), "rb") as file:
            data = file.read()
        count = len(data)
        for number, at, end in fields(data, 0, len(data)):
            self.assertEqual(number, PACKET)
            for field, content, after in fields(data, at, end):
                count -= max(0, after - content - TIME_BYTES) if field == TIMESTAMP else 0
        return count / (RANKS * ROUNDS * 3)

    def check_contents(self, collectives):
        """collectives: arrows of one round."""
        calls = RANKS * ROUNDS
        sums = {"count": calls, "comm": calls}
        messages = {**sums, "peer": calls, "root": 0, "tags": 1017 * calls, "bytes": 1000 * calls}
        rows = self.query(ARGUMENTS)
        self.assertEqual(rows[0], {"name": "MPI_Bcast", **sums, "peer": 0, "root": calls, "tags": None, "bytes": rows[0]["bytes"]})
        self.assertGreater(rows[0]["bytes"], 0)
        self.assertEqual(rows[1:], [{"name": "MPI_Recv", **messages}, {"name": "MPI_Send", **messages}])
        world = [row for row in self.query(ARROWS) if row["first"] in ("MPI_Bcast", "MPI_Recv")]
        self.assertEqual(world, [{"first": "MPI_Bcast", "second": "MPI_Bcast", "count": collectives * ROUNDS, "peers": None},
                                 {"first": "MPI_Recv", "second": "MPI_Send", "count": calls, "peers": calls}])

    def test_of_the_world(self):
        self.record("world")
        self.assertLessEqual(self.bytes_of_a_call(), MOST_BYTES)
        self.check_contents(RANKS - 1)

    def test_of_a_duplicate(self):
        self.record("copy")
        self.assertLessEqual(self.bytes_of_a_call(), MOST_BYTES)
        self.check_contents(RANKS - 1)

    def test_of_a_part_of_the_ranks(self):
        self.record("halves")
        self.assertLessEqual(self.bytes_of_a_call(), MOST_BYTES_OF_PART)
        self.check_contents(RANKS - 2)


if __name__ == "__main__":
    reported_skips.main()
