#pragma once

#include <mpi.h>

#include <cstdint>

#include "core/record/definitions.h"

namespace megascope::mpi {

/// How often a clock is asked: at least `least` times, until `patience` answers in a row were no quicker than the best before
/// them, at most `most` times; not beyond budget_ns after the first answer.
struct PingLimits {
  int least;
  int patience;
  int most;
  std::uint64_t budget_ns;
};

/// Asks the clock of `peer`, a rank in comm, which calls answer_pings() meanwhile; `sample` is the answer that came quickest
/// (without peer_domain). is_same_clock: each answer lay between question and arrival, so that both may be the same clock.
/// false: MPI failed.
struct Pings {
  ClockSample best;
  bool is_same_clock = true;
};
bool ask_clock(MPI_Comm comm, int peer, bool use_tsc, const PingLimits& limits, Pings& result) noexcept;
bool answer_pings(MPI_Comm comm, int peer, bool use_tsc) noexcept;

}  // namespace megascope::mpi
