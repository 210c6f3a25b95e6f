#include "core/trace/mapping_guard.h"

#include <atomic>
#include <cstdint>
#include <cstring>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

/// Never freed, because a signal may come at any moment. `begin` 0: unused.
struct Mapping {
  std::atomic<std::uintptr_t> begin{0};
  std::atomic<std::size_t> size_bytes{0};
  std::atomic<const char*> path{nullptr};
  Mapping* next = nullptr;
};

std::atomic<Mapping*> g_mappings{nullptr};
std::atomic<bool> g_is_on{false};
MappingGuard g_guard;

const char* path_of(std::uintptr_t address) {
  for (const Mapping* mapping = g_mappings.load(std::memory_order_acquire); mapping != nullptr;
       mapping = mapping->next) {
    const std::uintptr_t begin = mapping->begin.load(std::memory_order_acquire);
    if (begin != 0 && address >= begin && address - begin < mapping->size_bytes.load())
      return mapping->path.load();
  }
  return nullptr;
}

std::atomic<bool> g_is_ending{false};

/// One write(2), so that threads and processes that end together do not mix their messages.
void report_that_it_shrank(const char* path) {
  constexpr const char* kWhat =
      " became shorter while it was read, or its file system failed; read it again when nothing "
      "writes it";
  iovec parts[4];
  int count = 0;
  for (const char* text : {g_guard.prefix, path, kWhat, g_guard.ends_line ? "\n" : ""}) {
    parts[count++] = {const_cast<char*>(text), std::strlen(text)};
  }
  (void)!writev(g_guard.file, parts, count);
}

/// Signal-safe. Returning repeats the access without this handler.
void on_bus_error(int, siginfo_t* info, void*) {
  const char* path = path_of(reinterpret_cast<std::uintptr_t>(info->si_addr));
  if (path == nullptr) {
    signal(SIGBUS, SIG_DFL);
    return;
  }
  while (g_is_ending.exchange(true)) pause();  // another thread ends the process
  report_that_it_shrank(path);
  _exit(g_guard.exit_code);
}

/// Returns a permanent copy, safe for a terminal.
const char* kept(const std::string& path) {
  auto* copy = new char[path.size() + 1];
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto byte = static_cast<unsigned char>(path[i]);
    const bool is_second_set = i != 0 && path[i - 1] == '\xC2' && byte >= 0x80 &&
                               byte < 0xA0;  // C1 in UTF-8
    copy[i] = byte < 0x20 || byte == 0x7F || is_second_set ? '?' : path[i];
  }
  copy[path.size()] = '\0';
  return copy;
}

}  // namespace

void guard_mappings(const MappingGuard& guard) {
  g_guard = guard;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  if (sigaction(SIGBUS, &action, nullptr) == 0) g_is_on.store(true);
}

void note_mapping(const void* begin, std::size_t size_bytes, const std::string& path) {
  if (!g_is_on.load()) return;
  auto* mapping = new Mapping;
  mapping->path.store(kept(path));
  mapping->size_bytes.store(size_bytes);
  mapping->begin.store(reinterpret_cast<std::uintptr_t>(begin), std::memory_order_release);
  mapping->next = g_mappings.load();
  while (!g_mappings.compare_exchange_weak(mapping->next, mapping)) {
  }
}

void forget_mapping(const void* begin) {
  if (!g_is_on.load()) return;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  for (Mapping* mapping = g_mappings.load(); mapping != nullptr; mapping = mapping->next) {
    if (mapping->begin.load() == address) mapping->begin.store(0);
  }
}

}  // namespace megascope::trace
