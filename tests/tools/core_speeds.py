"""How fast each core was while something ran: a measure of the machine that does not come from what is tested.

  with core_speeds.Watch({0, 1}) as watch: ...
  watch.ratio()
"""

import subprocess
import sys

# Fixed work of about 0.1 ms every 20 ms, so that it takes half a percent of its core; says its mean CPU time in ns, without the first.
PROBE = """
import os, select, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
times = []
while not select.select([sys.stdin], [], [], 0.02)[0]:
    begin = time.thread_time_ns()
    for _ in range(5000): pass
    times.append(time.thread_time_ns() - begin)
print(sum(times[1:]) / max(len(times) - 1, 1))
"""


class Watch:
    """Runs a probe on each of these cores."""

    def __init__(self, cores):
        self.cores, self.means_ns, self.probes = sorted(cores), {}, []

    def __enter__(self):
        if len(self.cores) > 1:
            self.probes = [subprocess.Popen([sys.executable, "-c", PROBE, str(core)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
                           for core in self.cores]
        return self

    def __exit__(self, *_):
        for core, probe in zip(self.cores, self.probes):
            self.means_ns[core] = float(probe.communicate("\n", timeout=30)[0])

    def ratio(self):
        """CPU time of the same work on the slowest core as a multiple of that on the fastest; 1 where it is not known."""
        times = [mean for mean in self.means_ns.values() if mean > 0]
        return max(times) / min(times) if len(times) > 1 else 1.0
