#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"

#include <functional>
#include <string>

/// Reads run directories of any owner. They are in places where their owners, and others, may
/// exchange what is in them at any moment: everything is opened below the descriptor of a
/// directory, no link is followed, and what is found belongs to the directory's owner.
namespace megascope::trace {

/// An open directory.
struct OpenDirectory {
  files::Descriptor opened;
  std::string path;

  files::Base base() const { return {opened.number(), path}; }
};

/// Opens a directory that the user named, of any owner. A link is followed.
Status open_given_directory(const std::string& path, OpenDirectory& result);

/// Opens the directory `name` in `parent`. An error if it is a link or belongs to another user than
/// `like`, an open directory.
Status open_inner_directory(const OpenDirectory& parent, const std::string& name,
                            const OpenDirectory& like, OpenDirectory& result);

/// Calls `visit` with each directory inside `run` of a rank that recorded alone
/// (kSoloFolderPrefix), open.
void for_each_solo_directory(const OpenDirectory& run,
                             const std::function<void(const OpenDirectory&)>& visit);

/// Calls `visit` with the place of each native trace in `run`, and in the directories of ranks that
/// recorded alone, in no particular order. By name only: it may be anything. The directory is open
/// during the call.
void for_each_trace(const OpenDirectory& run,
                    const std::function<void(const files::Base&, const std::string& name)>& visit);

}  // namespace megascope::trace
