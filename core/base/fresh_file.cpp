#include "core/base/directory_access.h"
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

// Files and directories under temporary names, and their renaming.
namespace megascope::files {
namespace {

constexpr std::string_view kPartSuffix = ".part";
constexpr std::size_t kDigitCount = 16;

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
    return unlinkat(base.directory, part.c_str(), 0) ==
           0;  // left by a process killed in rename_new_by_link()
  Descriptor file;
  if (!open_existing(base, part, O_RDWR, Owner::kThisUserOnly, file).is_ok()) return false;
  return flock(file.number(), LOCK_EX | LOCK_NB) == 0 &&
         unlinkat(base.directory, part.c_str(), 0) == 0;
}

bool is_there(const Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT;
}

/// Renames without replacing on file systems without RENAME_NOREPLACE. Files get a second hard link
/// first; directories, and files where hard links are not supported, are renamed after a check that
/// the name is free.
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

/// Guards /dev/null and its like: rename() as root would replace them.
bool is_special(const Base& base, const std::string& name) {
  struct stat info {};
  return fstatat(base.directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
         !S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode);
}

}  // namespace

Status FreshFile::create(Base base, const std::string& name, mode_t mode) {
  discard();
  // Of 16 tries, all failed for 6 of 4000 files on a busy machine, where three threads did nothing
  // but remove stale files.
  constexpr int kMaxTries = 64;
  base_ = std::move(base);
  name_ = name;
  Status status;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const std::string fresh = name + "." + random_digits() + std::string(kPartSuffix);
    status = create_new(base_, fresh, mode, file_);
    if (!status.is_ok() && errno != EEXIST) break;
    if (!status.is_ok()) continue;
    fresh_name_ = fresh;
    // If another process holds the lock, it takes the file for stale and is about to remove it, or
    // a reader of another user holds it; either way give up instead of blocking. On file systems
    // without locks, remove_stale_parts() removes nothing.
    const bool is_taken_for_stale = flock(file_.number(), LOCK_EX | LOCK_NB) != 0 &&
                                    errno == EWOULDBLOCK;
    struct stat info {};
    const bool is_removed = fstat(file_.number(), &info) == 0 && info.st_nlink == 0;
    if (!is_removed && (!is_taken_for_stale || tries + 1 == kMaxTries)) return status;
    discard();
  }
  if (status.is_ok())
    status = Status::error("cannot create " + path() + ": another process removed it");
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
                                0));  // close() reports write errors; the copy keeps the lock until
                                      // the file has its final name
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
