"""A data- and pipeline-parallel job as torch.profiler writes it on GPUs: files in Kineto's format (libkineto/src/output_json.cpp), hand-written, with NCCL
kernels that end together, a message from stage 0 to stage 1 per micro-batch, and a rank whose kernels last longer."""

import random

BASE_NS = 1_700_000_000_000_000_000
DP, STAGES = 4, 2


def rank_of(replica, stage):
    return replica + DP * stage


class Job:
    """files: by rank, what json.dump takes."""

    def __init__(self, slow=None, factor=1.3, steps=12, micro_batches=4, seed=1, tells_groups=True):
        self.random = random.Random(seed)
        self.slow, self.factor = slow, factor
        self.steps, self.micro_batches, self.tells_groups = steps, micro_batches, tells_groups
        self.events = {rank: [] for rank in range(DP * STAGES)}
        self.correlation = 0
        now = dict.fromkeys(self.events, 1000.0)
        for step in range(20, 20 + steps):
            self.step(step, now)
        self.files = {rank: self.file(rank) for rank in self.events}

    def file(self, rank):
        groups = [{"pg_name": "0", "pg_desc": "default_pg", "pg_size": 8, "ranks": list(range(8))}]
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "hand-written"}],
                "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8, "pg_config": groups},
                "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS, "traceEvents": self.events[rank], "traceName": f"rank{rank}.json"}

    def kernel(self, rank, name, begin, end, launched, stream=7, **arguments):
        self.correlation += 1
        launch = {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100 + rank, "tid": 100 + rank, "ts": round(launched, 3), "dur": 3.5,
                  "args": {"correlation": self.correlation}}
        self.events[rank].append(launch)
        self.events[rank].append({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream, "ts": round(begin, 3), "dur": round(end - begin, 3),
                                  "args": {"stream": stream, "correlation": self.correlation, **arguments}})

    def work(self, rank, mean_us):
        return mean_us * self.random.lognormvariate(0, 0.01) * (self.factor if rank == self.slow else 1.0)

    def nccl(self, group, ranks, what, **more):
        told = {"Process Group Name": group, "Process Group Ranks": str(ranks)} if self.tells_groups else {}
        return {"Collective name": what, "In msg nelems": 1 << 20, "Out msg nelems": 1 << 20, "Group size": len(ranks), "dtype": "BFloat16", **told, **more}

    def step(self, step, now):
        begin = dict(now)
        launched = {rank: begin[rank] + 5.0 for rank in now}
        for _ in range(self.micro_batches):
            for replica in range(DP):
                first, last = rank_of(replica, 0), rank_of(replica, 1)
                end = now[first] + self.work(first, 400.0)
                self.kernel(first, "gemm<float>(int)", now[first], end, launched[first])
                arrival = max(end, now[last]) + 20.0
                p2p = [first, last]
                self.kernel(first, "ncclDevKernel_SendRecv(ncclDevComm*)", end, arrival, launched[first], 11, **self.nccl(f"p{replica}", p2p, "send", **{"Dst Rank": last}))
                self.kernel(last, "ncclDevKernel_SendRecv(ncclDevComm*)", now[last], arrival, launched[last], 11, **self.nccl(f"p{replica}", p2p, "recv", **{"Src Rank": first}))
                now[first] = arrival
                done = arrival + self.work(last, 400.0)
                self.kernel(last, "gemm<float>(int)", arrival, done, launched[last])
                now[last] = done
        for stage in range(STAGES):
            ranks = [rank_of(replica, stage) for replica in range(DP)]
            end = max(now[rank] for rank in ranks) + 60.0
            for rank in ranks:
                self.kernel(rank, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevComm*)", now[rank], end, launched[rank], 13,
                            **self.nccl(f"d{stage}", ranks, "allreduce", Seq=step))
                now[rank] = end
        for rank, since in begin.items():
            self.events[rank].append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100 + rank, "tid": 100 + rank, "ts": round(since, 3),
                                      "dur": round(now[rank] - since, 3), "args": {}})
            now[rank] += 1.0
