#include "core/trace/move_trace.h"

#include "core/trace/header_file.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

namespace megascope::trace {
namespace {

using Existing = files::FreshFile::Existing;

constexpr mode_t kTraceMode = 0600;

Status copy_bytes(int from, int to, const std::string& name) {
  off_t at = 0;
  for (;;) {
    ssize_t copied = copy_file_range(from, &at, to, nullptr, std::size_t{1} << 30, 0);
    if (copied < 0 && (errno == EXDEV || errno == ENOSYS || errno == EINVAL ||
                       errno == EOPNOTSUPP || errno == EPERM)) {
      char buffer[1 << 16];
      copied = pread(from, buffer, sizeof buffer, at);
      if (copied > 0) {
        const Status status = files::write_all(to, {buffer, static_cast<std::size_t>(copied)},
                                               name);
        if (!status.is_ok()) return status;
        at += copied;
      }
    }
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0) return Status::from_errno("cannot write " + name, errno);
    if (copied == 0) return Status::ok();
  }
}

Status copy_open_file(int from, const FilePlace& to, Existing existing) {
  files::FreshFile part;
  Status status = part.create(to.directory, to.name, kTraceMode);
  if (status.is_ok()) status = copy_bytes(from, part.number(), part.path());
  if (status.is_ok()) status = part.publish(existing);
  return status;
}

bool are_of_one_process(const FileHeader& one, const FileHeader& other) {
  return one.pid == other.pid && one.world_rank == other.world_rank &&
         std::memcmp(one.run_id, other.run_id, sizeof one.run_id) == 0;
}

bool exists(const FilePlace& place) {
  struct stat info {};
  return fstatat(place.directory.directory, place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 ||
         errno != ENOENT;
}

bool has_same_bytes(int a, int b) {
  struct stat one {};
  struct stat other {};
  if (fstat(a, &one) != 0 || fstat(b, &other) != 0 || one.st_size != other.st_size) return false;
  constexpr std::size_t kBlockBytes = std::size_t{1} << 16;
  const auto blocks = std::make_unique<char[]>(2 * kBlockBytes);
  for (off_t at = 0; at < one.st_size; at += static_cast<off_t>(kBlockBytes)) {
    const std::size_t size = std::min(kBlockBytes, static_cast<std::size_t>(one.st_size - at));
    const auto whole = static_cast<ssize_t>(size);
    if (pread(a, blocks.get(), size, at) != whole ||
        pread(b, blocks.get() + kBlockBytes, size, at) != whole)
      return false;
    if (std::memcmp(blocks.get(), blocks.get() + kBlockBytes, size) != 0) return false;
  }
  return true;
}

/// Removes the second name of a file. rename(2) between two names of one file does nothing; such
/// names remain after a kill between link and unlink.
void remove_second_name(const FilePlace& from, const FilePlace& to) {
  if (files::is_same_file(from.directory, from.name, to.directory, to.name))
    unlinkat(from.directory.directory, from.name.c_str(), 0);
}

/// Renames. Returns 0, or the error of rename(2) or link(2).
int rename_trace(const FilePlace& from, const FilePlace& to, Existing existing) {
  const int from_directory = from.directory.directory;
  const int to_directory = to.directory.directory;
  if (existing == Existing::kReplace) {
    if (renameat(from_directory, from.name.c_str(), to_directory, to.name.c_str()) != 0)
      return errno;
    remove_second_name(from, to);
    return 0;
  }
  if (renameat2(from_directory, from.name.c_str(), to_directory, to.name.c_str(),
                RENAME_NOREPLACE) == 0)
    return 0;
  if (errno != EINVAL && errno != ENOSYS) return errno;
  // Network file systems do not have the flag.
  if (linkat(from_directory, from.name.c_str(), to_directory, to.name.c_str(), 0) != 0)
    return errno == EEXIST ? EEXIST : EXDEV;
  return unlinkat(from_directory, from.name.c_str(), 0) == 0 ? 0 : errno;
}

Status move_once(const OpenTrace& source, const FilePlace& to, Existing existing) {
  const int error = rename_trace(source.place, to, existing);
  if (error == 0) return Status::ok();
  if (error != EXDEV)
    return Status::from_errno("cannot move " + source.place.path() + " to " + to.path(), error);
  const Status status = copy_open_file(source.file.number(), to, existing);
  if (status.is_ok()) unlinkat(source.place.directory.directory, source.place.name.c_str(), 0);
  return status;
}

bool has_ended(int file) {
  FileHeader header{};
  return read_header(file, header) && header.end_ticks != 0;
}

/// Updates an earlier copy in place. Its process may end and rename its complete trace over it at
/// any moment; a rename here could replace that. After a kill the copy is readable, because chunks
/// have the same offsets in both, and the next recovery completes it.
Status update_copy(const OpenTrace& source, const FilePlace& to, bool& is_new) {
  files::Descriptor copy;
  struct stat info {};
  const Status status = files::open_existing(to.directory, to.name, O_RDWR,
                                             files::Owner::kThisUserOnly, copy);
  if (!status.is_ok()) return status;
  is_new = !has_ended(copy.number()) && !has_same_bytes(source.file.number(), copy.number());
  if (!is_new) return Status::ok();
  const Status copied = copy_bytes(source.file.number(), copy.number(), to.path());
  const bool is_cut = copied.is_ok() && fstat(source.file.number(), &info) == 0 &&
                      ftruncate(copy.number(), info.st_size) == 0;
  return is_cut || !copied.is_ok() ? copied
                                   : Status::from_errno("cannot write " + to.path(), errno);
}

Status other_is_there(const OpenTrace& source, const FilePlace& to) {
  return Status::error(to.path() + " exists already; " + source.place.path() + " was not moved");
}

}  // namespace

Status open_trace(const FilePlace& place, OpenTrace& result) {
  result.place = place;
  const Status status = files::open_existing(place.directory, place.name, O_RDONLY,
                                             files::Owner::kThisUser, result.file);
  if (!status.is_ok()) return status;
  return read_header(result.file.number(), result.header)
             ? Status::ok()
             : Status::error(place.path() + " is not a MegaScope trace");
}

Target target_of(const OpenTrace& source, const FilePlace& to) {
  if (!exists(to)) return Target::kAbsent;
  OpenTrace target;
  const bool is_same = open_trace(to, target).is_ok() &&
                       are_of_one_process(source.header, target.header);
  return is_same ? Target::kCopyOfTheSameProcess : Target::kOther;
}

Status move_trace(const OpenTrace& source, const FilePlace& to) {
  constexpr int
      kMaxTries = 3;  // something may appear under the name, or the original vanish, meanwhile
  Status status;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Target target = target_of(source, to);
    if (target == Target::kOther) return other_is_there(source, to);
    if (target == Target::kCopyOfTheSameProcess && !exists(source.place)) return Status::ok();
    status = move_once(source, to,
                       target == Target::kAbsent ? Existing::kKeep : Existing::kReplace);
    if (status.is_ok()) return status;
    const bool has_changed = target_of(source, to) != target || !exists(source.place);
    if (!has_changed) return status;
  }
  return status;
}

Status move_trace(const std::string& from, const std::string& to) {
  OpenTrace source;
  const Status status = open_trace({files::current_directory(), from}, source);
  return status.is_ok() ? move_trace(source, {files::current_directory(), to}) : status;
}

Status copy_running_trace(const OpenTrace& source, const FilePlace& to, bool& is_new) {
  constexpr int kMaxTries = 3;
  Status status;
  is_new = true;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    const Target target = target_of(source, to);
    if (target == Target::kOther) return other_is_there(source, to);
    if (target == Target::kCopyOfTheSameProcess) return update_copy(source, to, is_new);
    status = copy_open_file(source.file.number(), to, Existing::kKeep);
    if (status.is_ok() || target_of(source, to) == target) return status;
  }
  return status;
}

Status copy_file(const std::string& from, const std::string& to, files::Owner owner) {
  files::Descriptor source;
  const Status status = files::open_existing(from, O_RDONLY, owner, source);
  return status.is_ok()
             ? copy_open_file(source.number(), {files::current_directory(), to}, Existing::kKeep)
             : status;
}

}  // namespace megascope::trace
