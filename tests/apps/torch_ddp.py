"""Data-parallel training with PyTorch: once with its own gloo, once with the gradients over MPI, by a communication hook that
starts an allreduce in the backward pass and completes it in another thread. Both must learn the same."""

import concurrent.futures
import os
import sys

import torch
import torch.distributed
from mpi4py import MPI
from torch.nn.parallel import DistributedDataParallel

WORLD = MPI.COMM_WORLD
STEPS = 6


class OverMpi:
    """Gradients are averaged on a communicator of their own."""

    def __init__(self):
        self.comm = WORLD.Dup()
        self.comm.Set_name("gradients")
        self.waiter = concurrent.futures.ThreadPoolExecutor(max_workers=1)
        self.buckets = 0

    def __call__(self, _, bucket):
        gradients = bucket.buffer()
        request = self.comm.Iallreduce(MPI.IN_PLACE, gradients.numpy(), op=MPI.SUM)
        done = torch.futures.Future()
        self.waiter.submit(self.complete, request, gradients, done)
        self.buckets += 1
        return done

    def complete(self, request, gradients, done):
        request.Wait()
        done.set_result(gradients.div_(self.comm.size))

    def close(self):
        self.waiter.shutdown()
        self.comm.Free()


def train(hook):
    torch.manual_seed(42)
    model = torch.nn.Sequential(torch.nn.Linear(32, 512), torch.nn.Tanh(), torch.nn.Linear(512, 512), torch.nn.Tanh(),
                                torch.nn.Linear(512, 512), torch.nn.Tanh(), torch.nn.Linear(512, 1))
    parallel = DistributedDataParallel(model, bucket_cap_mb=1)  # several buckets
    if hook:
        parallel.register_comm_hook(None, hook_function(hook))
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.02, momentum=0.9)
    generator = torch.Generator().manual_seed(WORLD.rank)
    losses = []
    for _ in range(STEPS):
        samples = torch.randn(64, 32, generator=generator)
        loss = torch.nn.functional.mse_loss(parallel(samples), samples.mean(dim=1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(WORLD.allreduce(loss.item()) / WORLD.size)
    return losses, [parameter.detach().clone() for parameter in model.parameters()]


def hook_function(hook):
    def over_mpi(state: object, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
        return hook(state, bucket)
    return over_mpi


def main():
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{os.getcwd()}/rendezvous", rank=WORLD.rank,
                                         world_size=WORLD.size)
    own_losses, own = train(None)
    hook = OverMpi()
    losses, parameters = train(hook)
    hook.close()
    alike = all(torch.allclose(one, other, atol=1e-6) for one, other in zip(own, parameters))
    everywhere = WORLD.allgather((alike, hook.buckets > STEPS, [float(p.sum()) for p in parameters]))
    if WORLD.rank == 0:
        print("gloo", own_losses)
        print("MPI", losses)
        print("parameters", everywhere, flush=True)
    torch.distributed.destroy_process_group()
    return 0 if alike and losses[-1] < losses[0] else 1


if __name__ == "__main__":
    sys.exit(main())
