#pragma once

#include "tests/mpi/scenario.h"

#include <cstdint>

/// What the tests of collectives share: the blocking and the nonblocking form of a function, called
/// with the same arguments, say the same.
namespace megascope::mpitest {

/// In place of arguments that MPI ignores on a rank: reading one shows. The count is large, not
/// negative: of a negative one no bytes are counted. The type is no handle, and crashes whoever
/// asks for its size; MPICH looks at such types, and gets one that is too large.
inline constexpr int kBogusCount = 7654321;
inline const MPI_Datatype kBogusType = faults::is_mpich() ? MPI_LONG_DOUBLE
                                                          : synthetic<MPI_Datatype>(24);
inline void* const kBogusBuffer = reinterpret_cast<void*>(std::uintptr_t{8});
inline int* const kBogusCounts = reinterpret_cast<int*>(std::uintptr_t{16});

/// Calls both forms; the second takes a request.
#define MEGASCOPE_BOTH(blocking, nonblocking, ...) \
  do {                                             \
    MPI_Request request_ = MPI_REQUEST_NULL;       \
    blocking(__VA_ARGS__);                         \
    nonblocking(__VA_ARGS__, &request_);           \
    MPI_Wait(&request_, MPI_STATUS_IGNORE);        \
  } while (false)

/// Lines of such pairs, in order, on one communicator. first_request: the number of the first of
/// their requests.
class Pairs {
 public:
  explicit Pairs(std::string comm = "world", int first_sequence = 0, int first_request = 1)
      : comm_(std::move(comm)), sequence_(first_sequence), request_(first_request - 1) {}

  /// name: "Bcast". root: "" for none, else "root 3". Bytes of this rank.
  Pairs& add(const char* name, const std::string& root, std::int64_t sent, std::int64_t received) {
    std::string lower = name;
    lower[0] = static_cast<char>(lower[0] + ('a' - 'A'));
    const std::string what = (root.empty() ? "" : " " + root) +
                             text(" sent %ld received %ld", sent, received);
    ++request_;
    lines_.push_back(
        text("MPI_%s on %s | coll #%d%s", name, comm_.c_str(), sequence_, what.c_str()));
    lines_.push_back(text("MPI_I%s on %s | icoll r%d #%d%s", lower.c_str(), comm_.c_str(), request_,
                          sequence_ + 1, what.c_str()));
    lines_.push_back(text("MPI_Wait | done r%d in %s #%d%s", request_, comm_.c_str(), sequence_ + 1,
                          what.c_str()));
    sequence_ += 2;
    return *this;
  }
  Pairs& line(const std::string& other) {
    lines_.push_back(other);
    return *this;
  }
  operator Lines() const {
    return lines_;
  }  // NOLINT(google-explicit-constructor): reads as the list it is

 private:
  std::string comm_;
  int sequence_;
  int request_;
  Lines lines_;
};

}  // namespace megascope::mpitest
