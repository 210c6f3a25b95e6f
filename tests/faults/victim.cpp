#include "tests/faults/victim.h"

#include "tests/faults/launch.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace megascope::faults::victim {

Ledger* g_ledger = nullptr;
std::uint64_t g_count = 100;

namespace {

std::string g_ledger_path;
int g_level = MPI_THREAD_SINGLE;
std::int32_t g_tag = 0;

/// In the order of a program that talks to itself: nothing here waits for another process.
void one_round() {
  const int tag = ++g_tag % 30'000;
  int mine = tag;
  int theirs = 0;
  int sum = 0;
  std::array<MPI_Request, 2> requests{};
  MPI_Sendrecv(&mine, 1, MPI_INT, 0, tag, &theirs, 1, MPI_INT, 0, tag, MPI_COMM_SELF,
               MPI_STATUS_IGNORE);
  g_ledger->returned(Ledger::kSendrecv, tag);
  MPI_Irecv(&theirs, 1, MPI_INT, 0, tag, MPI_COMM_SELF, requests.data());
  g_ledger->returned(Ledger::kIrecv, tag);
  MPI_Isend(&mine, 1, MPI_INT, 0, tag, MPI_COMM_SELF, &requests[1]);
  g_ledger->returned(Ledger::kIsend, tag);
  MPI_Waitall(2, requests.data(), MPI_STATUSES_IGNORE);
  g_ledger->returned(Ledger::kWaitall, tag);
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);
  g_ledger->returned(Ledger::kAllreduce);
  MPI_Comm_rank(MPI_COMM_WORLD, &sum);
  g_ledger->returned(Ledger::kCommRank);
}

}  // namespace

void init(int level) {
  g_level = level;
  int provided = 0;
  if (level == MPI_THREAD_SINGLE)
    MPI_Init(nullptr, nullptr);
  else
    MPI_Init_thread(nullptr, nullptr, level, &provided);
  int rank = 0;
  const char* launched = std::getenv(faults::rank_variable());
  if (launched != nullptr) rank = std::atoi(launched);
  g_ledger = Ledger::open((g_ledger_path + "." + std::to_string(rank)).c_str());
  if (g_ledger == nullptr) std::_Exit(99);
  g_ledger->returned(level == MPI_THREAD_SINGLE ? Ledger::kInit : Ledger::kInitThread);
}

int open_ledger(const std::string& path) {
  g_ledger_path = path;
  return path.empty() ? 99 : 0;
}

void mixed_calls(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) one_round();
}

void cheap_calls(std::uint64_t count) {
  int rank = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    g_ledger->returned(Ledger::kCommRank);
  }
}

/// Fills what the disk has, a piece at a time, up to what the program needs: CHECKPOINT is the
/// file, CHECKPOINT_BYTES its size.
bool write_checkpoint() {
  const char* const path = getenv("CHECKPOINT");
  const char* const bytes = getenv("CHECKPOINT_BYTES");
  const int file = path != nullptr && bytes != nullptr
                       ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)
                       : -1;
  if (file < 0) return false;
  const std::vector<char> piece(4096, 'c');
  long long left = std::atoll(bytes);
  while (left > 0 && write(file, piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()))
    left -= static_cast<long long>(piece.size());
  return fsync(file) == 0 && close(file) == 0 && left <= 0;
}

/// Many calls over some time, in which something happens to the disk.
void long_calls(std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; i += 1000) {
    cheap_calls(1000);
    usleep(1000);
  }
}

void finalize() {
  g_ledger->returned(Ledger::kFinalize);  // before: its record is written when it is entered
  MPI_Finalize();
}

namespace {

/// Calls whose records hardly pack: each has another size.
void uneven_calls(std::uint64_t count) {
  std::uint32_t state = 1;
  for (std::uint64_t i = 0; i < count; ++i) {
    state = state * 1664525 + 1013904223;
    int bytes = 0;
    MPI_Pack_size(static_cast<int>(state >> 1), MPI_BYTE, MPI_COMM_WORLD, &bytes);
  }
}

/// Until the book is full, then waits to be killed; ends by itself after a while.
int run_until_killed() {
  init();
  while (g_ledger->count.load() + 8 < Ledger::kCapacity) one_round();
  for (int i = 0; i < 100; ++i) usleep(100'000);
  return 98;
}

/// Ranks exchange with their neighbour until one of them is killed.
int run_with_peers() {
  init();
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  g_ledger->returned(Ledger::kCommRank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  g_ledger->returned(Ledger::kCommRank, -2);
  int mine = rank;
  int theirs = 0;
  while (g_ledger->count.load() + 8 < Ledger::kCapacity) {
    const int tag = ++g_tag % 30'000;
    MPI_Sendrecv(&mine, 1, MPI_INT, (rank + 1) % size, tag, &theirs, 1, MPI_INT,
                 (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    g_ledger->returned(Ledger::kSendrecv, tag);
  }
  MPI_Finalize();
  return 98;
}

int receive_forever() {
  init();
  mixed_calls(3);
  g_ledger->is_waiting.store(1);
  int value = 0;
  MPI_Recv(&value, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);
  return 98;
}

[[gnu::noinline]] void touch(volatile int* nowhere) { *nowhere = 1; }

}  // namespace

int run_end_mode(std::string_view mode) {
  if (mode == "until-killed") return run_until_killed();
  if (mode == "in-company") return run_with_peers();
  if (mode == "receive-forever") return receive_forever();
  const bool is_known = mode == "_exit" || mode == "abort" || mode == "segv" || mode == "sigterm" ||
                        mode == "finish" || mode == "return" || mode == "exit" || mode == "cheap" ||
                        mode == "std-abort" || mode == "checkpoint" || mode == "long";
  if (!is_known) return -1;
  init();
  if (mode == "cheap")
    cheap_calls(g_count);
  else if (mode == "checkpoint")
    uneven_calls(g_count);
  else if (mode == "long")
    long_calls(g_count);
  else
    mixed_calls(g_count);
  if (const char* const directory = getenv("DIRECTORY_TO_REMOVE"))
    std::filesystem::remove_all(directory);
  if (mode == "checkpoint")
    std::puts(write_checkpoint() ? "checkpoint written" : "checkpoint failed");
  if (mode == "_exit") _exit(3);
  if (mode == "abort") MPI_Abort(MPI_COMM_WORLD, 7);
  if (mode == "segv") touch(nullptr);
  if (mode == "std-abort") std::abort();
  if (mode == "sigterm") std::raise(SIGTERM);
  if (mode == "exit") std::exit(4);
  if (mode == "return") return 5;
  finalize();
  std::printf("%llu calls\n", static_cast<unsigned long long>(g_ledger->count.load()));
  return 0;
}

}  // namespace megascope::faults::victim

int main(int argc, char** argv) {
  using namespace megascope::faults::victim;
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc < 3 || open_ledger(argv[2]) != 0) return 99;
  if (argc > 3) g_count = std::strtoull(argv[3], nullptr, 10);
  int code = run_end_mode(mode);
  if (code == -1) code = run_process_mode(mode);
  if (code == -1) code = run_unwind_mode(mode);
  return code == -1 ? 99 : code;
}
