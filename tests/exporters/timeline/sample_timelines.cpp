#include "tests/exporters/timeline/sample_timelines.h"

namespace megascope::test {

std::vector<SampleProcess> send_and_receive() {
  SampleProcess rank0(0, 2);
  rank0.call("MPI_Send", 100, 150, {send(1, 42, 40)});
  rank0.call("MPI_Barrier", 200, 300, {collective(0, kNoPeer, 0, 0)});
  SampleProcess rank1(1, 2);
  rank1.call("MPI_Recv", 50, 160, {recv(0, 42, 40)});
  rank1.call("MPI_Barrier", 170, 290, {collective(0, kNoPeer, 0, 0)});
  return {rank0, rank1};
}

std::vector<SampleProcess> ring(std::int32_t rank_count, std::uint64_t round_count) {
  std::vector<SampleProcess> ranks;
  for (std::int32_t rank = 0; rank < rank_count; ++rank) {
    SampleProcess process(rank, rank_count);
    const std::int32_t next = (rank + 1) % rank_count;
    const std::int32_t previous = (rank + rank_count - 1) % rank_count;
    for (std::uint64_t round = 0; round < round_count; ++round) {
      const std::uint64_t start = round * 10'000 + static_cast<std::uint64_t>(rank) * 7;
      process.call("MPI_Irecv", start, start + 11, {recv_request(1, kAnySource, kAnyTag, 4096)});
      process.call("MPI_Isend", start + 100, start + 123, {send_request(2, next, 5, 1024)});
      process.call("MPI_Waitall", start + 200, start + 1200,
                   {recv_complete(1, previous, 5, 1024), send_complete(2)});
      process.call("MPI_Allreduce", start + 2000, start + 5000,
                   {collective(static_cast<std::uint32_t>(round), kNoPeer, 8, 8)});
    }
    ranks.push_back(process);
  }
  return ranks;
}

}  // namespace megascope::test
