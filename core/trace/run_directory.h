#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"

#include <functional>
#include <string>

/// Reads run directories of any owner. Their owners and others may exchange entries at any moment.
/// Therefore everything is opened relative to a directory descriptor, no link is followed, and
/// everything must belong to the directory's owner.
namespace megascope::trace {

/// An open directory.
struct OpenDirectory {
  files::Descriptor opened;
  std::string path;

  files::Base base() const { return {opened.number(), path}; }
};

/// Opens a directory that the user named, of any owner. Follows a link.
Status open_given_directory(const std::string& path, OpenDirectory& result);

/// Opens the directory `name` in `parent`. Returns an error if it is a link, or belongs to another
/// user than the open directory `like`.
Status open_inner_directory(const OpenDirectory& parent, const std::string& name,
                            const OpenDirectory& like, OpenDirectory& result);

/// Calls `visit` with each open directory of a standalone rank in `run`
/// (kStandaloneDirectoryPrefix).
void for_each_standalone_directory(const OpenDirectory& run,
                                   const std::function<void(const OpenDirectory&)>& visit);

/// Calls `visit` with each native trace in `run` and in the directories of standalone ranks, in no
/// particular order. Selected by name only: the file may be anything. The directory is open during
/// the call.
void for_each_trace(const OpenDirectory& run,
                    const std::function<void(const files::Base&, const std::string& name)>& visit);

}  // namespace megascope::trace
