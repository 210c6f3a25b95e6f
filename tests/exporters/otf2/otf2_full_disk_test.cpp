// Disks that are full from some write on, or refuse one write. libotf2's calls of fopen, fwrite and
// fclose come here; the kernel refuses what a file writes whose descriptor is /dev/full.
#include "tests/exporters/otf2/judged_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace megascope::test {
namespace {

/// Shared by the members of an export.
struct Disk {
  std::atomic<int> operation_count{0};
  int first_refused = 0;  ///< counted from 1; 0: none
  bool recovers = false;  ///< refuses this one only
};

Disk& disk() {
  static Disk* const shared = new (
      mmap(nullptr, sizeof(Disk), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Disk;
  return *shared;
}

thread_local bool is_watched = false;  // of the thread that exports

bool refuses_next() {
  const int first = disk().first_refused;
  const int number = ++disk().operation_count;
  return first > 0 && (disk().recovers ? number == first : number >= first);
}

void fill(FILE* file) {
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  dup2(full, fileno(file));
  close(full);
}

template <class Function>
Function* libc(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace
}  // namespace megascope::test

extern "C" __attribute__((visibility("default"))) FILE* fopen(const char* path, const char* mode) {
  using namespace megascope::test;
  if (is_watched && mode[0] == 'w' && refuses_next()) {
    errno = ENOSPC;
    return nullptr;
  }
  return libc<FILE*(const char*, const char*)>("fopen")(path, mode);
}

extern "C" __attribute__((visibility("default"))) size_t fwrite(const void* from, size_t size,
                                                                size_t count, FILE* file) {
  using namespace megascope::test;
  if (is_watched && refuses_next()) fill(file);
  return libc<size_t(const void*, size_t, size_t, FILE*)>("fwrite")(from, size, count, file);
}

extern "C" __attribute__((visibility("default"))) int fclose(FILE* file) {
  using namespace megascope::test;
  if (is_watched && refuses_next()) fill(file);
  return libc<int(FILE*)>("fclose")(file);
}

namespace megascope::test {
namespace {

namespace fs = std::filesystem;

/// Messages of rank 0 to itself: an event file above the 4 MiB that libotf2 keeps before it writes.
void add_many_events(SampleProcess& process, std::uint64_t begin_ns) {
  const Fact sent = send(0, 2'000'000'000, std::uint64_t{1} << 60);
  const Fact received = recv(0, 2'000'000'000, std::uint64_t{1} << 60);
  for (std::uint64_t i = 0; i < 26'000; ++i) {
    const std::uint64_t time = begin_ns + i * 1000;
    process.call("MPI_Sendrecv", time, time + 500,
                 {sent, received, sent, received, sent, received, sent, received, sent, received});
  }
}

/// Every kind of event writer, a rank without a trace.
std::vector<SampleProcess> long_run() {
  std::vector<SampleProcess> processes;
  for (std::int32_t rank = 0; rank < 3; ++rank) {
    SampleProcess& process = processes.emplace_back(rank, 4);
    const WinId window = process.add_window(7, "window");
    for (std::uint64_t i = 0; i < 500; ++i) {
      const std::uint64_t time = 10 + i * 100;
      const std::int32_t next = (rank + 1) % 3;
      process.call("MPI_Send", time, time + 10, {send(next, 7, 40)});
      process.call("MPI_Put", time + 20, time + 30,
                   {one_sided(FactKind::kPut, window, next, 8, static_cast<RequestId>(i))});
      process.call("MPI_Recv", time + 40, time + 90, {recv((rank + 2) % 3, 7, 40)});
    }
    if (rank == 0) add_many_events(process, 1'000'000);
  }
  return processes;
}

/// How an export in a process of its own ended.
struct Ending {
  int state = -1;       ///< of waitpid
  std::string message;  ///< of the export; empty: it succeeded
};

Ending export_apart(const std::string& directory, const std::vector<SampleProcess>& processes,
                    int members) {
  int ends[2];
  if (pipe(ends) != 0) return {};
  const pid_t child = fork();
  if (child == 0) {
    is_watched = true;
    ExportResult result;
    const std::string message = export_run(directory, 4, processes, members, result).message();
    is_watched = false;
    const bool is_written = write(ends[1], message.data(), message.size()) ==
                            static_cast<ssize_t>(message.size());
    std::exit(is_written ? 0 : 1);  // as a program ends: files that are open are flushed
  }
  close(ends[1]);
  Ending ending;
  char text[4096];
  for (ssize_t count; (count = read(ends[0], text, sizeof text)) > 0;)
    ending.message.append(text, static_cast<std::size_t>(count));
  close(ends[0]);
  waitpid(child, &ending.state, 0);
  return ending;
}

/// Refuses each operation in turn until the export needs no more.
void refuse_each(int members, bool recovers) {
  const std::vector<SampleProcess> processes = long_run();
  int tried = 0;
  std::uintmax_t largest_bytes = 0;
  for (int first = 1;; ++first) {
    const TemporaryDirectory directory;
    disk().operation_count = 0;
    disk().first_refused = first;
    disk().recovers = recovers;
    const Ending ending = export_apart(directory.path(), processes, members);
    const std::string what = "members " + std::to_string(members) + ", operation " +
                             std::to_string(first) + ": " + ending.message;
    ASSERT_EQ(ending.state, 0) << what;
    if (disk().operation_count < first) {
      EXPECT_EQ(ending.message, "");
      for (const auto& file : fs::directory_iterator(directory.path() + "/trace"))
        largest_bytes = std::max(largest_bytes, file.file_size());
      EXPECT_EQ(judge(directory.path() + "/trace.otf2", "--incomplete").exit_code, 0);
      break;
    }
    ++tried;
    EXPECT_THAT(ending.message, ::testing::StartsWith(directory.path() + "/trace.")) << what;
    EXPECT_THAT(ending.message, ::testing::HasSubstr("No space left on device")) << what;
    EXPECT_TRUE(fs::is_empty(directory.path())) << what;
  }
  EXPECT_GT(tried, 20);
  EXPECT_GT(largest_bytes, std::uintmax_t{9} << 19);
  disk().first_refused = 0;
}

TEST(Otf2FullDisk, EndsAnExportAndNotTheProgram) { refuse_each(1, false); }
TEST(Otf2FullDisk, EndsAnExportOfSeveralMembers) { refuse_each(3, false); }
TEST(Otf2FullDisk, AWriteThatIsRefusedOnceEndsAnExport) { refuse_each(1, true); }
TEST(Otf2FullDisk, AWriteThatIsRefusedOnceEndsAnExportOfSeveralMembers) { refuse_each(3, true); }

}  // namespace
}  // namespace megascope::test
