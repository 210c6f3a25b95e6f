#pragma once

#include "core/base/safe_file.h"
#include "core/trace/layout.h"

#include <string>
#include <string_view>

/// Reads and changes the header page of a trace on disk.
namespace megascope::trace {

/// Reads the header. file: a readable descriptor. Returns false if it is not a trace.
bool read_header(int file, FileHeader& header) noexcept;

/// Changes to the header of a copy, or of a trace whose process has ended. Nothing happens if the
/// file cannot be written, or is not a regular file of geteuid() with one hard link.
struct HeaderChange {
  bool is_gone = false;       ///< the process has ended and adds no more records
  bool is_together = false;   ///< the trace was moved into one directory with the traces of the
                              ///< other ranks; its rank is not standalone any more
  std::string_view run_id{};  ///< run that the trace belongs to from now on; empty: unchanged
};
void change_header(const files::Base& directory, const std::string& name, HeaderChange change);
void change_header(const std::string& path, HeaderChange change);

}  // namespace megascope::trace
