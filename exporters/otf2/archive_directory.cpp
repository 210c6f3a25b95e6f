#include "exporters/otf2/archive_directory.h"

#include "exporters/common/joint_file.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <span>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace megascope::otf2 {
namespace {

constexpr const char* kSuffixes[] = {"", ".def",
                                     /// Suffixes of the archive's parts; the anchor is last.
                                     ".otf2"};
constexpr std::size_t kMaxEntries = 10'000'000;

std::uint64_t inode_of(int file) {
  struct stat info {};
  return fstat(file, &info) == 0 ? std::uint64_t{info.st_ino} : 0;
}

/// Removes what libotf2 creates: two levels, namely files and a directory with one or two files for
/// each location.
void remove_entries(const files::Base& base, int levels) {
  for (const std::string& name : files::names_in(base, kMaxEntries)) {
    if (unlinkat(base.directory, name.c_str(), 0) == 0 || levels == 0) continue;
    const files::Descriptor inner(
        openat(base.directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (inner.is_open()) remove_entries({inner.number(), base.path + "/" + name}, levels - 1);
    unlinkat(base.directory, name.c_str(), AT_REMOVEDIR);
  }
}

/// The kernel's name of the file of a descriptor; empty: it is not open.
std::string path_of_descriptor(const std::string& number) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/fd/" + number, error).string();
}

}  // namespace

ArchiveDirectory::ArchiveDirectory(std::string directory_path, std::string name,
                                   Collective& members)
    : directory_(std::move(directory_path)), name_(std::move(name)), members_(members) {}

Status ArchiveDirectory::check_absence() const {
  // The anchor first, because its name is the best known.
  for (const char* suffix : {".otf2", ".def", ""}) {
    struct stat info {};
    const std::string path = final_path_of(suffix);
    if (lstat(path.c_str(), &info) == 0)
      return Status::error(path +
                           " exists already and is not overwritten; choose another directory");
    if (errno != ENOENT) return Status::from_errno(path, errno);
  }
  return Status::ok();
}

Status ArchiveDirectory::create_first() {
  Status status = check_absence();
  if (status.is_ok()) status = files::make_fresh_directory(final_path_of(""), path_);
  if (!status.is_ok()) {
    path_.clear();
    return status;
  }
  status = files::open_private_directory(path_, opened_);
  const bool is_new = status.is_ok() && files::names_in({opened_.number(), path_}, 1).empty();
  if (is_new) return status;
  opened_.reset();  // its contents belong to another user
  return status.is_ok() ? Status::error(path_ + " was replaced by another directory") : status;
}

/// Opens the directory. inode: of the directory that member 0 created; a user with write access to
/// the parent may have replaced it since.
Status ArchiveDirectory::open(std::uint64_t inode) {
  if (path_.empty()) return Status::ok();  // member 0 reports the error
  Status status = opened_.is_open() ? Status::ok() : files::open_private_directory(path_, opened_);
  if (!status.is_ok()) return status;
  if (inode_of(opened_.number()) != inode)
    return Status::error(path_ + " was replaced by another directory");
  struct stat info {};
  return stat(path().c_str(), &info) == 0
             ? Status::ok()
             : Status::from_errno("cannot open " + path() + " (is /proc mounted?)", errno);
}

Status ArchiveDirectory::create() {
  Status mine = members_.rank() == 0 ? create_first() : Status::ok();
  std::uint64_t inode = opened_.is_open() ? inode_of(opened_.number()) : 0;
  Collective::Bytes name;
  for (const char letter : path_) name.push_back(static_cast<std::byte>(letter));
  mine.update(members_.bcast_resized(name, 0));
  mine.update(members_.bcast(std::as_writable_bytes(std::span(&inode, 1)), 0));
  path_.assign(reinterpret_cast<const char*>(name.data()), name.size());
  if (mine.is_ok()) mine = open(inode);
  Status status = timeline::agree(members_, std::move(mine));
  if (!status.is_ok()) remove();
  return status;
}

Status ArchiveDirectory::publish() {
  if (members_.rank() != 0) return Status::ok();
  struct stat info {};
  if (stat(path_of("").c_str(), &info) == 0)
    chmod(path_of("").c_str(), info.st_mode & 07777 & ~static_cast<mode_t>(S_IWGRP | S_IWOTH));
  Status status;
  std::size_t count = 0;
  while (status.is_ok() && count < std::size(kSuffixes)) {
    status = files::rename_new(path_of(kSuffixes[count]), final_path_of(kSuffixes[count]));
    if (status.is_ok()) ++count;
  }
  if (status.is_ok()) return status;
  for (std::size_t i = 0; i < count; ++i)
    (void)files::rename_new(final_path_of(kSuffixes[i]), path_of(kSuffixes[i])).is_ok();
  return status;
}

void ArchiveDirectory::release_open_files() {
  const std::string directory = path_of_descriptor(std::to_string(opened_.number()));
  const files::Descriptor null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (directory.empty() || !null.is_open()) return;
  for (const std::string& number : files::names_in("/proc/self/fd", kMaxEntries)) {
    if (path_of_descriptor(number).starts_with(directory + "/"))
      dup3(null.number(), std::atoi(number.c_str()), O_CLOEXEC);
  }
}

void ArchiveDirectory::remove() {
  (void)members_.barrier().is_ok();
  if (members_.rank() == 0 && opened_.is_open()) remove_entries({opened_.number(), path_}, 1);
  if (members_.rank() == 0 && !path_.empty()) rmdir(path_.c_str());  // only if it is empty
  opened_.reset();
}

}  // namespace megascope::otf2
