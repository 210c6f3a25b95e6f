#pragma once

#include "core/base/descriptor.h"
#include "core/base/status.h"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

/// Opens and creates files in directories where other users may have placed something under the
/// same name. The only code of the project that creates files (tests/lint/check_files.py). No
/// function follows a symbolic link in the last component of a path, except open_given(), or waits
/// for a FIFO. Any thread. Errors name the path.
namespace megascope::files {

/// Where a path begins: a directory that is open, or the current one. The name of that directory
/// appears in errors.
struct Base {
  int directory;     ///< descriptor, or AT_FDCWD
  std::string path;  ///< of the directory, without a final slash; empty: the current one
};
/// The current directory; names are then paths.
Base current_directory();

/// Which owners of a file are accepted.
enum class Owner {
  kAnyone,         ///< shared results: reading only
  kAnyoneOneName,  ///< the same, and the file has one name: for what is copied to where others can
                   ///< read it
  kThisUser,       ///< geteuid()
  kThisUserOnly    ///< geteuid(), and the file has one name: for directories that others can write
                   ///< to, where a hard link may lead elsewhere
};

/// Opens an existing regular file. flags: O_RDONLY or O_RDWR, and others of open(2) but O_CREAT and
/// O_TRUNC. Refused: links, FIFOs, devices, directories, and owners other than `owner` says.
Status open_existing(const Base& base, const std::string& name, int flags, Owner owner,
                     Descriptor& result);
Status open_existing(const std::string& path, int flags, Owner owner, Descriptor& result);

/// Opens a regular file that the user named, for reading. Links are followed.
Status open_given(const std::string& path, Descriptor& result);

/// Creates a file that grows in place. Fails with "exists already" if anything, also a dangling
/// link, has the name. mode: less what the umask takes.
Status create_new(const Base& base, const std::string& name, mode_t mode, Descriptor& result);
Status create_new(const std::string& path, mode_t mode, Descriptor& result);

/// Opens a directory that belongs to geteuid() and that neither group nor others can write. Its
/// parents are not judged.
Status open_private_directory(const Base& base, const std::string& name, Descriptor& result);
Status open_private_directory(const std::string& path, Descriptor& result);

/// Opens a directory that belongs to geteuid(), whoever else can write to it: for names that must
/// be new (FreshFile) or judged one by one (open_existing). The error for a directory of another
/// user names that user and suggests to run as that user.
Status open_own_directory(const Base& base, const std::string& name, Descriptor& result);

/// Names in an open directory without "." and "..", in no particular order; at most `max_count`.
std::vector<std::string> names_in(const Base& base, std::size_t max_count);
std::vector<std::string> names_in(const std::string& path, std::size_t max_count);
/// Creates a directory that neither group nor others can write to. mode: less what the umask takes.
/// An error if anything has the name; `exists`, where given, then tells that this was the reason.
Status make_directory(const std::string& path, mode_t mode, bool* exists = nullptr);
/// Creates the directories above `path` that do not exist, as make_directory().
Status make_parents(const std::string& path, mode_t mode);

/// Creates a file in `directory` that has no name: its space is free again when the last descriptor
/// is closed. For writing.
Status create_nameless(const std::string& directory, Descriptor& result);

/// Whole content of an existing regular file, at most `max_bytes` (more is an error).
Status read_small(const Base& base, const std::string& name, std::size_t max_bytes,
                  std::string& text, Owner owner = Owner::kAnyone);
Status read_small(const std::string& path, std::size_t max_bytes, std::string& text);

/// A file that gets its final name only when it is whole. Until then it has a fresh name in the
/// same directory:
/// "<name>.<16 hexadecimal digits>.part". Locked (flock) while it is written, so that what a killed
/// process left can be told from what is being written: remove_stale_parts().
class FreshFile {
 public:
  FreshFile() = default;
  ~FreshFile() { discard(); }
  FreshFile(FreshFile&&) = delete;

  /// base.directory must stay open as long as this object lives. mode: less what the umask takes.
  Status create(Base base, const std::string& name, mode_t mode);
  Status create(const std::string& path, mode_t mode);

  int number() const noexcept { return file_.number(); }
  /// Path of the file under its present name, for messages.
  std::string path() const;

  /// What has the final name already.
  enum class Existing { kKeep, kReplace };
  /// Closes, then renames. kKeep: an error if the name exists, also where the file system has no
  /// RENAME_NOREPLACE (then by a hard link). kReplace: a link of that name is replaced, not
  /// followed; a device or another special file is not replaced.
  Status publish(Existing existing);
  /// Removes the file. Not after publish().
  void discard() noexcept;

 private:
  Base base_{};
  std::string name_;
  std::string fresh_name_;  ///< empty: there is no file
  Descriptor file_;
};

/// Writes a whole file under a fresh name and renames it over `path`.
Status write_file(const std::string& path, std::string_view text, mode_t mode);

/// Writes all of `bytes` at the current position. Errors name `name`.
Status write_all(int file, std::string_view bytes, const std::string& name);

/// Whether both are names of one regular file. Links are not followed.
bool is_same_file(const Base& base, const std::string& name, const Base& other_base,
                  const std::string& other_name);

/// Removes regular files "<name>.<16 hexadecimal digits>.part" of this user that no process holds
/// open for writing, and those that are the final file under a second name. name: that of the final
/// file. Returns how many were removed.
int remove_stale_parts(const Base& base, const std::string& name);
int remove_stale_parts(const std::string& path);

/// A directory for code that creates its files itself: empty, with a fresh name beside `path`
/// ("<path>.<16 hexadecimal digits>.part"), only for this user. fresh_path: its path.
Status make_fresh_directory(const std::string& path, std::string& fresh_path);
/// Renames `from` to `to`; an error if anything has that name. Of files also where the file system
/// has no RENAME_NOREPLACE.
Status rename_new(const std::string& from, const std::string& to);

}  // namespace megascope::files
