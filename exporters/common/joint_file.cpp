#include "exporters/common/joint_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace megascope::timeline {
namespace {

constexpr std::size_t kCopyBytes = 1U << 20;
constexpr mode_t kFileMode = 0666;  // the umask applies

Status write_at(int file, const std::string& path, std::span<const char> data,
                std::uint64_t offset_bytes) {
  while (!data.empty()) {
    const ssize_t written = ::pwrite(file, data.data(), data.size(),
                                     static_cast<off_t>(offset_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Status::from_errno(path, written < 0 ? errno : ENOSPC);
    data = data.subspan(static_cast<std::size_t>(written));
    offset_bytes += static_cast<std::uint64_t>(written);
  }
  return Status::ok();
}

/// Errors with which copy_file_range rejects these two files, where reading and writing works.
bool is_not_supported(int error_number) {
  return error_number == EXDEV || error_number == ENOSYS || error_number == EOPNOTSUPP ||
         error_number == EINVAL || error_number == EPERM;
}

}  // namespace

Status agree(Collective& members, Status mine) {
  Collective::Bytes message;
  for (const char letter : mine.message()) message.push_back(static_cast<std::byte>(letter));
  const Status status = members.merge_all(
      message, [](Collective::Bytes& first, std::span<const std::byte> other) {
        if (first.empty()) first.assign(other.begin(), other.end());
      });
  if (!status.is_ok()) return mine.is_ok() ? status : mine;
  if (message.empty()) return Status::ok();
  return Status::error(std::string(reinterpret_cast<const char*>(message.data()), message.size()));
}

Status add_up(Collective& members, std::uint64_t& count) {
  Collective::Bytes sum(sizeof count);
  std::memcpy(sum.data(), &count, sizeof count);
  const Status status = members.merge_all(
      sum, [](Collective::Bytes& mine, std::span<const std::byte> theirs) {
        std::uint64_t left = 0;
        std::uint64_t right = 0;
        std::memcpy(&left, mine.data(), sizeof left);
        std::memcpy(&right, theirs.data(), sizeof right);
        left += right;
        std::memcpy(mine.data(), &left, sizeof left);
      });
  if (status.is_ok()) std::memcpy(&count, sum.data(), sizeof count);
  return status;
}

JointFile::JointFile(Collective& members, std::string directory, const std::string& name)
    : members_(members), path_(std::move(directory) + "/" + name) {}

Status JointFile::create_own_file() {
  Status status = own_file_.create(path_, kFileMode);
  has_own_file_ = status.is_ok();
  return status;
}

/// Distributes the temporary name chosen by member 0.
Status JointFile::share_name() {
  Collective::Bytes name;
  for (const char letter : part_path_) name.push_back(static_cast<std::byte>(letter));
  const Status status = members_.bcast_resized(name, 0);
  part_path_.assign(reinterpret_cast<const char*>(name.data()), name.size());
  return status;
}

Status JointFile::open() {
  Status mine;
  if (is_first()) {
    struct stat existing {};
    if (::lstat(path_.c_str(), &existing) == 0) {
      mine = Status::error(path_ +
                           " exists already and is not overwritten; choose another directory");
    } else {
      (void)files::remove_stale_parts(path_);
      mine = create_own_file();
      part_path_ = own_file_.path();
    }
  }
  const Status shared = share_name();
  mine.update(shared);
  return agree(members_, std::move(mine));
}

void JointFile::write(std::span<const char> data) {
  pending_.insert(pending_.end(), data.begin(), data.end());
  if (pending_.size() >= kMemoryBytes) spill();
}

void JointFile::spill() {
  if (!has_own_file_ && status_.is_ok()) status_ = create_own_file();
  if (status_.is_ok())
    status_ = write_at(own_file_.number(), own_file_.path(), pending_, spilled_bytes_);
  spilled_bytes_ += pending_.size();
  pending_.clear();
}

Status JointFile::offset_of_own_part(std::uint64_t& offset_bytes, std::uint64_t& size_bytes) {
  const std::uint64_t mine = spilled_bytes_ + pending_.size();
  Collective::Bytes sizes;
  Status status = members_.gather(std::as_bytes(std::span(&mine, 1)), sizes, 0);
  if (!status.is_ok()) return status;
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= sizes.size(); at += sizeof sum) {
    std::uint64_t part_bytes = 0;
    std::memcpy(&part_bytes, sizes.data() + at, sizeof part_bytes);
    std::memcpy(sizes.data() + at, &sum, sizeof sum);  // from sizes to offsets
    sum += part_bytes;
  }
  status = members_.scatter(sizes, std::as_writable_bytes(std::span(&offset_bytes, 1)), 0);
  if (!status.is_ok()) return status;
  size_bytes = sum;
  return members_.bcast(std::as_writable_bytes(std::span(&size_bytes, 1)), 0);
}

Status JointFile::finish(Status mine, std::uint64_t& size_bytes) {
  mine.update(status_);
  Status status = agree(members_, std::move(mine));
  std::uint64_t offset_bytes = 0;
  if (status.is_ok()) status = offset_of_own_part(offset_bytes, size_bytes);
  if (status.is_ok()) status = agree(members_, place(offset_bytes));
  if (is_first() && status.is_ok()) status = own_file_.publish(files::FreshFile::Existing::kKeep);
  own_file_.discard();  // no effect if it is published
  return agree(members_, std::move(status));
}

Status JointFile::place(std::uint64_t offset_bytes) {
  if (is_first()) {
    spill();
    return std::move(status_);
  }
  files::Descriptor target;
  Status status = files::open_existing(part_path_, O_WRONLY, files::Owner::kThisUserOnly, target);
  if (!status.is_ok()) return status;
  if (spilled_bytes_ > 0) status = place_spilled(target.number(), offset_bytes);
  if (status.is_ok())
    status = write_at(target.number(), part_path_, pending_, offset_bytes + spilled_bytes_);
  status.update(target.close(part_path_));
  return status;
}

Status JointFile::place_spilled(int target, std::uint64_t offset_bytes) {
  off_t from = 0;
  off_t to = static_cast<off_t>(offset_bytes);
  const auto end = static_cast<off_t>(spilled_bytes_);
  while (from < end) {  // copies within the kernel or the file system
    const ssize_t copied = ::copy_file_range(own_file_.number(), &from, target, &to,
                                             static_cast<std::size_t>(end - from), 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0 && !is_not_supported(errno)) return Status::from_errno(part_path_, errno);
    if (copied <= 0) break;
  }
  std::vector<char> buffer(from < end ? kCopyBytes : 0);
  while (from < end) {
    const auto wanted = std::min(static_cast<std::size_t>(end - from), buffer.size());
    const ssize_t count = ::pread(own_file_.number(), buffer.data(), wanted, from);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Status::from_errno(own_file_.path(), count < 0 ? errno : EIO);
    Status status = write_at(target, part_path_,
                             std::span(buffer).first(static_cast<std::size_t>(count)),
                             static_cast<std::uint64_t>(to));
    if (!status.is_ok()) return status;
    from += count;
    to += count;
  }
  return Status::ok();
}

}  // namespace megascope::timeline
