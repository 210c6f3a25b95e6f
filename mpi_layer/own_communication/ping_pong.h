#pragma once

#include "core/record/definitions.h"

#include <mpi.h>

#include <cstdint>

namespace megascope::mpi {

/// Small messages on one of the library's communicators, in which `peer` is a rank. Messages of
/// another round are ignored.
struct Wire {
  MPI_Comm comm;
  int tag;
  std::uint32_t round;       ///< equal on both sides
  std::uint64_t timeout_ns;  ///< timeout of a message; 0: none

  bool send(std::uint64_t value, int peer) const noexcept;
  bool receive(std::uint64_t& value, int peer) const noexcept;
};

/// How often a clock is asked: at least `least` times, until `patience` consecutive answers were no
/// quicker than the best one, at most `most` times; not longer than budget_ns after the first
/// answer.
struct PingLimits {
  int least;
  int timeout;
  int most;
  std::uint64_t budget_ns;
};

struct Pings {
  ClockSample best;           ///< the quickest answer; without peer_domain
  bool is_same_clock = true;  ///< each answer lay between question and arrival: both may be one
                              ///< clock
};
/// Asks the clock of `peer`, which must call answer_pings() meanwhile. Returns false if MPI failed
/// or the other side did not answer.
bool ask_clock(const Wire& wire, int peer, bool use_tsc, const PingLimits& limits,
               Pings& result) noexcept;
bool answer_pings(const Wire& wire, int peer, bool use_tsc) noexcept;

}  // namespace megascope::mpi
