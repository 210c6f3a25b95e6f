#include "mpi_layer/own_communication/rank_update_messages.h"

#include "mpi_layer/lookup/abi.h"
#include "mpi_layer/lookup/pmpi.h"

#include <algorithm>

namespace megascope::mpi {
namespace {

/// Returns the size of a message of bytes; -1: unknown.
int count_of(const MPI_Status& status) noexcept {
  int count = 0;
  return pmpi<Fn::Get_count>()(&status, g_handles.byte, &count) == MPI_SUCCESS ? count : -1;
}

}  // namespace

bool RankUpdateMessages::send(std::span<const std::byte> rank_update, MPI_Comm comm) noexcept {
  done_ = 0;
  is_received_ = false;
  count_ = (rank_update.size() + kBytes - 1) / kBytes;
  if (count_ > kMax) return false;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::span message = rank_update.subspan(
        i * kBytes, std::min(kBytes, rank_update.size() - i * kBytes));
    const int tag = i == 0 ? static_cast<int>(count_) : kTagOfRest;
    if (pmpi<Fn::Isend>()(message.data(), static_cast<int>(message.size()), g_handles.byte, 0, tag,
                          comm, &requests_[i]) != MPI_SUCCESS)
      return false;
  }
  return true;
}

std::size_t RankUpdateMessages::space_for(const MPI_Status& first) noexcept {
  const int bytes = count_of(first);
  if (bytes <= 0 || first.MPI_TAG < 1 || static_cast<std::size_t>(first.MPI_TAG) > kMax) return 0;
  if (first.MPI_TAG == 1)
    return static_cast<std::size_t>(bytes) <= kBytes ? static_cast<std::size_t>(bytes) : 0;
  return static_cast<std::size_t>(bytes) == kBytes
             ? static_cast<std::size_t>(first.MPI_TAG) * kBytes
             : 0;
}

bool RankUpdateMessages::receive(MPI_Message& first, const MPI_Status& status, std::byte* into,
                                 MPI_Comm comm) noexcept {
  const auto space = static_cast<int>(space_for(status));
  const int message_bytes = std::min(space, static_cast<int>(kBytes));
  done_ = 0;
  is_received_ = true;
  count_ = static_cast<std::size_t>(status.MPI_TAG);
  bytes_ = static_cast<std::size_t>(space);
  if (pmpi<Fn::Imrecv>()(into, message_bytes, g_handles.byte, &first, &requests_[0]) != MPI_SUCCESS)
    return false;
  for (std::size_t i = 1; i < count_; ++i) {
    if (pmpi<Fn::Irecv>()(into + i * kBytes, message_bytes, g_handles.byte, status.MPI_SOURCE,
                          kTagOfRest, comm, &requests_[i]) != MPI_SUCCESS)
      return false;
  }
  return true;
}

/// Tests in order: the test of an incomplete request lets MPI progress all of them.
bool RankUpdateMessages::test(bool& is_done) noexcept {
  for (; done_ < count_; ++done_) {
    int is_one_done = 0;
    MPI_Status status{};
    if (pmpi<Fn::Test>()(&requests_[done_], &is_one_done, &status) != MPI_SUCCESS) return false;
    if (is_one_done == 0) break;
    if (!is_received_ || done_ + 1 != count_ || count_ == 1) continue;
    const int last_bytes = count_of(status);
    if (last_bytes < 0) return false;
    bytes_ = done_ * kBytes + static_cast<std::size_t>(last_bytes);
  }
  is_done = done_ == count_;
  return true;
}

bool RankUpdateMessages::wait() noexcept {
  for (; done_ < count_; ++done_) {
    if (pmpi<Fn::Wait>()(&requests_[done_], MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
  }
  return true;
}

}  // namespace megascope::mpi
