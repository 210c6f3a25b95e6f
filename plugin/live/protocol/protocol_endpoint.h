#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace megascope::live {

class UnauthenticatedBudget;

/// One message to a client.
struct Outgoing {
  bool is_text = false;
  std::string text;
  std::vector<std::byte> frame;
};

/// Server side of one protocol, as used by the socket layer: receive() takes a client's messages,
/// next() returns what to send. Times: ns since the epoch, passed by the caller. One thread.
class ProtocolEndpoint {
 public:
  using ClientId = std::uint64_t;

  virtual ~ProtocolEndpoint() = default;
  /// Adds a client. Returns nullopt if the limit of clients (bounds.h) is reached.
  virtual std::optional<ClientId> connect(std::int64_t now_ns) = 0;
  /// Removes a client.
  virtual void disconnect(ClientId client) = 0;
  /// Handles a message. Returns false if the client sends too much or does not read its answers.
  /// The caller must then close it with code 1008.
  virtual bool receive(ClientId client, std::string_view text, std::int64_t now_ns) = 0;
  /// Counts a control frame (ping) towards the message rate. Returns false if the client sends too
  /// much. The caller must then close it with code 1008.
  virtual bool count_message(ClientId client, std::int64_t now_ns) = 0;
  /// Stores the next message for the client in `message`. Returns false if there is none now.
  virtual bool next(ClientId client, std::int64_t now_ns, Outgoing& message) = 0;
  /// Like next(), but considers only replies to the client's own messages. Used for a client that
  /// is about to be closed.
  virtual bool next_reply(ClientId client, std::string& text) = 0;
  /// Returns the budget for serving unauthenticated clients; nullptr if the clients are
  /// authenticated.
  virtual UnauthenticatedBudget* budget() { return nullptr; }
  /// Returns whether the run has ended and the client has received everything except the verdict.
  virtual bool is_waiting_for_verdict(ClientId /*client*/) const { return false; }
  /// Returns whether the run has ended and the client has received all messages, including the
  /// verdict if there is one. The caller then closes the client.
  virtual bool has_received_all(ClientId client) const = 0;
};

}  // namespace megascope::live
