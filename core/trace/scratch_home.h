#pragma once

#include "core/base/safe_file.h"
#include "core/trace/run_directory.h"

#include <string>
#include <string_view>
#include <vector>

/// This user's directories in scratch storage. Other users can create directories of the same names
/// there. Only a directory (not a link) of geteuid() that group and others cannot write to is
/// accepted, and everything in it is opened through its descriptor.
namespace megascope::trace {

/// Creates `<scratch>/megascope-<uid>/<run id>`, or uses the one that another rank of the run
/// created. If `megascope-<uid>` is taken by something that is not private to this user, the run
/// gets a directory of its own, `megascope-<uid>.XXXXXX`. Its suffix is derived from the run id,
/// which is unpredictable and equal on all ranks. Mode 0700. Any thread.
Status make_scratch_directory(const std::string& scratch, const std::string& run_id,
                              std::string& directory_path);

/// Removes a directory that make_scratch_directory() created, if it is empty, and the run's own
/// parent directory.
void remove_scratch_directory(const std::string& directory_path) noexcept;

/// Returns whether make_scratch_directory() gives this name to parent directories of runs.
bool is_scratch_home_name(std::string_view name);

/// Opens the directories below `scratch` that contain scratch directories of runs, and `scratch`
/// itself if is_scratch_home_name() holds for its name. problems: receives a sentence for each
/// directory that was refused, at most 8 sentences. max_entries: number of entries of `scratch`
/// that are inspected; other users can create any number.
std::vector<OpenDirectory> open_scratch_homes(const std::string& scratch,
                                              std::vector<std::string>& problems,
                                              std::size_t max_entries = 1'000'000);

/// Opens the directory of one run in `home`, a result of open_scratch_homes(). Returns false if it
/// does not exist or was refused; if refused, `problems` receives the reason.
bool open_scratch_run(const files::Base& home, const std::string& run_id, OpenDirectory& result,
                      std::vector<std::string>& problems);

}  // namespace megascope::trace
