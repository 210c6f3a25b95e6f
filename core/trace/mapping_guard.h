#pragma once

#include <cstddef>
#include <string>

/// For programs that read traces of others: a mapped trace that becomes shorter ends the program
/// with a message instead of SIGBUS. Never used inside an application.
namespace megascope::trace {

struct MappingGuard {
  int file = 2;                        ///< descriptor that receives the message
  const char* prefix = "megascope: ";  ///< start of the message; static storage
  bool ends_line = true;
  int exit_code = 2;
};

/// Installs the handler for all threads and forked children: an access beyond the end of a mapped
/// trace writes "<prefix><path> became shorter ..." and ends the process without destructors and
/// exit handlers. Other SIGBUS signals act as before. Call once, before traces are opened.
void guard_mappings(const MappingGuard& guard);

/// Registers the file of a mapping. Does nothing without guard_mappings(). Any thread.
void note_mapping(const void* begin, std::size_t size_bytes, const std::string& path);
/// Removes a mapping. Call before it is unmapped. Any thread.
void forget_mapping(const void* begin);

}  // namespace megascope::trace
