#include "exporters/common/joint_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace megascope::timeline {
namespace {

constexpr std::size_t kCopyBytes = 1U << 20;
constexpr mode_t kFileMode = 0666;  // less what the umask takes

int open_file(const std::string& path, int flags) {
  int file = -1;
  do {
    file = ::open(path.c_str(), flags | O_CLOEXEC, kFileMode);
  } while (file < 0 && errno == EINTR);
  return file;
}

Status write_at(int file, const std::string& path, std::span<const char> data, std::uint64_t offset_bytes) {
  while (!data.empty()) {
    const ssize_t written = ::pwrite(file, data.data(), data.size(), static_cast<off_t>(offset_bytes));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Status::from_errno(path, written < 0 ? errno : ENOSPC);
    data = data.subspan(static_cast<std::size_t>(written));
    offset_bytes += static_cast<std::uint64_t>(written);
  }
  return Status::ok();
}

Status close_file(int file, const std::string& path) {
  if (file < 0 || ::close(file) == 0 || errno == EINTR) return Status::ok();
  return Status::from_errno(path, errno);
}

/// What copy_file_range refuses between these two files, but reading and writing does not.
bool is_not_supported(int error_number) {
  return error_number == EXDEV || error_number == ENOSYS || error_number == EOPNOTSUPP || error_number == EINVAL ||
         error_number == EPERM;
}

}  // namespace

Status agree(Collective& members, Status mine) {
  Collective::Bytes message;
  for (const char letter : mine.message()) message.push_back(static_cast<std::byte>(letter));
  const Status status = members.merge_all(message, [](Collective::Bytes& first, std::span<const std::byte> other) {
    if (first.empty()) first.assign(other.begin(), other.end());
  });
  if (!status.is_ok()) return mine.is_ok() ? status : mine;
  if (message.empty()) return Status::ok();
  return Status::error(std::string(reinterpret_cast<const char*>(message.data()), message.size()));
}

Status add_up(Collective& members, std::uint64_t& count) {
  Collective::Bytes sum(sizeof count);
  std::memcpy(sum.data(), &count, sizeof count);
  const Status status = members.merge_all(sum, [](Collective::Bytes& mine, std::span<const std::byte> theirs) {
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

JointFile::JointFile(Collective& members, std::string folder, const std::string& name)
    : members_(members), path_(std::move(folder) + "/" + name), part_path_(path_ + ".part") {
  piece_path_ = is_first() ? part_path_ : part_path_ + "-" + std::to_string(members.rank());
}

JointFile::~JointFile() { close_piece(); }

Status JointFile::open() {
  Status mine;
  if (is_first()) {
    struct stat existing {};
    if (::stat(path_.c_str(), &existing) == 0) {
      mine = Status::error(path_ + " exists already: it is not overwritten");
    } else {
      piece_ = open_file(piece_path_, O_CREAT | O_TRUNC | O_RDWR);
      if (piece_ < 0) mine = Status::from_errno(piece_path_, errno);
    }
  }
  return agree(members_, std::move(mine));
}

void JointFile::write(std::span<const char> data) {
  pending_.insert(pending_.end(), data.begin(), data.end());
  if (pending_.size() >= kMemoryBytes) spill();
}

void JointFile::spill() {
  if (piece_ < 0 && status_.is_ok()) {
    piece_ = open_file(piece_path_, O_CREAT | O_TRUNC | O_RDWR);
    if (piece_ < 0) status_ = Status::from_errno(piece_path_, errno);
  }
  if (status_.is_ok()) status_ = write_at(piece_, piece_path_, pending_, spilled_bytes_);
  spilled_bytes_ += pending_.size();
  pending_.clear();
}

Status JointFile::offset_of_piece(std::uint64_t& offset_bytes, std::uint64_t& size_bytes) {
  const std::uint64_t mine = spilled_bytes_ + pending_.size();
  Collective::Bytes sizes;
  Status status = members_.gather(std::as_bytes(std::span(&mine, 1)), sizes, 0);
  if (!status.is_ok()) return status;
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at + sizeof sum <= sizes.size(); at += sizeof sum) {
    std::uint64_t piece = 0;
    std::memcpy(&piece, sizes.data() + at, sizeof piece);
    std::memcpy(sizes.data() + at, &sum, sizeof sum);  // from here on: offsets
    sum += piece;
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
  if (status.is_ok()) status = offset_of_piece(offset_bytes, size_bytes);
  if (status.is_ok()) status = agree(members_, place(offset_bytes));
  close_piece();
  if (!is_first() && spilled_bytes_ > 0) ::unlink(piece_path_.c_str());
  if (is_first()) {
    if (status.is_ok() && ::rename(part_path_.c_str(), path_.c_str()) != 0) status = Status::from_errno(path_, errno);
    if (!status.is_ok()) ::unlink(part_path_.c_str());
  }
  return agree(members_, std::move(status));
}

Status JointFile::place(std::uint64_t offset_bytes) {
  if (is_first()) {
    spill();
    const int file = std::exchange(piece_, -1);
    Status status = std::move(status_);
    status.update(close_file(file, part_path_));
    return status;
  }
  const int target = open_file(part_path_, O_WRONLY);
  if (target < 0) return Status::from_errno(part_path_, errno);
  Status status = spilled_bytes_ > 0 ? place_spilled(target, offset_bytes) : Status::ok();
  if (status.is_ok()) status = write_at(target, part_path_, pending_, offset_bytes + spilled_bytes_);
  status.update(close_file(target, part_path_));
  return status;
}

Status JointFile::place_spilled(int target, std::uint64_t offset_bytes) {
  off_t from = 0;
  off_t to = static_cast<off_t>(offset_bytes);
  const auto end = static_cast<off_t>(spilled_bytes_);
  while (from < end) {  // copies inside of the kernel, or of the file system
    const ssize_t copied = ::copy_file_range(piece_, &from, target, &to, static_cast<std::size_t>(end - from), 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0 && !is_not_supported(errno)) return Status::from_errno(part_path_, errno);
    if (copied <= 0) break;
  }
  std::vector<char> buffer(from < end ? kCopyBytes : 0);
  while (from < end) {
    const auto wanted = std::min(static_cast<std::size_t>(end - from), buffer.size());
    const ssize_t count = ::pread(piece_, buffer.data(), wanted, from);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return Status::from_errno(piece_path_, count < 0 ? errno : EIO);
    Status status = write_at(target, part_path_, std::span(buffer).first(static_cast<std::size_t>(count)),
                             static_cast<std::uint64_t>(to));
    if (!status.is_ok()) return status;
    from += count;
    to += count;
  }
  return Status::ok();
}

void JointFile::close_piece() {
  if (piece_ >= 0) ::close(std::exchange(piece_, -1));
}

}  // namespace megascope::timeline
