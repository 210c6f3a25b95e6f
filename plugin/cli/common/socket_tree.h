#pragma once

#include "core/base/status.h"
#include "core/lifecycle/tree_collective.h"

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace megascope::cli {

/// One end of a stream socket pair; closed by the destructor. Sends and receives messages, each a
/// length followed by bytes. Blocking; never raises SIGPIPE. One thread.
class SocketEnd {
 public:
  SocketEnd() = default;
  SocketEnd(int descriptor, int peer) : descriptor_(descriptor), peer_(peer) {}
  SocketEnd(SocketEnd&& other) noexcept
      : descriptor_(std::exchange(other.descriptor_, -1)), peer_(other.peer_) {}
  SocketEnd& operator=(SocketEnd&& other) noexcept;
  ~SocketEnd() { close(); }

  Status send(std::span<const std::byte> message) const;
  /// Receives one message; `message` is resized.
  Status receive(Collective::Bytes& message) const;
  void close();
  bool is_open() const { return descriptor_ >= 0; }

 private:
  Status send_all(const void* from, std::size_t count) const;
  Status receive_all(void* to, std::size_t count) const;

  int descriptor_ = -1;
  int peer_ = -1;  ///< rank of the peer, for error texts
};

/// A Collective over a tree of socket pairs.
class SocketCollective final : public TreeCollective {
 public:
  /// children: one end for each of BinomialTree::children(), in that order. parent: not open for
  /// rank 0.
  SocketCollective(int rank, int size, SocketEnd parent, std::vector<SocketEnd> children)
      : TreeCollective(rank, size), parent_(std::move(parent)), children_(std::move(children)) {}

  Status split(int color, int key, std::unique_ptr<Collective>& result) override;

 private:
  Status send(std::span<const std::byte> message, int to) override {
    return end_to(to).send(message);
  }
  Status receive(Bytes& message, int from) override { return end_to(from).receive(message); }
  /// Returns the end that is connected to the rank `peer`, which is the parent or a child. Child k
  /// has the rank `rank() + 2^k`.
  const SocketEnd& end_to(int peer) const;

  SocketEnd parent_;
  std::vector<SocketEnd> children_;
};

}  // namespace megascope::cli
