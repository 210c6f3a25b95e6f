#pragma once

#include "core/base/status.h"
#include "core/lifecycle/collective.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace megascope::cli {

/// One end of a stream socket pair, closed with the object. Sends and receives whole messages: a
/// length, then bytes. Blocks; never raises SIGPIPE. One thread.
class SocketEnd {
 public:
  SocketEnd() = default;
  SocketEnd(int descriptor, int peer) : descriptor_(descriptor), peer_(peer) {}
  SocketEnd(SocketEnd&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), peer_(other.peer_) {}
  SocketEnd& operator=(SocketEnd&& other) noexcept;
  ~SocketEnd() { close(); }

  Status send(std::span<const std::byte> message) const;
  /// message: resized.
  Status receive(Collective::Bytes& message) const;
  void close();
  bool is_open() const { return descriptor_ >= 0; }

 private:
  Status send_all(const void* from, std::size_t count) const;
  Status receive_all(void* to, std::size_t count) const;

  int descriptor_ = -1;
  int peer_ = -1;  ///< rank at the other end, for messages
};

/// The shape of a binomial tree over ranks 0 … size - 1. Child k of a rank is rank + 2^k, for 2^k
/// below the rank's lowest set bit. A subtree is a run of ranks.
class BinomialTree {
 public:
  BinomialTree(int rank, int size) : rank_(rank), size_(size) {}

  /// Of ranks > 0.
  int parent() const { return rank_ & (rank_ - 1); }
  std::vector<int> children() const;
  /// Ranks of the subtree below `top`, itself included: top … top + count - 1.
  int subtree_count(int top) const;
  /// Is `rank` in the subtree below `top`?
  bool is_below(int rank, int top) const { return rank >= top && rank < top + subtree_count(top); }

 private:
  int rank_;
  int size_;
};

/// A Collective over such a tree of sockets.
class TreeCollective final : public Collective {
 public:
  /// children: one end for each of BinomialTree::children(), in their order. parent: closed for
  /// rank 0.
  TreeCollective(int rank, int size, SocketEnd parent, std::vector<SocketEnd> children);

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  Status split(int color, int key, std::unique_ptr<Collective>& result) override;
  Status barrier() override;
  Status bcast(std::span<std::byte> data, int root) override;
  Status gather(std::span<const std::byte> mine, Bytes& all, int root) override;
  Status gatherv(std::span<const std::byte> mine, std::vector<Bytes>& parts, int root) override;
  Status scatter(std::span<const std::byte> all, std::span<std::byte> mine, int root) override;
  Status scatterv(const std::vector<Bytes>& parts, Bytes& mine, int root) override;
  Status merge_up(Bytes& mine, const Merge& merge) override;
  Status bcast_resized(Bytes& data, int root) override;

 private:
  /// Brings `data` from `root` to rank 0, or from rank 0 to `root`, along the tree. Others are left
  /// alone.
  Status move_to_top(Bytes& data, int root);
  Status move_from_top(Bytes& data, int root);
  /// parts: of my subtree, by rank; complete on rank 0.
  Status gather_up(std::span<const std::byte> mine, std::vector<Bytes>& parts);
  Status scatter_down(std::vector<Bytes> parts, Bytes& mine);

  int rank_;
  int size_;
  BinomialTree tree_;
  std::vector<int> child_ranks_;
  SocketEnd parent_;
  std::vector<SocketEnd> children_;
};

}  // namespace megascope::cli
