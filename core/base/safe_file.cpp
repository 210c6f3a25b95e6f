#include "core/base/safe_file.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

namespace megascope::files {
namespace {

constexpr std::string_view kPartSuffix = ".part";
constexpr std::size_t kDigitCount = 16;

std::string path_of(const Base& base, const std::string& name) {
  return base.path.empty() || name.starts_with('/') ? name : base.path + "/" + name;
}

int open_retried(const Base& base, const std::string& name, int flags, mode_t mode = 0) {
  int file = -1;
  do {
    file = ::openat(base.directory, name.c_str(), flags | O_CLOEXEC, mode);
  } while (file < 0 && errno == EINTR);
  return file;
}

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
  // A hard link to a file elsewhere may have been made where the kernel does not protect them.
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

/// A directory and what fstat says of it. A link is refused.
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

/// For readdir, with a position of its own; null where it cannot be opened.
DIR* open_entries(const Base& base, const std::string& name = ".") {
  const int copy = open_retried(base, name, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
  if (copy < 0) return nullptr;
  DIR* const entries = fdopendir(copy);
  if (entries == nullptr) ::close(copy);
  return entries;
}

/// Closes `entries`, which may be null.
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

std::string random_digits() {
  std::uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);  // uniqueness is enough: O_EXCL refuses names that exist
    bits = (static_cast<std::uint64_t>(now.tv_nsec) << 32 ^
            static_cast<std::uint64_t>(now.tv_sec)) *
               0x9E3779B97F4A7C15U ^
           static_cast<std::uint64_t>(getpid());
  }
  char text[kDigitCount + 1];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(bits));
  return text;
}

bool is_part_of(std::string_view entry, std::string_view name) {
  if (entry.size() != name.size() + 1 + kDigitCount + kPartSuffix.size()) return false;
  if (!entry.starts_with(name) || entry[name.size()] != '.' || !entry.ends_with(kPartSuffix))
    return false;
  return entry.substr(name.size() + 1, kDigitCount).find_first_not_of("0123456789abcdef") ==
         std::string_view::npos;
}

bool remove_if_stale(const Base& base, const std::string& part, const std::string& name) {
  if (is_same_file(base, part, base, name))
    return unlinkat(base.directory, part.c_str(), 0) == 0;  // a kill in rename_new_by_link()
  Descriptor file;
  if (!open_existing(base, part, O_RDWR, Owner::kThisUserOnly, file).is_ok()) return false;
  return flock(file.number(), LOCK_EX | LOCK_NB) == 0 &&
         unlinkat(base.directory, part.c_str(), 0) == 0;
}

bool is_there(const Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/// Where the file system has no RENAME_NOREPLACE: files get a second name; directories, and files
/// where there are no hard links, are renamed once nothing is seen that has the name.
int rename_new_by_link(const Base& base, const std::string& from, const std::string& to) {
  if (linkat(base.directory, from.c_str(), base.directory, to.c_str(), 0) == 0) {
    unlinkat(base.directory, from.c_str(), 0);
    return 0;
  }
  if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return -1;
  if (is_there(base, to)) {
    errno = EEXIST;
    return -1;
  }
  return renameat(base.directory, from.c_str(), base.directory, to.c_str());
}

Status rename_new_in(const Base& base, const std::string& from, const std::string& to) {
  int result = renameat2(base.directory, from.c_str(), base.directory, to.c_str(),
                         RENAME_NOREPLACE);
  if (result != 0 && (errno == EINVAL || errno == ENOSYS))
    result = rename_new_by_link(base, from, to);
  if (result == 0) return Status::ok();
  const int error_number = errno;
  const std::string target = path_of(base, to);
  if (error_number == EEXIST)
    return Status::error(target + " exists already: it is not overwritten");
  return Status::from_errno("cannot create " + target, error_number);
}

/// Renaming over /dev/null, as root, would be the end of it.
bool is_special(const Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode);
}

}  // namespace

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
  FreshFile file;  // where the file system has no O_TMPFILE
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

Status FreshFile::create(Base base, const std::string& name, mode_t mode) {
  discard();
  constexpr int kMaxTries = 16;
  base_ = std::move(base);
  name_ = name;
  Status status;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const std::string fresh = name + "." + random_digits() + std::string(kPartSuffix);
    status = create_new(base_, fresh, mode, file_);
    if (!status.is_ok() && errno != EEXIST) break;
    if (!status.is_ok()) continue;
    fresh_name_ = fresh;
    // Where there are no locks, remove_stale_parts() removes nothing either. Who has the lock
    // already takes the file for stale and is about to remove it, or reads it where its mode allows
    // that and must not hold us for ever.
    const bool is_taken_for_stale = flock(file_.number(), LOCK_EX | LOCK_NB) != 0 &&
                                    errno == EWOULDBLOCK;
    struct stat info {};
    const bool is_removed = fstat(file_.number(), &info) == 0 && info.st_nlink == 0;
    if (!is_removed && (!is_taken_for_stale || tries + 1 == kMaxTries)) return status;
    discard();
  }
  if (status.is_ok())
    status = Status::error("cannot create " + path() +
                           ": other processes remove it as soon as it is there");
  return status;
}

Status FreshFile::create(const std::string& path, mode_t mode) {
  return create(current_directory(), path, mode);
}

std::string FreshFile::path() const {
  return path_of(base_, fresh_name_.empty() ? name_ : fresh_name_);
}

Status FreshFile::publish(Existing existing) {
  const std::string target = path_of(base_, name_);
  const Descriptor lock(::fcntl(file_.number(), F_DUPFD_CLOEXEC,
                                0));  // closing tells errors; the lock stays until it has its name
  Status status = file_.close(path());
  if (existing == Existing::kReplace && is_special(base_, name_))
    status.update(
        Status::error("cannot create " + target + ": it exists, and is not a regular file"));
  if (!status.is_ok()) {
    discard();
    return status;
  }
  if (existing == Existing::kKeep) {
    status = rename_new_in(base_, fresh_name_, name_);
  } else if (renameat(base_.directory, fresh_name_.c_str(), base_.directory, name_.c_str()) != 0) {
    status = Status::from_errno("cannot create " + target, errno);
  }
  if (status.is_ok()) fresh_name_.clear();
  discard();
  return status;
}

void FreshFile::discard() noexcept {
  if (!fresh_name_.empty()) unlinkat(base_.directory, fresh_name_.c_str(), 0);
  fresh_name_.clear();
  file_.reset();
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

Status write_file(const std::string& path, std::string_view text, mode_t mode) {
  FreshFile file;
  Status status = file.create(path, mode);
  if (status.is_ok()) status = write_all(file.number(), text, file.path());
  if (status.is_ok()) status = file.publish(FreshFile::Existing::kReplace);
  return status;
}

bool is_same_file(const Base& base, const std::string& name, const Base& other_base,
                  const std::string& other_name) {
  struct stat one {};
  struct stat other {};
  const bool are_there = fstatat(base.directory, name.c_str(), &one, AT_SYMLINK_NOFOLLOW) == 0 &&
                         fstatat(other_base.directory, other_name.c_str(), &other,
                                 AT_SYMLINK_NOFOLLOW) == 0;
  return are_there && S_ISREG(one.st_mode) && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

int remove_stale_parts(const Base& base, const std::string& name) {
  DIR* const entries = open_entries(base);
  if (entries == nullptr) return 0;
  int count = 0;
  while (const dirent* const entry = readdir(entries)) {
    if (is_part_of(entry->d_name, name) && remove_if_stale(base, entry->d_name, name)) ++count;
  }
  closedir(entries);
  return count;
}

int remove_stale_parts(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return remove_stale_parts(Base{AT_FDCWD, {}}, path);
  Descriptor directory(
      open_retried(current_directory(), path.substr(0, slash + 1), O_RDONLY | O_DIRECTORY));
  if (!directory.is_open()) return 0;
  return remove_stale_parts(Base{directory.number(), path.substr(0, slash)},
                            path.substr(slash + 1));
}

Status make_fresh_directory(const std::string& path, std::string& fresh_path) {
  constexpr int kMaxTries = 16;
  Status status;
  bool exists = true;
  for (int tries = 0; exists && tries < kMaxTries; ++tries) {
    fresh_path = path + "." + random_digits() + std::string(kPartSuffix);
    status = make_directory(fresh_path, 0700, &exists);
  }
  return status;
}

Status rename_new(const std::string& from, const std::string& to) {
  return rename_new_in(current_directory(), from, to);
}

}  // namespace megascope::files
