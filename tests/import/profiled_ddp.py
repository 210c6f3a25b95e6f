"""Data-parallel training over gloo under torch.profiler: a file a rank.

  profiled_ddp.py RANK RANKS DIRECTORY PORT
"""

import os
import sys

import torch
import torch.distributed
from torch.profiler import ProfilerActivity, profile, schedule, tensorboard_trace_handler

RANK, RANKS, DIRECTORY, PORT = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
STEPS = 6

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=PORT)
torch.set_num_threads(1)
torch.manual_seed(1)
torch.distributed.init_process_group("gloo", rank=RANK, world_size=RANKS)
MODEL = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 10))
PARALLEL = torch.nn.parallel.DistributedDataParallel(MODEL)
OPTIMIZER = torch.optim.SGD(PARALLEL.parameters(), lr=0.01)
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=STEPS),
             on_trace_ready=tensorboard_trace_handler(DIRECTORY, worker_name=f"rank-{RANK}")) as profiler:
    for _ in range(1 + STEPS):
        samples = torch.randn(64, 256)
        for _ in range(3 if RANK == 1 else 0):
            MODEL(samples)
        loss = PARALLEL(samples).sum()
        OPTIMIZER.zero_grad()
        loss.backward()
        OPTIMIZER.step()
        total = loss.detach().clone()
        torch.distributed.all_reduce(total)
        profiler.step()
torch.distributed.destroy_process_group()
