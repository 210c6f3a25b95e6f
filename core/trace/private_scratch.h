#pragma once

#include <string>
#include <vector>

#include "core/base/status.h"

/// Directories of this user in a scratch directory, where others may have taken the names that are easily guessed.
namespace megascope::trace {

/// Creates `<scratch>/megascope-<uid>/<run id>`, or takes the one that another rank of the run has created. Where something that is
/// not private to this user has the name `megascope-<uid>`, the run gets a directory of its own, `megascope-<uid>.XXXXXX`: the
/// letters follow from its run id, which nobody knows beforehand and which is the same on all ranks. Modes: 0700. Any thread.
Status make_scratch_folder(const std::string& scratch, const std::string& run_id, std::string& folder);

/// Removes a directory that make_scratch_folder() has created, if it is empty, and the run's own one above it.
void remove_scratch_folder(const std::string& folder) noexcept;

/// Directories in `scratch` that belong to this user, that others cannot write to, and that have a name make_scratch_folder() gives:
/// those whose entries are runs. At most `max_entries` entries of `scratch` are looked at.
std::vector<std::string> private_scratch_folders(const std::string& scratch, std::size_t max_entries);

}  // namespace megascope::trace
