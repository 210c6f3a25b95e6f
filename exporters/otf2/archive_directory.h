#pragma once

#include "core/base/safe_file.h"
#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <string>

namespace megascope::otf2 {

/// Where an archive is written until it is whole: a new directory beside its final place that only
/// this user can write to, because libotf2 creates its files itself and would follow links that
/// others have placed under their names. All members work below a descriptor of the same directory,
/// so that renaming a directory above it leads nowhere else. One thread.
class ArchiveDirectory {
 public:
  /// folder: gets the archive. name: of the archive, as "trace".
  ArchiveDirectory(std::string folder, std::string name, Collective& members);
  ArchiveDirectory(const ArchiveDirectory&) = delete;
  ArchiveDirectory& operator=(const ArchiveDirectory&) = delete;

  /// Collective. An error on all members if an archive of this name exists, or one of them cannot
  /// open the directory. Needs /proc.
  Status create();
  /// For libotf2: a path through the descriptor. Valid until remove().
  std::string path() const { return "/proc/self/fd/" + std::to_string(opened_.number()); }
  /// The same of a part of the archive: "", ".def", ".otf2" or "/<location>.evt".
  std::string path_of(const std::string& suffix) const { return path() + "/" + name_ + suffix; }
  /// For messages.
  const std::string& shown_path() const { return path_; }
  /// Member 0 gives all parts their final names, the anchor last; the other members do nothing. All
  /// or none.
  Status publish();
  /// After an error, on each member: files in the directory that libotf2 still has open take no
  /// space any more once they are removed, and nothing that is written to them at the end of the
  /// process can fail.
  void release_open_files();
  /// Collective. Removes the directory with all that is in it.
  void remove();

 private:
  Status check_absence() const;
  Status create_first();
  Status open(std::uint64_t inode);
  std::string final_path_of(const std::string& suffix) const {
    return folder_ + "/" + name_ + suffix;
  }

  std::string folder_;
  std::string name_;
  Collective& members_;
  std::string path_;  ///< of the directory; empty: there is none
  files::Descriptor opened_;
};

}  // namespace megascope::otf2
