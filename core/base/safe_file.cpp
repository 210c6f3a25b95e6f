#include "core/base/safe_file.h"

#include "core/base/directory_access.h"

#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace megascope::files {
namespace {

Status cannot_open(const std::string& path, int error_number) {
  if (error_number == ELOOP)
    return Status::error("cannot open " + path + ": it is a symbolic link");
  if (error_number == ENXIO)
    return Status::error("cannot open " + path + ": it is not a regular file");
  return Status::from_errno("cannot open " + path, error_number);
}

Status judge_file(int file, const std::string& path, Owner owner) {
  struct stat info {};
  if (fstat(file, &info) != 0) return Status::from_errno("cannot inspect " + path, errno);
  if (!S_ISREG(info.st_mode))
    return Status::error("cannot open " + path + ": it is not a regular file");
  const bool is_anyones = owner == Owner::kAnyone || owner == Owner::kAnyoneOneName;
  if (!is_anyones && info.st_uid != geteuid())
    return Status::error("cannot use " + path + ": it belongs to another user");
  // Another user may have made a hard link to a file elsewhere, where the kernel does not protect
  // hard links.
  const bool has_one_name = owner == Owner::kThisUserOnly || owner == Owner::kAnyoneOneName;
  if (has_one_name && info.st_nlink > 1)
    return Status::error("cannot use " + path +
                         ": it has more than one name (hard links); remove its other names, or put "
                         "a copy in its place");
  return Status::ok();
}

Status open_regular(const Base& base, const std::string& name, int flags, Owner owner,
                    Descriptor& result) {
  const std::string path = path_of(base, name);
  Descriptor file(open_retried(base, name, flags | O_NONBLOCK | O_NOCTTY));
  if (!file.is_open()) return cannot_open(path, errno);
  Status status = judge_file(file.number(), path, owner);
  if (status.is_ok()) result = std::move(file);
  return status;
}

/// Opens a directory and returns its fstat data in `info`. Symbolic links are refused.
Status open_directory(const Base& base, const std::string& name, Descriptor& result,
                      struct stat& info) {
  const std::string path = path_of(base, name);
  Descriptor directory(open_retried(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK));
  if (!directory.is_open()) {
    if (errno == ELOOP || errno == ENOTDIR)
      return Status::error("cannot use " + path + ": it is not a directory");
    return Status::from_errno("cannot open " + path, errno);
  }
  if (fstat(directory.number(), &info) != 0)
    return Status::from_errno("cannot inspect " + path, errno);
  result = std::move(directory);
  return Status::ok();
}

/// Reads at most `max_count` names and closes `entries`, which may be null.
std::vector<std::string> names_of(DIR* entries, std::size_t max_count) {
  std::vector<std::string> names;
  if (entries == nullptr) return names;
  while (names.size() < max_count) {
    const dirent* const entry = readdir(entries);
    if (entry == nullptr) break;
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  closedir(entries);
  return names;
}

}  // namespace

std::string path_of(const Base& base, const std::string& name) {
  return base.path.empty() || name.starts_with('/') ? name : base.path + "/" + name;
}

int open_retried(const Base& base, const std::string& name, int flags, mode_t mode) {
  int file = -1;
  do {
    file = ::openat(base.directory, name.c_str(), flags | O_CLOEXEC, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

DIR* open_entries(const Base& base, const std::string& name) {
  const int copy = open_retried(base, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (copy < 0) return nullptr;
  DIR* const entries = fdopendir(copy);
  if (entries == nullptr) ::close(copy);
  return entries;
}

Base current_directory() { return {AT_FDCWD, {}}; }

Status open_existing(const Base& base, const std::string& name, int flags, Owner owner,
                     Descriptor& result) {
  return open_regular(base, name, flags | O_NOFOLLOW, owner, result);
}

Status open_existing(const std::string& path, int flags, Owner owner, Descriptor& result) {
  return open_existing(current_directory(), path, flags, owner, result);
}

Status open_given(const std::string& path, Descriptor& result) {
  return open_regular(current_directory(), path, O_RDONLY, Owner::kAnyone, result);
}

Status create_new(const Base& base, const std::string& name, mode_t mode, Descriptor& result) {
  const std::string path = path_of(base, name);
  Descriptor file(open_retried(base, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode));
  if (!file.is_open()) {
    if (errno == EEXIST) return Status::error("cannot create " + path + ": it exists already");
    return Status::from_errno("cannot create " + path, errno);
  }
  result = std::move(file);
  return Status::ok();
}

Status create_new(const std::string& path, mode_t mode, Descriptor& result) {
  return create_new(current_directory(), path, mode, result);
}

Status open_private_directory(const Base& base, const std::string& name, Descriptor& result) {
  const std::string path = path_of(base, name);
  struct stat info {};
  Descriptor directory;
  const Status status = open_directory(base, name, directory, info);
  if (!status.is_ok()) return status;
  if (info.st_uid != geteuid())
    return Status::error("cannot use " + path + ": it belongs to another user");
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return Status::error("cannot use " + path + ": other users can write to it");
  result = std::move(directory);
  return Status::ok();
}

Status open_private_directory(const std::string& path, Descriptor& result) {
  return open_private_directory(current_directory(), path, result);
}

Status open_own_directory(const Base& base, const std::string& name, Descriptor& result) {
  struct stat info {};
  Descriptor directory;
  const Status status = open_directory(base, name, directory, info);
  if (!status.is_ok()) return status;
  if (info.st_uid != geteuid()) {
    const std::string user = std::to_string(info.st_uid);
    return Status::error("cannot use " + path_of(base, name) +
                         ": it belongs to another user (uid " + user + "), not to uid " +
                         std::to_string(geteuid()) + "; run this as that user");
  }
  result = std::move(directory);
  return Status::ok();
}

std::vector<std::string> names_in(const Base& base, std::size_t max_count) {
  return names_of(open_entries(base), max_count);
}

std::vector<std::string> names_in(const std::string& path, std::size_t max_count) {
  return names_of(open_entries(current_directory(), path), max_count);
}

Status make_directory(const std::string& path, mode_t mode, bool* exists) {
  constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
  const bool is_made = ::mkdir(path.c_str(), mode & ~kOthersWrite) == 0;
  const int error_number = is_made ? 0 : errno;
  if (exists != nullptr) *exists = error_number == EEXIST;
  if (is_made) return Status::ok();
  if (error_number == EEXIST) return Status::error("cannot create " + path + ": it exists already");
  return Status::from_errno("cannot create " + path, error_number);
}

Status make_parents(const std::string& path, mode_t mode) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    bool exists = false;
    const Status status = make_directory(path.substr(0, at), mode, &exists);
    if (!status.is_ok() && !exists) return status;
  }
  return Status::ok();
}

Status create_nameless(const std::string& directory, Descriptor& result) {
  constexpr mode_t kMode = 0600;
  result = Descriptor(open_retried(current_directory(), directory, O_TMPFILE | O_RDWR, kMode));
  if (result.is_open()) return Status::ok();
  FreshFile file;  // file systems without O_TMPFILE
  const Status status = file.create(directory + "/nameless", kMode);
  if (status.is_ok()) result = Descriptor(::fcntl(file.number(), F_DUPFD_CLOEXEC, 0));
  if (status.is_ok() && !result.is_open())
    return Status::from_errno("cannot create a file in " + directory, errno);
  return status;
}

Status read_small(const std::string& path, std::size_t max_bytes, std::string& text) {
  return read_small(current_directory(), path, max_bytes, text);
}

Status read_small(const Base& base, const std::string& name, std::size_t max_bytes,
                  std::string& text, Owner owner) {
  const std::string path = path_of(base, name);
  Descriptor file;
  const Status status = open_existing(base, name, O_RDONLY, owner, file);
  if (!status.is_ok()) return status;
  std::string read;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::read(file.number(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return Status::from_errno("cannot read " + path, errno);
    if (count == 0) break;
    read.append(buffer, static_cast<std::size_t>(count));
    if (read.size() > max_bytes) return Status::error(path + " is larger than expected");
  }
  text = std::move(read);
  return Status::ok();
}

Status write_all(int file, std::string_view bytes, const std::string& name) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      return Status::from_errno("cannot write " + name, written < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return Status::ok();
}

}  // namespace megascope::files
