#pragma once

#include "core/lifecycle/collective.h"

#include <memory>
#include <span>
#include <vector>

namespace megascope {

/// A binomial tree over the ranks 0 to size - 1. Child k of a rank is rank + 2^k, for 2^k below the
/// lowest set bit of the rank. A subtree is a consecutive range of ranks.
class BinomialTree {
 public:
  BinomialTree(int rank, int size) : rank_(rank), size_(size) {}

  /// Returns the parent of this rank. Only for ranks > 0.
  int parent() const { return rank_ & (rank_ - 1); }
  /// Returns the children, ascending.
  std::vector<int> children() const;
  /// Returns the number of ranks in the subtree rooted at `top`, including `top`. These are the
  /// ranks top to top + count - 1.
  int subtree_count(int top) const;
  /// Returns whether `rank` is in the subtree rooted at `top`.
  bool is_below(int rank, int top) const { return rank >= top && rank < top + subtree_count(top); }

 private:
  int rank_;
  int size_;
};

/// Implements Collective over point-to-point messages, which a derived class provides. All
/// operations use the edges of one BinomialTree: a member has at most log2(size) neighbours and
/// exchanges at most two messages with each in an operation. A root other than 0 communicates
/// through member 0. Gathered and scattered data moves along the tree, so that a member temporarily
/// holds the data of its whole subtree.
class TreeCollective : public Collective {
 public:
  TreeCollective(int rank, int size)
      : tree_(rank, size), children_(tree_.children()), rank_(rank), size_(size) {}

  int rank() const final { return rank_; }
  int size() const final { return size_; }
  Status barrier() final;
  Status bcast(std::span<std::byte> data, int root) final;
  Status gather(std::span<const std::byte> mine, Bytes& all, int root) final;
  Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int root) final;
  Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) final;
  Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) final;
  Status merge_up(Bytes& mine, const Merge& merge) final;
  Status bcast_resized(Bytes& data, int root) final;

 protected:
  /// Sends a whole message of any size, including 0, to the parent or a child. May block until the
  /// message is received.
  virtual Status send(std::span<const std::byte> message, int to) = 0;
  /// Receives the next message of `from`, in the order sent. message: resized.
  virtual Status receive(Bytes& message, int from) = 0;

 private:
  /// move_to_top() moves `data` from `root` to member 0, and move_from_top() from member 0 to
  /// `root`, along the path between them in the tree. On each member of the path except the sender,
  /// the bytes received replace `data`. Members that are not on the path leave `data` unchanged.
  /// Nothing happens if root is 0. Return the first error of send() or receive() on this member.
  Status move_to_top(Bytes& data, int root);
  Status move_from_top(Bytes& data, int root);

  BinomialTree tree_;
  std::vector<int> children_;
  int rank_;
  int size_;
};

}  // namespace megascope
