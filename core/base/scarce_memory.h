#pragma once

#include "core/base/status.h"

#include <exception>
#include <utility>

/// For functions that run inside the application's calls and must not throw, because an exception
/// there would end the process.
namespace megascope {

/// Runs `work` and returns its result. If `work` throws (memory runs out), runs `failed` and
/// returns a default value; side effects of `work` remain. Not for code that calls the application
/// or MPI callbacks.
template <class Work, class Failed>
auto without_throwing(Work&& work, Failed&& failed) noexcept -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception&) {
    failed();
  }
  return decltype(work())();
}

/// Reserves capacity for one more element. Call it for each of several lists that must have equal
/// sizes before growing any of them, so that no push_back throws half-way.
template <class List>
void make_space(List& list) {
  if (list.size() == list.capacity()) list.reserve(list.size() * 2 + 16);
}

/// A Status whose text is short enough to need no heap memory.
inline Status no_memory() noexcept { return Status::error("no memory left"); }

/// Runs `work`, which returns a Status. Returns no_memory() if it throws.
template <class Work>
Status status_of(Work&& work) noexcept {
  try {
    return std::forward<Work>(work)();
  } catch (const std::exception&) {
    return no_memory();
  }
}

}  // namespace megascope
