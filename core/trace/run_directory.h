#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"

#include <functional>
#include <string>

/// Reads run directories of any owner. Other users may replace entries of these directories at any
/// moment. Therefore entries are opened relative to a directory descriptor, links are not followed,
/// and each entry must belong to the owner of the directory.
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
/// particular order. Files are selected by name only; they need not be traces. The directory is
/// open during the call.
void for_each_trace(const OpenDirectory& run,
                    const std::function<void(const files::Base&, const std::string& name)>& visit);

}  // namespace megascope::trace
