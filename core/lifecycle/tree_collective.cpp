#include "core/lifecycle/tree_collective.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace megascope {
namespace {

using Bytes = Collective::Bytes;

/// Appends a byte string with its size to a message. Concatenated messages are a message.
void pack(std::span<const std::byte> part, Bytes& message) {
  const std::uint64_t size_bytes = part.size();
  const auto* first = reinterpret_cast<const std::byte*>(&size_bytes);
  message.insert(message.end(), first, first + sizeof size_bytes);
  message.insert(message.end(), part.begin(), part.end());
}

/// Removes the first byte string from a message.
Status unpack(std::span<const std::byte>& message, std::span<const std::byte>& part) {
  std::uint64_t size_bytes = 0;
  if (message.size() < sizeof size_bytes) return Status::error("a member sent a message cut short");
  std::memcpy(&size_bytes, message.data(), sizeof size_bytes);
  message = message.subspan(sizeof size_bytes);
  if (size_bytes > message.size()) return Status::error("a member sent a message cut short");
  part = message.first(size_bytes);
  message = message.subspan(size_bytes);
  return Status::ok();
}

}  // namespace

std::vector<int> BinomialTree::children() const {
  std::vector<int> ranks;
  for (int step = 1; step < size_ - rank_ && (rank_ & step) == 0; step *= 2)
    ranks.push_back(rank_ + step);
  return ranks;
}

int BinomialTree::subtree_count(int top) const {
  const int span = top == 0 ? size_ : top & -top;
  return std::min(span, size_ - top);
}

Status TreeCollective::barrier() {
  Bytes nothing;
  return merge_all(nothing, [](Bytes&, std::span<const std::byte>) {});
}

Status TreeCollective::move_to_top(Bytes& data, int root) {
  if (root == 0 || !tree_.is_below(root, rank_)) return Status::ok();
  Status status;
  for (const int child : children_) {
    if (tree_.is_below(root, child)) status = receive(data, child);
  }
  return status.is_ok() && rank_ != 0 ? send(data, tree_.parent()) : status;
}

Status TreeCollective::move_from_top(Bytes& data, int root) {
  if (root == 0 || !tree_.is_below(root, rank_)) return Status::ok();
  Status status;
  if (rank_ != 0) status = receive(data, tree_.parent());
  for (const int child : children_) {
    if (status.is_ok() && tree_.is_below(root, child)) status = send(data, child);
  }
  return status;
}

Status TreeCollective::bcast_resized(Bytes& data, int root) {
  Bytes from_root;
  if (rank_ == root) from_root.swap(data);
  Status status = move_to_top(from_root, root);
  if (status.is_ok() && rank_ != 0) status = receive(from_root, tree_.parent());
  for (std::size_t i = children_.size(); i-- > 0 && status.is_ok();)
    status = send(from_root, children_[i]);  // the largest subtree first
  data = std::move(from_root);
  return status;
}

Status TreeCollective::bcast(std::span<std::byte> data, int root) {
  Bytes bytes;
  if (rank_ == root) bytes.assign(data.begin(), data.end());
  const Status status = bcast_resized(bytes, root);
  if (!status.is_ok()) return status;
  if (bytes.size() != data.size()) return Status::error("broadcast: members' sizes differ");
  std::ranges::copy(bytes, data.begin());
  return Status::ok();
}

Status TreeCollective::merge_up(Bytes& mine, const Merge& merge) {
  for (const int child : children_) {  // in rank order
    Bytes theirs;
    const Status status = receive(theirs, child);
    if (!status.is_ok()) return status;
    merge(mine, theirs);
  }
  return rank_ == 0 ? Status::ok() : send(mine, tree_.parent());
}

Status TreeCollective::gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts,
                               int root) {
  Bytes all;
  pack(mine, all);
  Status status = merge_up(all, [](Bytes& lower, std::span<const std::byte> higher) {
    lower.insert(lower.end(), higher.begin(), higher.end());
  });
  if (status.is_ok()) status = move_from_top(all, root);
  parts.clear();
  if (rank_ != root) return status;
  std::span<const std::byte> rest = all;
  std::span<const std::byte> part;
  while (status.is_ok() && !rest.empty()) {
    status = unpack(rest, part);
    parts.emplace_back(part.begin(), part.end());
  }
  if (status.is_ok() && parts.size() != static_cast<std::size_t>(size_))
    return Status::error("gather: a member's part is missing");
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

Status TreeCollective::scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) {
  Bytes message;
  if (rank_ == root) {
    if (parts.size() != static_cast<std::size_t>(size_))
      return Status::error("scatter: one part a member is needed");
    for (const Bytes& part : parts) pack(part, message);
  }
  Status status = move_to_top(message, root);
  if (status.is_ok() && rank_ != 0) status = receive(message, tree_.parent());
  // Parts of this member's subtree by rank: its own, then a range for each child.
  std::span<const std::byte> rest = message;
  std::span<const std::byte> own;
  if (status.is_ok()) status = unpack(rest, own);
  std::vector<std::span<const std::byte>> runs;
  for (const int child : children_) {
    const std::byte* first = rest.data();
    std::span<const std::byte> part;
    for (int i = 0; i < tree_.subtree_count(child) && status.is_ok(); ++i)
      status = unpack(rest, part);
    runs.emplace_back(first, rest.data());
  }
  for (std::size_t i = children_.size(); i-- > 0 && status.is_ok();)
    status = send(runs[i], children_[i]);
  mine.assign(own.begin(), own.end());
  return status;
}

Status TreeCollective::scatter(std::span<const std::byte> all, std::span<std::byte> mine,
                               int root) {
  std::vector<Bytes> parts;
  if (rank_ == root) {
    if (all.size() != mine.size() * static_cast<std::size_t>(size_))
      return Status::error("scatter: sizes differ");
    for (; parts.size() < static_cast<std::size_t>(size_); all = all.subspan(mine.size())) {
      const auto part = all.first(mine.size());
      parts.emplace_back(part.begin(), part.end());
    }
  }
  Bytes part;
  const Status status = scatterv(parts, part, root);
  if (!status.is_ok()) return status;
  if (part.size() != mine.size()) return Status::error("scatter: members' sizes differ");
  std::ranges::copy(part, mine.begin());
  return Status::ok();
}

}  // namespace megascope
