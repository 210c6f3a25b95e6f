#pragma once

#include "core/lifecycle/collective.h"

#include <memory>
#include <span>
#include <vector>

namespace megascope {

/// The shape of a binomial tree over ranks 0 … size - 1. Child k of a rank is rank + 2^k, for 2^k
/// below the rank's lowest set bit. A subtree is a run of ranks.
class BinomialTree {
 public:
  BinomialTree(int rank, int size) : rank_(rank), size_(size) {}

  /// Of ranks > 0.
  int parent() const { return rank_ & (rank_ - 1); }
  /// Ascending.
  std::vector<int> children() const;
  /// Ranks of the subtree below `top`, itself included: top … top + count - 1.
  int subtree_count(int top) const;
  /// Is `rank` in the subtree below `top`?
  bool is_below(int rank, int top) const { return rank >= top && rank < top + subtree_count(top); }

 private:
  int rank_;
  int size_;
};

/// A Collective of which only sending and receiving a message is left to say. All operations use
/// the edges of one BinomialTree: a member has at most log2(size) neighbours and sends each at most
/// two messages an operation. A root other than 0 gets and gives through member 0. What is gathered
/// or scattered passes every level: a member holds the parts of its subtree.
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
  /// A whole message of any size, 0 included, to my parent or a child of mine. May wait until it is
  /// received.
  virtual Status send(std::span<const std::byte> message, int to) = 0;
  /// The next message of `from`, in the order sent. message: resized.
  virtual Status receive(Bytes& message, int from) = 0;

 private:
  /// Brings `data` from `root` to member 0, or from member 0 to `root`. Others' are left alone.
  Status move_to_top(Bytes& data, int root);
  Status move_from_top(Bytes& data, int root);

  BinomialTree tree_;
  std::vector<int> children_;
  int rank_;
  int size_;
};

}  // namespace megascope
