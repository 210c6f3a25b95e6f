#pragma once

#include "core/record/definitions.h"

#include <mpi.h>

#include <cstdint>

namespace megascope::mpi {

/// Small messages on a communicator of our own, whose ranks `peer` names. What belongs to another
/// round is no answer.
struct Wire {
  MPI_Comm comm;
  int tag;
  std::uint32_t round;  ///< equal on both sides
  std::uint64_t
      patience_ns;  ///< a message that does not arrive for so long will not; 0: waits for ever

  bool send(std::uint64_t value, int peer) const noexcept;
  bool receive(std::uint64_t& value, int peer) const noexcept;
};

/// How often a clock is asked: at least `least` times, until `patience` answers in a row were no
/// quicker than the best before them, at most `most` times; not beyond budget_ns after the first
/// answer.
struct PingLimits {
  int least;
  int patience;
  int most;
  std::uint64_t budget_ns;
};

struct Pings {
  ClockSample best;           ///< the answer that came quickest; without peer_domain
  bool is_same_clock = true;  ///< each answer lay between question and arrival: both may be one
                              ///< clock
};
/// Asks the clock of `peer`, which calls answer_pings() meanwhile. false: MPI failed, or the other
/// side did not answer.
bool ask_clock(const Wire& wire, int peer, bool use_tsc, const PingLimits& limits,
               Pings& result) noexcept;
bool answer_pings(const Wire& wire, int peer, bool use_tsc) noexcept;

}  // namespace megascope::mpi
