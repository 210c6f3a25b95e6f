#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace megascope::symbols {

struct Place {
  std::string function;    ///< as in the symbol table, or as written; empty when not known
  std::string file;        ///< empty when not known
  std::uint32_t line = 0;  ///< 0: not known
};

/// What debug information says of addresses. One thread at a time.
class LineTable {
 public:
  virtual ~LineTable() = default;
  /// address: of an instruction, as linked. Where it is inlined, the innermost function. false:
  /// nothing is known.
  virtual bool find(std::uint64_t address, Place& place) = 0;
};

/// Of a program, library or file of debug information; nullptr when it has none, or this build has
/// no reader for it (libdw). Looks for nothing on a network.
std::unique_ptr<LineTable> open_line_table(const std::string& path);

}  // namespace megascope::symbols
