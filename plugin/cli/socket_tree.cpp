#include "plugin/cli/socket_tree.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

using Bytes = Collective::Bytes;

Status lost(int peer) {
  return Status::error("member " + std::to_string(peer) + " of the group has ended");
}

/// Several byte strings as one message, and back.
Bytes packed(const std::vector<Bytes>& parts) {
  Bytes message;
  for (const Bytes& part : parts) {
    const std::uint64_t size_bytes = part.size();
    const auto* first = reinterpret_cast<const std::byte*>(&size_bytes);
    message.insert(message.end(), first, first + sizeof size_bytes);
    message.insert(message.end(), part.begin(), part.end());
  }
  return message;
}

Status unpack(std::span<const std::byte> message, std::vector<Bytes>& parts) {
  while (!message.empty()) {
    std::uint64_t size_bytes = 0;
    if (message.size() < sizeof size_bytes)
      return Status::error("a member sent a message cut short");
    std::memcpy(&size_bytes, message.data(), sizeof size_bytes);
    message = message.subspan(sizeof size_bytes);
    if (size_bytes > message.size()) return Status::error("a member sent a message cut short");
    parts.emplace_back(message.begin(), message.begin() + static_cast<std::ptrdiff_t>(size_bytes));
    message = message.subspan(size_bytes);
  }
  return Status::ok();
}

}  // namespace

SocketEnd& SocketEnd::operator=(SocketEnd&& other) noexcept {
  if (this == &other) return *this;
  close();
  descriptor_ = std::exchange(other.descriptor_, -1);
  peer_ = other.peer_;
  return *this;
}

void SocketEnd::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Status SocketEnd::send_all(const void* from, std::size_t count) const {
  const auto* next = static_cast<const std::byte*>(from);
  while (count > 0) {
    const ssize_t done = ::send(descriptor_, next, count, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return lost(peer_);
    next += done;
    count -= static_cast<std::size_t>(done);
  }
  return Status::ok();
}

Status SocketEnd::receive_all(void* to, std::size_t count) const {
  auto* next = static_cast<std::byte*>(to);
  while (count > 0) {
    const ssize_t done = ::recv(descriptor_, next, count, 0);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return lost(peer_);
    next += done;
    count -= static_cast<std::size_t>(done);
  }
  return Status::ok();
}

Status SocketEnd::send(std::span<const std::byte> message) const {
  const std::uint64_t size_bytes = message.size();
  Status status = send_all(&size_bytes, sizeof size_bytes);
  return status.is_ok() ? send_all(message.data(), message.size()) : status;
}

Status SocketEnd::receive(Bytes& message) const {
  std::uint64_t size_bytes = 0;
  Status status = receive_all(&size_bytes, sizeof size_bytes);
  if (!status.is_ok()) return status;
  message.resize(size_bytes);
  return receive_all(message.data(), message.size());
}

std::vector<int> BinomialTree::children() const {
  std::vector<int> ranks;
  for (int step = 1; rank_ + step < size_ && (rank_ & step) == 0; step *= 2)
    ranks.push_back(rank_ + step);
  return ranks;
}

int BinomialTree::subtree_count(int top) const {
  const int span = top == 0 ? size_ : top & -top;
  return std::min(span, size_ - top);
}

TreeCollective::TreeCollective(int rank, int size, SocketEnd parent,
                               std::vector<SocketEnd> children)
    : rank_(rank),
      size_(size),
      tree_(rank, size),
      child_ranks_(tree_.children()),
      parent_(std::move(parent)),
      children_(std::move(children)) {}

Status TreeCollective::split(int, int, std::unique_ptr<Collective>& result) {
  result = nullptr;
  if (size_ > 1) return Status::error("a group of forked processes cannot be split");
  result = make_single_collective();
  return Status::ok();
}

Status TreeCollective::barrier() {
  Bytes nothing;
  Status status = merge_up(nothing, [](Bytes&, std::span<const std::byte>) {});
  return status.is_ok() ? bcast_resized(nothing, 0) : status;
}

Status TreeCollective::move_to_top(Bytes& data, int root) {
  if (root == 0 || !tree_.is_below(root, rank_)) return Status::ok();
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (!tree_.is_below(root, child_ranks_[i])) continue;
    Status status = children_[i].receive(data);
    if (!status.is_ok()) return status;
  }
  return rank_ == 0 ? Status::ok() : parent_.send(data);
}

Status TreeCollective::move_from_top(Bytes& data, int root) {
  if (root == 0 || !tree_.is_below(root, rank_)) return Status::ok();
  if (rank_ != 0) {
    Status status = parent_.receive(data);
    if (!status.is_ok()) return status;
  }
  for (std::size_t i = 0; i < children_.size(); ++i) {
    if (tree_.is_below(root, child_ranks_[i])) return children_[i].send(data);
  }
  return Status::ok();
}

Status TreeCollective::bcast_resized(Bytes& data, int root) {
  Bytes from_root = data;
  Status status = move_to_top(from_root, root);
  if (!status.is_ok()) return status;
  if (rank_ != 0) status = parent_.receive(from_root);
  for (std::size_t i = children_.size(); i-- > 0 && status.is_ok();) {  // the largest subtree first
    status = children_[i].send(from_root);
  }
  data = std::move(from_root);
  return status;
}

Status TreeCollective::bcast(std::span<std::byte> data, int root) {
  Bytes bytes;
  if (rank_ == root) bytes.assign(data.begin(), data.end());
  Status status = bcast_resized(bytes, root);
  if (!status.is_ok()) return status;
  if (bytes.size() != data.size()) return Status::error("broadcast: members' sizes differ");
  std::ranges::copy(bytes, data.begin());
  return Status::ok();
}

Status TreeCollective::gather_up(std::span<const std::byte> mine, std::vector<Bytes>& parts) {
  parts.assign(1, Bytes(mine.begin(), mine.end()));
  for (std::size_t i = 0; i < children_.size(); ++i) {  // in rank order
    Bytes message;
    Status status = children_[i].receive(message);
    if (status.is_ok()) status = unpack(message, parts);
    if (!status.is_ok()) return status;
  }
  return rank_ == 0 ? Status::ok() : parent_.send(packed(parts));
}

Status TreeCollective::gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts,
                               int root) {
  Status status = gather_up(mine, parts);
  Bytes all;
  if (status.is_ok() && rank_ == 0 && root != 0) all = packed(parts);
  if (status.is_ok()) status = move_from_top(all, root);
  if (rank_ != root || root != 0) parts.clear();
  if (status.is_ok() && rank_ == root && root != 0) status = unpack(all, parts);
  if (status.is_ok() && rank_ == root && parts.size() != static_cast<std::size_t>(size_)) {
    return Status::error("gather: a member's part is missing");
  }
  return status;
}

Status TreeCollective::gather(std::span<const std::byte> mine, Bytes& all, int root) {
  std::vector<Bytes> parts;
  Status status = gatherv(mine, parts, root);
  all.clear();
  for (const Bytes& part : parts) {
    if (part.size() != mine.size()) status.update(Status::error("gather: members' sizes differ"));
    all.insert(all.end(), part.begin(), part.end());
  }
  return status;
}

Status TreeCollective::scatter_down(std::vector<Bytes> parts, Bytes& mine) {
  if (rank_ != 0) {
    Bytes message;
    parts.clear();
    Status status = parent_.receive(message);
    if (status.is_ok()) status = unpack(message, parts);
    if (!status.is_ok()) return status;
  }
  if (parts.size() != static_cast<std::size_t>(tree_.subtree_count(rank_))) {
    return Status::error("scatter: one part a member is needed");
  }
  Status status;
  for (std::size_t i = children_.size(); i-- > 0 && status.is_ok();) {
    const auto first = parts.begin() + (child_ranks_[i] - rank_);
    status = children_[i].send(packed({first, first + tree_.subtree_count(child_ranks_[i])}));
  }
  mine = std::move(parts.front());
  return status;
}

Status TreeCollective::scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) {
  Bytes message;
  if (rank_ == root && root != 0) message = packed(parts);
  Status status = move_to_top(message, root);
  std::vector<Bytes> all;
  if (rank_ == 0 && root == 0) all = parts;
  if (status.is_ok() && rank_ == 0 && root != 0) status = unpack(message, all);
  return status.is_ok() ? scatter_down(std::move(all), mine) : status;
}

Status TreeCollective::scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                               int root) {
  std::vector<Bytes> parts;
  if (rank_ == root) {
    if (all.size() != mine.size() * static_cast<std::size_t>(size_))
      return Status::error("scatter: sizes differ");
    for (; parts.size() < static_cast<std::size_t>(size_); all = all.subspan(mine.size())) {
      parts.emplace_back(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(mine.size()));
    }
  }
  Bytes part;
  Status status = scatterv(parts, part, root);
  if (!status.is_ok()) return status;
  if (part.size() != mine.size()) return Status::error("scatter: members' sizes differ");
  std::ranges::copy(part, mine.begin());
  return Status::ok();
}

Status TreeCollective::merge_up(Bytes& mine, const Merge& merge) {
  for (std::size_t i = 0; i < children_.size(); ++i) {  // in rank order
    Bytes theirs;
    Status status = children_[i].receive(theirs);
    if (!status.is_ok()) return status;
    merge(mine, theirs);
  }
  return rank_ == 0 ? Status::ok() : parent_.send(mine);
}

}  // namespace megascope::cli
