#pragma once

#include "mpi_layer/table/fn.h"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace megascope::test {

/// Which call of MPI fails, and on which rank.
struct Fault {
  int rank = -1;  ///< none
  mpi::Fn fn = mpi::Fn::kNone;
  int call = 0;  ///< the first is 0
};

/// An MPI of which there is only what talking at steps needs. Its ranks are processes forked from
/// the one that made it: each has recorder, hooks and PMPI entry points of its own, as in a real
/// run, and no MPI library hides what a sanitizer looks for.
class FakeWorld {
 public:
  static constexpr int kRanks = 3;
  static constexpr int kMaxRounds = 64;
  static constexpr std::size_t kMaxBytes = std::size_t{1} << 19;

  /// Before the fork.
  FakeWorld();
  FakeWorld(const FakeWorld&) = delete;
  FakeWorld& operator=(const FakeWorld&) = delete;
  ~FakeWorld();

  /// In the child, once: from now on PMPI entry points lead here.
  void become(int rank, const Fault& fault);
  int rank() const { return rank_; }
  /// Reductions of this rank that were begun.
  int rounds() const { return round_; }
  /// Objects (operators, datatypes, communicators) that are made and not freed.
  int object_count() const { return object_count_; }
  /// Errors that reached the program's error handler.
  int program_error_count() const { return program_error_count_; }
  bool has_programs_handler() const { return has_programs_handler_; }

 private:
  friend struct FakePmpi;
  /// Of all ranks.
  struct Shared {
    std::array<std::atomic<int>, kMaxRounds> arrived;
    std::byte blocks[kMaxRounds][kRanks][kMaxBytes];
  };
  /// Is this call the one that fails?
  bool fails(mpi::Fn fn);
  /// The code of a call that fails, which belongs to no communicator of ours.
  int raise();

  Shared* shared_;
  int sockets_[kRanks][kRanks];  ///< [from][to]: what `from` sends; its other end in ends_
  int ends_[kRanks][kRanks];
  int mail_[kRanks];  ///< of messages to rank 0 that no rank waits for: what `from` sends; its
                      ///< other end in mail_ends_
  int mail_ends_[kRanks];
  int rank_ = -1;
  Fault fault_;
  int calls_of_fault_ = 0;
  int round_ = 0;
  int object_count_ = 0;
  int program_error_count_ = 0;
  bool has_programs_handler_ = true;
};

}  // namespace megascope::test
