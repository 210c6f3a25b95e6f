#pragma once

#include "core/base/safe_file.h"
#include "core/trace/layout.h"

#include <string>
#include <string_view>

/// The header page of a trace, read and changed where it lies on disk.
namespace megascope::trace {

/// file: a descriptor that can be read. false: not a trace.
bool read_header(int file, FileHeader& header) noexcept;

/// What a copy or a trace of a process that is gone says of itself from now on. Nothing happens
/// when it cannot be written, or is not a regular file with one name that belongs to geteuid().
struct HeaderChange {
  bool is_gone = false;       ///< the process is: nothing more will come
  bool is_together = false;   ///< the trace lies with those of the other ranks: its rank is no
                              ///< longer alone
  std::string_view run_id{};  ///< of the run that it belongs to from now on; empty: as before
};
void change_header(const files::Base& directory, const std::string& name, HeaderChange change);
void change_header(const std::string& path, HeaderChange change);

}  // namespace megascope::trace
