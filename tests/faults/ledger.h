#pragma once

#include <atomic>
#include <cstdint>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace megascope::faults {

/// What a program under test has done, in a file that it shares with the test: each MPI call is
/// written down after it has returned, so the book never runs ahead of the program. It survives
/// for each way in which the program ends.
struct Ledger {
  static constexpr std::uint64_t kCapacity = std::uint64_t{1} << 20;

  /// The functions that programs of these tests call. Order as in kBookedNames.
  enum Fn : std::uint16_t {
    kInit,
    kInitThread,
    kCommRank,
    kSend,
    kRecv,
    kSendrecv,
    kIsend,
    kIrecv,
    kWaitall,
    kAllreduce,
    kBarrier,
    kInitialized,
    kGetVersion,
    kFinalized,
    kErrhandler,
    kSetErrhandler,
    kErrorString,
    kIprobe,
    kFinalize,
    kRecvLeft,  ///< noted before the call, which does not return
    kCount
  };
  struct Entry {
    std::uint16_t fn;
    std::uint16_t rank;
    std::int32_t tag;  ///< -1: none
  };

  std::atomic<std::uint64_t> count;
  std::atomic<std::uint64_t>
      is_waiting;  ///< the program is about to enter a call that never returns
  Entry entries[kCapacity];

  void returned(Fn fn, std::int32_t tag = -1) {
    const std::uint64_t at = count.load(std::memory_order_relaxed);
    if (at >= kCapacity) return;
    entries[at] = {fn, 0, tag};
    count.store(at + 1, std::memory_order_release);
  }

  /// Maps a file, made (sparse) when it is not there. Null when that fails. Never unmapped.
  static Ledger* open(const char* path) {
    const int file = ::open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) return nullptr;
    void* memory = MAP_FAILED;
    if (ftruncate(file, sizeof(Ledger)) == 0) {
      memory = mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    close(file);
    return memory == MAP_FAILED ? nullptr : static_cast<Ledger*>(memory);
  }
};

inline constexpr const char* kBookedNames[] = {"MPI_Init",
                                               "MPI_Init_thread",
                                               "MPI_Comm_rank",
                                               "MPI_Send",
                                               "MPI_Recv",
                                               "MPI_Sendrecv",
                                               "MPI_Isend",
                                               "MPI_Irecv",
                                               "MPI_Waitall",
                                               "MPI_Allreduce",
                                               "MPI_Barrier",
                                               "MPI_Initialized",
                                               "MPI_Get_version",
                                               "MPI_Finalized",
                                               "MPI_Comm_create_errhandler",
                                               "MPI_Comm_set_errhandler",
                                               "MPI_Error_string",
                                               "MPI_Iprobe",
                                               "MPI_Finalize",
                                               "MPI_Recv"};
static_assert(sizeof kBookedNames / sizeof kBookedNames[0] == Ledger::kCount);

}  // namespace megascope::faults
