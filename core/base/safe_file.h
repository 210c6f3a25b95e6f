#pragma once

#include "core/base/descriptor.h"
#include "core/base/status.h"

#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

/// Opens and creates files in directories where another user may have placed a file, link or FIFO
/// of the same name. All files and directories of the project are created here
/// (tests/lint/check_files.py).
/// No function follows a symbolic link in the last component of a path, except open_given(). No
/// function blocks on a FIFO. Any thread. Errors name the path.
namespace megascope::files {

/// Directory that relative names refer to.
struct Base {
  int directory;  ///< open descriptor, or AT_FDCWD
  std::string
      path;  ///< its path without a final slash, for messages; empty for the current directory
};
/// Returns the current directory: names relative to it are paths.
Base current_directory();

/// Owners of a file that are accepted.
enum class Owner {
  kAnyone,         ///< any owner; for reading shared results
  kAnyoneOneName,  ///< any owner, and one hard link; for files copied to where other users can read
                   ///< them
  kThisUser,       ///< geteuid()
  kThisUserOnly  ///< geteuid(), and one hard link; for directories other users can write to, where
                 ///< a hard link may lead elsewhere
};

/// Opens an existing regular file. flags: those of open(2) except O_CREAT and O_TRUNC. Returns an
/// error for symbolic links, FIFOs, devices, directories and owners that `owner` excludes.
Status open_existing(const Base& base, const std::string& name, int flags, Owner owner,
                     Descriptor& result);
Status open_existing(const std::string& path, int flags, Owner owner, Descriptor& result);

/// Opens a regular file that the user named on the command line, for reading. Follows symbolic
/// links.
Status open_given(const std::string& path, Descriptor& result);

/// Creates a file for reading and writing. Returns the error "exists already" if the name is taken,
/// also by a dangling link. mode: reduced by the umask.
Status create_new(const Base& base, const std::string& name, mode_t mode, Descriptor& result);
Status create_new(const std::string& path, mode_t mode, Descriptor& result);

/// Opens a directory that belongs to geteuid() and is not writable by group or others. Its parent
/// directories are not checked.
Status open_private_directory(const Base& base, const std::string& name, Descriptor& result);
Status open_private_directory(const std::string& path, Descriptor& result);

/// Opens a directory that belongs to geteuid(); other users may have write permission. Use it only
/// for names that must be new (FreshFile) or that are checked one by one (open_existing). The error
/// for a directory of another user names that user.
Status open_own_directory(const Base& base, const std::string& name, Descriptor& result);

/// Returns the names in a directory except "." and "..", in no particular order, at most
/// `max_count`. Empty if the directory cannot be read.
std::vector<std::string> names_in(const Base& base, std::size_t max_count);
std::vector<std::string> names_in(const std::string& path, std::size_t max_count);
/// Creates a directory that group and others cannot write to. mode: reduced by the umask. Returns
/// an error if the name is taken; `*exists` is then true (exists: may be null).
Status make_directory(const std::string& path, mode_t mode, bool* exists = nullptr);
/// Creates the missing parent directories of `path`, as make_directory() does.
Status make_parents(const std::string& path, mode_t mode);

/// Creates an unnamed file in `directory`, for writing. Its space is freed when the last descriptor
/// is closed.
Status create_nameless(const std::string& directory, Descriptor& result);

/// Reads an existing regular file into `text`. Returns an error if it is larger than `max_bytes`.
Status read_small(const Base& base, const std::string& name, std::size_t max_bytes,
                  std::string& text, Owner owner = Owner::kAnyone);
Status read_small(const std::string& path, std::size_t max_bytes, std::string& text);

/// A file that receives its final name only when it is complete. Until then it is "<name>.<16
/// hexadecimal digits>.part" in the same directory, and locked (flock), so that
/// remove_stale_parts() can tell the files of killed processes from those being written.
class FreshFile {
 public:
  FreshFile() = default;
  ~FreshFile() { discard(); }
  FreshFile(FreshFile&&) = delete;

  /// Creates the file. base.directory must stay open during the lifetime of this object. mode:
  /// reduced by the umask.
  Status create(Base base, const std::string& name, mode_t mode);
  Status create(const std::string& path, mode_t mode);

  int number() const noexcept { return file_.number(); }
  /// Returns the present path of the file, for messages.
  std::string path() const;

  /// What publish() does if a file of the final name exists.
  enum class Existing {
    kKeep,    ///< returns an error and leaves both files unchanged
    kReplace  ///< replaces the existing file
  };
  /// Closes the file and renames it to its final name. kKeep: returns an error if the name exists;
  /// file systems without RENAME_NOREPLACE use a hard link. kReplace: replaces a regular file or a
  /// symbolic link; returns an error for devices and other special files.
  Status publish(Existing existing);
  /// Removes the file under its present name. Does nothing after publish().
  void discard() noexcept;

 private:
  Base base_{};
  std::string name_;
  std::string fresh_name_;  ///< empty: no file exists
  Descriptor file_;
};

/// Writes a whole file under a temporary name and renames it to `path`, replacing a file of that
/// name.
Status write_file(const std::string& path, std::string_view text, mode_t mode);

/// Writes all of `bytes` at the current position. Errors name `name`.
Status write_all(int file, std::string_view bytes, const std::string& name);

/// Returns whether both names refer to one regular file. Does not follow symbolic links.
bool is_same_file(const Base& base, const std::string& name, const Base& other_base,
                  const std::string& other_name);

/// Removes files "<name>.<16 hexadecimal digits>.part" of this user that no process has locked, and
/// such files that are hard links to the final file. name: name of the final file. Returns the
/// number of files removed.
int remove_stale_parts(const Base& base, const std::string& name);
int remove_stale_parts(const std::string& path);

/// Creates an empty directory with a temporary name, "<path>.<16 hexadecimal digits>.part",
/// accessible to this user only, for libraries that create their files themselves. fresh_path:
/// receives the path of the new directory.
Status make_fresh_directory(const std::string& path, std::string& fresh_path);
/// Renames `from` to `to`. Returns an error if `to` exists. Without RENAME_NOREPLACE, files are
/// renamed by means of a hard link. Directories, and files on file systems without hard links, are
/// then renamed after a check that `to` does not exist.
Status rename_new(const std::string& from, const std::string& to);

}  // namespace megascope::files
