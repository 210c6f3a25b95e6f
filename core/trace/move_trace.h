#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/trace/layout.h"

#include <string>

/// Copies and moves traces between scratch storage and run directories. A file gets its final name
/// only when it is complete, with mode 0600. A killed process leaves the original and at most a
/// file "<name>.<16 digits>.part", which recover_run() removes. Links are neither followed nor
/// overwritten.
namespace megascope::trace {

/// A file in an open directory. The directory must stay open during the lifetime of the object.
struct FilePlace {
  files::Base directory;
  std::string name;

  std::string path() const { return directory.path.empty() ? name : directory.path + "/" + name; }
};

/// A trace open for reading, and its header at that time.
struct OpenTrace {
  FilePlace place;
  files::Descriptor file;
  FileHeader header{};
};
/// Opens a trace of geteuid(). Returns an error if it is not a regular file of this user or not a
/// trace.
Status open_trace(const FilePlace& place, OpenTrace& result);

/// What exists under the final name of a trace.
enum class Target {
  kAbsent,                ///< no file
  kCopyOfTheSameProcess,  ///< a copy of this trace, taken while the process ran
  kOther                  ///< another file
};
Target target_of(const OpenTrace& source, const FilePlace& to);

/// Moves a trace to `to` and removes the original. Replaces a copy of the same process's trace.
/// Returns an error if `to` is another file; the original then remains. Also succeeds if another
/// process has moved the same trace to `to` meanwhile.
Status move_trace(const OpenTrace& source, const FilePlace& to);
/// Moves the trace at the path `from` to the path `to`, like move_trace() above.
Status move_trace(const std::string& from, const std::string& to);

/// Copies a trace whose writer may still run; updates an earlier copy in place. If the writer ends
/// its trace and moves it to `to` meanwhile, `to` has the ended trace afterwards, also if this
/// process is killed. is_new: false if `to` had the same bytes already.
Status copy_running_trace(const OpenTrace& source, const FilePlace& to, bool& is_new);

/// Copies a regular file. Does not overwrite an existing one.
Status copy_file(const std::string& from, const std::string& to,
                 files::Owner owner = files::Owner::kAnyone);

}  // namespace megascope::trace
