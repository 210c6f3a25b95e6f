#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace megascope::symbols {

/// Source position of an instruction.
struct Place {
  std::string function;    ///< symbol, or name as in the source; empty: unknown
  std::string file;        ///< empty: unknown
  std::uint32_t line = 0;  ///< 0: unknown
};

/// Source positions from the debug information of one file. One thread at a time.
class LineTable {
 public:
  virtual ~LineTable() = default;
  /// Finds the position of an instruction. For inlined code this is the innermost function.
  /// address: as in the file, without the load offset. Returns false if nothing is known.
  virtual bool find(std::uint64_t address, Place& place) = 0;
};

/// Opens the debug information of a program, library or debug information file. Returns nullptr if
/// it has none or this build is without libdw. Uses no network.
std::unique_ptr<LineTable> open_line_table(const std::string& path);

}  // namespace megascope::symbols
