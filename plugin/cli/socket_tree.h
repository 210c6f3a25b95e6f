#pragma once

#include "core/base/status.h"
#include "core/lifecycle/tree_collective.h"

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

/// A Collective of processes joined by a tree of sockets.
class SocketCollective final : public TreeCollective {
 public:
  /// children: one end for each of BinomialTree::children(), in their order. parent: closed for
  /// rank 0.
  SocketCollective(int rank, int size, SocketEnd parent, std::vector<SocketEnd> children)
      : TreeCollective(rank, size), parent_(std::move(parent)), children_(std::move(children)) {}

  Status split(int color, int key, std::unique_ptr<Collective>& result) override;

 private:
  Status send(std::span<const std::byte> message, int to) override {
    return end_to(to).send(message);
  }
  Status receive(Bytes& message, int from) override { return end_to(from).receive(message); }
  /// Child k is 2^k ranks above.
  const SocketEnd& end_to(int peer) const;

  SocketEnd parent_;
  std::vector<SocketEnd> children_;
};

}  // namespace megascope::cli
