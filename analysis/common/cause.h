#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

// clang-format off: rows read better as rows

/// The kinds of root causes: why a run is slow. X(enumerator, name): `name` is used in reports
/// and JSON, and is also the name of the fault that synthetic runs inject to produce this cause.
#define MEGASCOPE_CAUSES(X)                                                                \
  /* a rank, or a group of ranks, computes slower than its peers */                        \
  X(kSlowCompute, "slow_compute")                                                          \
  /* all ranks of a host compute slower than their peers */                                \
  X(kSlowHost, "slow_host")                                                                \
  /* messages between two ranks take longer */                                             \
  X(kSlowLink, "slow_link")                                                                \
  /* a rank pauses between operations; the rest of its work takes as long as its peers' */ \
  X(kHostStall, "host_stall")                                                              \
  /* a pipeline stage has more work than the others, in every replica */                   \
  X(kStageImbalance, "stage_imbalance")                                                    \
  /* the amount of work of a replica varies from step to step */                           \
  X(kInputImbalance, "input_imbalance")                                                    \
  /* a rank neither computes nor waits for a core (analysis/cpu/whole_run.h) */            \
  X(kBlocked, "blocked")                                                                   \
  /* waiting for a core explains the slowness (analysis/cpu/preempted.h) */                \
  X(kPreempted, "preempted")

// clang-format on

namespace megascope::analysis {

#define MEGASCOPE_CAUSE_ENUMERATOR(enumerator, name) enumerator,
enum class Cause : std::uint8_t { MEGASCOPE_CAUSES(MEGASCOPE_CAUSE_ENUMERATOR) };
#undef MEGASCOPE_CAUSE_ENUMERATOR

inline std::string name_of(Cause cause) {
#define MEGASCOPE_CAUSE_NAME(enumerator, name) name,
  static constexpr const char* kNames[] = {MEGASCOPE_CAUSES(MEGASCOPE_CAUSE_NAME)};
#undef MEGASCOPE_CAUSE_NAME
  return kNames[static_cast<std::size_t>(cause)];
}

/// Returns whether the cause slows messages. Other causes slow the work of ranks.
constexpr bool is_of_messages(Cause cause) { return cause == Cause::kSlowLink; }

/// Returns whether the cause follows from what the operating system measured of a rank: its CPU
/// time and its waits for a core.
constexpr bool is_of_cpu_times(Cause cause) {
  return cause == Cause::kBlocked || cause == Cause::kPreempted;
}

/// Returns whether the rank does not compute in the time that it loses.
constexpr bool is_pause(Cause cause) {
  return cause == Cause::kHostStall || is_of_cpu_times(cause);
}

/// Returns whether the evidence for the cause is only a comparison of a rank's operations with
/// those of its peers. Such a comparison does not show on what the rank spent the time.
constexpr bool is_of_compared_work(Cause cause) {
  return cause == Cause::kSlowCompute || cause == Cause::kHostStall ||
         cause == Cause::kInputImbalance;
}

}  // namespace megascope::analysis
