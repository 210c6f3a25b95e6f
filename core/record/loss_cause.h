#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

// clang-format off: rows read better as rows

/// The reasons why records or facts are not in a trace. X(enumerator, key, label, reason): key is
/// the name in JSON, label and reason are for users. Append only: the numbers are stored in traces.
#define MEGASCOPE_LOSS_CAUSES(X)                                                                 \
  /* MEGASCOPE_BUFFER_SIZE reached (policy stop), or overwritten (policy flight) */              \
  X(kBufferFull, "buffer_full", "buffer full", "MEGASCOPE_BUFFER_SIZE was reached; increase it") \
  /* no space, quota, file-size limit or I/O error: writing to disk stopped */                   \
  X(kStorage, "storage", "storage",                                                              \
    "the disk is full (free space, or set MEGASCOPE_SCRATCH), or the trace was removed or "      \
    "recovered while the job was running")                                                       \
  /* also: no file descriptor to write it */                                                     \
  X(kNoBuffer, "no_buffer", "no buffer",                                                         \
    "no memory for the buffer of a thread, or no free file descriptor when it was full")         \
  X(kUnknownRequest, "unknown_request", "unknown request",                                       \
    "completions of requests whose start was not recorded")                                      \
  /* MPI_STATUSES_IGNORE with more statuses than are preallocated */                             \
  X(kSizeUnknown, "size_unknown", "unknown size", "received sizes that MPI did not report")      \
  X(kForeign, "foreign", "foreign", "calls after the end of recording")                          \
  X(kDamaged, "damaged", "damaged", "records that could not be read")                            \
  X(kUnbalanced, "unbalanced", "unbalanced", "regions or steps that were not properly nested")   \
  X(kRefused, "refused", "refused",                                                              \
    "hooks whose arguments cannot be recorded; see megascope_last_error")

// clang-format on

namespace megascope {

#define MEGASCOPE_LOSS_ENUMERATOR(enumerator, ...) enumerator,
enum class LossCause : std::uint8_t { MEGASCOPE_LOSS_CAUSES(MEGASCOPE_LOSS_ENUMERATOR) kCount };
#undef MEGASCOPE_LOSS_ENUMERATOR
inline constexpr std::size_t kLossCauseCount = static_cast<std::size_t>(LossCause::kCount);
using Losses = std::array<std::uint64_t, kLossCauseCount>;

struct LossText {
  std::string_view key;     ///< stable name in JSON: "buffer_full"
  std::string_view label;   ///< "buffer full"
  std::string_view reason;  ///< what happened, and the remedy if there is one
};
#define MEGASCOPE_LOSS_TEXT(enumerator, key, label, reason) LossText{key, label, reason},
/// By LossCause.
inline constexpr std::array<LossText, kLossCauseCount> kLossTexts = {
    {MEGASCOPE_LOSS_CAUSES(MEGASCOPE_LOSS_TEXT)}};
#undef MEGASCOPE_LOSS_TEXT

}  // namespace megascope
