#pragma once

#include "core/base/status.h"

#include <exception>
#include <utility>

/// For functions that run inside the application's calls and must not throw: an exception there
/// would end the process.
namespace megascope {

/// Runs `work`, and `failed` if `work` throws, which it does when memory runs out. What `work` has
/// done until then stays. Returns what `work` returns, a default value after a failure. Not for
/// code that calls the application or MPI callbacks.
template <class Work, class Failed>
auto without_throwing(Work&& work, Failed&& failed) noexcept -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception&) {
    failed();
  }
  return decltype(work())();
}

/// So that the next element of a vector finds room: of lists that belong together none grows alone.
template <class List>
void make_room(List& list) {
  if (list.size() == list.capacity()) list.reserve(list.size() * 2 + 16);
}

/// A status whose text needs no memory.
inline Status no_memory() noexcept { return Status::error("no memory left"); }

/// Runs `work`, which returns a Status; after an exception that status is no_memory().
template <class Work>
Status status_of(Work&& work) noexcept {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception&) {
    return no_memory();
  }
}

}  // namespace megascope
