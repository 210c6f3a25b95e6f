#pragma once

#include "core/record/definitions.h"

#include <mpi.h>

#include <cstdint>

namespace megascope::mpi {

/// Sends and receives small messages on a communicator of the library. peer: rank in comm.
/// receive() returns false for a message of another round.
struct Wire {
  MPI_Comm comm;
  int tag;
  std::uint32_t round;       ///< equal on both sides
  std::uint64_t timeout_ns;  ///< timeout of a message; 0: none

  bool send(std::uint64_t value, int peer) const noexcept;
  bool receive(std::uint64_t& value, int peer) const noexcept;
};

/// How often ask_clock() asks. It asks at least `least` and at most `most` times. After `least`
/// times it stops when more than `timeout` consecutive answers were not quicker than the best
/// answer, or when more than budget_ns have passed since the first answer.
struct PingLimits {
  int least;
  int timeout;
  int most;
  std::uint64_t budget_ns;
};

struct Pings {
  ClockSample best;           ///< the quickest answer; peer_domain is not set
  bool is_same_clock = true;  ///< the time in each answer lies between the times of request and
                              ///< arrival, so that both processes may read the same clock
};
/// Asks the clock of `peer`, which must call answer_pings() meanwhile. Returns false if MPI failed
/// or the other side did not answer.
bool ask_clock(const Wire& wire, int peer, bool use_tsc, const PingLimits& limits,
               Pings& result) noexcept;
bool answer_pings(const Wire& wire, int peer, bool use_tsc) noexcept;

}  // namespace megascope::mpi
