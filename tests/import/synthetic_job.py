"""A timeline of a training job as tracers of pipelines write them: 1F1B on DP × 2 stages, times in µs, a track a worker and stream."""

import random

STREAMS = {"compute": 0, "pp-comm": 1, "dp-comm": 2}
TRANSFER_US = 400.0


def order_of(stage, micro_batches):
    """What a stage of two does: 1F1B."""
    if stage == 1:
        return [(kind, i) for i in range(micro_batches) for kind in ("forward", "backward")]
    order = [("forward", 0)]
    for i in range(1, micro_batches):
        order += [("forward", i), ("backward", i - 1)]
    return order + [("backward", micro_batches - 1)]


MEGASCAN_NAMES = {"forward-compute": "forward", "backward-compute": "backward", "forward-send": "send-warmup",
                  "forward-recv": "recv-warmup", "backward-send": "send-cooldown", "backward-recv": "recv-cooldown",
                  "grads-reduce-scatter": "allreduce", "optimizer": "optimizer"}


def iteration(operations):
    """Rows of one iteration. operations: (begin_ns, end_ns, event); none overlaps another."""
    operations = sorted(operations, key=lambda operation: operation[:2])
    start = operations[0][0]
    rows = [{"name": "iteration", "ph": "B", "pad_before": 1000}]
    for begin, end, event in operations:
        name = MEGASCAN_NAMES[event["name"]]
        rows.append({"name": name, "ph": "B", "rel_ts": begin - start})
        rows.append({"name": name, "ph": "E", "rel_ts": end - start, "micro_batch_index": event["args"].get("mb_id")})
    length = operations[-1][1] - start
    return [*rows, {"name": "iteration", "ph": "E", "rel_ts": length, "duration_wall": length, "duration_cuda": length}]


class Job:
    def __init__(self, slow=None, factor=1.3, replicas=2, steps=20, micro_batches=8, seed=1):
        self.events = []
        self.random = random.Random(seed)
        self.slow, self.factor = slow, factor
        self.replicas, self.micro_batches = replicas, micro_batches
        now = [[-5000.0, -5000.0] for _ in range(replicas)]  # times before 0 are usual
        for step in range(100, 100 + steps):
            self.step(step, now)
        self.name_tracks()

    def work(self, replica, stage, mean_us):
        return mean_us * self.random.lognormvariate(0, 0.02) * (self.factor if (replica, stage) == self.slow else 1.0)

    def add(self, replica, stage, stream, name, begin, end, step, **more):
        self.events.append({"ph": "X", "name": name, "pid": replica, "tid": 10 * stage + STREAMS[stream], "ts": round(begin, 3),
                            "dur": round(end - begin, 3), "args": {"step": step, **more}})

    def pipeline(self, replica, step, now):
        """One step of a replica; a stage's operation begins when what it needs has come."""
        orders = [order_of(stage, self.micro_batches) for stage in (0, 1)]
        sent = {}  # (kind, micro-batch): when the transfer begins
        while any(orders):
            for stage in (0, 1):
                if not orders[stage]:
                    continue
                kind, index = orders[stage][0]
                is_received = (kind, stage) in (("forward", 1), ("backward", 0))
                place = {"mb_id": index, "seq_id": index}
                if is_received:
                    if (kind, index) not in sent:
                        continue
                    end = max(now[stage], sent[kind, index]) + TRANSFER_US
                    self.add(replica, 1 - stage, "pp-comm", f"{kind}-send", sent[kind, index], end, step, **place)
                    self.add(replica, stage, "pp-comm", f"{kind}-recv", now[stage], end, step, **place)
                    now[stage] = end
                end = now[stage] + self.work(replica, stage, 4000.0 if kind == "forward" else 8000.0)
                self.add(replica, stage, "compute", f"{kind}-compute", now[stage], end, step, **place)
                now[stage] = end
                if not is_received:
                    sent[kind, index] = end
                orders[stage].pop(0)

    def step(self, step, now):
        for replica in range(self.replicas):
            self.pipeline(replica, step, now[replica])
        for stage in (0, 1):
            end = max(now[replica][stage] for replica in range(self.replicas)) + 1000.0
            for replica in range(self.replicas):
                self.add(replica, stage, "dp-comm", "grads-reduce-scatter", now[replica][stage], end, step)
                done = end + self.random.uniform(495.0, 505.0)
                self.add(replica, stage, "compute", "optimizer", end, done, step)
                now[replica][stage] = done

    def name_tracks(self):
        for replica in range(self.replicas):
            for stage in (0, 1):
                for stream, number in STREAMS.items():
                    self.events.append({"ph": "M", "name": "thread_name", "pid": replica, "tid": 10 * stage + number,
                                        "args": {"name": f"PP rank {stage}, TP rank 0, {stream}"}})

    def megascan(self):
        """The same as rows of MegaScan's files, by (replica, stage): one stack a worker, so a send takes no time."""
        workers = {}
        for event in (e for e in self.events if e["ph"] == "X"):
            begin = round(event["ts"] * 1000)
            end = begin if event["name"].endswith("send") else begin + round(event["dur"] * 1000)
            place = (event["pid"], event["tid"] // 10)
            workers.setdefault(place, {}).setdefault(event["args"]["step"], []).append((begin, end, event))
        return {place: [row for step in sorted(steps) for row in iteration(steps[step])] for place, steps in workers.items()}

    def count(self):
        return sum(event["ph"] == "X" for event in self.events)
