#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <string>

namespace megascope::otf2 {

/// The temporary directory in which an archive is written, a new directory next to the final one.
/// Only this user can write to it, because libotf2 creates its files itself and would follow links
/// placed by other users. All members use a descriptor of the directory, so renaming a parent
/// directory has no effect. One thread.
class ArchiveDirectory {
 public:
  /// directory: the final directory. name: name of the archive, for example "trace".
  ArchiveDirectory(std::string directory, std::string name, Collective& members);
  ArchiveDirectory(const ArchiveDirectory&) = delete;
  ArchiveDirectory& operator=(const ArchiveDirectory&) = delete;

  /// Creates the directory. Collective. Returns an error on all members if an archive of this name
  /// exists, or if a member cannot open the directory. Needs /proc.
  Status create();
  /// Returns a path of the directory that uses its descriptor, for libotf2. Valid until remove().
  std::string path() const { return "/proc/self/fd/" + std::to_string(opened_.number()); }
  /// Returns the path of a part of the archive. suffix: "", ".def", ".otf2" or "/<location>.evt".
  std::string path_of(const std::string& suffix) const { return path() + "/" + name_ + suffix; }
  /// Returns the path for messages.
  const std::string& shown_path() const { return path_; }
  /// Renames all parts to their final names, the anchor last. All parts are renamed, or none. Acts
  /// on member 0 only.
  Status publish();
  /// After an error, on each member: redirects the descriptors of files that libotf2 still has open
  /// to /dev/null, so that the removed files take no space and later writes cannot fail.
  void release_open_files();
  /// Removes the directory and its contents. Collective.
  void remove();

 private:
  Status check_absence() const;
  Status create_first();
  Status open(std::uint64_t inode);
  std::string final_path_of(const std::string& suffix) const {
    return directory_ + "/" + name_ + suffix;
  }

  std::string directory_;
  std::string name_;
  Collective& members_;
  std::string path_;  ///< path of the temporary directory; empty if there is none
  files::Descriptor opened_;
};

}  // namespace megascope::otf2
