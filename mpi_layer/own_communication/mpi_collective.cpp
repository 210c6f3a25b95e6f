#include "mpi_layer/own_communication/mpi_collective.h"

#include "core/lifecycle/tree_collective.h"
#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <algorithm>
#include <string>

namespace megascope::mpi {
namespace {

constexpr int kTag = 1;
std::uint64_t g_message_count = 0;

Status checked(int rc, const char* what) {
  return rc == MPI_SUCCESS
             ? Status::ok()
             : Status::error(std::string(what) + " failed with MPI error " + std::to_string(rc));
}

/// A message is sent as blocks of 1 GiB and a shorter last one.
class MpiCollective final : public TreeCollective {
 public:
  explicit MpiCollective(MPI_Comm comm)
      : TreeCollective(rank_in(comm), size_of(comm)), comm_(comm) {}
  ~MpiCollective() override { pmpi<Fn::Comm_free>()(&comm_); }

  MPI_Comm comm() const noexcept { return comm_; }

  Status split(int color, int key, std::unique_ptr<Collective>& result) override {
    MPI_Comm part = g_handles.comm_null;
    const Status status = checked(pmpi<Fn::Comm_split>()(comm_, color, key, &part),
                                  "MPI_Comm_split");
    if (!status.is_ok()) return status;
    pmpi<Fn::Comm_set_errhandler>()(part, g_handles.errors_return);
    result = std::make_unique<MpiCollective>(part);
    return Status::ok();
  }

 private:
  static constexpr std::size_t kBlockBytes = std::size_t{1} << 30;

  static int rank_in(MPI_Comm comm) {
    int rank = 0;
    pmpi<Fn::Comm_rank>()(comm, &rank);
    return rank;
  }
  static int size_of(MPI_Comm comm) {
    int size = 1;
    pmpi<Fn::Comm_size>()(comm, &size);
    return size;
  }

  Status send(std::span<const std::byte> data, int to) override {
    while (true) {
      const std::span<const std::byte> block = data.first(std::min(data.size(), kBlockBytes));
      const Status status = checked(pmpi<Fn::Send>()(block.data(), static_cast<int>(block.size()),
                                                     g_handles.byte, to, kTag, comm_),
                                    "MPI_Send");
      ++g_message_count;
      if (!status.is_ok() || block.size() < kBlockBytes) return status;
      data = data.subspan(block.size());
    }
  }
  Status receive(Bytes& message, int from) override {
    message.clear();
    while (true) {
      MPI_Status waiting;
      Status status = checked(pmpi<Fn::Probe>()(from, kTag, comm_, &waiting), "MPI_Probe");
      if (!status.is_ok()) return status;
      const std::size_t block_bytes = received_bytes(waiting);
      const std::size_t begin = message.size();
      message.resize(begin + block_bytes);
      status = checked(pmpi<Fn::Recv>()(message.data() + begin, static_cast<int>(block_bytes),
                                        g_handles.byte, from, kTag, comm_, MPI_STATUS_IGNORE),
                       "MPI_Recv");
      if (!status.is_ok() || block_bytes < kBlockBytes) return status;
    }
  }

  MPI_Comm comm_;
};

}  // namespace

std::unique_ptr<Collective> make_world_collective() {
  int rank = 0;
  pmpi<Fn::Comm_rank>()(g_handles.comm_world, &rank);
  MPI_Comm own = g_handles.comm_null;
  if (pmpi<Fn::Comm_split>()(g_handles.comm_world, 0, rank, &own) != MPI_SUCCESS) return nullptr;
  pmpi<Fn::Comm_set_errhandler>()(own, g_handles.errors_return);
  return std::make_unique<MpiCollective>(own);
}

MPI_Comm own_comm(const Collective& collective) noexcept {
  return static_cast<const MpiCollective&>(collective).comm();
}

std::uint64_t own_message_count() noexcept { return g_message_count; }

}  // namespace megascope::mpi
