#include "plugin/cli/common/socket_tree.h"

#include <bit>
#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <unistd.h>

namespace megascope::cli {
namespace {

using Bytes = Collective::Bytes;

Status lost(int peer) {
  return Status::error("member " + std::to_string(peer) + " of the group has ended");
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

Status SocketCollective::split(int, int, std::unique_ptr<Collective>& result) {
  result = nullptr;
  if (size() > 1) return Status::error("a group of forked processes cannot be split");
  result = make_single_collective();
  return Status::ok();
}

const SocketEnd& SocketCollective::end_to(int peer) const {
  if (peer < rank()) return parent_;
  return children_[static_cast<std::size_t>(
      std::countr_zero(static_cast<unsigned>(peer - rank())))];
}

}  // namespace megascope::cli
