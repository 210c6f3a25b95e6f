#include "tests/sanitize/parts.h"

#include <array>
#include <atomic>
#include <thread>

namespace megascope::sanitize {
namespace {

constexpr int kRounds = 400;
constexpr int kIntBytes = static_cast<int>(sizeof(int));
constexpr int kOwnMessages = 4000;  ///< of each thread to itself: more than its first buffer holds

/// From the thread that starts requests to the one that completes them. One slot a round, so that a
/// reused slot orders nothing.
struct Handover {
  struct Slot {
    std::array<MPI_Request, 3> requests;
    int out = 0;
    int in = 0;
    std::atomic<bool> is_full{false};
  };
  std::array<Slot, kRounds> slots;
};

void send_to_self(Ledger& ledger, MPI_Comm self) {
  int out = 0;
  int in = 0;
  for (int i = 0; i < kOwnMessages; ++i) {
    CALL(ledger, Sendrecv, &out, 1, MPI_INT, 0, 41, &in, 1, MPI_INT, 0, 41, self,
         MPI_STATUS_IGNORE);
    ledger.sent(1, sizeof(int));
  }
}

void start_requests(Ledger& ledger, Place place, MPI_Comm comm, MPI_File file, Handover& handover) {
  for (int i = 0; i < kRounds; ++i) {
    Handover::Slot& slot = handover.slots[static_cast<std::size_t>(i)];
    CALL(ledger, Irecv, &slot.in, 1, MPI_INT, place.left(), i, comm, &slot.requests[0]);
    CALL(ledger, Isend, &slot.out, 1, MPI_INT, place.right(), i, comm, &slot.requests[1]);
    ledger.sent(1, sizeof(int));
    CALL(ledger, File_iwrite_at, file, i * kIntBytes, &slot.out, 1, MPI_INT, &slot.requests[2]);
    slot.is_full.store(true, std::memory_order_release);
  }
}

void complete_requests(Ledger& ledger, Handover& handover) {
  for (int i = 0; i < kRounds; ++i) {
    Handover::Slot& slot = handover.slots[static_cast<std::size_t>(i)];
    while (!slot.is_full.load(std::memory_order_acquire)) std::this_thread::yield();
    int flag = 0;
    if (i % 3 == 0)
      ledger.wrote("MPI_Waitall",
                   CALL(ledger, Waitall, 3, slot.requests.data(), MPI_STATUSES_IGNORE), kIntBytes);
    else if (i % 3 == 1)
      while (flag == 0) {
        const int rc = CALL(ledger, Testall, 3, slot.requests.data(), &flag, MPI_STATUSES_IGNORE);
        ledger.wrote("MPI_Testall", rc, flag != 0 ? kIntBytes : 0);
      }
    else
      for (MPI_Request& request : slot.requests) {
        const int rc = CALL(ledger, Wait, &request, MPI_STATUS_IGNORE);
        ledger.wrote("MPI_Wait", rc, &request == &slot.requests[2] ? kIntBytes : 0);
      }
  }
}

/// Of a file that another thread writes to as well.
void write_beside(Ledger& ledger, MPI_File file) {
  int value = 0;
  for (int i = 0; i < kRounds; ++i) {
    const int rc = CALL(ledger, File_write_at, file, (kRounds + i) * kIntBytes, &value, 1, MPI_INT,
                        MPI_STATUS_IGNORE);
    ledger.wrote("MPI_File_write_at", rc, kIntBytes);
  }
}

/// Communicators of one process are made and freed while other threads use others.
void make_own_communicators(Ledger& ledger) {
  for (int i = 0; i < kRounds / 4; ++i) {
    MPI_Comm copy = MPI_COMM_NULL;
    int value = i;
    CALL(ledger, Comm_dup, MPI_COMM_SELF, &copy);
    CALL(ledger, Allreduce, MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, copy);
    CALL(ledger, Comm_free, &copy);
  }
}

}  // namespace

void call_in_threads(Ledger& ledger, Place place, const std::string& name) {
  MPI_Comm comm = MPI_COMM_NULL;
  std::array<MPI_Comm, 2> selves{};
  CALL(ledger, Comm_dup, MPI_COMM_WORLD, &comm);
  for (MPI_Comm& self : selves) CALL(ledger, Comm_dup, MPI_COMM_SELF, &self);
  const std::string mine = name + "." + std::to_string(place.rank) + ".";
  MPI_File file;
  CALL(ledger, File_open, selves[0], (mine + "both").c_str(),
       MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  Handover handover;
  Ledger starter_ledger;
  Ledger completer_ledger;
  {
    std::thread starter([&] {
      start_requests(starter_ledger, place, comm, file, handover);
      use_own_file(starter_ledger, selves[0], mine + "starter");
      send_to_self(starter_ledger, selves[0]);
    });
    std::thread completer([&] {
      complete_requests(completer_ledger, handover);
      write_beside(completer_ledger, file);
      use_own_file(completer_ledger, selves[1], mine + "completer");
      send_to_self(completer_ledger, selves[1]);
    });
    make_own_communicators(ledger);
    starter.join();
    completer.join();
  }
  ledger.merge(starter_ledger);
  ledger.merge(completer_ledger);
  // Threads that come after others have gone.
  Ledger late_ledger;
  std::thread late([&] { send_to_self(late_ledger, selves[0]); });
  late.join();
  ledger.merge(late_ledger);
  CALL(ledger, File_close, &file);
  for (MPI_Comm& self : selves) CALL(ledger, Comm_free, &self);
  CALL(ledger, Comm_free, &comm);
}

}  // namespace megascope::sanitize
