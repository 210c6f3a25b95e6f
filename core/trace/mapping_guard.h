#pragma once

#include <cstddef>
#include <string>

/// For programs that read traces of others: a trace that becomes shorter while it is read ends the
/// program with a sentence instead of SIGBUS. Never switched on inside of an application.
namespace megascope::trace {

struct MappingGuard {
  int file = 2;                        ///< where the sentence goes
  const char* prefix = "megascope: ";  ///< of the sentence; static
  bool ends_line = true;
  int exit_code = 2;
};

/// From now on, in all threads and in children that are forked: an access to a mapped trace behind
/// the end of its file writes
/// "<prefix><path> became shorter …" and ends the process, without destructors and exit handlers.
/// Another SIGBUS acts as before. Before traces are opened, once.
void guard_mappings(const MappingGuard& guard);

/// Names the file of a mapping. Nothing where guard_mappings() was not called. Any thread.
void note_mapping(const void* begin, std::size_t size_bytes, const std::string& path);
/// Before the mapping is given up. Any thread.
void forget_mapping(const void* begin);

}  // namespace megascope::trace
