#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/capture/capture_request.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

/// The tail of a step block. Blocks have a tail if there is a live view. It consists of a row of
/// times for each rank, the capture requests, and the current client request. Rank 0 fills in the
/// two kinds of requests.
namespace megascope::steps {

/// Times of one rank's last complete step.
struct RankTimes {
  float step_ms = std::numeric_limits<float>::quiet_NaN();  ///< NaN: not reported
  /// Of step_ms, time in MPI calls of the thread that begins steps.
  float mpi_ms = std::numeric_limits<float>::quiet_NaN();
  float own_ms = std::numeric_limits<float>::quiet_NaN();  ///< of step_ms, measurement overhead
  /// The bits kReported and kIdle. 0: the row is not filled.
  std::uint32_t is_announced = 0;
};
inline constexpr std::uint32_t kReported = 1;  ///< the row is filled
/// In the step, the application only polled for requests and found none.
inline constexpr std::uint32_t kIdle = 2;

inline constexpr std::uint32_t kMaxLiveRanks = 4096;

/// The client request that is being distributed to all ranks. Requests are numbered from 1. If
/// `number` is 0, there has been no request yet.
struct TailRequest {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::array<char, kMaxRequestBytes> text{};
};

/// Size of a tail. ranks == 0: the block has no tail.
constexpr std::size_t bytes_of_tail(std::uint32_t ranks) {
  return ranks == 0 ? 0
                    : ranks * sizeof(RankTimes) + (capture::kMaxCaptureRequestBytes + 7) / 8 * 8 +
                          sizeof(TailRequest);
}

/// Clears a tail to zero, so that no row is filled. For this and the following functions, `tail`
/// has bytes_of_tail() bytes at any alignment.
void clear_tail(std::span<std::byte> tail) noexcept;
/// Writes one rank's row.
void set_times(std::span<std::byte> tail, std::uint32_t rank, const RankTimes& times) noexcept;
/// Returns one rank's row; a default row if it is not filled.
RankTimes times_of(std::span<const std::byte> tail, std::uint32_t rank) noexcept;
/// Writes the capture requests. capture_requests: made by pack_capture_requests().
void set_capture_requests(std::span<std::byte> tail, std::uint32_t ranks,
                          std::span<const std::byte> capture_requests) noexcept;
std::span<const std::byte> capture_requests_in(std::span<const std::byte> tail,
                                               std::uint32_t ranks) noexcept;
void set_request(std::span<std::byte> tail, const TailRequest& request) noexcept;
TailRequest request_in(std::span<const std::byte> tail) noexcept;
/// Merges `theirs` into `mine`: copies the filled rows of `theirs` and, if
/// has_their_capture_requests, also its capture requests and its client request. Associative. Also
/// commutative, because no two ranks fill the same row.
void merge_tails(std::span<const std::byte> theirs, std::span<std::byte> mine, std::uint32_t ranks,
                 bool has_their_capture_requests) noexcept;

}  // namespace megascope::steps
