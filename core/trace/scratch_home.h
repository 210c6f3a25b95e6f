#pragma once

#include "core/base/safe_file.h"
#include "core/trace/run_directory.h"

#include <string>
#include <string_view>
#include <vector>

/// This user's directories in scratch storage. Others can create directories of the same names
/// there: only a real directory of geteuid() that neither group nor others can write to is
/// accepted, and everything in it is opened through its descriptor.
namespace megascope::trace {

/// Creates `<scratch>/megascope-<uid>/<run id>`, or takes the one that another rank of the run has
/// created. Where something that is not private to this user has the name `megascope-<uid>`, the
/// run gets a directory of its own, `megascope-<uid>.XXXXXX`: the letters follow from its run id,
/// which nobody knows beforehand and which is the same on all ranks. Modes: 0700. Any thread.
Status make_scratch_folder(const std::string& scratch, const std::string& run_id,
                           std::string& folder);

/// Removes a directory that make_scratch_folder() has created, if it is empty, and the run's own
/// one above it.
void remove_scratch_folder(const std::string& folder) noexcept;

/// Is it a name that make_scratch_folder() gives to the directories above those of runs?
bool is_scratch_home_name(std::string_view name);

/// The directories of all runs below `scratch` that have a name make_scratch_folder() gives, and
/// `scratch` itself if it has such a name. Missing ones are omitted. problems: a sentence for each
/// that was refused, at most 8. max_entries: of `scratch`, where others can create any number, are
/// looked at.
std::vector<OpenDirectory> open_scratch_homes(const std::string& scratch,
                                              std::vector<std::string>& problems,
                                              std::size_t max_entries = 1'000'000);

/// The directory of one run in such a directory. false: there is none, or it was refused (then
/// `problems` says why).
bool open_scratch_run(const files::Base& home, const std::string& run_id, OpenDirectory& result,
                      std::vector<std::string>& problems);

}  // namespace megascope::trace
