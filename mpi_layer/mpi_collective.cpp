#include "mpi_layer/mpi_collective.h"

#include <algorithm>
#include <string>

#include "mpi_layer/abi.h"
#include "mpi_layer/twins.h"

namespace megascope::mpi {
namespace {

constexpr int kTag = 1;
std::uint64_t g_message_count = 0;

Status checked(int rc, const char* what) {
  return rc == MPI_SUCCESS ? Status::ok() : Status::error(std::string(what) + " failed with MPI error " + std::to_string(rc));
}

/// Point-to-point over binomial trees: O(log P) messages a rank for broadcast and merge, one each to the root for
/// gathers (whose parts the root needs one by one). Messages above 1 GiB go in pieces.
class MpiCollective final : public Collective {
 public:
  explicit MpiCollective(MPI_Comm comm) : comm_(comm) {
    twin<Fn::Comm_rank>()(comm_, &rank_);
    twin<Fn::Comm_size>()(comm_, &size_);
  }
  ~MpiCollective() override { twin<Fn::Comm_free>()(&comm_); }

  MPI_Comm comm() const noexcept { return comm_; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Status split(int color, int key, std::unique_ptr<Collective>& result) override {
    MPI_Comm part = g_handles.comm_null;
    const Status status = checked(twin<Fn::Comm_split>()(comm_, color, key, &part), "MPI_Comm_split");
    if (!status.is_ok()) return status;
    twin<Fn::Comm_set_errhandler>()(part, g_handles.errors_return);
    result = std::make_unique<MpiCollective>(part);
    return Status::ok();
  }

  Status barrier() override { return checked(twin<Fn::Barrier>()(comm_), "MPI_Barrier"); }

  Status bcast(std::span<std::byte> data, int root) override {
    Status status;
    const int virtual_rank = (rank_ - root + size_) % size_;
    int mask = 1;
    for (; mask < size_; mask <<= 1) {
      if ((virtual_rank & mask) == 0) continue;
      status = receive(data, (virtual_rank - mask + root) % size_);
      break;
    }
    for (mask >>= 1; mask > 0 && status.is_ok(); mask >>= 1) {
      if (virtual_rank + mask < size_) status = send(data, (virtual_rank + mask + root) % size_);
    }
    return status;
  }

  Status gather(std::span<const std::byte> mine, Bytes& all, int root) override {
    if (rank_ != root) {
      all.clear();
      return send(mine, root);
    }
    all.resize(mine.size() * static_cast<std::size_t>(size_));
    Status status;
    for (int member = 0; member < size_ && status.is_ok(); ++member) {
      const std::span<std::byte> part = std::span(all).subspan(mine.size() * static_cast<std::size_t>(member), mine.size());
      if (member == root) std::copy(mine.begin(), mine.end(), part.begin());
      else status = receive(part, member);
    }
    return status;
  }

  Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int root) override {
    parts.clear();
    if (rank_ != root) return send_sized(mine, root);
    parts.resize(static_cast<std::size_t>(size_));
    Status status;
    for (int member = 0; member < size_ && status.is_ok(); ++member) {
      Bytes& part = parts[static_cast<std::size_t>(member)];
      if (member == root) part.assign(mine.begin(), mine.end());
      else status = receive_sized(part, member);
    }
    return status;
  }

  Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override {
    if (rank_ != root) return receive(mine, root);
    if (all.size() != mine.size() * static_cast<std::size_t>(size_)) return Status::error("scatter: sizes differ");
    Status status;
    for (int member = 0; member < size_ && status.is_ok(); ++member) {
      const auto part = all.subspan(mine.size() * static_cast<std::size_t>(member), mine.size());
      if (member == root) std::copy(part.begin(), part.end(), mine.begin());
      else status = send(part, member);
    }
    return status;
  }

  Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) override {
    if (rank_ != root) return receive_sized(mine, root);
    if (parts.size() != static_cast<std::size_t>(size_)) return Status::error("scatterv: one part a member is needed");
    Status status;
    for (int member = 0; member < size_ && status.is_ok(); ++member) {
      const Bytes& part = parts[static_cast<std::size_t>(member)];
      if (member == root) mine = part;
      else status = send_sized(part, member);
    }
    return status;
  }

  Status merge_up(Bytes& mine, const Merge& merge) override {
    for (int mask = 1; mask < size_; mask <<= 1) {
      if ((rank_ & mask) != 0) return send_sized(mine, rank_ - mask);
      if (rank_ + mask >= size_) continue;
      Bytes theirs;
      const Status status = receive_sized(theirs, rank_ + mask);
      if (!status.is_ok()) return status;
      merge(mine, theirs);
    }
    return Status::ok();
  }

  Status bcast_resized(Bytes& data, int root) override {
    std::uint64_t size_bytes = data.size();
    Status status = bcast(std::as_writable_bytes(std::span(&size_bytes, 1)), root);
    if (!status.is_ok()) return status;
    data.resize(size_bytes);
    return data.empty() ? status : bcast(data, root);
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 30;

  Status send(std::span<const std::byte> data, int to) {
    Status status;
    do {
      const std::span<const std::byte> piece = data.first(std::min(data.size(), kPieceBytes));
      status = checked(twin<Fn::Send>()(piece.data(), static_cast<int>(piece.size()), g_handles.byte, to, kTag, comm_), "MPI_Send");
      ++g_message_count;
      data = data.subspan(piece.size());
    } while (!data.empty() && status.is_ok());
    return status;
  }
  Status receive(std::span<std::byte> data, int from) {
    Status status;
    do {
      const std::span<std::byte> piece = data.first(std::min(data.size(), kPieceBytes));
      status = checked(twin<Fn::Recv>()(piece.data(), static_cast<int>(piece.size()), g_handles.byte, from, kTag, comm_, MPI_STATUS_IGNORE), "MPI_Recv");
      data = data.subspan(piece.size());
    } while (!data.empty() && status.is_ok());
    return status;
  }
  Status send_sized(std::span<const std::byte> data, int to) {
    const std::uint64_t size_bytes = data.size();
    Status status = send(std::as_bytes(std::span(&size_bytes, 1)), to);
    return status.is_ok() && !data.empty() ? send(data, to) : status;
  }
  Status receive_sized(Bytes& data, int from) {
    std::uint64_t size_bytes = 0;
    Status status = receive(std::as_writable_bytes(std::span(&size_bytes, 1)), from);
    if (!status.is_ok()) return status;
    data.resize(size_bytes);
    return data.empty() ? status : receive(data, from);
  }

  MPI_Comm comm_;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::unique_ptr<Collective> make_world_collective() {
  int rank = 0;
  twin<Fn::Comm_rank>()(g_handles.comm_world, &rank);
  MPI_Comm own = g_handles.comm_null;
  if (twin<Fn::Comm_split>()(g_handles.comm_world, 0, rank, &own) != MPI_SUCCESS) return nullptr;
  twin<Fn::Comm_set_errhandler>()(own, g_handles.errors_return);
  return std::make_unique<MpiCollective>(own);
}

MPI_Comm own_comm(const Collective& collective) noexcept { return static_cast<const MpiCollective&>(collective).comm(); }

std::uint64_t own_message_count() noexcept { return g_message_count; }

}  // namespace megascope::mpi
