"""Prints what a Perfetto trace of the GPT contains, as text. docs/gpt.md shows the result; a test compares it.

  timeline_text.py TRACE QUERY_SCRIPT      TRACE_PROCESSOR in the environment
"""

import json
import subprocess
import sys

SLICES = ("select s.name as name, ifnull(p.name, '') as parent, count(*) as n from slice s left join slice p on s.parent_id = p.id "
          "where s.category in ('step', 'user') group by 1, 2 order by min(s.depth), 1, 2")
MESSAGES = ("select o.name as sent, p.name as inside, count(*) as n from flow f join slice o on o.id in (f.slice_in, f.slice_out) "
            "join slice p on o.parent_id = p.id where o.name = 'MPI_Isend' group by 1, 2 order by 2 desc")
COUNTERS = ("select t.name as name, c.value as value from counter c join counter_track t on c.track_id = t.id "
            "where t.name in ('loss', 'gradient_norm') order by t.name desc, c.ts")


def ask(script, trace, *statements):
    done = subprocess.run(["node", script, trace, *statements], capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def text_of(script, trace):
    slices, messages, values = ask(script, trace, SLICES, MESSAGES, COUNTERS)
    lines = [f"{'slice':<14}{'inside':<12}{'count':>6}"]
    lines += [f"{row['name']:<14}{row['parent']:<12}{row['n']:>6}" for row in slices]
    lines += [f"{'arrow from':<14}{'inside':<12}{'count':>6}"]
    lines += [f"{row['sent']:<14}{row['inside']:<12}{row['n']:>6}" for row in messages]
    lines += [f"{'counter':<14}{'values':>6}{'first':>9}{'last':>9}"]
    for name in ("loss", "gradient_norm"):
        found = [row["value"] for row in values if row["name"] == name]
        lines.append(f"{name:<14}{len(found):>6}{found[0]:>9.2f}{found[-1]:>9.2f}")
    return "\n".join(line.rstrip() for line in lines)


if __name__ == "__main__":
    print(text_of(sys.argv[2], sys.argv[1]))
