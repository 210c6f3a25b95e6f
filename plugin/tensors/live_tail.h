#pragma once

#include "core/lifecycle/live_server.h"
#include "plugin/tensors/wish.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

/// What blocks hold behind their tensors where rank 0 serves the live view: a row for each rank,
/// and what rank 0's clients want.
namespace megascope::tensors {

/// Of one rank's step that has ended.
struct RankTimes {
  float step_ms = std::numeric_limits<float>::quiet_NaN();  ///< NaN: nobody said
  float mpi_ms = std::numeric_limits<float>::quiet_NaN();  ///< of it in calls of MPI, of the thread
                                                           ///< that begins steps
  float own_ms = std::numeric_limits<float>::quiet_NaN();  ///< of it MegaScope's own time
  std::uint32_t is_said = 0;                               ///< bits: kSaid, kIdle
};
inline constexpr std::uint32_t kSaid = 1;
inline constexpr std::uint32_t
    kIdle = 2;  ///< the step was a poll for requests that found none, and nothing else

inline constexpr std::uint32_t kMostLiveRanks = 4096;

/// The last request of a client that all ranks are told. number: 0: there has been none.
struct TailRequest {
  std::uint64_t number = 0;
  std::uint64_t bytes = 0;
  std::array<char, kMostRequestBytes> text{};
};

/// ranks: 0: there is no tail.
constexpr std::size_t bytes_of_tail(std::uint32_t ranks) {
  return ranks == 0
             ? 0
             : ranks * sizeof(RankTimes) + (kMostWishBytes + 7) / 8 * 8 + sizeof(TailRequest);
}

/// All bytes zero: nobody said anything. tail: bytes_of_tail(), any alignment, in all of these.
void clear_tail(std::span<std::byte> tail) noexcept;
void set_times(std::span<std::byte> tail, std::uint32_t rank, const RankTimes& times) noexcept;
RankTimes times_of(std::span<const std::byte> tail, std::uint32_t rank) noexcept;
/// wishes: of pack_wishes().
void set_wishes(std::span<std::byte> tail, std::uint32_t ranks,
                std::span<const std::byte> wishes) noexcept;
std::span<const std::byte> wishes_in(std::span<const std::byte> tail, std::uint32_t ranks) noexcept;
void set_request(std::span<std::byte> tail, const TailRequest& request) noexcept;
TailRequest request_in(std::span<const std::byte> tail) noexcept;
/// Rows that somebody said, and wishes and request if has_their_wishes. Commutative, as ranks are
/// different, and associative.
void merge_tails(std::span<const std::byte> theirs, std::span<std::byte> mine, std::uint32_t ranks,
                 bool has_their_wishes) noexcept;

}  // namespace megascope::tensors
